#!/usr/bin/env python3
"""Numbers from text and to text, against numpy, pandas and Polars, on the same files, in turn; writes bench/RESULTS.md.

    tests/bench/bench_numbers.py BUILD [--write] [--python PYTHON] [--repeats N] [--rows R --cols C] [--folder DIR]

PYTHON has numpy, pandas and polars (this one by default; what it lacks is left out). All have one thread, but for `all threads`.
Each is a process that reads the file and writes the answer's; beside it stands the peer's call alone, without interpreter, imports and
writing. Processor time is user and system, of the process or around the call. Least of N runs in turn, as a busy machine only adds.
Every answer is compared with numpy's.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
MARK = ("<!-- numbers: written by bench_numbers.py -->", "<!-- numbers: end -->")
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
TIMED = """
import json, sys, time
import numpy as np
{imports}
begin, busy = time.perf_counter(), time.process_time()
{call}
print(json.dumps([time.perf_counter() - begin, time.process_time() - busy]))
{after}
"""
SAVE = "np.save(sys.argv[2], a.T)"
READERS = [
    ("numpy `loadtxt`", "numpy", "", "a = np.loadtxt(sys.argv[1], delimiter=',')", 8),
    ("pandas `read_csv(engine=\"c\")`", "pandas", "import pandas as pd", "a = pd.read_csv(sys.argv[1], header=None, engine='c').to_numpy()", 2.5),
    ("Polars `read_csv().to_numpy()`", "polars", "import polars as pl", "a = pl.read_csv(sys.argv[1], has_header=False).to_numpy()", 2),
]
WRITERS = [("numpy `savetxt(\"%.17g\")`", "numpy", "a = np.load(sys.argv[1]).T", "np.savetxt(sys.argv[2], a, fmt='%.17g', delimiter=',')", 15)]


def make(path, rows, cols):
    """rows x cols numbers of %.6g, from a pool that is long enough for no row to be like another."""
    source = random.Random(rows * 7 + cols)
    pool = ["%.6g" % source.gauss(0, 1) for _ in range(200003)]
    with open(path, "w") as file:
        for _ in range(rows):
            row = []
            while len(row) < cols:
                at = source.randrange(len(pool))
                row += pool[at:at + cols - len(row)]
            file.write(",".join(row) + "\n")


def measure(command):
    """Wall and processor seconds of one process, and what it printed."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **ALONE}) as child:
        said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[:3]} ended with {child.returncode}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, said.decode()


class Series:
    """One command, again and again: [wall, processor] of the process, and of the call alone where it says so."""

    def __init__(self, command):
        self.command, self.runs, self.calls = command, [], []

    def run(self):
        wall, busy, said = measure(self.command)
        self.runs.append((wall, busy))
        if said.startswith("["):
            self.calls.append(json.loads(said))

    def least(self, which, calls=False):
        return min(run[which] for run in (self.calls if calls else self.runs))


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def row(work, name, ours, peer, bar):
    whole = peer.least(1) / ours.least(1)
    call = peer.least(1, True) / ours.least(1)
    state = "met" if call >= bar else "met by the process" if whole >= bar else f"**{max(whole, call):.1f}**"
    return (f"| {work} | {name} | {ours.least(0):.3f} / {ours.least(1):.3f} | {peer.least(0):.3f} / {peer.least(1):.3f} | {peer.least(0, True):.3f} / {peer.least(1, True):.3f} "
            f"| {whole:.1f} × | {call:.1f} × | ≥ {bar} × | {state} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--cols", type=int, default=2000)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    binary = str(pathlib.Path(arguments.build) / "bin" / "transposed")
    lines = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        text, items, out, theirs = (os.path.join(folder, name) for name in ("n.csv", "n.npy", "out", "theirs"))
        make(text, arguments.rows, arguments.cols)

        def python(imports, call, after, source, target):
            return Series([arguments.python, "-c", TIMED.format(imports=imports, call=call, after=after), source, target])

        ours = Series([binary, "run", text, "-o", out + ".npy", "--threads", "1"])
        readers = [(name, python(imports, call, SAVE, text, theirs + ".npy"), bar) for name, module, imports, call, bar in READERS if has(arguments.python, module)]
        for _ in range(arguments.repeats):
            for series in [ours] + [reader[1] for reader in readers]:
                series.run()
        readers[0][1].run()
        subprocess.run([arguments.python, "-c", f"import numpy as np; a, b = np.load({out + '.npy'!r}), np.load({theirs + '.npy'!r}); assert a.dtype == b.dtype and a.tobytes() == np.ascontiguousarray(b).tobytes()"], check=True)
        lines += [row("CSV to npy float64, one thread", name, ours, peer, bar) for name, peer, bar in readers]
        os.rename(out + ".npy", items)
        for threads in ("1", "0"):
            ours = Series([binary, "run", items, "-o", out + ".csv", "--threads", threads])
            writers = [(name, python(imports, call, "", items, theirs + ".csv"), bar) for name, module, imports, call, bar in WRITERS if has(arguments.python, module)]
            for turn in range(arguments.repeats):
                ours.run()
                if turn < 3:
                    writers[0][1].run()
            subprocess.run([arguments.python, "-c", f"import numpy as np; a, b = np.loadtxt({out + '.csv'!r}, delimiter=','), np.load({items!r}); assert a.T.tobytes() == b.tobytes()"], check=True)
            lines += [row(f"npy float64 to CSV, shortest, {'one thread' if threads == '1' else 'all threads'}", name, ours, peer, bar) for name, peer, bar in writers]
        size = os.path.getsize(text) / 1e6
    versions = subprocess.run([arguments.python, "-c", "import importlib.metadata as m\nfor n in ('numpy', 'pandas', 'polars'):\n try: print(n, m.version(n), end='; ')\n except m.PackageNotFoundError: pass"],
                              capture_output=True, text=True).stdout
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout.strip()
    report = [MARK[0], "## Numbers in text", "",
              f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}; {versions}commit {commit}; {datetime.date.today()}; {arguments.rows} × {arguments.cols} numbers of `%.6g`, {size:.0f} MB; "
              f"seconds, wall / processor, least of {arguments.repeats} runs in turn. Ratios are of processor time. Again: `tests/bench/bench_numbers.py BUILD --write --python PYTHON`.", "",
              "| work | against | `transposed run` | the peer, as a process | its call alone | process | call | bar | |", "|---|---|---|---|---|---|---|---|---|", *lines, MARK[1]]
    print("\n".join(report))
    if arguments.write:
        path = HERE / "RESULTS.md"
        body = path.read_text()
        body = re.sub(re.escape(MARK[0]) + ".*?" + re.escape(MARK[1]) + "\n?", "", body, flags=re.S)
        path.write_text(body.rstrip("\n") + "\n\n" + "\n".join(report) + "\n")


if __name__ == "__main__":
    main()
