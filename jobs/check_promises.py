#!/usr/bin/env python3
"""Fails unless the main job kept its promises: lynx drafted and accepted, and its output is that of lynx-int8 token
for token. When the first token came is shown beside what it should be; a busy machine may miss that without being
wrong. Usage: check_promises.py OUT [OUT_STREAMING]"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

LYNXKV = os.environ.get("LYNXKV_BINARY", "build/bin/lynxkv")


def rows(out):
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        subprocess.run([LYNXKV, "export", out, "--jsonl", file.name], check=True, stdout=subprocess.DEVNULL)
        with open(file.name, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


def main():
    table = rows(sys.argv[1])
    streaming = rows(sys.argv[2]) if len(sys.argv) > 2 else []
    modes = sorted({row["mode"] for row in table})
    of = {mode: {(r["task"], r["line"]): r for r in table if r["mode"] == mode} for mode in modes}
    failed = []

    def check(holds, text):
        print(("  kept    " if holds else "  BROKEN  ") + text)
        if not holds:
            failed.append(text)

    def timing(holds, text):
        print(("  kept    " if holds else "  MISSED  ") + text + ("" if holds else ": was the machine busy? --fresh measures again"))

    def ttft(mode):
        return statistics.median(row["ttft_s"] for row in of[mode].values())

    def anchor(mode):
        return statistics.median(row["bytes"]["anchor"] for row in of[mode].values())

    score = 100 * statistics.mean(row["score"] for row in of["bf16"].values())
    check(score >= 50, f"bf16 scores {score:.0f} % (50 or more, else the task proves nothing)")
    drafted = sum(row["drafted"] for row in of["lynx"].values())
    accepted = sum(row["accepted"] for row in of["lynx"].values())
    check(drafted > 0 and accepted > 0, f"lynx drafted {drafted} tokens and {accepted} were accepted")
    check(all(of["lynx"][k]["output_ids"] == of["lynx-int8"][k]["output_ids"] for k in of["lynx"]),
          "every output of lynx equals that of lynx-int8 token for token")
    share = anchor("lynx") / anchor("int4")
    ratio = ttft("lynx") / (share * ttft("int4"))
    timing(ratio <= 1.05, f"TTFT(lynx) is {ratio:.3f} x (anchor bytes / int4 bytes) x TTFT(int4)  (1.05 at most)")
    gain = ttft("int8") / ttft("lynx")
    timing(gain >= 1.43, f"TTFT(int8) is {gain:.2f} x TTFT(lynx)  (1.43 at least)")
    if streaming:
        drafts = {row["mode"] for row in streaming}
        check("lynx" in drafts, "the streaming run holds lynx")
        same = {(r["task"], r["line"], r["mode"]): r["output_ids"] for r in streaming}
        both = [r for r in table if (r["task"], r["line"], r["mode"]) in same]
        check(all(same[r["task"], r["line"], r["mode"]] == r["output_ids"] for r in both) and both,
              f"streaming changed none of {len(both)} outputs")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
