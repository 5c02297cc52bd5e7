#!/usr/bin/env bash
# Installs, builds and runs all tests. Idempotent; says what it does. CUDA is built where nvcc is found, for one
# architecture; without it that is said aloud and skipped.
set -euo pipefail
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
case ${1:-} in
  "") ;;
  -h | --help) usage; exit 0 ;;
  *) echo "check: unknown argument '$1'; it takes none but --help" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
say() { printf '\ncheck: %s\n' "$*"; }
took() { printf 'check: %s took %d s\n' "$1" "$((SECONDS - $2))"; }

say "installing what is missing"
at=$SECONDS
jobs/setup.sh
took "installing" "$at"

say "fetching the model that tests read"
at=$SECONDS
LYNXKV_TEST_MODEL="$(jobs/fetch-model.sh)"
export LYNXKV_TEST_MODEL
took "fetching" "$at"

say "building the program and the tests"
at=$SECONDS
if ! command -v nvcc >/dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
  say "no nvcc here: the CUDA build is SKIPPED"
fi
cmake --preset default -DLYNXKV_TESTS=ON "-DLYNXKV_CUDA_ARCHITECTURES=${LYNXKV_CUDA_ARCHITECTURES:-90}"
cmake --build build
took "building" "$at"

say "running all tests"
at=$SECONDS
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
status=0
# Threads of tests that run side by side would spin against each other.
export GOMP_SPINCOUNT="${GOMP_SPINCOUNT:-2000}"
# Some tests hold bounds on time, which a busy machine can break once: a second try counts, and both are shown.
ctest --test-dir build --output-on-failure --no-tests=error --repeat until-pass:2 -j "$(nproc)" 2>&1 | tee "$log" || status=$?
took "testing" "$at"
total="$(sed -n 's/.* tests failed out of \([0-9]*\).*/\1/p' "$log" | tail -1)"
failed="$(sed -n 's/.*tests passed, \([0-9]*\) tests failed out of.*/\1/p' "$log" | tail -1)"
skipped="$(grep -c '\*\*\*Skipped' "$log" || true)"
printf '\n%d passed, %d failed, %d skipped\n' "$((${total:-0} - ${failed:-0} - ${skipped:-0}))" "${failed:-0}" "${skipped:-0}"
exit "$status"
