#!/usr/bin/env python3
"""report, export, merge and score as a user runs them, on a small journal that is part of the tests."""
import csv
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import job  # noqa: E402

DATA = pathlib.Path(__file__).parent.parent / "data"


class ResultsCommands(unittest.TestCase):
    def setUp(self):
        holder = job.OutputFolder()
        self.out = holder.__enter__()
        self.addCleanup(holder.__exit__)
        self.out.mkdir(parents=True)
        shutil.copy(DATA / "results" / "journal.lkj", self.out)

    def call(self, *arguments, code=0):
        done = job.call(*map(str, arguments))
        self.assertEqual(done.returncode, code, done.stderr)
        if code:
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done

    def test_export_never_writes_over_what_an_output_lives_by(self):
        before = (self.out / "journal.lkj").read_bytes()
        for name in ("journal.lkj", "results.h5", "journal.lock"):
            done = self.call("export", self.out, "--jsonl", self.out / name, code=2)
            self.assertIn("choose another", done.stderr)
        self.assertEqual((self.out / "journal.lkj").read_bytes(), before)

    def test_export_to_a_full_standard_output_fails(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(job.command("export", str(self.out), "--jsonl", "-"), stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("could not be written", done.stderr)

    def test_report_shows_a_line_for_each_mode(self):
        text = self.call("report", self.out).stdout
        self.assertIn("ruler / niah_single, 2048 tokens, start: after_prefill", text)
        lines = {line.split()[0]: line.split() for line in text.splitlines() if line.startswith(("bf16", "int4", "lynx"))}
        self.assertEqual(lines["int4"][1:5], ["2", "50.0", "75.0", "0.0"])
        self.assertEqual(list(lines), ["bf16", "int4", "lynx"])
        self.assertTrue(self.call("report", "--md", self.out).stdout.startswith("**ruler / niah_single"))

    def test_report_of_two_outputs_stands_side_by_side(self):
        other = self.out.parent / "other"
        shutil.copytree(self.out, other)
        document = json.loads(self.call("report", "--json", self.out, other).stdout)
        self.assertEqual(document["schema_version"], 1)
        lines = document["groups"][0]["lines"]
        self.assertEqual([line["mode"] for line in lines], ["bf16", "bf16", "int4", "int4", "lynx", "lynx"])
        self.assertEqual({line["output"] for line in lines}, {str(self.out), str(other)})
        self.assertAlmostEqual(lines[0]["bits_per_value"], 8 * 1900 / (11520 * 2100))

    def test_export_gives_an_object_and_a_csv_line_a_sample(self):
        rows = job.rows(self.out, partial=True)
        self.assertEqual(len(rows), 6)
        row = rows["ruler", "niah_single", 1, "lynx"]
        self.assertEqual(row["bytes"], {"anchor": 1000, "residual": 900, "exact": 0})
        self.assertEqual(row["ttkt_s"], {"1": 0.125, "2": 0.15, "4": 0.2})
        self.assertEqual(len(self.call("export", self.out, "--jsonl", "-", "--partial").stdout.splitlines()), 6)
        folder = self.out / "csv" / "deep"
        self.call("export", self.out, "--csv", folder, "--partial")
        with open(folder / "samples.csv", encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual([r["mode"] for r in table], ["bf16", "bf16", "int4", "int4", "lynx", "lynx"])
        self.assertEqual(json.loads(table[2]["output_ids"]), [5, 7, 0, 0])
        self.assertEqual(table[0]["prediction"], "The number is 12\u00e9.")
        with open(folder / "tokens.csv", encoding="utf-8", newline="") as file:
            self.assertEqual(len(list(csv.DictReader(file))), 24)

    def test_merge_puts_shards_together_once(self):
        shard = self.out.parent / "shard"
        shutil.copytree(self.out, shard)
        done = self.call("merge", self.out, shard, "--into", self.out.parent / "all", "--partial")
        self.assertIn("6 rows of 2 outputs", done.stdout)
        self.assertIn("6 samples were there more than once", done.stderr)
        self.assertEqual(job.rows(self.out.parent / "all", partial=True), job.rows(self.out, partial=True))
        self.assertEqual(len(job.rows(self.out.parent / "all" / "results.h5", partial=True)), 6)

    def test_incomplete_results_are_handed_on_with_the_code_of_an_incomplete_run(self):
        """This journal has no results.h5 beside it; the merged one has one that says incomplete."""
        file, merged = self.out.parent / "rows.jsonl", self.out.parent / "all"
        self.assertIn("not known to be complete", self.call("export", self.out, "--jsonl", file, code=75).stderr)
        self.assertEqual(len(file.read_text(encoding="utf-8").splitlines()), 6)
        self.assertIn("--partial", self.call("merge", self.out, "--into", merged, code=75).stderr)
        self.assertTrue((merged / "results.h5").exists())
        self.assertIn("incomplete: run", self.call("export", merged, "--csv", self.out.parent / "csv", code=75).stderr)
        self.assertTrue((self.out.parent / "csv" / "samples.csv").exists())
        self.assertIn("incomplete", self.call("export", merged, "--jsonl", file, "--partial").stderr)

    def test_merge_does_not_write_into_one_of_its_parts(self):
        self.assertIn("is one of the outputs", self.call("merge", self.out, "--into", self.out, code=2).stderr)

    def test_score_gives_the_suites_number(self):
        predictions = self.out / "hotpotqa.jsonl"
        predictions.write_text('{"pred": "Paris, France", "answers": ["Rome", "Paris"]}\n{"pred": "x", "answers": ["y"]}\n', encoding="utf-8")
        self.assertIn("longbench hotpotqa: 33.33 % over 2 samples", self.call("score", predictions, "--suite", "longbench").stdout)
        document = json.loads(self.call("score", predictions, "--suite", "ruler", "--task", "niah_single_1", "--json").stdout)
        self.assertEqual(document["score_percent"], 25)
        self.assertIn("did you mean 'musique'", self.call("score", predictions, "--suite", "longbench", "--task", "musiqe", code=2).stderr)
        predictions.write_text('{"answers": ["y"]}\n', encoding="utf-8")
        self.assertIn("line 1: field 'pred' is missing", self.call("score", predictions, "--suite", "longbench", code=3).stderr)

    def test_what_is_no_output_is_said_in_one_line(self):
        self.call("report", self.out / "absent", code=3)
        self.call("report", self.out.parent, code=3)
        foreign = self.out / "foreign"
        foreign.write_text("x", encoding="utf-8")
        self.assertIn("is neither a journal", self.call("export", foreign, "--jsonl", "-", code=3).stderr)
        self.call("export", self.out, code=2)
        self.call("export", self.out, "--jsonl", "/nonexistent/file", code=2)

    def test_the_plot_script_ends_with_the_same_codes(self):
        plot = pathlib.Path(__file__).resolve().parents[2] / "apps" / "plot.py"
        foreign = self.out / "foreign"
        foreign.write_text("x", encoding="utf-8")
        for code, words, arguments in ((3, "absent", [self.out / "absent", "x.png"]), (3, "foreign", [foreign, "x.png"]), (2, "figure", [foreign])):
            done = subprocess.run(["/usr/bin/python3", str(plot), *map(str, arguments)], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)

    def test_a_full_disk_is_told_and_leaves_nothing_half(self):
        device = pathlib.Path("/dev/full")
        if os.geteuid() == 0:  # root could do harm with a fault here: it gets a full disk of its own
            device = self.out / "full"
            os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 7))
        self.assertIn("No space left", self.call("export", self.out, "--jsonl", device, code=75).stderr)
        self.assertTrue(device.is_char_device())
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([job.LYNXKV, "report", str(self.out)], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("could not be written", done.stderr)

    def test_a_cut_journal_is_reported_and_read_as_far_as_it_is_whole(self):
        journal = self.out / "journal.lkj"
        journal.write_bytes(journal.read_bytes()[:-10])
        done = self.call("export", self.out, "--jsonl", "-", "--partial")
        self.assertEqual(len(done.stdout.splitlines()), 5)
        self.assertIn("are no whole record", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
