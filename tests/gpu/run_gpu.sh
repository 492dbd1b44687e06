#!/usr/bin/env bash
# tests/gpu/run_gpu.sh CARRIED RESULTS [TITLE...] -- everything that needs a GPU, and its record; or the parts whose titles
# begin so. "quick" among them: the cases by a short list.
#
# CARRIED is a folder that tests/gpu/collect.sh made (or a build folder on a machine with our libraries); RESULTS is the
# Markdown file to write, tests/gpu/RESULTS.md; beside it comes bank_measured.csv, which belongs in tests/unit/model. Needs
# the driver, python3 with numpy, compute-sanitizer for the sanitizers, and ncu for the proof of the bank model.
# Every part runs even if one fails; the exit status says whether all were good.
set -uo pipefail
carried=$(cd "${1:?usage: tests/gpu/run_gpu.sh CARRIED RESULTS}" && pwd) || exit 2
results=${2:?usage: tests/gpu/run_gpu.sh CARRIED RESULTS}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$carried/bin
with_libraries="env LD_LIBRARY_PATH=$carried/lib"
ours=(env "LD_LIBRARY_PATH=$carried/lib")
failed=0
shift 2
quick=()
only=()
for name; do if [ "$name" = quick ]; then quick=(--quick); else only+=("$name"); fi; done
: >"$results" || exit 2

put() { printf '%s\n' "$@" >>"$results"; }
say() { printf '== %s\n' "$*"; }

# part TITLE SECONDS COMMAND...: its output as a section, and how it ended. The carried libraries are for our binaries alone:
# python3 and others here were linked with newer ones.
part() {
  local title=$1 seconds=$2 started rc log shown wanted
  shift 2
  wanted=$((${#only[@]} == 0))
  for name in "${only[@]}"; do case $title in "$name"*) wanted=1 ;; esac; done
  [ "$wanted" = 1 ] || return 0
  say "$title"
  log=$(mktemp)
  started=$(date +%s)
  timeout "$seconds" "$@" >"$log" 2>&1
  rc=$?
  shown="$*"
  shown=${shown//"$with_libraries "/}
  shown=${shown//"$carried/"/}
  shown=${shown//"$here/"/tests/gpu/}
  put "## $title" "" "\`$shown\`: exit status $rc after $(($(date +%s) - started)) s" ""
  if grep -q '^|' "$log"; then
    put "$(cat "$log")" ""
  else
    put '```' "$(tail -n 120 "$log" | cut -c 1-300)" '```' ""
  fi
  tail -n 5 "$log"
  rm -f "$log"
  [ "$rc" = 0 ] || { failed=1; say "$title: exit status $rc"; }
}

gpu="nvidia-smi is not here"
if command -v nvidia-smi >/dev/null; then
  gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total,pcie.link.gen.max,pcie.link.width.max --format=csv,noheader 2>&1 | head -n 1)
fi
put "# What the GPU said" "" \
  "Written by \`tests/gpu/run_gpu.sh\`. A kernel change without a new run is named here." "" \
  "- commit: $(cat "$carried/commit" 2>/dev/null || echo unknown)" \
  "- device, driver, memory, PCIe: $gpu" \
  "- host: $(grep -m 1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) cores, Linux $(uname -r)" \
  "- date: $(date -u +%Y-%m-%dT%H:%MZ)" ""

part "Cases: every strategy, item size, tile and shape against the oracle" 400 "${ours[@]}" "$bin/test_cuda" "${quick[@]}"
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck synccheck initcheck; do
    # A launch is a hundred times as slow under racecheck: each kernel, and not what panels and the tuner do with them.
    cases=()
    [ "$tool" != racecheck ] || cases=("CK_RUN_CASE=kernels")
    part "compute-sanitizer: $tool" 300 "${ours[@]}" "${cases[@]}" compute-sanitizer --tool "$tool" --error-exitcode 9 "$bin/test_cuda" --quick
  done
else
  put "## compute-sanitizer" "" "Not run: it is not installed here." ""
fi
part "The grid: what auto takes, tuned, beside a device-to-device copy" 200 "${ours[@]}" "$bin/transposed" bench --device cuda --tune
part "The grid: every strategy, as a share of that copy" 500 "${ours[@]}" "$bin/transposed" bench --device cuda --strategy all
part "Addresses alone: what the strategies' tiles give when nothing is transposed" 60 "${ours[@]}" "$bin/bench_addresses"
part "The tuner: its choices beside the rule's, and beside every way measured longer" 120 "${ours[@]}" "$bin/bench_tuner"
part "The ladder: 1 to 32-way conflicts on one side, all else equal" 60 "${ours[@]}" "$bin/bench_ladder"
part "Runs that overlap on one device" 60 "${ours[@]}" "$bin/bench_overlap"
part "Host to host: mapped, whole and in panels, beside the bus" 120 "${ours[@]}" "$bin/bench_transfer"
ncu=$(command -v ncu || find /usr/local/cuda*/bin /opt/nvidia/nsight-compute -maxdepth 2 -name ncu 2>/dev/null | sort | tail -n 1)
if [ -n "$ncu" ]; then
  part "The bank model beside the profiler's counters" 240 python3 "$here/check_banks.py" "$carried" --ncu "$ncu" \
    --csv "$(dirname "$results")/bank_measured.csv"
else
  put "## The bank model beside the profiler's counters" "" "Not run: Nsight Compute (ncu) is not installed here." ""
fi
part "The daemon, asked by curl" 120 python3 "$here/ask_daemon.py" "$carried"

say "written: $results"
exit "$failed"
