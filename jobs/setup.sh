#!/usr/bin/env bash
# Installs what LynxKV builds and runs with, once: Debian's packages (as root) and Kokkos with OpenMP, built
# from a source archive whose hash is pinned. Nothing is done twice; every step says what it does.
# LYNXKV_DEPS: where Kokkos goes (default: the user's cache folder).
set -euo pipefail
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
case ${1:-} in
  "") ;;
  -h | --help) usage; exit 0 ;;
  *) echo "setup: unknown argument '$1'; it takes none but --help" >&2; exit 2 ;;
esac

cache="${XDG_CACHE_HOME:-$HOME/.cache}/lynxkv"
deps="${LYNXKV_DEPS:-$cache/deps}"
say() { printf 'setup: %s\n' "$*"; }

packages=(
  build-essential cmake ninja-build ccache pkg-config git ca-certificates python3 python3-pip unzip
  libopenmpi-dev openmpi-bin libhdf5-dev hdf5-tools libdnnl-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev
  libfmt-dev libspdlog-dev libicu-dev libxxhash-dev libhwy-dev libgtest-dev libbenchmark-dev
  python3-h5py python3-numpy python3-matplotlib iproute2
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ]; then
    say "as root, run: apt-get install ${missing[*]}" >&2
    exit 2
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  say "Debian packages: all there"
fi

# Kokkos 3.4.01 ships inside the source archive of a PyPI package; Debian's own has no OpenMP back end.
kokkos_package=pykokkos-base
kokkos_version=0.0.7
kokkos_sha256=6339daced1e81a2748f381847d8717cd77d824407da3c263b9491b5630c642b0
if [ -e "$deps/kokkos/.complete" ]; then
  say "Kokkos: already in $deps/kokkos"
else
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  say "building Kokkos with OpenMP into $deps/kokkos"
  python3 -m pip download -q --no-deps --no-binary "$kokkos_package" -d "$work" "$kokkos_package==$kokkos_version"
  archive="$work/$kokkos_package-$kokkos_version.tar.gz"
  echo "$kokkos_sha256  $archive" | sha256sum -c --quiet || { say "the Kokkos archive is not the pinned one" >&2; exit 3; }
  tar -C "$work" -xzf "$archive"
  rm -rf "$deps/kokkos"
  cmake -S "$work/$kokkos_package-$kokkos_version/external/kokkos" -B "$work/build" -G Ninja \
    -DCMAKE_INSTALL_PREFIX="$deps/kokkos" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=17 \
    -DKokkos_ENABLE_OPENMP=ON -DKokkos_ENABLE_SERIAL=ON -DCMAKE_POSITION_INDEPENDENT_CODE=ON >"$work/log" 2>&1 &&
    cmake --build "$work/build" --target install >>"$work/log" 2>&1 || { tail -20 "$work/log" >&2; exit 3; }
  touch "$deps/kokkos/.complete"
fi
