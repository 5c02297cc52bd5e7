#!/usr/bin/env python3
"""The main job on the real model: every mode, every number of ranks, the same outputs; nothing lost."""
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import job  # noqa: E402


def outputs(rows):
    return {key: row["output_ids"] for key, row in rows.items()}


class MainJob(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = job.OutputFolder()
        cls.alone = cls.folder.__enter__()
        done = job.run(cls.alone)
        if done.returncode != 0:
            raise AssertionError(f"the job of one rank left with {done.returncode}: {done.stderr}")
        cls.table = done.stdout
        cls.rows = job.rows(cls.alone)

    @classmethod
    def tearDownClass(cls):
        cls.folder.__exit__()

    def test_a_job_of_one_rank_does_every_sample_in_every_mode(self):
        self.assertEqual(len(self.rows), 3 * 5)
        for row in self.rows.values():
            self.assertTrue(row["output_ids"])
            self.assertGreater(row["ttft_s"], 0)

    def test_it_ends_in_a_table_with_a_line_for_each_mode(self):
        for mode in ("bf16", "int8", "lynx-int8", "lynx", "lynx-exact"):
            self.assertIn(mode, self.table)

    def test_lynx_gives_the_output_of_lynx_int8_token_for_token(self):
        for (suite, task, line, mode), row in self.rows.items():
            if mode == "lynx":
                self.assertEqual(row["output_ids"], self.rows[suite, task, line, "lynx-int8"]["output_ids"])

    def test_lynx_exact_gives_the_output_of_bf16_token_for_token(self):
        for (suite, task, line, mode), row in self.rows.items():
            if mode == "lynx-exact":
                self.assertEqual(row["output_ids"], self.rows[suite, task, line, "bf16"]["output_ids"])
                self.assertGreater(row["drafted"], 0)

    def test_lynx_drafts_and_its_drafts_are_accepted(self):
        lynx = [row for row in self.rows.values() if row["mode"] == "lynx"]
        self.assertGreater(sum(row["drafted"] for row in lynx), 0)
        self.assertGreater(sum(row["accepted"] for row in lynx), 0)
        for row in self.rows.values():
            if row["mode"] in ("bf16", "int8", "lynx-int8"):
                self.assertEqual(row["drafted"], 0)

    def test_quantspec_drafts_on_four_bits_and_gives_what_it_gives_when_it_waits(self):
        with job.OutputFolder() as drafting, job.OutputFolder() as waiting:
            for out, cap in ((drafting, "64"), (waiting, "0")):
                done = job.run(out, transfer__modes="[quantspec]", speculation__cap=cap)
                self.assertEqual(done.returncode, 0, done.stderr)
            rows, waited = job.rows(drafting), job.rows(waiting)
        self.assertEqual(outputs(rows), outputs(waited))
        self.assertGreater(sum(row["drafted"] for row in rows.values()), 0)
        self.assertGreater(sum(row["accepted"] for row in rows.values()), 0)
        self.assertEqual(sum(row["drafted"] for row in waited.values()), 0)
        values = sum((row["prompt_tokens"] - 1) * 30 * 2 * 192 for row in rows.values())
        self.assertLess(sum(row["bytes"]["anchor"] for row in rows.values()) / values, 4.4 / 8)
        self.assertEqual(sum(row["bytes"]["residual"] for row in rows.values()), values / 2)

    def test_every_stream_has_the_size_that_its_codec_states(self):
        for row in self.rows.values():
            tokens = row["prompt_tokens"] - 1
            values = tokens * 30 * 2 * 192
            if row["mode"] == "bf16":
                self.assertEqual(row["bytes"]["anchor"], 2 * values)
            if row["mode"] == "int8":
                self.assertEqual(row["bytes"]["anchor"], values + values // 64 * 4)
            if row["mode"] == "lynx":
                self.assertLess(row["bytes"]["anchor"] + row["bytes"]["residual"], 0.62 * 2 * values)

    def check_same(self, ranks, **settings):
        with job.OutputFolder() as out:
            done = job.run(out, ranks=ranks, **settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(outputs(job.rows(out)), outputs(self.rows))

    def test_one_plus_one_gives_the_same_outputs(self):
        self.check_same(2)

    def test_two_plus_one_gives_the_same_outputs(self):
        self.check_same(3, roles__prefill="2", roles__decode="1")

    def test_one_plus_two_gives_the_same_outputs(self):
        self.check_same(3, roles__prefill="1", roles__decode="2")

    def test_two_plus_two_gives_the_same_outputs(self):
        self.check_same(4, roles__prefill="2", roles__decode="2")

    def test_streaming_without_pacing_gives_the_same_outputs(self):
        self.check_same(2, transfer__start="streaming", link__gbps="0")

    def test_two_decode_ranks_on_a_fast_link_ask_for_nothing_again(self):
        with job.OutputFolder() as out:
            done = job.run(out, ranks=3, roles__decode="2", link__gbps="0", link__residual_chunk_kib="16", transfer__modes="[lynx]",
                           suite__lengths="[600]", suite__samples="6")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sum(row["retries"] for row in job.rows(out).values()), 0)

    def test_one_request_at_a_time_gives_the_same_outputs(self):
        self.check_same(0, engine__max_batch="1")

    def fitted_link(self, **settings):
        """The fitted link, the requests that shared it, and the footer's lines about it."""
        with job.OutputFolder() as out:
            done = job.run(out, ranks=2, transfer__modes="[bf16, int8]", **settings)
            self.assertEqual(done.returncode, 0, done.stderr)
            for row in job.rows(out).values():
                self.assertLess(abs(row["t_kv_unix_s"] - time.time()), 600)
            report = json.loads(job.call("report", str(out), "--json").stdout)
            return report["links"][0], report["link_uses"][0], done.stdout

    def test_the_paced_link_is_found_again_where_requests_have_it_alone(self):
        fitted, uses, _ = self.fitted_link(engine__max_batch="1")
        self.assertEqual(uses, {"samples": 6, "shared": 0})
        self.assertEqual((fitted["transfers"], fitted["measured"]), (6, 6))
        self.assertAlmostEqual(fitted["bytes_per_s"] / 0.025e9, 1, delta=0.2)  # link.gbps 0.2

    def test_where_requests_share_the_link_the_report_says_so_and_fits_no_other_rate(self):
        fitted, uses, text = self.fitted_link(suite__samples="8")
        self.assertGreater(uses["shared"], 4)
        self.assertIn("their times include waiting for it", text)
        if fitted is None:
            self.assertIn("link, not fitted: ", text)
        else:
            self.assertAlmostEqual(fitted["bytes_per_s"] / 0.025e9, 1, delta=0.2)

    def test_a_small_draft_cap_gives_the_same_outputs(self):
        self.check_same(0, speculation__cap="2")

    def test_the_same_command_again_does_nothing_twice(self):
        before = job.rows(self.alone)
        started = time.monotonic()
        done = job.run(self.alone)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("from earlier attempts", done.stdout)
        self.assertEqual(job.rows(self.alone), before)
        self.assertLess(time.monotonic() - started, 60)

    def test_other_settings_for_the_same_folder_are_refused_with_the_difference(self):
        done = job.run(self.alone, transfer__sinks="0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("sinks", done.stderr)


class Interrupted(unittest.TestCase):
    def kill_and_continue(self, seed, seconds):
        with job.OutputFolder() as out:
            arguments = job.run_arguments(out, {"output.fsync_s": "0", "transfer.modes": "[int8, lynx-int8, lynx]"})
            process = subprocess.Popen(job.command(*arguments, ranks=2), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=job.environment())
            time.sleep(seconds)
            victims = job.ranks_of(process.pid)
            self.assertTrue(victims or process.poll() is not None)
            if victims:
                os.kill(random.Random(seed).choice(victims), signal.SIGKILL)
            code = process.wait(timeout=120)
            self.assertTrue(code != 0 or not victims)
            done = job.call(*arguments, ranks=2)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = job.rows(out)
            self.assertEqual(len(rows), 9)
            for (suite, task, line, mode), row in rows.items():
                if mode == "lynx":
                    self.assertEqual(row["output_ids"], rows[suite, task, line, "lynx-int8"]["output_ids"])

    def test_a_rank_killed_early_loses_nothing(self):
        self.kill_and_continue(1, 1.5)

    def test_a_rank_killed_in_the_middle_loses_nothing(self):
        self.kill_and_continue(2, 4)

    def test_a_rank_killed_later_loses_nothing(self):
        self.kill_and_continue(4, 7)

    def test_a_stop_signal_ends_in_order_and_says_run_again(self):
        with job.OutputFolder() as out:
            arguments = job.run_arguments(out, {"engine.max_batch": "1"})
            process = subprocess.Popen(job.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=job.environment())
            time.sleep(3)
            process.send_signal(signal.SIGUSR1)
            _, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 75, errors)
            self.assertIn("run the same command again", errors)
            self.assertEqual(job.call(*arguments).returncode, 0)
            self.assertEqual(len(job.rows(out)), 15)


if __name__ == "__main__":
    if not job.MODEL:
        print("SKIPPED: LYNXKV_TEST_MODEL names no model (jobs/fetch-model.sh)")
        sys.exit(77)
    unittest.main(verbosity=2)
