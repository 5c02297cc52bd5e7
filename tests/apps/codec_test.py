#!/usr/bin/env python3
"""lynxkv codec on the golden pages: files in, files out, byte for byte; and what it refuses."""
import json
import os
import pathlib
import random
import shutil
import stat
import struct
import subprocess
import tempfile
import unittest

BINARY = os.environ["LYNXKV_BINARY"]
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "data" / "codec"
CASES = json.loads((GOLDEN / "index.json").read_text())["cases"]


def call(*arguments):
    return subprocess.run([BINARY, "codec", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def geometry(case):
    return ["--codec", "lynx", "--tokens", case["tokens"], "--channels", case["channels"], "--sinks", case["sinks"],
            "--alpha", repr(case["alpha"]), "--centre", case["centre"], "--sigma", case["sigma"],
            "--levels", case["levels"]]


def golden(case, part):
    return GOLDEN / f"{case['name']}.{part}.bin"


class Codec(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.prefix = self.folder / "page"
        self.out = self.folder / "rows.bin"

    def call(self, *arguments):
        return call(*arguments)

    def done(self, *arguments):
        result = self.call(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def refused(self, code, parts, *arguments):
        before = sorted(self.folder.iterdir())
        result = self.call(*arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        said = [line for line in result.stderr.splitlines() if "emulation of CUDA" not in line]
        self.assertEqual(len(said), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_every_golden_page_byte_for_byte(self):
        for case in CASES:
            with self.subTest(case["name"]):
                self.done("encode", *geometry(case), golden(case, "kv"), self.prefix)
                for part in ("anchor", "residual"):
                    self.assertEqual((self.folder / f"page.{part}.bin").read_bytes(), golden(case, part).read_bytes())
                for level in ("draft", "full"):
                    self.done("decode", *geometry(case), GOLDEN / case["name"], "--level", level, self.out)
                    self.assertEqual(self.out.read_bytes(), golden(case, level).read_bytes())

    def test_the_exact_stream_restores_every_golden_page(self):
        for case in CASES:
            with self.subTest(case["name"]):
                self.done("encode", *geometry(case), "--exact", golden(case, "kv"), self.prefix)
                for part in ("anchor", "residual"):
                    self.assertEqual((self.folder / f"page.{part}.bin").read_bytes(), golden(case, part).read_bytes())
                self.done("decode", *geometry(case), self.prefix, "--level", "exact", self.out)
                self.assertEqual(self.out.read_bytes(), golden(case, "kv").read_bytes())

    def test_the_modes_of_the_family_agree(self):
        case = CASES[0]
        other = ["--codec", "lynx-int4", *geometry(case)[2:]]
        self.done("encode", *other, golden(case, "kv"), self.prefix)
        self.assertFalse((self.folder / "page.residual.bin").exists())
        self.done("decode", *other, self.prefix, self.out)
        self.assertEqual(self.out.read_bytes(), golden(case, "draft").read_bytes())

    def test_plain_integers_come_back_near_and_equal_for_equal_input(self):
        case = CASES[0]
        for codec, size in (("int8", 256 * 192 * 17 // 16), ("int4", 256 * 192 * 9 // 16), ("bf16", 256 * 192 * 2)):
            with self.subTest(codec):
                shape = ["--codec", codec, "--tokens", 256, "--channels", 192, "--head-dim", 64]
                self.done("encode", *shape, golden(case, "kv"), self.prefix)
                self.assertEqual((self.folder / "page.anchor.bin").stat().st_size, size)
                self.done("decode", *shape, self.prefix, self.out)
                self.done("encode", *shape, golden(case, "kv"), self.folder / "again")
                self.assertEqual((self.folder / "page.anchor.bin").read_bytes(),
                                 (self.folder / "again.anchor.bin").read_bytes())
        self.assertEqual(self.out.read_bytes(), golden(case, "kv").read_bytes())  # the last one was bf16

    def test_wrong_sizes(self):
        case = CASES[0]
        self.refused(3, ["real_l0_k_p0.kv.bin", "expected 97920 bytes", "found 98304"], "encode", "--tokens", 255,
                     "--channels", 192, golden(case, "kv"), self.prefix)
        self.refused(3, ["anchor payload", "expected"], "decode", "--tokens", 255, "--channels", 192,
                     GOLDEN / case["name"], self.out)
        self.prefix.with_suffix(".anchor.bin").write_bytes(golden(case, "anchor").read_bytes())
        self.prefix.with_suffix(".residual.bin").write_bytes(golden(case, "residual").read_bytes()[:-1])
        self.refused(3, ["residual payload", "expected 24192 bytes", "found 24191"], "decode", *geometry(case),
                     self.prefix, self.out)
        self.done("decode", *geometry(case), self.prefix, "--level", "draft", self.out)  # which needs no residual

    def test_a_value_that_is_not_finite_is_named(self):
        bad = self.folder / "bad.bin"
        bad.write_bytes(b"\0" * 22 + b"\x80\x7f")
        self.refused(3, ["bad.bin", "token 2, channel 3 is infinite"], "encode", "--tokens", 3, "--channels", 4, bad,
                     self.prefix)

    def test_usage(self):
        page = golden(CASES[0], "kv")
        shape = ["--tokens", 256, "--channels", 192]
        self.refused(2, ["did you mean 'lynx'"], "encode", *shape, "--codec", "lynks", page, self.prefix)
        self.refused(2, ["centre", "did you mean 'mean'"], "encode", *shape, "--centre", "meen", page, self.prefix)
        self.refused(2, ["sigma", "did you mean 'linear'"], "encode", *shape, "--sigma", "lineal", page, self.prefix)
        self.refused(2, ["--level", "did you mean 'draft'"], "decode", *shape, "--level", "drft", self.prefix, self.out)
        self.refused(2, ["alpha", "0.001 to 1000"], "encode", *shape, "--alpha", 0, page, self.prefix)
        self.refused(2, ["levels", "112 or 120"], "encode", *shape, "--levels", 127, page, self.prefix)
        self.refused(2, ["--tokens", "1 to 256"], "encode", "--tokens", 257, "--channels", 192, page, self.prefix)
        self.refused(2, ["--channels", "even"], "encode", "--tokens", 256, "--channels", 191, page, self.prefix)
        self.refused(2, ["--head-dim", "divisor"], "encode", *shape, "--head-dim", 50, page, self.prefix)
        self.refused(2, ["--backend cuda", "kivi4 has no CUDA kernels", "--backend cpu"], "encode", *shape, "--codec", "kivi4",
                     "--backend", "cuda", page, self.prefix)
        self.refused(2, ["--backend", "did you mean 'cuda'"], "encode", *shape, "--backend", "cude", page, self.prefix)
        self.refused(2, ["--level", "--exact"], "encode", *shape, "--level", "exact", page, self.prefix)
        self.refused(2, ["--exact", "int8 has no exact stream"], "encode", *shape, "--codec", "int8", "--exact", page,
                     self.prefix)
        self.refused(2, ["--level draft", "bf16 decodes to full"], "decode", *shape, "--codec", "bf16", "--level", "draft",
                     page, self.out)

    def test_a_file_that_is_missing_and_a_place_that_cannot_be_written(self):
        shape = ["--tokens", 256, "--channels", 192]
        self.refused(3, ["nowhere.bin"], "encode", *shape, self.folder / "nowhere.bin", self.prefix)
        self.refused(3, ["nowhere.anchor.bin"], "decode", *shape, self.folder / "nowhere", self.out)
        self.refused(2, ["absent/page.anchor.bin"], "encode", *shape, golden(CASES[0], "kv"),
                     self.folder / "absent" / "page")

    def test_streams_are_written_all_or_none(self):
        (self.folder / "page.residual.bin").mkdir()
        self.refused(2, ["page.residual.bin"], "encode", "--tokens", CASES[0]["tokens"], "--channels", CASES[0]["channels"],
                     golden(CASES[0], "kv"), self.prefix)
        self.assertFalse((self.folder / "page.anchor.bin").exists())

    def test_a_pipe_is_written_through_and_stays_a_pipe(self):
        pipe, caught = self.folder / "pipe", self.folder / "caught"
        os.mkfifo(pipe)
        shape = ["--codec", "int8", "--tokens", CASES[0]["tokens"], "--channels", CASES[0]["channels"], "--head-dim", 64]
        self.assertEqual(call("encode", *shape, golden(CASES[0], "kv"), self.prefix).returncode, 0)
        with open(caught, "wb") as out, subprocess.Popen(["cat", pipe], stdout=out) as reader:
            done = call("decode", *shape, self.prefix, pipe)
            self.assertEqual(done.returncode, 0, done.stderr)
            reader.wait(timeout=60)
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        self.assertEqual(call("decode", *shape, self.prefix, self.out).returncode, 0)
        self.assertEqual(caught.read_bytes(), pathlib.Path(self.out).read_bytes())


def drawn(seed, kind, tokens, channels):
    """Rows of bf16, from a seed: bell-shaped, or any finite bits."""
    draw, words = random.Random(seed), []
    for i in range(tokens * channels):
        if kind == "bell":
            value = struct.pack("<f", draw.gauss(i % channels % 3, 1 + i % channels % 5))
            words.append(struct.unpack("<I", value)[0] >> 16)
        else:
            words.append(draw.randrange(0x7e80) | draw.randrange(2) << 15)
    return struct.pack(f"<{len(words)}H", *words)


class OnCuda(Codec):
    """Everything above once more with the CUDA kernels: on a GPU, or emulated where none is."""

    def call(self, *arguments):
        return call(*arguments[:1], "--backend", "cuda", *arguments[1:])

    # What has no kernels, or nothing to do with them.
    test_plain_integers_come_back_near_and_equal_for_equal_input = None
    test_usage = None
    test_a_file_that_is_missing_and_a_place_that_cannot_be_written = None
    test_streams_are_written_all_or_none = None
    test_a_pipe_is_written_through_and_stays_a_pipe = None

    def test_other_pages_give_the_cpus_bytes(self):
        page, cpu, cuda = self.folder / "in.bin", self.folder / "cpu", self.folder / "cuda"
        shapes = ((1, 2, 2), (33, 24, 8), (100, 192, 64))
        codecs = ("lynx", "lynx-exact", "lynx-int4", "lynx-int8", "int8", "int4", "int8-channel", "int4-channel")
        for seed, (tokens, channels, head_dim) in enumerate(shapes):
            for kind in ("bell", "bits") if seed < 2 else ("bell",):
                page.write_bytes(drawn(seed, kind, tokens, channels))
                for codec in codecs:
                    shape = ["--codec", codec, "--tokens", tokens, "--channels", channels, "--head-dim", head_dim]
                    with self.subTest(codec=codec, tokens=tokens, channels=channels, kind=kind):
                        self.done("encode", *shape, page, cuda)
                        self.assertEqual(call("encode", *shape, page, cpu).returncode, 0)
                        for written in self.folder.glob("cpu.*"):
                            self.assertEqual(written.read_bytes(), pathlib.Path(str(cuda) + written.name[3:]).read_bytes())
                        level = "exact" if codec == "lynx-exact" else "full"
                        self.done("decode", *shape, "--level", level, cuda, self.out)
                        self.assertEqual(call("decode", *shape, "--level", level, cuda, cpu).returncode, 0)
                        self.assertEqual(self.out.read_bytes(), cpu.read_bytes())

    def test_the_preset_of_runs_gives_the_cpus_bytes(self):
        for case in CASES[:4]:
            for kind, position in (("k", 0), ("v", 0), ("k", 256)):
                shape = ["--preset", "default", "--kind", kind, "--position", position, "--tokens", case["tokens"],
                         "--channels", case["channels"]]
                with self.subTest(case["name"], kind=kind, position=position):
                    self.done("encode", *shape, "--exact", golden(case, "kv"), self.prefix)
                    self.assertEqual(call("encode", *shape, "--exact", golden(case, "kv"), self.folder / "cpu").returncode, 0)
                    for part in ("anchor", "residual", "exact"):
                        self.assertEqual((self.folder / f"page.{part}.bin").read_bytes(), (self.folder / f"cpu.{part}.bin").read_bytes())
                    for level in ("draft", "full", "exact"):
                        self.done("decode", *shape, "--level", level, self.prefix, self.out)
                        self.assertEqual(call("decode", *shape, "--level", level, self.prefix, self.folder / "cpu").returncode, 0)
                        self.assertEqual(self.out.read_bytes(), (self.folder / "cpu").read_bytes())
                    self.assertEqual(self.out.read_bytes(), golden(case, "kv").read_bytes())

    def test_a_damaged_exact_stream_is_refused_as_on_the_cpu(self):
        case = CASES[0]
        self.done("encode", *geometry(case), "--exact", golden(case, "kv"), self.prefix)
        exact = self.folder / "page.exact.bin"
        whole = exact.read_bytes()
        for bad in (whole[:-2], whole + b"\0\0", whole[:5000] + b"\1" + whole[5001:], b"\2" + whole[1:], b""):
            exact.write_bytes(bad)
            for backend in ("cpu", "cuda"):
                result = call("decode", "--backend", backend, *geometry(case), self.prefix, "--level", "exact", self.out)
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertIn("exact payload", result.stderr)
                self.assertFalse(self.out.exists())

    def test_it_says_where_the_kernels_run_or_why_they_cannot(self):
        case = CASES[4]
        said = self.done("encode", *geometry(case), golden(case, "kv"), self.prefix).stderr
        if not said:
            self.skipTest("a GPU is here")
        self.assertEqual(said.count("\n"), 1)
        self.assertIn("emulation of CUDA on the CPU", said)
        alone = self.folder / "lynxkv"
        shutil.copy(BINARY, alone)
        result = subprocess.run([alone, "codec", "encode", "--backend", "cuda", *map(str, geometry(case)), golden(case, "kv"), self.prefix],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn("use --backend cpu", result.stderr)


if __name__ == "__main__":
    unittest.main()
