#!/usr/bin/env python3
"""The scripts that people call: each says what it does under --help, and refuses what it does not know before it works."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = sorted((ROOT / "jobs").glob("*.sh"))
LINK = ROOT / "tests" / "link"


def call(script, *arguments, **more):
    """Ends what the script started, too, where it works in place of answering."""
    process = subprocess.Popen([str(script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, **more})
    try:
        out, error = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, out, error


class Scripts(unittest.TestCase):
    def refused(self, words, script, *arguments, **more):
        code, out, error = call(script, *arguments, **more)
        self.assertEqual(code, 2, f"{script} {arguments}: {out}{error}")
        self.assertEqual(len(error.splitlines()), 1, error)
        self.assertEqual(out, "")
        for word in words:
            self.assertIn(word, error)

    def test_each_says_what_it_does(self):
        self.assertGreater(len(JOBS), 5)
        for script in (*JOBS, LINK / "run.sh", LINK / "bench.sh", LINK / "job.sh"):
            for option in ("--help", "-h"):
                code, out, error = call(script, option)
                self.assertEqual((code, error), (0, ""), script)
                self.assertGreater(len(out), 100, script)
                self.assertNotIn("set -", out)
                self.assertNotIn("#!", out)

    def test_each_refuses_an_option_that_it_does_not_know(self):
        for script in JOBS:
            self.refused(["'--foo'"], script, "--foo")
        for script in ("run.sh", "bench.sh", "job.sh"):
            self.refused(["'--foo'"], LINK / script, "--foo")
        for script in ("codec-study.sh", "bench-vs-llama.sh"):
            self.refused(["'b'"], ROOT / "jobs" / script, "a", "b")
        self.refused(["ROUNDS=x"], ROOT / "jobs" / "bench-vs-llama.sh", ROUNDS="x")

    def test_a_number_that_is_none_is_no_skipped_test(self):
        for gbps in ("fast", "", "-1", "1e3", "nan", "1;true", "0.0001"):
            for script in ("run.sh", "bench.sh"):
                self.refused(["--gbps", f"'{gbps}'"], LINK / script, "--gbps", gbps, *(["--", "true"] if script == "run.sh" else []))
        self.refused(["--gbps", "'fast'"], LINK / "job.sh", "--gbps", "fast")
        self.refused(["--length", "'0'"], LINK / "job.sh", "--length", "0")
        self.refused(["--samples", "'many'"], LINK / "job.sh", "--samples", "many")
        self.refused(["did you mean 'suite.tasks'"], LINK / "job.sh", "suite.task=vt")
        for option, value in (("--hosts", "9"), ("--hosts", "two"), ("--ranks", "0"), ("--ranks", "x"), ("--expect", "ok")):
            self.refused([option, f"'{value}'"], LINK / "run.sh", option, value, "--", "true")
        self.refused(["--hosts", "'1'"], LINK / "bench.sh", "--hosts", "1")
        self.refused(["nothing to run"], LINK / "run.sh", "--gbps", "1")
        for script in ("run.sh", "bench.sh", "job.sh"):
            self.refused(["--gbps needs a value"], LINK / script, "--gbps")

    def test_the_verdict_of_the_job_across_a_link_shows_what_it_judges(self):
        line = lambda mode, ttft, tt32: {"mode": mode, "ttft_s": ttft, "ttkt_s": {"32": tt32}, "bytes": {"anchor": 100}}
        report = {"groups": [{"lines": [line("lynx", 0.5, 0.75), line("int4", 0.5, 0.9), line("int8", 1, 1.5)]}]}
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            (here / "report.json").write_text(json.dumps(report))
            stub = f"#!/bin/sh\n[ $1 = report ] && cat {here}/report.json\nexit 0\n"
            for name, text in (("job.sh", (LINK / "job.sh").read_text()), ("run.sh", "#!/bin/sh\n"), ("lynxkv", stub)):
                (here / name).write_text(text)
                (here / name).chmod(0o755)
            code, out, error = call(here / "job.sh", "--model", "none", LYNXKV_BINARY=str(here / "lynxkv"))
        self.assertEqual((code, error), (0, ""), out)
        self.assertIn("TT32T(lynx) / TT32T(int8): 0.750 s / 1.500 s = 0.500 (less than 1 wanted): met", out)

    def test_a_program_that_refuses_its_arguments_is_no_failed_measurement(self):
        code, out, error = call(LINK / "bench.sh", "--seconds", "many")
        if code == 77:
            self.skipTest(out)
        self.assertEqual(code, 2, out + error)
        self.assertIn("found 'many'", out + error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
