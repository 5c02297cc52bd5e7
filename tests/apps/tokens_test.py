#!/usr/bin/env python3
"""lynxkv tokenize, detokenize and inspect as a user runs them: JSON Lines in and out, one line for what is wrong."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import job  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
GOLDEN = json.loads((DATA / "tokenizer/smollm2.json").read_text(encoding="utf-8"))


def call(*arguments, lines=()):
    """lines: objects, or text as it stands."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    return subprocess.run([job.LYNXKV, *arguments], input=text, capture_output=True, text=True, timeout=120)


class Tokens(unittest.TestCase):
    def objects(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def refused(self, done, *parts):
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_texts_become_the_recorded_ids(self):
        texts = GOLDEN["texts"]
        lines = [{"text": entry["text"]} for entry in texts]
        out = self.objects(call("tokenize", job.MODEL, lines=lines))
        self.assertEqual([line["ids"] for line in out], [entry["ids"] for entry in texts])
        out = self.objects(call("tokenize", "--plain", job.MODEL, lines=lines))
        self.assertEqual([line["ids"] for line in out], [entry.get("ids_plain", entry["ids"]) for entry in texts])

    def test_conversations_become_the_recorded_ids(self):
        out = self.objects(call("tokenize", "--chat", "--render", job.MODEL, lines=GOLDEN["chat"]))
        self.assertEqual([line["ids"] for line in out], [entry["ids"] for entry in GOLDEN["chat"]])
        self.assertEqual([line["text"] for line in out], [entry["rendered"] for entry in GOLDEN["chat"]])

    def test_chat_takes_a_text_as_a_users_message(self):
        entry = GOLDEN["chat"][0]
        out = self.objects(call("tokenize", "--chat", job.MODEL, lines=[{"text": entry["messages"][0]["content"]}]))
        self.assertEqual(out[0]["ids"], entry["ids"])

    def test_ids_become_the_recorded_texts(self):
        entries = GOLDEN["texts"] + GOLDEN["decode_only"]
        out = self.objects(call("detokenize", job.MODEL, lines=[{"ids": entry["ids"]} for entry in entries]))
        self.assertEqual([line["text"] for line in out], [entry["decoded"] for entry in entries])

    def test_a_bad_line_is_named_by_its_number(self):
        good = {"text": "a"}
        for bad, part in [("{", "expected a JSON object"), ({"text": 5}, "expected a string"), ([1], "found array"),
                          ({"words": "a"}, 'found no "text"'), ({"messages": [{"role": "user"}]}, 'no "content"'),
                          ({"messages": "hi"}, "expected an array"), ('{"text": "\\ud800"}', "JSON")]:
            done = call("tokenize", job.MODEL, lines=[good, "", bad, good])
            self.refused(done, "line 3", part)
            self.assertEqual(len(done.stdout.splitlines()), 1)
        for bad, part in [({"ids": [49152]}, "found 49152"), ({"ids": [-1]}, "found number -1"), ({"ids": 3}, "array"),
                          ({"ids": [1.5]}, "1.5"), ({"ids": [2 ** 70]}, "expected token ids")]:
            self.refused(call("detokenize", job.MODEL, lines=[bad]), "line 1", part)

    def test_a_folder_without_a_tokenizer_is_refused(self):
        self.refused(call("tokenize", str(DATA / "models/llama"), lines=[{"text": "a"}]), "tokenizer")

    def test_inspect_shows_a_model(self):
        done = call("inspect", job.MODEL)
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ["llama", "Q4_1", "49152", "llama.rope.freq_base"]:
            self.assertIn(part, done.stdout)
        document = json.loads(call("inspect", "--json", job.MODEL).stdout)
        self.assertEqual(document["schema_version"], 1)
        self.assertEqual(document["model"]["layers"], 30)
        self.assertEqual(document["tensors"]["count"], 272)
        self.assertEqual(sum(t["tensors"] for t in document["tensors"]["by_type"]), 272)
        document = json.loads(call("inspect", "--json", str(DATA / "models/llama-tied")).stdout)
        self.assertEqual(document["kind"], "checkpoint")
        self.assertEqual(document["model"]["tied_embeddings"], True)

    def test_damaged_models_are_refused_in_one_line(self):
        whole = pathlib.Path(job.MODEL).read_bytes()
        damaged = {"empty": b"", "cut in the metadata": whole[:100000], "cut in the data": whole[:5000000],
                   "other magic": b"GGUX" + whole[4:2000000], "huge count": whole[:8] + b"\xff" * 8 + whole[16:2000000]}
        with tempfile.TemporaryDirectory() as folder:
            for name, content in damaged.items():
                path = pathlib.Path(folder) / (name.replace(" ", "-") + ".gguf")
                path.write_bytes(content)
                self.refused(call("tokenize", str(path), lines=[{"text": "a"}]), path.name)
                self.refused(call("inspect", str(path)), path.name)
            other = pathlib.Path(folder) / "notes.txt"
            other.write_text("nothing that we know")
            self.refused(call("inspect", str(other)), "found none of them")


if __name__ == "__main__":
    if not job.MODEL or not pathlib.Path(job.MODEL).exists():
        print("the real model is not there; jobs/fetch-model.sh fetches it")
        sys.exit(77)
    unittest.main(verbosity=2)
