#!/usr/bin/env bash
# Measures what the codecs lose, on a real model and real texts, as src/quality/QUALITY.md reports it: 24 documents of
# text packages of Debian 12 for the table, 24 others (from other packages) for calibration. Not run by CI: it fetches
# about 80 MB and takes ten minutes. Needs apt-get and dpkg-deb, and a built lynxkv.
#
#   jobs/codec-study.sh [OUT]     OUT (default: out/codec-study) gets table.txt, table.md, table.json, table.csv,
#                                 calibration.txt and calibration.json
# LYNXKV_BINARY: the program (default: build/bin/lynxkv).  LYNXKV_STUDY_ARGS: more for bench codec, such as --float32.
set -euo pipefail
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
case ${1:-} in
  -h | --help) usage; exit 0 ;;
  -*) echo "codec-study: unknown option '$1'; it takes one folder, OUT, or --help" >&2; exit 2 ;;
esac
[ $# -le 1 ] || { echo "codec-study: unknown argument '$2'; it takes one folder, OUT, or --help" >&2; exit 2; }

here="$(cd "$(dirname "$0")" && pwd)"
out="${1:-out/codec-study}"
binary="${LYNXKV_BINARY:-$here/../build/bin/lynxkv}"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/lynxkv/codec-study"
say() { printf 'codec-study: %s\n' "$*" >&2; }

for tool in apt-get dpkg-deb python3; do
  command -v "$tool" >/dev/null || { say "needs $tool"; exit 3; }
done
[ -x "$binary" ] || { say "$binary is not there: build first, or set LYNXKV_BINARY"; exit 3; }
# A file name here is a package's name with its version behind an underscore.
mkdir -p "$cache/deb" "$cache/unpacked" "$out"
for package in $(python3 "$here/codec_documents.py" --list); do
  [ -e "$cache/unpacked/$package/.complete" ] && continue
  say "fetching $package"
  (cd "$cache/deb" && rm -f "$package"_*.deb && apt-get download "$package" >/dev/null 2>&1) ||
    { say "apt-get download $package failed: this study names packages of Debian 12"; exit 3; }
  rm -rf "${cache:?}/unpacked/$package"
  dpkg-deb -x "$cache/deb/$package"_*.deb "$cache/unpacked/$package"
  touch "$cache/unpacked/$package/.complete"
done
rm -rf "$cache/documents"
python3 "$here/codec_documents.py" "$cache/unpacked" "$cache/documents"

model="$("$here/fetch-model.sh")"
say "calibrating on $(find "$cache/documents/calibration" -type f | wc -l) documents"
"$binary" calibrate "$model" --text "$cache/documents/calibration" --json "$out/calibration.json" | tee "$out/calibration.txt"
say "measuring on $(find "$cache/documents/test" -type f | wc -l) documents"
# shellcheck disable=SC2086
"$binary" bench codec --model "$model" --text "$cache/documents/test" --json "$out/table.json" --csv "$out/table.csv" \
  --markdown "$out/table.md" ${LYNXKV_STUDY_ARGS:-} --codec int4-chunk lynx lynx-plain:lynx,preset=plain \
  lynx-fit:lynx,preset=plain,levels=120,fit=least_error lynx-early:lynx,fit=extremes lynx-paper:lynx,preset=paper \
  int4 int4-channel kivi4 quantspec fp8 int8 int8-channel cachegen-code cachegen-paper lynx-exact | tee "$out/table.txt"
