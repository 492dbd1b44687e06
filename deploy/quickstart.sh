#!/usr/bin/env bash
# deploy/quickstart.sh -- from a bare Debian 12 to the first answer: installs what is missing, builds, starts the daemon,
# sends it a matrix in three formats, checks every answer, and leaves it running.
#
#     deploy/quickstart.sh                leaves the daemon running on 7070, its admin listener on 7071; on free ports when
#                                         one of them is taken
#     deploy/quickstart.sh --port 7080    on this port
#     deploy/quickstart.sh --once         stops it at the end
#     deploy/quickstart.sh --no-install   the packages are there already
#
# A daemon that an earlier run left is named and let alone. Asks nothing. Exits non-zero when anything failed. Works as root or
# with sudo, from a clone in any folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"

once=0 has_port=0 port="" install=1
while [ $# -gt 0 ]; do
  case "$1" in
    --once) once=1 ;;
    --no-install) install=0 ;;
    --port) has_port=1 port=${2-}; [ $# = 1 ] || shift ;;
    --port=*) has_port=1 port=${1#--port=} ;;
    --help | -h) sed -n '2,12p' "$0" | sed 's/^# \{0,1\}//'; exit 0 ;;
    *) echo "quickstart.sh: $1 is not an option; --help lists them" >&2; exit 2 ;;
  esac
  shift
done

# Before anything is built.
if [ "$has_port" = 1 ] && { [[ ! $port =~ ^[1-9][0-9]{0,4}$ ]] || [ "$port" -gt 65535 ]; }; then
  echo "quickstart.sh: --port is '$port': it takes a number from 1 to 65535" >&2
  exit 2
fi

step() { printf '\n== %s\n' "$*"; }
die() { printf 'quickstart.sh: %s\n' "$*" >&2; exit 1; }

# A long step: its output goes to a log, its last line to the terminal.
quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; die "\"$*\" failed; all it said is in $log"; }
}

if [ "$install" = 1 ]; then
  missing=()
  for package in gcc g++ cmake ninja-build pkg-config libmicrohttpd-dev libcjson-dev nettle-dev zlib1g-dev libzstd-dev curl python3; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    step "installing ${missing[*]}"
    root=()
    if [ "$(id -u)" != 0 ]; then
      command -v sudo >/dev/null || die "packages are missing (${missing[*]}) and there is no sudo: run this as root once"
      root=(sudo)
    fi
    "${root[@]}" apt-get update -qq
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    # Not in every release, and not needed: numbers are then written the same, in twice the time.
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libdragonbox-dev >/dev/null 2>&1 || true
  fi
fi

work=$(mktemp -d)
daemon=0 finished=0
clean_up() {
  if [ "$daemon" != 0 ] && { [ "$once" = 1 ] || [ "$finished" = 0 ]; }; then
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  [ "$daemon" = 0 ] || [ "$finished" = 1 ] || rm -f "$here/build/transposed-$daemon.pid"
  rm -rf "$work"
}
trap clean_up EXIT

step "building (device code too where nvcc is found)"
quietly "$work/configure.log" cmake --preset release -DTRANSPOSED_TESTS=OFF
grep -E 'CUDA' "$work/configure.log" | sed 's/^-- /   /' || true
cmake --build --preset release --target transposed
binary=$here/build/release/bin/transposed
"$binary" version

