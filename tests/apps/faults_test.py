#!/usr/bin/env python3
"""Faults on purpose that end a run: the same command goes on, and every row comes out right."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import job  # noqa: E402

# Some attempts may meet a fault that ends them; as many in a row only where all meet the same one.
ATTEMPTS = 12


class LostControlMessages(unittest.TestCase):
    def test_end_an_attempt_and_not_the_run(self):
        with tempfile.TemporaryDirectory() as work:
            settings = {"suite.samples": 2, "suite.max_tokens": 8, "transfer.modes": "[bf16, lynx]", "link.stall_s": 5}
            faults = {"link.faults.control": "true", "link.faults.drop": 0.004, "link.faults.flip": 0.004}
            codes = []
            while not codes or codes[-1] != 0:
                run = subprocess.run(job.command(*job.run_arguments(os.path.join(work, "out"), settings | faults), ranks=2),
                                     capture_output=True, text=True, env=job.environment(), timeout=120)
                codes.append(run.returncode)
                self.assertLessEqual(len(codes), ATTEMPTS, f"{codes}\n{run.stderr}")
            self.assertTrue(set(codes) <= {0, 4}, codes)


if __name__ == "__main__":
    unittest.main()
