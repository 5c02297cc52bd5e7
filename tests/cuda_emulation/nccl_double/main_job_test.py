#!/usr/bin/env python3
"""The main job with its data over the NCCL transport: lynxkv-emulated, the program with both doubles."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "apps"))
import job  # noqa: E402

SETTINGS = {"transfer.modes": "[bf16, lynx]", "suite.samples": "2", "link.gbps": "0", "transfer.start": "streaming"}


def arguments(out, transport, **settings):
    return job.run_arguments(out, {**SETTINGS, "link.transport": transport, **settings})


def outputs(out):
    return {key: row["output_ids"] for key, row in job.rows(out).items()}


class MainJobOverNccl(unittest.TestCase):
    def run_job(self, transport, ranks, expected=0, environment=None, **settings):
        with job.OutputFolder() as out:
            done = job.call(*arguments(out, transport, **settings), ranks=ranks, **(environment or {}))
            self.assertEqual(done.returncode, expected, done.stderr)
            return (outputs(out) if expected == 0 else {}), done.stderr

    def check_same(self, ranks, **settings):
        over_mpi, _ = self.run_job("mpi", ranks, **settings)
        over_nccl, said = self.run_job("nccl", ranks, **settings)
        self.assertEqual(len(over_mpi), 4)
        self.assertEqual(over_nccl, over_mpi)
        self.assertIn("GPU", said)

    def test_one_plus_one_gives_the_outputs_of_mpi(self):
        self.check_same(2)

    def test_two_plus_two_gives_the_outputs_of_mpi(self):
        self.check_same(4, **{"roles.prefill": "2", "roles.decode": "2"})

    def test_a_paced_link_gives_the_outputs_of_mpi(self):
        self.check_same(2, **{"link.gbps": "0.2", "transfer.start": "after_prefill"})

    def refusal(self, environment):
        _, said = self.run_job("nccl", 2, expected=2, environment=environment)
        lines = [line for line in said.splitlines() if "link.transport" in line]
        self.assertEqual(len(lines), 1, said)
        return lines[0]

    def test_ranks_on_one_gpu_are_refused_at_start_with_their_numbers(self):
        line = self.refusal({"CUDA_EMULATION_BUS": "0000:01:00.0"})
        self.assertIn("ranks 0 and 1 would share GPU 0000:01:00.0", line)
        self.assertIn("use link.transport: mpi", line)

    def test_ranks_without_a_gpu_are_refused_at_start_with_their_numbers(self):
        self.assertIn("ranks 0, 1 on ", self.refusal({"CUDA_EMULATION_DEVICES": "0"}))

    def test_the_doctor_says_which_gpu_each_rank_would_take(self):
        done = job.call("doctor", "--set", "link.transport=nccl", ranks=2)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("NCCL 2.28.9; link.transport: nccl would work: rank 0 GPU emulated-", done.stdout)
        self.assertIn("every pair of ranks reached each other", done.stdout)

    def test_the_doctor_says_why_nccl_cannot_be_used(self):
        done = job.call("doctor", ranks=2, CUDA_EMULATION_DEVICES="0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("this job cannot use it", done.stdout)


if __name__ == "__main__":
    if not job.MODEL or not os.path.exists(job.MODEL):
        print("SKIPPED: LYNXKV_TEST_MODEL names no model (jobs/fetch-model.sh)")
        sys.exit(77)
    unittest.main(verbosity=2)
