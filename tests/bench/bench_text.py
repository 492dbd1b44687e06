#!/usr/bin/env python3
"""Tables of text against datamash, Polars and pandas, on the same files; writes bench/RESULTS.md.

    tests/bench/bench_text.py BUILD [--write] [--python PYTHON] [--repeats N] [--small] [--folder DIR]

PYTHON has polars and pandas (this one by default; what it lacks is left out). Every command alike runs several times back to back, the first
time not counted, then the next command; all of that twice, and the runs of both rounds make the medians. So no command pays for the memory
that another gave back to a virtual machine's host, or wins by what another left warm. Its answer is a new file each time, in the folder of
the text: the default one for temporary files, or DIR. Wall time, processor time (user and system) and the largest memory are the kernel's
account of each process. Every answer is compared with datamash's. --repeats is how often each command counts in a round: half of that for
the large files. --small leaves out the files of 180 MB and more.
"""
import argparse
import datetime
import hashlib
import http.client
import multiprocessing
import os
import pathlib
import platform
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
MARK = ("<!-- text: written by bench_text.py -->", "<!-- text: end -->")
POLARS = "import polars as p, sys; p.read_csv(sys.argv[1], separator='\t', has_header=False, infer_schema=False).transpose().write_csv(sys.argv[2], separator='\t', include_header=False)"
PANDAS = "import pandas as p, sys; p.read_csv(sys.argv[1], sep='\t', header=None, dtype=str, keep_default_na=False).T.to_csv(sys.argv[2], sep='\t', header=False, index=False)"


def make(path, rows, cols, quotes=False):
    """rows x cols numbers of %.6g, from a pool that is long enough for no row to be like another."""
    source = random.Random(rows * 7 + cols)
    pool = ["%.6g" % source.gauss(0, 1) for _ in range(200003)]
    if quotes:
        pool = [f'"{text}"' for text in pool]
    with open(path, "w") as file:
        for _ in range(rows):
            left, row = cols, []
            while left:
                at = source.randrange(len(pool))
                row += pool[at:at + left]
                left = cols - len(row)
            file.write("\t".join(row) + "\n")


def measure(command, stdin=None, stdout=None, limit=None):
    """(wall, processor, MiB) of one process; what it writes is a new file each time."""
    if stdout and os.path.exists(stdout):
        os.unlink(stdout)
    source = open(stdin, "rb") if stdin else subprocess.DEVNULL
    target = open(stdout, "wb") if stdout and stdin else subprocess.DEVNULL
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=source, stdout=target, stderr=subprocess.DEVNULL, preexec_fn=limit)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = status
    for file in (source, target):
        if file != subprocess.DEVNULL:
            file.close()
    if status != 0:
        raise RuntimeError(f"{command} ended with {status}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Medians:
    def __init__(self):
        self.runs = {}

    def add(self, name, run):
        self.runs.setdefault(name, []).append(run)

    def of(self, name):
        runs = self.runs[name]
        return statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs), max(r[2] for r in runs)


