#!/usr/bin/env bash
# tests/run.sh -- the one test command: installs what is missing, builds every preset and runs all tests through ctest.
#
#     tests/run.sh                 everything: dev (ASan, UBSan), tsan, release (device code where nvcc is)
#     tests/run.sh --quick         dev alone
#     tests/run.sh --no-install    the packages are there already
#     tests/run.sh -R PATTERN      only tests whose name matches
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

presets=(dev tsan release)
install=1
pattern=.
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) presets=(dev) ;;
    --no-install) install=0 ;;
    -R) pattern=${2:?-R needs a pattern}; shift ;;
    *) sed -n '2,7p' "$0"; [ "$1" = --help ] && exit 0; exit 2 ;;
  esac
  shift
done

say() { printf '== %s\n' "$*"; }

packages=(gcc g++ cmake ninja-build pkg-config libmicrohttpd-dev libcjson-dev nettle-dev check curl python3 python3-venv
  wrk prometheus shellcheck clang-format clang libclang-rt-14-dev)
if [ "$install" = 1 ]; then
  missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
  if ! .venv/bin/python -c 'import numpy' 2>/dev/null; then
    say "installing numpy into .venv (a real client for the tests)"
    python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check 'numpy>=1.24'
  fi
fi

passed=0 failed=0 skipped=0
for preset in "${presets[@]}"; do
  say "building $preset"
  cmake --preset "$preset" >"/tmp/transposed-$$.log" 2>&1 || { cat "/tmp/transposed-$$.log"; exit 1; }
  rm -f "/tmp/transposed-$$.log"
  cmake --build --preset "$preset" -j "$(nproc)"
  labels=()
  [ "$preset" = tsan ] && labels=(-L 'unit|e2e')
  say "testing $preset"
  report=build/$preset/ctest.xml
  ctest --test-dir "build/$preset" -j "$(nproc)" --output-on-failure --no-tests=error --timeout 600 -R "$pattern" \
    "${labels[@]}" --output-junit ctest.xml || true
  read -r p f s < <(python3 - "$report" <<'PY'
import sys, xml.etree.ElementTree as tree
try:
    suite = tree.parse(sys.argv[1]).getroot()
    total, bad, skip = (int(suite.get(k, 0)) for k in ("tests", "failures", "skipped"))
    bad += int(suite.get("errors", 0))
    print(total - bad - skip, bad, skip)
except (OSError, tree.ParseError):
    print(0, 1, 0)
PY
  )
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
