#!/usr/bin/env python3
"""lynxkv bench link: threads of one process and ranks of mpirun; what it prints, its JSON and CSV, what it refuses."""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["LYNXKV_BINARY"]
MODEL = os.environ["LYNXKV_TEST_MODEL"]
ROOT_TOO = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
QUICK = ["--repeats", "2", "--iters", "5", "--latencies", "3", "--urgent", "10", "--rounds", "2", "--interval-s", "0.002"]


def call(*arguments, ranks=0):
    launcher = ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"] if ranks else []
    return subprocess.run([*launcher, BINARY, "bench", "link", *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, env=ROOT_TOO)


class BenchLink(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.json = pathlib.Path(folder.name) / "link.json"
        self.csv = pathlib.Path(folder.name) / "link.csv"

    def document(self):
        return json.loads(self.json.read_text())

    def test_threads_of_one_process(self):
        done = call("--transport", "loop", "-b", "1K", "-e", "64K", "-f", 8, *QUICK, "--json", self.json, "--csv", self.csv)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("OK: every byte came as it was sent", done.stdout)
        document = self.document()
        self.assertEqual(document["schema_version"], 1)
        self.assertEqual(document["summary"]["wrong"], 0)
        # Copies in memory are no link: nothing is said of priority on one.
        self.assertNotIn("PRIORITY", done.stdout)
        for name in ("share_of_raw", "urgent_p50_ratio", "urgent_p99_ratio"):
            self.assertIsNone(document["summary"][name])
        sizes = [row["size_bytes"] for row in document["rows"] if row["test"] == "one-way" and row["channel"] == "anchor"]
        self.assertEqual(sizes, [1024, 8192, 65536])
        for row in document["rows"]:
            self.assertEqual(len(row["seconds"]), 2)
            self.assertEqual(len(row["raw_seconds"]), 2)
        self.assertEqual({p["two_channels"] for p in document["priority"]}, {True, False})
        self.assertEqual(len(document["priority"][0]["loaded_s"]), 10)
        with self.csv.open() as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual(len(rows), len(document["rows"]) + 2)
        self.assertTrue(all(int(row["wrong"]) == 0 for row in rows))

    def test_four_threads_know_pairs_incast_and_all_to_all(self):
        done = call("--transport", "loop", "--ranks", 4, "-b", "4K", "-e", "4K", *QUICK, "--json", self.json,
                    "--tests", "pairs,incast,all-to-all")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.document()
        self.assertEqual([row["test"] for row in document["rows"]], ["pairs"] * 2 + ["incast"] * 2 + ["all-to-all"] * 2)
        self.assertIsNone(document["summary"]["share_of_raw"])  # not measured is no number

    def test_ranks_of_mpirun(self):
        if shutil.which("mpirun") is None:
            self.skipTest("there is no mpirun here")
        done = call("-b", "1K", "-e", "1K", *QUICK, "--json", self.json, ranks=2)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.document()
        self.assertEqual(document["raw"], "MPI_Send")
        self.assertIn("pml", document["components"])
        self.assertEqual(len(document["ranks"]), 2)
        self.assertEqual(set(document["ranks"][0]), {"host", "cpus", "cpu", "gpus", "nics"})
        self.assertEqual(document["summary"]["wrong"], 0)

    def test_an_emulated_link_is_compared_with_itself(self):
        done = call("--transport", "loop", "--gbps", 1, "--latency-us", 200, "--seconds", 1, "--rounds", 2, "--repeats", 2,
                    "--latencies", 3, "-b", "64K", "-e", "1M", "-f", 16, "--tests", "one-way,both-ways,priority", "--json", self.json)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the emulated link of 1 Gbit/s and 200 us", done.stdout)
        self.assertNotIn("MPI_Send", done.stdout)
        document = self.document()
        self.assertEqual(document["raw"], "emulated link of 1 Gbit/s and 200 us")
        for row in document["rows"]:
            seconds = row["count"] * row["size_bytes"] * 8e-9 + 200e-6
            for raw in row["raw_seconds"]:
                self.assertAlmostEqual(raw, seconds, delta=1e-9)
            for raw in row["raw_latency_s"]:
                self.assertAlmostEqual(raw, row["size_bytes"] * 8e-9 + 200e-6, delta=1e-9)
            # About 0.1 s of this link, not of the memory below it.
            self.assertLess(seconds, 0.15)
            self.assertGreater(seconds, 0.05)
            self.assertLess(row["share_of_raw"], 1.05)
        priority = document["priority"][0]
        self.assertAlmostEqual(priority["chunk_s"], priority["chunk_bytes"] * 8e-9, delta=1e-9)
        self.assertAlmostEqual(priority["raw_seconds"], priority["bytes"] * 8e-9 + 2 * 200e-6, delta=1e-6)

    def test_the_ranks_of_an_emulated_link_as_well(self):
        if shutil.which("mpirun") is None:
            self.skipTest("there is no mpirun here")
        done = call("--tests", "priority", "--seconds", 1, "--gbps", 1, "--rounds", 2, "--json", self.json, ranks=2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("% of the emulated link", done.stdout)
        self.assertNotIn("MPI_Send", done.stdout)
        share = self.document()["summary"]["share_of_raw"]
        self.assertGreater(share, 0.3)  # the old comparison with memory said 0.012
        self.assertLess(share, 1.05)

    def test_the_options_and_the_note_are_in_the_json(self):
        done = call("--transport", "loop", "--tests", "one-way", "-b", "2K", "-e", "4K", "-f", 2, *QUICK, "--note", "a wire of hemp",
                    "--json", self.json)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("# note: a wire of hemp", done.stdout)
        document = self.document()
        self.assertEqual(document["note"], "a wire of hemp")
        expected = {"gbps": 0, "latency_us": 0, "seed": 1, "warm_up": 2, "repeats": 2, "seconds": 10, "rounds": 2,
                    "residual_chunk_bytes": 0, "min_bytes": 2048, "max_bytes": 4096, "factor": 2, "iterations": 5}
        self.assertEqual({name: document["options"][name] for name in expected}, expected)

    def test_several_flows_over_mpi_have_a_window_under_way(self):
        if shutil.which("mpirun") is None:
            self.skipTest("there is no mpirun here")
        done = call("-b", "1K", "-e", "1M", "-f", 1024, "--repeats", 2, "--iters", 100, "--latencies", 0, "--tests",
                    "one-way,both-ways,pairs,incast,all-to-all", "--json", self.json, ranks=4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("several flows: a window of 64 messages", done.stdout)
        windows = {(row["test"], row["size_bytes"]): row["raw_window"] for row in self.document()["rows"]}
        self.assertEqual(windows, {("one-way", 1024): 1, ("one-way", 1 << 20): 1, ("both-ways", 1024): 64, ("both-ways", 1 << 20): 8,
                                   ("pairs", 1024): 64, ("pairs", 1 << 20): 8, ("incast", 1024): 64, ("incast", 1 << 20): 2,
                                   ("all-to-all", 1024): 64, ("all-to-all", 1 << 20): 2})

    def test_a_named_test_that_cannot_run_is_refused(self):
        for test, needed in (("incast", 3), ("all-to-all", 3), ("pairs", 4)):
            done = call("--transport", "loop", "--ranks", 2, "--tests", test)
            self.assertEqual(done.returncode, 2, test)
            self.assertIn(f"--tests {test}: needs {needed} ranks, the job has 2", done.stderr)
        done = call("--transport", "loop", "--tests", "page")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--model", done.stderr)
        if shutil.which("mpirun") is not None:
            done = call("--tests", "incast", ranks=2)
            self.assertEqual(done.returncode, 2)
            self.assertIn("needs 3 ranks, the job has 2", done.stderr)

    def test_pages_of_a_model(self):
        if not os.path.exists(MODEL):
            self.skipTest("no model; jobs/fetch-model.sh fetches it")
        done = call("--transport", "loop", "--tests", "page", "--model", MODEL, *QUICK, "--json", self.json)
        self.assertEqual(done.returncode, 0, done.stderr)
        sizes = {row["note"]: row["size_bytes"] for row in self.document()["rows"] if row["test"] == "page"}
        self.assertEqual(sizes["bf16 anchor of a page tensor"], 256 * 192 * 2)
        self.assertIn("lynx residual of a page tensor", sizes)
        self.assertEqual({row["test"] for row in self.document()["rows"]}, {"page"})

    def test_the_example_under_help_works(self):
        done = call("--help")
        self.assertEqual(done.returncode, 0)
        examples = [line.split("lynxkv bench link")[1].split() for line in done.stdout.splitlines()
                    if "lynxkv bench link --transport loop" in line]
        self.assertEqual(len(examples), 1)
        self.assertIn("Exit codes: 0 ", done.stdout)
        self.assertEqual(call(*examples[0], *QUICK, "-e", "4K").returncode, 0)

    def test_what_is_refused(self):
        for arguments, words in ((["--tests", "one-wy", "--transport", "loop"], "one-way"),
                                 (["-b", "4K", "-e", "1K", "--transport", "loop"], "--min-bytes"),
                                 ([], "two ranks"), (["--transport", "carrier-pigeon"], "transport")):
            done = call(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False).result.wasSuccessful() else 1)
