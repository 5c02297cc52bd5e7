#!/usr/bin/env bash
# Prefill and decode speed of lynxkv beside llama.cpp on the same file, threads and machine, in interleaved rounds.
# Builds llama.cpp once from the source archive of the PyPI package llama-cpp-python (pinned), with every
# vector extension that this CPU has switched on by hand: its own detection has been seen to pick instructions
# that a virtual machine does not let through.
#   jobs/bench-vs-llama.sh [MODEL.gguf]
# THREADS (default: all CPUs of this process)  ROUNDS (3)  JSON (a file for the numbers)
# LYNXKV: the program (default: build/bin/lynxkv)
set -euo pipefail
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  -*) echo "bench-vs-llama: unknown option '$1'; it takes one file, MODEL.gguf, or --help" >&2; exit 2 ;;
esac
[ $# -le 1 ] || { echo "bench-vs-llama: unknown argument '$2'; it takes one file, MODEL.gguf, or --help" >&2; exit 2; }
for number in "THREADS=${THREADS-1}" "ROUNDS=${ROUNDS-1}"; do
  [[ $number =~ =[1-9][0-9]{0,2}$ ]] || { echo "bench-vs-llama: $number: expected a whole number from 1 to 999" >&2; exit 2; }
done
cd "$(dirname "$0")/.."

version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
cache="${XDG_CACHE_HOME:-$HOME/.cache}/lynxkv"
peer="$cache/peer/llama-cpp-python-$version"
lynxkv="${LYNXKV:-build/bin/lynxkv}"
threads="${THREADS:-$(nproc)}"
rounds="${ROUNDS:-3}"
say() { printf 'bench-vs-llama: %s\n' "$*" >&2; }

[ -x "$lynxkv" ] || { say "$lynxkv is not there: run jobs/quickstart.sh --build-only, or set LYNXKV"; exit 2; }
model="${1:-$(jobs/fetch-model.sh)}"

build_peer() {
  local work flag options=()
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' RETURN
  say "building llama.cpp into $peer (once; several minutes)"
  python3 -m pip download -q --no-deps --no-binary llama-cpp-python -d "$work" "llama-cpp-python==$version" >&2
  echo "$sha256  $work/llama_cpp_python-$version.tar.gz" | sha256sum -c --quiet ||
    { say "the llama-cpp-python archive is not the pinned one"; exit 3; }
  tar -C "$work" -xzf "$work/llama_cpp_python-$version.tar.gz"
  has() { grep -qw "$1" /proc/cpuinfo; }
  has avx2 && options+=(-DGGML_AVX=ON -DGGML_AVX2=ON)
  has fma && options+=(-DGGML_FMA=ON)
  has f16c && options+=(-DGGML_F16C=ON)
  has bmi2 && options+=(-DGGML_BMI2=ON)
  has avx_vnni && options+=(-DGGML_AVX_VNNI=ON)
  has avx512bw && options+=(-DGGML_AVX512=ON)
  has avx512vbmi && options+=(-DGGML_AVX512_VBMI=ON)
  has avx512_vnni && options+=(-DGGML_AVX512_VNNI=ON)
  has avx512_bf16 && options+=(-DGGML_AVX512_BF16=ON)
  for flag in TILE INT8 BF16; do has "amx_${flag,,}" && options+=("-DGGML_AMX_$flag=ON"); done
  cmake -S "$work/llama_cpp_python-$version/vendor/llama.cpp" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
    -DGGML_NATIVE=OFF "${options[@]}" -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
    -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF \
    >"$work/log" 2>&1 && cmake --build "$work/build" --target llama-bench -j "$(nproc)" >>"$work/log" 2>&1 ||
    { tail -20 "$work/log" >&2; say "llama.cpp did not build"; exit 3; }
  mkdir -p "$peer"
  printf '%s\n' "${options[@]}" >"$peer/options"
  mv "$work/build/bin/llama-bench" "$peer/llama-bench"
}
[ -x "$peer/llama-bench" ] || build_peer

out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT
for round in $(seq "$rounds"); do
  say "round $round of $rounds"
  # Flash attention off and on: the better one counts, case by case.
  "$peer/llama-bench" -m "$model" -t "$threads" -p 512,2048 -n 0 -fa 0,1 -r 2 -o json >"$out/peer-prefill-$round.json" 2>/dev/null
  "$lynxkv" bench model "$model" --threads "$threads" --prefill 512 2048 --depth 2048 --batch 1 --tokens 32 --repeats 3 \
    --json "$out/ours-$round.json" >/dev/null
  "$peer/llama-bench" -m "$model" -t "$threads" -p 0 -n 32 -d 2048 -fa 0,1 -r 3 -o json >"$out/peer-decode-$round.json" 2>/dev/null
done

python3 - "$out" "$threads" "$peer/options" "${JSON:-}" <<'PY'
import datetime, glob, json, statistics, sys

folder, threads, options, target = sys.argv[1:]
peer, ours, about = {}, {}, {}
for path in sorted(glob.glob(folder + "/peer-*.json")):
    best = {}
    for run in json.load(open(path)):
        case = ("prefill", run["n_prompt"]) if run["n_prompt"] else ("decode", run["n_depth"])
        best[case] = max(best.get(case, 0), statistics.median(run["samples_ts"]))
    for case, speed in best.items():
        peer.setdefault(case, []).append(speed)
for path in sorted(glob.glob(folder + "/ours-*.json")):
    about = json.load(open(path))
    for row in about["results"]:
        case = ("prefill", row["tokens"]) if row["phase"] == "prefill" else ("decode", row["depth"])
        ours.setdefault(case, []).append(row["tokens_per_s"])
wanted = {("prefill", 512): 3.0, ("prefill", 2048): 3.0, ("decode", 2048): 1.0}
print(f"# {datetime.date.today()}  {about['cpu']}  {threads} threads  memcpy {about['memcpy_gb_per_s']:.1f} GB/s")
print(f"# lynxkv: {about['isa']}, {about['precision']}; llama.cpp: {' '.join(open(options).read().split())}")
print("# tokens/s, median of the rounds; ratio: median of each round's ratio (lowest to highest)")
print(f"{'case':<16}{'llama.cpp':>12}{'lynxkv':>12}{'ratio':>8}   {'range':<14}{'wanted':>8}")
rows, met = [], True
for (phase, length), least in wanted.items():
    pairs = [b / a for a, b in zip(peer[(phase, length)], ours[(phase, length)])]
    ratio = statistics.median(pairs)
    a, b = statistics.median(peer[(phase, length)]), statistics.median(ours[(phase, length)])
    name = f"{phase} {length}" if phase == "prefill" else f"decode @{length}"
    print(f"{name:<16}{a:>12.1f}{b:>12.1f}{ratio:>8.2f}   {min(pairs):.2f} - {max(pairs):.2f}{least:>10.1f}x")
    rows.append({"case": name, "llama_tokens_per_s": a, "lynxkv_tokens_per_s": b, "ratio": ratio, "ratios": pairs, "wanted": least})
    met &= ratio >= least
print("# " + ("every ratio is what it should be" if met else "BELOW what it should be"))
if target:
    json.dump({"schema_version": 1, "about": {k: about[k] for k in ("date", "cpu", "isa", "precision", "threads", "model")},
               "results": rows, "met": met}, open(target, "w"), indent=2)
sys.exit(0 if met else 1)
PY