def back_to_back(commands, repeats, rounds=2):
    """Each command repeats + 1 times, the first not counted, then the next one."""
    medians = Medians()
    for _ in range(rounds):
        for name, (command, stdin, stdout) in commands.items():
            for turn in range(repeats + 1):
                run = measure(command, stdin, stdout)
                if turn != 0:
                    medians.add(name, run)
    return medians


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def json_over_http(binary, folder, table, repeats):
    """Bytes of input a second, from the end of the body to the last byte of the answer, by the daemon's own clock and from outside."""
    with open(table) as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    body = ("[" + ",".join("[" + ",".join(row) + "]" for row in rows) + "]").encode()
    wanted = ("[" + ",".join("[" + ",".join(row) + "]" for row in zip(*rows)) + "]").encode()
    address = os.path.join(folder, "bench.sock")
    daemon = subprocess.Popen(["taskset", "-c", "0", binary, "serve", "--listen", "unix:" + address, "--admin-listen", "off", "--devices", "none", "--log-level", "error"])
    try:
        for _ in range(200):
            if os.path.exists(address):
                break
            time.sleep(0.05)
        stages = []
        for _ in range(repeats + 1):
            connection = http.client.HTTPConnection("localhost")
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(address)
            connection.request("POST", "/v1/transpose", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.read() != wanted:
                raise RuntimeError("the JSON answer is wrong")
            times = dict(re.findall(r"(\w+);dur=([\d.]+)", answer.headers["Server-Timing"]))
            stages.append(sum(float(times[s]) for s in ("decode", "h2d", "kernel", "d2h", "encode")) / 1e3)
            connection.close()
    finally:
        daemon.terminate()
        daemon.wait()
    return len(body) / statistics.median(stages[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--folder")
    options = parser.parse_args()
    binary = str(pathlib.Path(options.build) / "bin" / "transposed")
    rows, polars, pandas = [], has(options.python, "polars"), has(options.python, "pandas")
    cores = len(os.sched_getaffinity(0))

    def say(work, ours, theirs, ratio, bar, met):
        rows.append((work, ours, theirs, ratio, bar, "met" if met else "missed"))
        print("  ".join(rows[-1]), flush=True)

    def seconds(run):
        return f"{run[0]:.3f} s ({run[1]:.3f} s)"

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        shapes = [("36 MB, 2000 x 2000", 2000, 2000, 7, 10)]
        if not options.small:
            shapes += [("366 MB, 20 000 x 2000", 20000, 2000, 10, 16), ("1 000 000 x 20", 1000000, 20, 7, None), ("20 x 1 000 000", 20, 1000000, 7, None)]
        out = {name: os.path.join(folder, name + ".tsv") for name in ("one", "all", "datamash", "polars", "pandas", "o")}
        for name, high, wide, bar, bar_all in shapes:
            table = os.path.join(folder, "t.tsv")
            make(table, high, wide)
            commands = {"one": ([binary, "run", table, "-o", out["one"], "--threads", "1"], None, out["one"]),
                        "all": ([binary, "run", table, "-o", out["all"]], None, out["all"]),
                        "datamash": (["datamash", "transpose"], table, out["datamash"])}
            # A table with a million columns is more than a data frame is made for.
            frames = polars and wide <= 2000 and (high <= 20000)
            if frames:
                commands["polars"] = ([options.python, "-c", POLARS, table, out["polars"]], None, out["polars"])
            if pandas and wide <= 2000 and high <= 2000:
                commands["pandas"] = ([options.python, "-c", PANDAS, table, out["pandas"]], None, out["pandas"])
            medians = back_to_back(commands, options.repeats if high * wide <= 4000000 else max(1, (options.repeats + 1) // 2))
            right = digest(out["datamash"])
            for other in ("one", "all"):
                if digest(out[other]) != right:
                    raise RuntimeError(f"{name}: {other} is not datamash's")
            one, every, theirs = medians.of("one"), medians.of("all"), medians.of("datamash")
            say(f"TSV {name}, one thread, against datamash", seconds(one), seconds(theirs), f"{theirs[0] / one[0]:.1f} x ({theirs[1] / one[1]:.1f} x)", f">= {bar} x", theirs[0] / one[0] >= bar)
            if bar_all:
                say(f"the same, {cores} threads", seconds(every), seconds(theirs), f"{theirs[0] / every[0]:.1f} x", f">= {bar_all} x", theirs[0] / every[0] >= bar_all)
            if frames:
                theirs = medians.of("polars")
                say(f"the same, {cores} threads, against Polars", f"{seconds(every)}, {every[2]:.0f} MiB", f"{seconds(theirs)}, {theirs[2]:.0f} MiB",
                    f"{theirs[0] / every[0]:.1f} x, {every[2] / theirs[2]:.2f} of its memory", ">= 15 x, <= 0.25", theirs[0] / every[0] >= 15 and every[2] / theirs[2] <= 0.25)
            if "pandas" in medians.runs:
                theirs = medians.of("pandas")
                say("the same, against pandas", seconds(every), seconds(theirs), f"{theirs[0] / every[0]:.1f} x", "-", True)
            size = os.path.getsize(table) / 1048576
            if high == 20000:
                most = max(one[2], every[2])
                say("peak memory, 366 MB TSV", f"{most:.0f} MiB", "-", f"{most / size:.2f} x the input", "<= 2.5 x", most / size <= 2.5)
            if high == 2000:
                with multiprocessing.Pool(1) as apart:  # a process counts as its peak what its parent held when it was started
                    rate = apart.apply(json_over_http, (binary, folder, table, options.repeats)) / 1e6
                say("JSON 36 MB over HTTP, one core, scan to last byte", f"{rate:.0f} MB/s", "-", "-", ">= 400 MB/s", rate >= 400)
                quoted = os.path.join(folder, "q.tsv")
                make(quoted, high, wide, quotes=True)
                pair = back_to_back({"plain": ([binary, "run", table, "-o", out["one"], "--threads", "1"], None, out["one"]),
                                "quoted": ([binary, "run", quoted, "-o", out["all"], "--threads", "1"], None, out["all"])}, 2 * options.repeats)
                speeds = [os.path.getsize(path) / pair.of(name)[0] / 1e6 for path, name in ((quoted, "quoted"), (table, "plain"))]
                say("quotes round each cell, against none", f"{speeds[0]:.0f} MB/s", f"{speeds[1]:.0f} MB/s", f"{speeds[0] / speeds[1]:.2f} of its speed", ">= 0.5", speeds[0] / speeds[1] >= 0.5)
            os.unlink(table)
        if not options.small:
            import resource
            table = os.path.join(folder, "t.tsv")
            make(table, 55000, 2000)
            limit = 600 * 1024 * 1024
            medians = Medians()
            for _ in range(max(1, options.repeats // 2)):
                medians.add("free", measure([binary, "run", table, "-o", out["one"], "--threads", "1"], None, out["one"]))
                medians.add("bound", measure([binary, "run", table, "-o", out["o"], "--threads", "1"], None, out["o"], lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))))
            if digest(out["one"]) != digest(out["o"]):
                raise RuntimeError("the answer made in panels differs")
            free, bound = medians.of("free"), medians.of("bound")
            say(f"{os.path.getsize(table) / 1e9:.2f} GB TSV under `ulimit -v` of 600 MB", f"{seconds(bound)}, {bound[2]:.0f} MiB", seconds(free), f"{bound[0] / free[0]:.1f} x the unbounded time", "<= 6 x", bound[0] / free[0] <= 6)
    filesystem = subprocess.run(["stat", "-f", "-c", "%T", options.folder or tempfile.gettempdir()], capture_output=True, text=True).stdout.strip()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE).stdout.strip()
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    lines = [MARK[0], "## Tables of text", "",
             f"{model}, {cores} cores, Linux {platform.release()}, load {os.getloadavg()[1]:.1f} while it ran; commit {commit}; {datetime.date.today()}; each command several times back to back, the first not counted, twice over: medians, in brackets processor time; files on {filesystem}. "
             "Numbers of `%.6g`. Again: `tests/bench/bench_text.py BUILD --write`.", "",
             "| work | transposed | other | ratio | bar | |", "|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows] + [MARK[1]]
    if options.write:
        path = HERE / "RESULTS.md"
        text = path.read_text()
        if MARK[0] in text:
            text = text[:text.index(MARK[0])] + "\n".join(lines) + text[text.index(MARK[1]) + len(MARK[1]):]
        else:
            text = text.rstrip("\n") + "\n\n" + "\n".join(lines) + "\n"
        path.write_text(text)
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
