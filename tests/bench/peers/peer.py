"""peer.py -- what every peer written in Python shares: its command line, turns, rows and the JSON that `transposed bench` prints too.

    PEER [--shape RxC[xB][:N]] ... [--itemsize N] ... [--threads N] ... [--repeats N] [--seconds S] [--memory BYTES] [--stop-after S]

Without --shape and --itemsize: the grid of include/transposed/tbl/bench.def. One JSON object on standard output, progress on standard
error. Exit 0 good, 1 a result was wrong, 2 usage, 77 skipped (the reason stands in "skipped").
A peer's file defines one class (see Work below) and calls main() with it.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
ITEMSIZES = (1, 2, 4, 8, 16)
BURST_BYTES, BURST_MOST = 64 << 20, 50
SLOW = 3  # times the copy's: from here on few repeats do
REPEATS_SLOW = 3


class Skip(Exception):
    """This peer can't run here; its words are the reason."""


class Unsupported(Exception):
    """This peer has nothing for that cell; its words are the reason."""


class Cell:
    def __init__(self, rows, cols, batch, itemsize, threads=None):
        self.rows, self.cols, self.batch, self.itemsize, self.threads = rows, cols, batch, itemsize, threads
        self.bytes = rows * cols * batch * itemsize
        # A small matrix is not to be timed by its launch: as many in a row as move BURST_BYTES.
        self.burst = max(1, min(BURST_MOST, BURST_BYTES // self.bytes))

    def __str__(self):
        shape = f"{self.rows}x{self.cols}" + (f"x{self.batch}" if self.batch != 1 else "")
        return f"{shape}:{self.itemsize}" + (f" on {self.threads} threads" if self.threads else "")


class Work:
    """What a peer defines. A cell's life: prepare, is_right, then transpose and copy in turns.

    name       as in the tables; reference: what copy() is, in words; device: "cuda:0" or "cpu"
    itemsizes  that it has anything for
    """
    name = reference = device = ""
    itemsizes = ITEMSIZES

    def __init__(self):
        """Imports the library; raises Skip with the reason."""

    def prepare(self, cell):
        """Random data of that shape on the device; raises Unsupported with the reason."""
        raise NotImplementedError

    def is_right(self):
        """Transposes into poisoned memory, or memory of the library's own, and compares every item."""
        raise NotImplementedError

    def transpose(self):
        """Seconds of one transpose, averaged over the cell's burst."""
        raise NotImplementedError

    def copy(self):
        """The same of a copy of as many bytes."""
        raise NotImplementedError

    def release(self):
        """Gives the cell's memory back."""


def grid():
    """As shape(): every row of the table."""
    text = (ROOT / "include/transposed/tbl/bench.def").read_text(encoding="utf-8")
    return [(*map(int, row), None) for row in re.findall(r"^X\((\d+),\s*(\d+),\s*(\d+),", text, re.M)]


def shape(text):
    """(rows, cols, batch, item size or None)"""
    found = re.fullmatch(r"([1-9]\d{0,11})x([1-9]\d{0,11})(?:x([1-9]\d{0,11}))?(?::(1|2|4|8|16))?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no shape: it is RxC, or RxCxB for a batch, and :N for one item size")
    return int(found[1]), int(found[2]), int(found[3] or 1), int(found[4]) if found[4] else None


def arguments(peer):
    parser = argparse.ArgumentParser(description=f"{peer.name}: rows as `transposed bench --json` prints them.")
    parser.add_argument("--shape", type=shape, action="append", help="RxC or RxCxB, :N for one item size; may be given again (the grid)")
    parser.add_argument("--itemsize", type=int, choices=ITEMSIZES, action="append", help="may be given again (all)")
    parser.add_argument("--threads", type=int, action="append", help="on the CPU; may be given again (all cores)")
    parser.add_argument("--repeats", type=int, default=15, help="times of each (15)")
    parser.add_argument("--seconds", type=float, default=2, help="for the times of one cell (2)")
    parser.add_argument("--memory", type=int, default=0, help="bytes of host memory that one cell may take (half of what is free)")
    parser.add_argument("--stop-after", type=float, default=float("inf"), help="seconds after which no new cell is begun")
    return parser.parse_args()


def commit():
    found = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or os.environ.get("TRANSPOSED_COMMIT", "unknown")


def host_memory():
    """Half of what is free now."""
    found = re.search(r"MemAvailable:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text())
    return int(found[1]) * 512 if found else 1 << 30


def in_turns(work, repeats, seconds):
    """Times of the transpose and of the copy, taken in turns after a warm-up; a slow one gets few."""
    ends = time.monotonic() + seconds
    work.transpose(), work.copy()
    ours, copies = [work.transpose()], [work.copy()]
    most = REPEATS_SLOW if ours[0] > SLOW * copies[0] else repeats
    while len(ours) < most and (len(ours) < REPEATS_SLOW or time.monotonic() < ends):
        copies.append(work.copy())
        ours.append(work.transpose())
    return ours, copies


def row(peer, cell, ours, copies):
    median, copy = statistics.median(ours), statistics.median(copies)
    return {"device": peer.device, "itemsize": cell.itemsize, "rows": cell.rows, "cols": cell.cols, "batch": cell.batch,
            "strategy": peer.name, "tile": None, "seconds_median": median, "seconds_min": min(ours), "repeats": len(ours),
            "bytes": cell.bytes, "bytes_per_second": 2 * cell.bytes / median, "copy_seconds_median": copy,
            "share_of_copy": copy / median, "wavefronts": None, "sectors": None, "verified": True, "threads": cell.threads}


def cells_of(options, peer):
    threads = options.threads or [os.cpu_count()] if peer.device == "cpu" else [None]
    return [Cell(rows, cols, batch, itemsize, count) for rows, cols, batch, one in options.shape or grid()
            for itemsize in ([one] if one else options.itemsize or ITEMSIZES) for count in threads]


def measure(peer, cell, options, memory):
    """A row, or raises Unsupported. None: the result was wrong."""
    if cell.itemsize not in peer.itemsizes:
        raise Unsupported(f"{peer.name} has nothing for items of {cell.itemsize} bytes")
    if peer.device == "cpu" and 2 * cell.bytes > memory:
        raise Unsupported(f"input and output take {2 * cell.bytes} bytes and may take {memory}: --memory allows more")
    try:
        peer.prepare(cell)
        if not peer.is_right():
            return None
        return row(peer, cell, *in_turns(peer, options.repeats, options.seconds))
    finally:
        peer.release()


def stopped(*_):
    raise KeyboardInterrupt


def main(kind):
    options = arguments(kind)
    said = {"device": kind.device, "commit": commit(), "reference": kind.reference, "peer": kind.name, "rows": [], "left_out": []}
    wrong = 0
    try:
        peer = kind()
    except Skip as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        print(json.dumps(said | {"skipped": str(reason)}))
        return 77
    said["device"] = f"{peer.device} {peer.device_name}"
    signal.signal(signal.SIGTERM, stopped)
    ends, memory = time.monotonic() + options.stop_after, options.memory or host_memory()
    try:
        for cell in cells_of(options, peer):
            try:
                if time.monotonic() > ends:
                    raise Unsupported(f"not begun: {options.stop_after} seconds had passed")
                found = measure(peer, cell, options, memory)
            except Unsupported as reason:
                said["left_out"].append({"cell": str(cell), "reason": str(reason)})
                continue
            except Exception as why:  # a library's own failure, whatever its type: said, and the next cell may still do
                said["left_out"].append({"cell": str(cell), "reason": f"{type(why).__name__}: {str(why)[:200]}"})
                continue
            if found is None:
                wrong += 1
                said["left_out"].append({"cell": str(cell), "reason": "WRONG: items are not where they belong"})
            else:
                said["rows"].append(found)
            print(f"{peer.name} {cell}: " + (f"{found['seconds_median'] * 1e6:.1f} us, {found['share_of_copy']:.3f} of copy"
                                             if found else "WRONG"), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        said["left_out"].append({"cell": "the rest", "reason": "stopped from outside"})
    print(json.dumps(said))
    return 1 if wrong else 0
