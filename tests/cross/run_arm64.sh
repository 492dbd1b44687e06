#!/usr/bin/env bash
# run_arm64.sh WORK GENERATED -- compiles kernels/ and prove_cpu.c for arm64, with the headers that the build made, and runs them
# under emulation. Waived (77) where Debian's cross
# compiler or the emulator is not installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=${1:?a folder to build in}
generated=${2:?the folder of generated headers}
compiler=aarch64-linux-gnu-gcc
command -v "$compiler" >/dev/null || { echo "waived: no $compiler (package gcc-aarch64-linux-gnu)"; exit 77; }
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
[ -n "$emulator" ] || { echo "waived: no qemu-aarch64 (package qemu-user)"; exit 77; }
echo 'int main(void) { return 0; }' | "$compiler" -static -x c -o /dev/null - 2>/dev/null ||
  { echo "waived: $compiler finds no C library (package libc6-dev-arm64-cross)"; exit 77; }
mkdir -p "$work"
"$compiler" -std=c11 -O2 -static -pthread -Wall -Wextra -Werror -D_GNU_SOURCE -DTPD_HAVE_CUDA=0 -DTPD_VERSION='"arm64"' -Iinclude -I. -I"$generated" \
  tests/cross/prove_cpu.c kernels/cpu/*.c kernels/core/*.c kernels/banks/*.c kernels/strategies/*.c kernels/backends.c kernels/simt/*.c \
  kernels/transpose.c -o "$work/prove_cpu_arm64"
"$emulator" "$work/prove_cpu_arm64" | tee "$work/prove_cpu_arm64.txt"
grep -q '^neon: ' "$work/prove_cpu_arm64.txt"
