#!/usr/bin/env python3
"""lynxkv capture: real KV as page tensors, which lynxkv codec takes there and back; and what it refuses."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py

BINARY = os.environ["LYNXKV_BINARY"]
MODEL = os.environ["LYNXKV_TEST_MODEL"]


def call(*arguments):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=300)


class Capture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.text = self.folder / "text.txt"
        self.text.write_text("The valley lies between two rivers, and a road follows the northern one. " * 40)
        self.out = self.folder / "captured"

    def test_page_tensors_of_the_layers_asked_for(self):
        done = call("capture", MODEL, "--pages", self.out, "--text", self.text, "--tokens", 300, "--layers", "3,0")
        self.assertEqual(done.returncode, 0, done.stderr)
        index = json.loads((self.out / "index.json").read_text())
        self.assertEqual(index["tokens"], 300)
        self.assertEqual([case["name"] for case in index["cases"]],
                         [f"l{layer}_{kind}_p{page}" for layer in (0, 3) for kind in "kv" for page in (0, 1)])
        for case in index["cases"]:
            rows = (self.out / f"{case['name']}.kv.bin").read_bytes()
            self.assertEqual(len(rows), case["tokens"] * case["channels"] * 2)
            self.assertEqual(case["tokens"], 44 if case["first_position"] else 256)
            geometry = ["--codec", "lynx-exact", "--tokens", case["tokens"], "--channels", case["channels"]]
            prefix, back = self.folder / "page", self.folder / "back.bin"
            done = call("codec", "encode", *geometry, "--exact", self.out / f"{case['name']}.kv.bin", prefix)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = call("codec", "decode", *geometry, prefix, "--level", "exact", back)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(back.read_bytes(), rows)

    def test_one_file_that_h5py_reads_and_bench_codec_measures(self):
        file = self.folder / "kv.h5"
        done = call("capture", MODEL, file, "--pages", self.out, "--text", self.text, "--tokens", 300, "--layers", "3,0")
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(file) as kv:
            self.assertEqual(kv["key"].shape, (2, 300, kv.attrs["kv_heads"] * kv.attrs["head_dim"]))
            self.assertEqual(kv["value"].attrs["dtype"], "bfloat16")
            self.assertEqual(list(kv["layers"]), [0, 3])
            self.assertEqual((self.out / "l3_v_p1.kv.bin").read_bytes(), kv["value"][1, 256:].tobytes())
        done = call("inspect", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of them", done.stdout)
        self.assertEqual(json.loads(call("inspect", file, "--json").stdout)["tokens"], 300)
        table = self.folder / "table.json"
        done = call("bench", "codec", "--kv", file, "--codec", "int4-chunk", "lynx", "--json", table)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {(row["name"], level["level"]): level for row in json.loads(table.read_text())["rows"] for level in row["levels"]}
        self.assertLess(rows["lynx", "draft"]["k"]["nmse"], rows["int4-chunk", "full"]["k"]["nmse"])
        self.assertGreater(rows["lynx", "full"]["k"]["nmse"], 0)
        file.write_bytes(file.read_bytes()[:5000])
        done = call("bench", "codec", "--kv", file, "--codec", "lynx")
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_refusals_leave_nothing_behind(self):
        for code, part, arguments in ((3, "could not be opened", ["--text", self.folder / "absent.txt"]),
                                      (2, "--layers", ["--text", self.text, "--layers", "30"])):
            result = call("capture", MODEL, "--pages", self.out, *arguments)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(part, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)
            self.assertFalse(self.out.exists())

    def test_a_capture_is_not_written_over(self):
        self.out.mkdir()
        (self.out / "index.json").write_text("{}")
        result = call("capture", MODEL, "--pages", self.out, "--text", self.text, "--tokens", 4)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("holds a capture already", result.stderr)
        self.assertEqual((self.out / "index.json").read_text(), "{}")


if __name__ == "__main__":
    if not pathlib.Path(MODEL).exists():
        print(f"skipped: {MODEL} is not there; jobs/fetch-model.sh fetches it")
        sys.exit(77)
    unittest.main()
