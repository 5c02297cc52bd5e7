#!/usr/bin/env bash
# The main job across a real link: prefill on one host, decode on the other, nothing emulated. The same samples on one
# rank give the same outputs.
#   job_test.sh LYNXKV MODEL.gguf
set -uo pipefail
lynxkv=$1 model=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -e "$model" ] || { echo "SKIPPED: no model at $model; jobs/fetch-model.sh fetches it"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

job() { # OUT, then how it is started
  local out=$1
  shift
  "$@" "$lynxkv" run --out "$out" --set model.path="$model" --set transfer.modes='[bf16, lynx-int8, lynx]' \
    --set transfer.start=after_prefill --set suite.lengths='[300]' --set suite.samples=3 --set suite.max_tokens=12 \
    >"$out.log" 2>&1
}
job "$work/link" "$here/run.sh" --gbps 0.2 --
code=$?
[ $code = 77 ] && { cat "$work/link.log"; exit 77; }
[ $code = 0 ] || { tail -30 "$work/link.log"; echo "FAILED: the job across the link ended with $code"; exit 1; }
job "$work/alone" env || { tail -30 "$work/alone.log"; echo "FAILED: the job on one rank"; exit 1; }
for side in link alone; do
  "$lynxkv" export "$work/$side" --jsonl "$work/$side.jsonl" >/dev/null || exit 1
done
python3 - "$work/link.jsonl" "$work/alone.jsonl" <<'PYTHON'
import json, sys

def outputs(path):
    rows = [json.loads(line) for line in open(path)]
    return {(r["task"], r["line"], r["mode"]): r["output_ids"] for r in rows}, rows

link, rows = outputs(sys.argv[1])
alone, _ = outputs(sys.argv[2])
assert len(link) == 9, f"9 rows expected, {len(link)} found"
assert link == alone, "a real link changed an output"
for row in rows:
    print(row["mode"], row["line"], f"ttft {row['ttft_s']:.3f} s", row["bytes"])
PYTHON
[ $? = 0 ] || { echo "FAILED: the outputs"; exit 1; }
echo "the job across the link gives what one rank gives"
