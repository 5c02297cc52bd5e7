#!/usr/bin/env python3
"""What a user may get wrong: one line on stderr, the documented exit code, no partial result taken for whole."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import job  # noqa: E402


class BadInput(unittest.TestCase):
    def refused(self, done, code, *parts):
        self.assertEqual(done.returncode, code, done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("lynxkv:")]
        self.assertEqual(len(lines), 1, done.stderr)
        for part in parts:
            self.assertIn(part, lines[0])

    def test_an_unknown_command_names_the_nearest(self):
        self.refused(job.call("rum"), 2, "did you mean 'run'")
        self.refused(job.call("rum", "--help"), 2, "did you mean 'run'")
        self.refused(job.call("bench", "modle", "--help"), 2, "did you mean 'model'")

    def test_an_unknown_option_names_the_nearest(self):
        self.refused(job.call("run", "--dryrun"), 2, "did you mean '--dry-run'")

    def test_an_unknown_key_names_the_nearest(self):
        self.refused(job.call("run", "--set", "transfer.mode=lynx"), 2, "did you mean 'transfer.modes'")

    def test_a_model_that_is_not_there(self):
        with job.OutputFolder() as out:
            self.refused(job.run(out, model__path="/nonexistent.gguf"), 3, "/nonexistent.gguf")
            self.assertFalse((out / "results.h5").exists())

    def test_an_empty_model_file(self):
        with job.OutputFolder() as out:
            out.mkdir(parents=True)
            empty = out / "empty.gguf"
            empty.touch()
            self.refused(job.run(out / "o", model__path=empty), 3, "empty.gguf")

    def test_a_truncated_model_file(self):
        with job.OutputFolder() as out:
            out.mkdir(parents=True)
            cut = out / "cut.gguf"
            with open(job.MODEL, "rb") as whole:
                cut.write_bytes(whole.read(5_000_000))
            self.refused(job.run(out / "o", model__path=cut), 3, "cut.gguf")

    def test_a_prompt_longer_than_the_context_is_refused_and_not_shortened(self):
        with job.OutputFolder() as out:
            self.refused(job.run(out, suite__lengths="[9000]", suite__samples="1"), 3, "context is 8192", "suite.truncation")
            # What it advises works in the same folder.
            done = job.run(out, suite__lengths="[200]", suite__samples="1", transfer__modes="[bf16]")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_output_folder_that_cannot_be_written(self):
        self.refused(job.run(pathlib.Path("/proc/lynxkv-out")), 2, "/proc/lynxkv-out")

    def test_ranks_that_do_not_match_the_roles(self):
        with job.OutputFolder() as out:
            self.refused(job.run(out, ranks=3), 2, "roles", "the job has 3")

    def test_ranks_with_different_configs_name_the_ranks(self):
        with job.OutputFolder() as out:
            one = job.run_arguments(out, {})
            other = job.run_arguments(out, {"transfer.sinks": "0"})
            mpirun = ["mpirun", "--bind-to", "none", "--oversubscribe"]
            done = subprocess.run(mpirun + ["-n", "1", job.LYNXKV, *one, ":", "-n", "1", job.LYNXKV, *other],
                                  capture_output=True, text=True, timeout=120, env=job.environment())
            self.refused(done, 2, "transfer.sinks", "rank 0 has '4'", "rank 1 has '0'")

    def test_a_launcher_without_pmi_is_told_from_a_lone_run(self):
        with job.OutputFolder() as out:
            arguments = job.run_arguments(out, {})
            done = job.call(*arguments, SLURM_STEP_NUM_TASKS="2", SLURM_JOB_ID="1", SLURM_STEP_ID="0", SLURM_PROCID="1")
            self.refused(done, 2, "srun")

    def test_more_threads_than_there_can_be(self):
        self.refused(job.call("run", "--dry-run", "--set", "engine.threads=1000"), 2, "engine.threads", "512")
        self.refused(job.call("bench", "model", job.MODEL, "--threads", "1000"), 2, "512")
        self.refused(job.call("bench", "codec", "--threads", "1000"), 2, "512")

    def test_a_folder_in_place_of_the_config(self):
        self.refused(job.call("run", "--dry-run", "."), 2, "is a folder")

    def test_measurements_of_the_link_that_no_memory_holds_or_that_are_no_numbers(self):
        self.refused(job.call("bench", "link", "--transport", "loop", "-b", "100G", "-e", "100G"), 2, "to 1G")
        self.refused(job.call("bench", "link", "--transport", "loop", "--backlog-bytes", "1T"), 2, "to 1G")
        self.refused(job.call("bench", "link", "--transport", "loop", "--residual-chunk-kib", "nan"), 2, "nan")

    def test_a_dry_run_prints_the_whole_config_and_reads_no_model(self):
        done = job.call("run", "--dry-run", "--set", "link.gbps=0.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("gbps: 0.5", done.stdout)
        self.assertIn("prefill+decode", done.stdout)
        self.assertIn("model.path names no model yet", done.stderr)

    def test_the_list_of_keys_is_a_config_that_reads_back(self):
        done = job.call("run", "--keys", "--set", "link.gbps=0.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("e.g. 0.75\n  gbps: 0.5\n", done.stdout)
        with job.OutputFolder() as out:
            out.mkdir(parents=True)
            (out / "run.yaml").write_text(done.stdout)
            again = job.call("run", "--dry-run", str(out / "run.yaml"))
            self.assertEqual(again.stdout, job.call("run", "--dry-run", "--set", "link.gbps=0.5").stdout)
            self.assertEqual(job.call("run", "--keys", str(out / "run.yaml")).stdout, done.stdout)
        self.refused(job.call("run", "--keys", "--set", "link.gbps=x"), 2, "link.gbps")

    def test_a_dry_run_names_the_nearest_suite_and_task(self):
        self.refused(job.call("run", "--dry-run", "--set", "suite.name=rule"), 2, "did you mean 'ruler'")
        self.refused(job.call("run", "--dry-run", "--set", "suite.tasks=[niah_singel]"), 2, "did you mean 'niah_single'")

    def test_questions_without_their_text_and_a_text_without_questions_are_refused(self):
        with job.OutputFolder() as out:
            out.mkdir(parents=True)
            some = out / "some.txt"
            some.write_text("The mill stands by the river.")
            self.refused(job.run(out / "o", suite__name="qa", suite__text=some), 2, "suite.file")
            self.refused(job.run(out / "o", suite__name="qa", suite__file=some), 2, "suite.text")
            self.refused(job.run(out / "o", suite__name="qa", suite__tasks="[vt]"), 2, "suite.tasks", "did you mean 'qa'")
            self.refused(job.run(out / "o", suite__name="qa", suite__text=out, suite__file=some), 3, "cannot be read")


class Doctor(unittest.TestCase):
    def test_finds_a_job_of_two_ranks_fit(self):
        with job.OutputFolder() as out:
            done = job.call("doctor", "--out", str(out), "--set", f"model.path={job.MODEL}", "--set", "suite.samples=1", ranks=2)
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            self.assertIn("every pair of ranks reached each other", done.stdout)

    def test_names_an_output_folder_that_cannot_be_written(self):
        done = job.call("doctor", "--out", "/proc/lynxkv-out")
        self.assertEqual(done.returncode, 2)
        self.assertIn("PROBLEM", done.stdout)


if __name__ == "__main__":
    if not job.MODEL:
        print("SKIPPED: LYNXKV_TEST_MODEL names no model (jobs/fetch-model.sh)")
        sys.exit(77)
    unittest.main(verbosity=2)