# Daemons of earlier runs: each left a file with its address, named by its process.
for file in build/transposed-*.pid; do
  pid=${file##*-}
  pid=${pid%.pid}
  if tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$binary serve "; then
    echo "   an earlier daemon still answers on http://$(cat "$file"); stop it with: kill $pid"
  else
    rm -f "$file"
  fi
done

# is_free PORT...: can all of them be bound here?
is_free() {
  python3 - "$@" <<'PY'
import socket, sys
try:
    for port in sys.argv[1:]:
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", int(port)))
except (OSError, OverflowError, ValueError):
    sys.exit(1)
PY
}

step "starting the daemon"
admin_port=0
if [ -n "$port" ]; then
  is_free "$port" || die "port $port can't be had: name another, or stop what listens there"
elif is_free 7070 7071; then
  port=7070 admin_port=7071
else
  echo "   7070 or 7071 is taken: takes free ones"
  port=0
fi
log=$(mktemp "$here/build/transposed-XXXXXX.log")
"$binary" serve --listen "127.0.0.1:$port" --admin-listen "127.0.0.1:$admin_port" </dev/null >/dev/null 2>"$log" &
daemon=$!
address=
for _ in $(seq 600); do
  address=$(sed -n 's/.*ready.* listen="\{0,1\}\([^ "]*\).*/\1/p' "$log")
  [ -z "$address" ] || break
  kill -0 "$daemon" 2>/dev/null || { cat "$log" >&2; die "the daemon did not start"; }
  sleep 0.05
done
[ -n "$address" ] || { cat "$log" >&2; die "the daemon was not ready after 30 seconds"; }
sed 's/^/   /' "$log"
mv "$log" "$here/build/transposed-$daemon.log" # the daemon goes on writing to it
log=$here/build/transposed-$daemon.log
echo "$address" >"$here/build/transposed-$daemon.pid"
url=http://$address

step "making a matrix of 300 x 500 float32 numbers, as .npy, raw and JSON"
python3 - "$work" <<'PY'
import random, struct, sys
folder, rows, cols = sys.argv[1], 300, 500
random.seed(1)
values = [struct.unpack("<f", struct.pack("<f", random.gauss(0, 1)))[0] for _ in range(rows * cols)]
raw = struct.pack(f"<{rows * cols}f", *values)
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, cols)
header += " " * (-(len(header) + 11) % 64) + "\n"
open(folder + "/in.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + raw)
open(folder + "/in.raw", "wb").write(raw)
with open(folder + "/in.json", "w") as file:
    file.write("[" + ",\n".join("[" + ",".join(repr(v) for v in values[r * cols:(r + 1) * cols]) + "]" for r in range(rows)) + "]")
PY

# send FORMAT TYPE QUERY: one curl, its headers, what /stats says of it, and the check of its bytes.
send() {
  local format=$1 type=$2 query=$3
  step "sending it as $format"
  echo "\$ curl --data-binary @in.$format -H 'Content-Type: $type' '$url/v1/transpose$query'"
  curl -sS --fail-with-body --max-time 120 -D "$work/headers" -o "$work/out.$format" -H "Content-Type: $type" -H "X-Request-Id: quickstart-$format" \
    --data-binary "@$work/in.$format" "$url/v1/transpose$query" || { cat "$work/out.$format" >&2; die "the $format request failed"; }
  grep -iE '^(HTTP|content-type|content-length|server-timing|transposed-)' "$work/headers" | tr -d '\r' | sed 's/^/   /'
  curl -sS --fail-with-body --max-time 30 "$url/stats?id=quickstart-$format" >"$work/stats.json"
  python3 - "$work" "$format" <<'PY'
import json, struct, sys
folder, kind = sys.argv[1:3]
rows, cols = 300, 500
sent = struct.unpack(f"<{rows * cols}f", open(folder + "/in.raw", "rb").read())
expected = [sent[r * cols + c] for c in range(cols) for r in range(rows)]
answer = open(f"{folder}/out.{kind}", "rb").read()
if kind == "json":
    matrix = json.loads(answer)
    shape, got = (len(matrix), len(matrix[0])), [v for row in matrix for v in row]
else:
    shape = (cols, rows)
    if kind == "npy":
        length = struct.unpack("<H", answer[8:10])[0]
        header, answer = answer[10:10 + length].decode(), answer[10 + length:]
        print("   header of the answer:", header.strip())
        if f"({cols}, {rows})" not in header:
            sys.exit("   WRONG: the header has another shape")
    got = list(struct.unpack(f"<{rows * cols}f", answer))
print("   first row of the answer: %s ..." % " ".join("%.4f" % v for v in got[:6]))
row = json.load(open(folder + "/stats.json"))["recent"][0]
keys = ("device", "strategy", "queue_ns", "h2d_ns", "kernel_ns", "d2h_ns", "total_ns")
print("   /stats says of it:", ", ".join(f"{key} {row[key]}" for key in keys))
if shape != (cols, rows) or got != expected:
    sys.exit("   WRONG: this is not the transpose")
if not row["kernel_ns"] > 0:
    sys.exit("   WRONG: /stats has no kernel time for it")
print(f"   checked: {rows} x {cols} became {cols} x {rows}, all {rows * cols} items in place")
PY
}

send npy application/x-npy ''
send raw application/octet-stream '?rows=300&cols=500&dtype=float32'
send json application/json ''

finished=1
if [ "$once" = 1 ]; then
  step "stopping the daemon"
  kill "$daemon"
  code=0
  wait "$daemon" || code=$?
  rm -f "$here/build/transposed-$daemon.pid"
  daemon=0
  [ "$code" = 0 ] || { tail -5 "$log" >&2; die "the daemon ended with status $code"; }
  echo "all good"
else
  disown "$daemon"
  step "all good: the daemon answers on $url; stop it with: kill $daemon"
  echo "   its log: $log"
  echo "   the program: $binary"
  [ "$address" = 127.0.0.1:7070 ] || echo "   in the README's curl lines write $address for 127.0.0.1:7070"
fi
