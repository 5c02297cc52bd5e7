#!/usr/bin/env bash
# The main job across a real link, timed: prefill on one host, decode on the other, start: after_prefill.
#   job.sh [--gbps G] [--length TOKENS] [--samples N] [--out DIR] [--model FILE.gguf] [KEY=VALUE...]
#     --gbps G        rate of the link (default 1)
#     --length TOKENS of the needle prompts (default 4096; short prompts show the fixed cost of a step more)
#     --samples N     prompts; the medians over them count (default 4)
#     --out DIR       keeps the results there (default: a folder that is removed)
#     KEY=VALUE       further settings, as for lynxkv run --set
# It prints the report and three figures of its own:
#   TTFT(lynx) against (anchor bytes / int4 bytes) x TTFT(int4), 1.05 wanted; TTFT(int8) / TTFT(lynx), 1.43 wanted;
#   TT32T of lynx against int8's, less wanted.
# The binary: LYNXKV_BINARY, else build/bin/lynxkv of this checkout. Needs root; else it says so and exits 77 (skipped).
# Exit code 1 where a figure is missed, the job's own where it failed. Example: sudo tests/link/job.sh --gbps 1
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${LYNXKV_BINARY:-$here/../../build/bin/lynxkv}
gbps=1 length=4096 samples=4 out= model= settings=()
while [ $# -gt 0 ]; do
  case $1 in
    --gbps | --length | --samples | --out | --model) [ $# -ge 2 ] || { echo "job.sh: $1 needs a value" >&2; exit 2; } ;;&
    --gbps) gbps=$2; shift 2 ;;
    --length) length=$2; shift 2 ;;
    --samples) samples=$2; shift 2 ;;
    --out) out=$(realpath -m "$2"); shift 2 ;;
    --model) model=$2; shift 2 ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *=*) settings+=(--set "$1"); shift ;;
    *) echo "job.sh: unknown option '$1'; job.sh --help" >&2; exit 2 ;;
  esac
done
for number in "--length=$length" "--samples=$samples"; do
  [[ $number =~ =[1-9][0-9]{0,6}$ ]] || { echo "job.sh: ${number%%=*} takes a whole number, 1 or more, found '${number#*=}'" >&2; exit 2; }
done
[[ $gbps =~ ^[0-9]{1,4}(\.[0-9]{1,6})?$ ]] || { echo "job.sh: --gbps takes a number such as 1 or 0.25, found '$gbps'" >&2; exit 2; }
[ -x "$binary" ] || { echo "job.sh: no program at $binary; jobs/quickstart.sh --build-only builds it, or set LYNXKV_BINARY" >&2; exit 2; }
# A key or value that is none, before any work.
said=$("$binary" run --dry-run "${settings[@]+"${settings[@]}"}" 2>&1 >/dev/null) || { code=$?; echo "$said" >&2; exit $code; }
[ -n "$model" ] || model=$("$here/../../jobs/fetch-model.sh") || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "$out" ] || out=$work/out

"$here/run.sh" --gbps "$gbps" -- "$(realpath "$binary")" run --out "$out" --set model.path="$model" \
  --set transfer.modes='[bf16, int8, int4, lynx]' --set transfer.start=after_prefill --set suite.lengths="[$length]" \
  --set suite.samples="$samples" --set suite.max_tokens=40 --set engine.max_batch=1 --set suite.template=none "${settings[@]+"${settings[@]}"}" >"$work/log" 2>&1
code=$?
[ $code = 77 ] && { cat "$work/log"; exit 77; }
[ $code = 0 ] || { tail -30 "$work/log"; echo "FAILED: the job across the link ended with $code"; exit $code; }
"$binary" report "$out" || exit 1
"$binary" report "$out" --json >"$work/report.json" || exit 1
python3 - "$work/report.json" "$gbps" <<'PYTHON'
import json, sys

lines = {line["mode"]: line for group in json.load(open(sys.argv[1]))["groups"] for line in group["lines"]}
lynx, int4, int8 = (lines[mode] for mode in ("lynx", "int4", "int8"))
ideal = lynx["bytes"]["anchor"] / int4["bytes"]["anchor"] * int4["ttft_s"]
met = True

def figure(name, value, good, wanted):
    global met
    met &= good
    print(f"{name}: {value} ({wanted} wanted): {'met' if good else 'MISSED'}")

print(f"\nacross a real link of {sys.argv[2]} Gbit/s, start: after_prefill")
first = lynx["ttft_s"] / ideal
figure("TTFT(lynx) / ((anchor bytes / int4 bytes) x TTFT(int4))", f"{first:.3f}", first <= 1.05, "1.05 at most")
better = int8["ttft_s"] / lynx["ttft_s"]
figure("TTFT(int8) / TTFT(lynx)", f"{better:.3f}", better >= 1.43, "1.43 at least")
mark = "32"
if lynx["ttkt_s"][mark] is None or int8["ttkt_s"][mark] is None:
    print("TT32T: the answers have less than 32 tokens; take a task with longer ones, suite.tasks=[...]")
else:
    ours, theirs = lynx["ttkt_s"][mark], int8["ttkt_s"][mark]
    figure("TT32T(lynx) / TT32T(int8)", f"{ours:.3f} s / {theirs:.3f} s = {ours / theirs:.3f}", ours < theirs, "less than 1")
sys.exit(0 if met else 1)
PYTHON
