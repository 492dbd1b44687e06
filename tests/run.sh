#!/usr/bin/env bash
# tests/run.sh -- the one test command: installs what is missing, builds every preset and runs all tests through ctest.
#
#     tests/run.sh                 everything: dev (ASan, UBSan), tsan (unit and e2e), release (device code where nvcc is)
#     tests/run.sh --quick         dev alone
#     tests/run.sh --no-install    the packages are there already
#     tests/run.sh [-R] PATTERN    only tests whose name matches
#
# Asks nothing; works as root or with sudo, on a bare Debian 12. The last line counts: "N passed, N failed, N skipped".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

presets=(dev tsan release)
install=1
pattern=.
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) presets=(dev) ;;
    --no-install) install=0 ;;
    --help | -h) sed -n '2,9p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;;
    -R) pattern=${2:?-R needs a pattern}; shift ;;
    -*) echo "tests/run.sh: $1 is not an option; --help lists them" >&2; exit 2 ;;
    *) pattern=$1 ;;
  esac
  shift
done

say() { printf '\n== %s\n' "$*"; }

if [ "$install" = 1 ]; then
  missing=()
  for package in gcc g++ cmake ninja-build pkg-config libmicrohttpd-dev libcjson-dev nettle-dev zlib1g-dev libzstd-dev check curl python3 python3-venv python3-numpy \
    datamash miller csvtool zstd util-linux wrk shellcheck clang-format clang libclang-rt-14-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
    qemu-user; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  root=()
  if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    if [ "$(id -u)" != 0 ]; then
      command -v sudo >/dev/null || { echo "tests/run.sh: packages are missing and there is no sudo: run this as root once" >&2; exit 1; }
      root=(sudo)
    fi
    "${root[@]}" apt-get update -qq
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    # Not in every release, and not needed: numbers are then written the same, in twice the time.
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libdragonbox-dev >/dev/null 2>&1 || true
  fi
  # Clients that Debian has not, or has old: in a folder of this checkout's own.
  if ! .venv/bin/python -c 'import numpy, scipy, pandas, safetensors' 2>/dev/null; then
    say "fetching scipy, pandas and safetensors into .venv"
    { [ -x .venv/bin/pip ] || /usr/bin/python3 -m venv .venv; } && .venv/bin/pip install -q --retries 1 --timeout 15 numpy scipy pandas safetensors ||
      echo "   not to be had: the tests that want them are skipped"
  fi
  # promtool alone, unpacked: installing the package would start a Prometheus server on this machine.
  if ! command -v promtool >/dev/null && [ ! -x build/tools/usr/bin/promtool ]; then
    say "fetching promtool (checks what /metrics says)"
    mkdir -p build/tools
    (cd build/tools && apt-get download -qq prometheus >/dev/null 2>&1 && dpkg-deb -x prometheus_*.deb . && rm -f prometheus_*.deb) ||
      echo "   not to be had: the tests that want it are skipped"
  fi
fi
PATH=$PATH:$PWD/build/tools/usr/bin

# ThreadSanitizer of Debian 12's compilers can't place its shadow where the kernel randomises addresses over 32 bits.
fixed_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed_addresses=(setarch "$(uname -m)" -R)
fi

passed=0 failed=0 skipped=0
for preset in "${presets[@]}"; do
  say "building $preset"
  mkdir -p "build/$preset"
  cmake --preset "$preset" >"build/$preset/configure.log" 2>&1 || { cat "build/$preset/configure.log"; exit 1; }
  cmake --build --preset "$preset"
  say "testing $preset"
  arguments=(--test-dir "build/$preset" -j "$(nproc)" --output-on-failure --no-tests=error --timeout 600 -R "$pattern" --output-junit ctest.xml)
  run=()
  if [ "$preset" = tsan ]; then
    # What has threads; not arithmetic that one thread does, which takes minutes there.
    arguments+=(-L 'unit|e2e' -E 'test_(cpu_blocks|own_tiles|tuning|patterns|layouts|bank_measured|bank_model|number_(cells|edges|text))$')
    run=("${fixed_addresses[@]}")
  fi
  rm -f "build/$preset/ctest.xml"
  "${run[@]}" ctest "${arguments[@]}" || true
  counts=$(python3 - "build/$preset/ctest.xml" <<'PY'
import sys, xml.etree.ElementTree as tree
try:
    suite = tree.parse(sys.argv[1]).getroot()
    total, bad, skip = (int(suite.get(key) or 0) for key in ("tests", "failures", "skipped"))
    bad += int(suite.get("errors") or 0)
    print(total - bad - skip, bad, skip)
except (OSError, tree.ParseError):
    print(0, 1, 0)
PY
  )
  read -r p f s <<<"$counts"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
