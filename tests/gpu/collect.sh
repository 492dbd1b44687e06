#!/usr/bin/env bash
# tests/gpu/collect.sh BUILD DEST -- makes a folder that a GPU machine without our build dependencies can run.
#
# Copies transposed, test_cuda and the benches (and curl, for machines that have none) to DEST/bin, every shared
# library they need, except those that each Linux has, to DEST/lib, and notes the commit. Then, over there:
#     tests/gpu/run_gpu.sh DEST RESULTS.md
set -euo pipefail
build=${1:?usage: tests/gpu/collect.sh BUILD DEST}
dest=${2:?usage: tests/gpu/collect.sh BUILD DEST}
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

mkdir -p "$dest/bin" "$dest/lib"
for name in transposed test_cuda bench_tuner bench_overlap bench_transfer bench_ladder bench_addresses bank_probe; do
  [ -x "$build/bin/$name" ] || { echo "collect.sh: $build/bin/$name is not there: build it with -DTRANSPOSED_CUDA=ON" >&2; exit 1; }
  cp -f "$build/bin/$name" "$dest/bin/$name"
  strip --strip-debug "$dest/bin/$name"
done
# Peers: built where their headers are; they find their libraries over there.
for name in peer_geam peer_cutensor; do
  if [ -x "$build/bin/$name" ]; then cp -f "$build/bin/$name" "$dest/bin/$name"; strip --strip-debug "$dest/bin/$name"; fi
done
if command -v curl >/dev/null; then cp -fL "$(command -v curl)" "$dest/bin/curl"; fi

# glibc's own parts belong together with the kernel's loader there; libstdc++ and libgcc_s only ever gain symbols.
own='^(ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libutil|libstdc\+\+|libgcc_s)[.-]'
for binary in "$dest"/bin/*; do ldd "$binary"; done |
  awk '$2 == "=>" { if ($3 == "not") { print "collect.sh: " $1 " is not found" > "/dev/stderr"; exit 1 } print $3 }' | sort -u |
  while read -r library; do
    if ! basename "$library" | grep -Eq "$own"; then cp -fL "$library" "$dest/lib/"; fi
  done

commit=$(git -C "$source" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
if [ -n "$(git -C "$source" status --porcelain -uno 2>/dev/null)" ]; then commit="$commit with local changes"; fi
echo "$commit" >"$dest/commit"
du -sh "$dest"
