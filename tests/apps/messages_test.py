#!/usr/bin/env python3
"""What the program says of options, files and values that it cannot take: readable, named, and before any work."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import job  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[1] / "data/codec/real_l0_k_p0.kv.bin"
ENCODE = ["codec", "encode", "--tokens", "256", "--channels", "192"]
COMMANDS = ("run", "report", "export", "merge", "score", "codec encode", "codec decode", "capture", "calibrate", "bench codec",
            "bench link", "bench model", "logits", "tokenize", "detokenize", "inspect", "doctor")


def help_of(command):
    return job.call(*command.split(), "--help").stdout


def options_of(command):
    """(name, words that stand behind it) of every option that --help shows."""
    found = re.findall(r"^  (-\S+(?:,-\S+)*)(.*)$", help_of(command), re.M)
    return [(names.split(",")[-1], rest) for names, rest in found]


class Messages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refused(self, code, parts, *arguments):
        done = job.call(*map(str, arguments))
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        lines = [line for line in done.stderr.splitlines() if line.startswith("lynxkv:")]
        self.assertEqual(len(lines), 1, f"{arguments}: {done.stderr}")
        for part in [parts] if isinstance(parts, str) else parts:
            self.assertIn(part, lines[0], arguments)
        return lines[0]

    def test_every_option_with_a_number_says_in_few_words_which_it_takes(self):
        numbers = 0
        for command in COMMANDS:
            for name, rest in options_of(command):
                if not re.search(r"\b(INT|UINT|FLOAT)\b", rest):
                    continue
                numbers += 1
                for value in ("x", "-99999999999999999999"):
                    line = self.refused(2, "expected ", *command.split(), f"{name}={value}")
                    self.assertIn(value[:12], line)
                    self.assertIsNone(re.search(r"\d{25}|\{|Could not|not in range", line), line)
                    self.assertLess(len(line), 250, line)
        self.assertGreater(numbers, 40)

    def test_an_open_range_says_where_it_begins(self):
        self.refused(2, "--position: expected a whole number, 0 or more; found '-1'", *ENCODE, "--position", -1, "a", "b")
        self.refused(2, "--repeats: expected a whole number, 1 or more; found '0'", "bench", "model", "--repeats", 0)
        self.refused(2, "2147483647 at most", "bench", "model", "--repeats", 1 << 31)
        self.refused(2, "from 0.1 to 3600, found '0'", "bench", "link", "--seconds", 0)

    def test_a_size_is_understood_with_its_unit_or_refused(self):
        self.refused(2, ["--min-bytes", "from 1 to 1G", "'12Q'"], "bench", "link", "-b", "12Q")
        self.refused(2, ["from 16 to 1M", "'2M'"], "bench", "link", "--urgent-bytes", "2M")

    def test_a_name_that_is_none_names_the_nearest_and_all(self):
        self.refused(2, ["unknown transport 'tcp'", "did you mean", "one of: mpi, nccl, loop"], "bench", "link", "--transport", "tcp")
        self.refused(2, ["unknown channel 'foo'", "one of: anchor, residual"], "bench", "link", "--channels", "foo")
        self.refused(2, ["unknown test 'one-wy'", "did you mean 'one-way'"], "bench", "link", "--tests", "page,one-wy")
        self.refused(2, ["unknown profile 'x'", "did you mean 'longbench'"], "score", PAGE, "--suite", "longbench", "--metric-profile", "x")
        for command in (["bench", "model", job.MODEL], ["calibrate", job.MODEL, "--text", PAGE], ["logits", job.MODEL, "--ids", PAGE],
                        ["capture", job.MODEL, "x.h5", "--text", PAGE]):
            self.refused(2, ["--isa: ", "did you mean 'avx2'"], *command, "--isa", "avx3")

    def test_an_option_of_the_codec_is_named_as_it_was_typed(self):
        line = self.refused(2, ["--set early_chanels_k=3", "did you mean 'early_channels_k'"], *ENCODE, "--set", "early_chanels_k=3", PAGE,
                            self.folder / "p")
        self.assertNotIn("--early", line)
        self.refused(2, "--levels: ", *ENCODE, "--levels", "many", PAGE, self.folder / "p")
        self.refused(2, "--set foo=1: ", "bench", "codec", "--set", "foo=1")
        self.refused(2, "--preset: ", "bench", "codec", "--preset", "foo")
        self.refused(2, "--preset: ", *ENCODE, "--preset", "foo", PAGE, self.folder / "p")
        self.refused(2, "--codec: ", "bench", "codec", "--codec", "foo")
        self.refused(2, "--codec: ", *ENCODE, "--codec", "foo", PAGE, self.folder / "p")
        self.refused(2, "--set foo=1: ", "calibrate", job.MODEL, "--text", PAGE, "--set", "foo=1")

    def test_set_and_an_option_of_its_own_count_both(self):
        def anchor(*arguments):
            done = job.call(*ENCODE, *arguments, str(PAGE), str(self.folder / "p"))
            self.assertEqual(done.returncode, 0, done.stderr)
            return (self.folder / "p.anchor.bin").read_bytes()
        both = anchor("--set", "alpha=0.5,sinks=0")
        self.assertEqual(anchor("--alpha", "0.5", "--set", "sinks=0"), both)
        self.assertEqual(anchor("--set", "sinks=0", "--alpha", "0.5"), both)
        self.assertNotEqual(anchor("--set", "sinks=0"), both)

    def test_a_file_that_is_missing_is_named_and_bad_data_in_every_command(self):
        missing = self.folder / "missing"
        text = self.folder / "text.txt"
        text.write_text("some words\n" * 100)
        out = self.folder / "out"
        for arguments in (["report", missing], ["export", missing, "--jsonl", "-"], ["merge", missing, "--into", out],
                          ["score", missing, "--suite", "ruler", "--task", "vt"], ["inspect", missing],
                          [*ENCODE, missing, out], ["codec", "decode", "--tokens", 4, "--channels", 4, missing, out],
                          ["capture", missing, out, "--text", text], ["capture", job.MODEL, out, "--text", missing],
                          ["calibrate", missing, "--text", text], ["calibrate", job.MODEL, "--text", missing],
                          ["bench", "codec", "--kv", missing], ["bench", "codec", "--model", missing, "--text", text],
                          ["bench", "codec", "--model", job.MODEL, "--text", missing], ["bench", "model", missing],
                          ["bench", "link", "--transport", "loop", "--model", missing], ["logits", missing, "--ids", text],
                          ["logits", job.MODEL, "--ids", missing], ["tokenize", missing], ["detokenize", missing],
                          ["run", "--out", out, "--set", f"model.path={missing}"],
                          ["run", "--out", out, "--set", f"model.path={job.MODEL}", "--set", f"suite.file={missing}"]):
            self.refused(3, str(missing), *arguments)
        # All of a config is usage.
        self.refused(2, str(missing), "run", missing)
        self.refused(2, str(missing), "doctor", missing)

    def test_a_page_of_another_size_says_both_sizes(self):
        self.refused(3, ["expected bf16[256][64], 32768 bytes, found 98304"], "bench", "codec", "--kv", PAGE, "--channels", 64)

    def test_a_result_that_could_not_be_written_is_refused_before_the_work(self):
        text = self.folder / "text.txt"
        text.write_text("some words\n" * 3000)
        absent = self.folder / "absent" / "file"
        link = ["bench", "link", "--transport", "loop"]
        for arguments in ([*link, "--json", absent], [*link, "--csv", absent], ["bench", "codec", "--json", absent],
                          ["bench", "codec", "--csv", absent], ["bench", "model", job.MODEL, "--json", absent],
                          ["bench", "model", job.MODEL, "--csv", absent], ["bench", "model", job.MODEL, "--json", self.folder],
                          *(["bench", "codec", "--model", job.MODEL, "--text", text, option, absent] for option in ("--json", "--csv", "--markdown")),
                          ["calibrate", job.MODEL, "--text", text, "--json", absent], ["capture", job.MODEL, absent, "--text", text]):
            begin = time.monotonic()
            done = job.call(*map(str, arguments))
            self.assertEqual(done.returncode, 2, f"{arguments}: {done.stderr}")
            self.assertIn(str(arguments[-3] if arguments[0] == "capture" else arguments[-1]), done.stderr)
            self.assertEqual(done.stdout, "", f"{arguments} worked first")
            self.assertLess(time.monotonic() - begin, 20, arguments)
        self.refused(2, "/proc/lynxkv", "export", self.folder / "missing", "--csv", "/proc/lynxkv")
        self.refused(2, str(absent), "export", self.folder / "missing", "--jsonl", absent)
        self.refused(2, "/proc/lynxkv", "merge", self.folder / "missing", "--into", "/proc/lynxkv")
        self.refused(2, "/proc/lynxkv", "run", "--set", f"model.path={self.folder}/missing", "--out", "/proc/lynxkv")
        done = job.call("bench", "link", "--json", str(absent), ranks=2)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(str(absent), done.stderr)

    def test_what_is_refused_leaves_older_results_as_they_are(self):
        kept = self.folder / "kept.json"
        kept.write_text("kept")
        self.refused(3, "missing", "bench", "model", self.folder / "missing", "--json", kept)
        self.refused(2, "absent", "bench", "link", "--transport", "loop", "--json", kept, "--csv", self.folder / "absent/x")
        self.assertEqual(kept.read_text(), "kept")
        self.refused(3, "missing", "run", "--out", self.folder / "out", "--set", f"model.path={self.folder}/missing")
        self.refused(3, "missing", "merge", self.folder / "missing", "--into", self.folder / "into")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["kept.json"])

    def test_one_document_has_no_spread(self):
        text = self.folder / "text.txt"
        text.write_text("".join(f"The road passes {i} mills and a bridge. " for i in range(60)))
        files = {kind: self.folder / f"table.{kind}" for kind in ("json", "csv", "markdown")}
        done = job.call("bench", "codec", "--model", job.MODEL, "--text", str(text), "--prompt-tokens", "200", "--continue", "4",
                        "--codec", "int4", "lynx", *(word for kind, path in files.items() for word in (f"--{kind}", str(path))))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith(("int4", "lynx"))]
        self.assertEqual([line[11] for line in lines], ["-"] * 3)
        level = json.loads(files["json"].read_text())["rows"][1]["levels"][0]
        self.assertIsNone(level["kl_nats"]["standard_error"])
        self.assertGreater(level["kl_nats"]["mean"], 0)
        self.assertNotIn("nan", files["csv"].read_text())
        self.assertNotIn("nan", files["markdown"].read_text())
        self.assertNotIn("+-", files["markdown"].read_text())

    def test_more_roles_than_the_job_has_ranks_are_refused_with_the_arithmetic(self):
        self.refused(2, ["3 prefill + 1 decode makes 4 ranks, but the job has 1", "mpirun -n"], "run", "--dry-run", "--set", "roles.prefill=3")
        self.refused(2, "the job has 1", "run", "--dry-run", "--set", "roles.prefill=[1]", "--set", "roles.decode=[0]")
        done = job.call("run", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("prefill+decode", done.stdout)

    def test_output_that_ends_in_the_middle_is_an_error(self):
        cut = self.folder / "cut"
        for command in ("run --keys", "run --dry-run"):
            done = subprocess.run(["bash", "-c", f"trap '' XFSZ; ulimit -f 1; exec {job.LYNXKV} {command} > {cut}"], capture_output=True,
                                  text=True, env=job.environment())
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("standard output could not be written", done.stderr)

    def test_an_output_folder_without_a_name_is_refused(self):
        self.refused(2, ["--out", "names no folder"], "run", "--dry-run", "--out", "")


if __name__ == "__main__":
    if not job.MODEL:
        print("SKIPPED: LYNXKV_TEST_MODEL names no model (jobs/fetch-model.sh)")
        sys.exit(77)
    unittest.main(verbosity=2)
