#!/usr/bin/env bash
# From a fresh clone to the table of modes: installs, builds, fetches the small real model, runs the main job
# on two MPI ranks and shows what came out. Every step says what it does; done steps are not done again.
#   --build-only   stop after building build/bin/lynxkv and build/bin/lynxkv-emulated
#   --fresh        forget earlier results of this script and measure again
set -euo pipefail
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
build_only=no
fresh=no
for argument in "$@"; do
  case "$argument" in
    --build-only) build_only=yes ;;
    --fresh) fresh=yes ;;
    -h | --help) usage; exit 0 ;;
    *) echo "quickstart: unknown option '$argument'; it takes --build-only, --fresh and --help" >&2; exit 2 ;;
  esac
done
cd "$(dirname "$0")/.."
say() { printf '\nquickstart: %s\n' "$*"; }

say "installing what is missing"
jobs/setup.sh

say "building build/bin/lynxkv"
# A build folder that has the tests keeps them.
[ -e build/CMakeCache.txt ] || cmake --preset default -DLYNXKV_TESTS=OFF >/dev/null
cmake --build build --target lynxkv
if [ "$build_only" = yes ]; then
  say "building build/bin/lynxkv-emulated: where no GPU is, --backend cuda runs in it"
  cmake --build build --target lynxkv-emulated
  exit 0
fi

say "fetching the model (once)"
model="$(jobs/fetch-model.sh)"

# As root (in a container) Open MPI wants to be told twice. Ranks share the cores of this machine.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch=(mpirun -n 2 --bind-to none --oversubscribe build/bin/lynxkv)
[ "$fresh" = yes ] && rm -rf out/quickstart out/quickstart-streaming

say "the main job, nothing sent before the prompt is computed (start: after_prefill)"
"${launch[@]}" run configs/quickstart.yaml --set "model.path=$model" --out out/quickstart

say "the same with pages leaving during prefill (start: streaming)"
"${launch[@]}" run configs/quickstart.yaml --set "model.path=$model" --set transfer.start=streaming \
  --set "transfer.modes=[bf16, int8, lynx]" --set suite.samples=2 --out out/quickstart-streaming

say "checking what was promised"
/usr/bin/python3 jobs/check_promises.py out/quickstart out/quickstart-streaming

say "the results are in out/quickstart/results.h5; read them with h5py:"
sed -n '/^import/,$p' apps/read_results.py | sed 's/^/    /'
