#!/usr/bin/env python3
"""lynxkv bench codec on a model, lynxkv calibrate, and codec options on the command line: as a user runs them."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["LYNXKV_BINARY"]
MODEL = os.environ["LYNXKV_TEST_MODEL"]
PAGE = pathlib.Path(__file__).resolve().parents[1] / "data/codec/real_l15_k_p0.kv.bin"
GEOMETRY = ["--tokens", 256, "--channels", 192]


def call(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=600)


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refused(self, code, part, *arguments):
        result = call(*arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertIn(part, result.stderr)
        self.assertEqual(result.stderr.strip().count("\n"), 0, result.stderr)


class Quality(Temporary):
    def setUp(self):
        super().setUp()
        words = "The valley lies between two rivers, and a road follows the northern one past {} mills. "
        (self.folder / "texts").mkdir()
        for name, count in (("a.txt", 40), ("b.txt", 60)):
            (self.folder / "texts" / name).write_text("".join(words.format(i) for i in range(count)))

    def test_a_table_of_codecs_on_a_model(self):
        document, table = self.folder / "table.json", self.folder / "table.csv"
        done = call("bench", "codec", "--model", MODEL, "--text", self.folder / "texts", "--prompt-tokens", 400, "--continue", 8,
                    "--json", document, "--csv", table, "--codec", "int4", "lynx", "mine:lynx,preset=paper,alpha=4", "lynx-exact")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(document.read_text())
        self.assertEqual(found["schema_version"], 1)
        self.assertEqual(found["documents"], ["a.txt", "b.txt"])
        rows = {row["name"]: row for row in found["rows"]}
        self.assertEqual(rows["mine"]["options"], "preset=paper,alpha=4")
        self.assertEqual(rows["int4"]["levels"][0]["kl_ratio"]["mean"], 1)
        draft, full = rows["lynx"]["levels"]
        self.assertLess(full["kl_nats"]["mean"], draft["kl_nats"]["mean"])
        self.assertLess(draft["bits_per_element"], 5.2)
        exact = rows["lynx-exact"]["levels"][-1]
        self.assertEqual((exact["kl_nats"]["mean"], exact["k"]["rms"], exact["v"]["rms"]), (0, 0, 0))
        self.assertAlmostEqual(exact["argmax_agreement"]["mean"], 1)
        with table.open() as lines:
            self.assertEqual([row["codec"] for row in csv.DictReader(lines)],
                             ["int4", "lynx", "lynx", "mine", "mine", "lynx-exact", "lynx-exact"])

    def test_calibration_prints_lines_that_a_run_takes(self):
        document = self.folder / "calibration.json"
        done = call("calibrate", MODEL, "--text", self.folder / "texts", "--tokens", 300, "--preset", "plain", "--json", document)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(document.read_text())
        self.assertLess(found["chosen"]["nmse_k"], found["start"]["nmse_k"])
        self.assertEqual(sum(tried["best_k"] for tried in found["tried"]), 3)
        lines = done.stdout.split("# for the config of a run:\n")[1]
        (self.folder / "run.yaml").write_text(f"model: {{path: {MODEL}}}\n" + lines)
        done = call("run", self.folder / "run.yaml", "--dry-run", "--out", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('preset: "plain"', done.stdout)

    def test_refusals(self):
        text = self.folder / "texts" / "a.txt"
        (self.folder / "empty.txt").write_text("")
        for code, part, arguments in (
                (3, "at least 1600 tokens, found 0", ["calibrate", MODEL, "--text", self.folder / "empty.txt"]),
                (3, "at least 5000 tokens", ["bench", "codec", "--model", MODEL, "--text", text, "--prompt-tokens", 5000, "--codec", "lynx"]),
                (2, "both --model and --text", ["bench", "codec", "--text", text]),
                (2, "did you mean 'alpha'", ["bench", "codec", "--model", MODEL, "--text", text, "--codec", "lynx,alpa=1"]),
                (2, "did you mean 'paper'", ["calibrate", MODEL, "--text", text, "--preset", "papers"])):
            self.refused(code, part, *arguments)


class CodecOptions(Temporary):
    def encode(self, name, *arguments):
        done = call("codec", "encode", *GEOMETRY, *arguments, PAGE, self.folder / name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(self.folder / f"{name}.{stream}.bin").read_bytes() for stream in ("anchor", "residual")]

    def test_presets_and_options_beside_them(self):
        plain = self.encode("plain")
        self.assertEqual(self.encode("again", "--preset", "plain", "--alpha", 0.05), plain)
        fitted = self.encode("fitted", "--fit", "least_error")
        self.assertEqual([len(part) for part in fitted], [len(part) for part in plain])
        self.assertNotEqual(fitted, plain)
        runs = self.encode("runs", "--preset", "default", "--tokens-behind", 100)
        self.assertEqual(len(runs[1]), len(plain[1]) - 252 * 8)
        back = self.folder / "back.bin"
        for level in ("draft", "full"):
            done = call("codec", "decode", *GEOMETRY, "--preset", "default", "--tokens-behind", 100, "--level", level,
                        self.folder / "runs", back)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(back.stat().st_size, PAGE.stat().st_size)

    def test_refusals(self):
        prefix = self.folder / "page"
        for part, arguments in (("early_channels_k", ["--set", "early_channels_k=3"]), ("least_error", ["--fit", "least"]),
                                ("--kind", ["--kind", "q"]), ("'paper'", ["--preset", "papre"])):
            self.refused(2, part, "codec", "encode", *GEOMETRY, *arguments, PAGE, prefix)


if __name__ == "__main__":
    if not pathlib.Path(MODEL).exists():
        print(f"skipped: {MODEL} is not there; jobs/fetch-model.sh fetches it")
        sys.exit(77)
    unittest.main()
