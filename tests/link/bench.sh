#!/usr/bin/env bash
# lynxkv bench link across a real, shaped link between network namespaces (run.sh beside this builds them).
#   bench.sh [--gbps G] [--json FILE] [--hosts N] [--ranks N] [ARGUMENT OF bench link...]
#     --gbps G    rate of each direction (default 1)
#     --json FILE writes everything; its `summary` has share_of_raw, urgent_p50_ratio, urgent_p99_ratio, wrong
#     --hosts N   2 hosts with a veth pair between them (default), or up to 8 on a bridge: incast, all-to-all, pairs
# The binary: LYNXKV_BINARY, else build/bin/lynxkv of this checkout. Without arguments all tests that the ranks allow.
# Needs root; without it this says so and exits 77 (skipped). Example: sudo tests/link/bench.sh --gbps 1 --json link.json
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${LYNXKV_BINARY:-$here/../../build/bin/lynxkv}
gbps=1 hosts=2 ranks= arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --gbps | --hosts | --ranks | --json)
      [ $# -ge 2 ] || { echo "bench.sh: $1 needs a value" >&2; exit 2; } ;;&
    --gbps) gbps=$2; shift 2 ;;
    --hosts) hosts=$2; shift 2 ;;
    --ranks) ranks=$2; shift 2 ;;
    --json) arguments+=(--json "$(realpath -m "$2")"); shift 2 ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) arguments+=("$1"); shift ;;
  esac
done
[ -x "$binary" ] || { echo "bench.sh: no program at $binary; jobs/quickstart.sh --build-only builds it, or set LYNXKV_BINARY" >&2; exit 2; }
# A mistyped option is said so, whatever this machine can do.
known=$("$binary" bench link --help)
for argument in "${arguments[@]+"${arguments[@]}"}"; do
  name=${argument%%=*}
  case $argument in
    --?*) grep -qE -e "(^|[ ,])$name([ ,]|\$)" <<<"$known" || {
      echo "bench.sh: unknown option '$name'; bench.sh --help and lynxkv bench link --help list what there is" >&2
      exit 2
    } ;;
  esac
done
# What the numbers are worth depends on it, and the program cannot see it.
shaped="link of $gbps Gbit/s each way (tc tbf), $hosts hosts in network namespaces"
[[ $gbps =~ ^0+\.?0*$ ]] && shaped="link that is not shaped, $hosts hosts in network namespaces"
exec "$here/run.sh" --gbps "$gbps" --hosts "$hosts" --ranks "${ranks:-$hosts}" -- \
  "$(realpath "$binary")" bench link --note "$shaped" "${arguments[@]+"${arguments[@]}"}"
