#!/usr/bin/env python3
"""A run that is asked to stop where nothing moves any more: it leaves soon, says run again, and nothing is lost."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import job  # noqa: E402

INCOMPLETE = 75
GRACE_S = 8  # output.stop_grace_s
# Slurm kills 30 s after SIGTERM. A rank that hangs costs a few seconds more than a dead link.
SOON_S, WITH_A_HANGING_RANK_S = GRACE_S + 6, GRACE_S + 14


class Run:
    """A run in the background; its messages are read by line."""

    def __init__(self, out, ranks=0, **settings):
        dotted = {key.replace("__", "."): value for key, value in settings.items()}
        self.arguments = job.run_arguments(out, dotted)
        self.ranks = ranks
        self.log = pathlib.Path(str(out) + ".log")
        self.journal = pathlib.Path(out) / "journal.lkj"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(job.command(*self.arguments, ranks=ranks), stdout=subprocess.DEVNULL, stderr=log,
                                            env=job.environment())

    def pids(self):
        return job.ranks_of(self.process.pid) if self.ranks else [self.process.pid]

    def wait_for(self, condition, what):
        until = time.monotonic() + 60
        while not condition():
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"{what} never came: {self.log.read_text()}")
            time.sleep(0.02)

    def says(self, text):
        self.wait_for(lambda: text in self.log.read_text(), text)

    def seconds_to_end(self, limit):
        started = time.monotonic()
        try:
            self.process.wait(timeout=limit + 70)
        finally:
            if self.process.poll() is None:
                for pid in self.pids():
                    os.kill(pid, signal.SIGKILL)
                self.process.kill()
                self.process.wait()
        return time.monotonic() - started


class DeadLink(unittest.TestCase):
    def stopped(self, ranks, ask):
        with job.OutputFolder() as out:
            run = Run(out, ranks, link__faults__drop="1")
            run.says("faults are injected")
            time.sleep(2)
            ask(run)
            took = run.seconds_to_end(SOON_S)
            text = run.log.read_text()
            print(f"{ranks} ranks behind a dead link left after {took:.1f} s", file=sys.stderr)
            self.assertEqual(run.process.returncode, INCOMPLETE, text)
            self.assertLess(took, SOON_S, text)
            self.assertIn("run the same command again", text)
            inspected = job.call("inspect", str(out))
            self.assertEqual(inspected.returncode, 0, inspected.stderr)
            # The lock is free and the journal takes more: the same command gets as far as before.
            again = Run(out, ranks, link__faults__drop="1")
            again.says("faults are injected")
            ask(again)
            again.seconds_to_end(SOON_S)
            self.assertEqual(again.process.returncode, INCOMPLETE, again.log.read_text())
            self.assertNotIn("dropped, that row", again.log.read_text())

    def terminate_twice(self, run):
        for _ in range(2):
            for pid in run.pids():
                os.kill(pid, signal.SIGTERM)
            time.sleep(0.3)

    def test_one_rank_that_was_terminated_twice_leaves_soon_and_says_run_again(self):
        self.stopped(0, self.terminate_twice)

    def test_one_plus_one_terminated_twice_leave_soon_and_say_run_again(self):
        self.stopped(2, self.terminate_twice)

    def test_one_plus_one_leave_soon_when_the_launcher_passes_a_signal_on(self):
        self.stopped(2, lambda run: run.process.send_signal(signal.SIGUSR1))


class HangingRank(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with job.OutputFolder() as out:
            done = job.run(out, **cls.settings())
            if done.returncode != 0:
                raise AssertionError(done.stderr)
            cls.rows = {key: row["output_ids"] for key, row in job.rows(out).items()}

    @staticmethod
    def settings():
        return {"output__fsync_s": "0", "transfer__modes": "[int8, lynx]", "engine__max_batch": "1"}

    def stopped(self, hangs):
        with job.OutputFolder() as out:
            run = Run(out, 2, **self.settings())
            run.wait_for(run.journal.exists, "the journal")
            begun = run.journal.stat().st_size
            run.wait_for(lambda: run.journal.stat().st_size > begun, "a first row")
            pids = run.pids()
            self.assertEqual(len(pids), 2)
            os.kill(pids[hangs], signal.SIGSTOP)
            run.process.send_signal(signal.SIGUSR1)
            took = run.seconds_to_end(WITH_A_HANGING_RANK_S)
            text = run.log.read_text()
            print(f"with rank {hangs} hanging the job left after {took:.1f} s", file=sys.stderr)
            self.assertEqual(run.process.returncode, INCOMPLETE, text)
            self.assertLess(took, WITH_A_HANGING_RANK_S, text)
            kept = len(job.rows(out, partial=True))
            self.assertGreater(kept, 0)
            done = job.call(*run.arguments, ranks=2)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("from earlier attempts", done.stdout)
            self.assertEqual({key: row["output_ids"] for key, row in job.rows(out).items()}, self.rows)

    def test_a_decode_rank_that_hangs_does_not_keep_the_job_and_the_next_run_does_the_rest(self):
        self.stopped(hangs=1)

    def test_a_coordinator_that_hangs_does_not_keep_the_job_and_the_next_run_does_the_rest(self):
        self.stopped(hangs=0)


class HangingReceiver(unittest.TestCase):
    def test_of_a_replayed_prefill_is_a_stall_like_any_other(self):
        with job.OutputFolder() as out:
            run = Run(out, 2, transfer__start="streaming", transfer__modes="[bf16, int8, lynx]", link__stall_s="5",
                      suite__lengths="[2000]", suite__samples="4", link__gbps="0.05")
            run.wait_for(run.journal.exists, "the journal")
            begun = run.journal.stat().st_size
            run.wait_for(lambda: run.journal.stat().st_size > begun, "a first row")
            os.kill(run.pids()[1], signal.SIGSTOP)
            took = run.seconds_to_end(30)
            self.assertLess(took, 30, run.log.read_text())
            self.assertEqual(run.process.returncode, 4, run.log.read_text())


class Healthy(unittest.TestCase):
    def test_a_slow_run_in_which_things_move_finishes_what_runs(self):
        # 12 tokens of three samples together take longer than the grace on this link.
        with job.OutputFolder() as out:
            run = Run(out, 2, transfer__modes="[bf16]", suite__samples="2", engine__max_batch="1", link__gbps="0.006",
                      output__stop_grace_s="2")
            run.wait_for(run.journal.exists, "the journal")
            time.sleep(3)
            run.process.send_signal(signal.SIGUSR1)
            took = run.seconds_to_end(30)
            self.assertEqual(run.process.returncode, INCOMPLETE, run.log.read_text())
            self.assertGreater(took, 4)
            self.assertEqual(len(job.rows(out, partial=True)), 1)


if __name__ == "__main__":
    if not job.MODEL:
        print("SKIPPED: LYNXKV_TEST_MODEL names no model (jobs/fetch-model.sh)")
        sys.exit(77)
    unittest.main(verbosity=2)
