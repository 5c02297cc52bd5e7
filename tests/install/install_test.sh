#!/usr/bin/env bash
# Installs the build into a fresh prefix and builds a program against it with find_package alone.
# Usage: install_test.sh BUILD_FOLDER
set -euo pipefail
build="$1"
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
"$work/prefix/bin/lynxkv" --version
kokkos="$(sed -n 's/^Kokkos_DIR:PATH=//p' "$build/CMakeCache.txt")"
cmake -S "$here/consumer" -B "$work/consumer" -G Ninja "-DCMAKE_PREFIX_PATH=$work/prefix;$kokkos" -DCMAKE_BUILD_TYPE=Release >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/consumer" >>"$work/log" 2>&1 || { tail -40 "$work/log"; exit 1; }
"$work/consumer/consumer"
