#!/usr/bin/env python3
"""run_http.py -- how close the daemon comes to a bare libmicrohttpd echo of the same body, in paired runs of one session.

    tests/bench/run_http.py BUILD [--runs N] [--write]

BUILD is a build folder with bin/transposed and bin/bench_echo, without sanitizers. Needs curl and wrk (exit 77 without).
Prints the figures; --write puts them into tests/bench/RESULTS.md. Exit 1 when a bar is missed.
"""
import argparse
import datetime
import http.client
import os
import pathlib
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from results_page import put

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
BAR_BIG, BAR_SMALL, BAR_START_S = 0.75, 0.60, 0.2


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    """transposed serve on two free ports; start_s is the time to /readyz 200."""

    def __init__(self, binary, threads):
        self.port, self.admin = free_port(), free_port()
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [binary, "serve", f"--listen=127.0.0.1:{self.port}", f"--admin-listen=127.0.0.1:{self.admin}",
             f"--http-threads={threads}", "--host-memory-bytes=4GiB"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() - begin > 30:
                sys.exit("the daemon did not start")
            time.sleep(0.0005)
        self.start_s = time.monotonic() - begin

    def is_ready(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def peak_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


class Echo:
    def __init__(self, binary, threads):
        self.process = subprocess.Popen([binary, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)


def curl_seconds(port, path, rows, cols):
    url = f"http://127.0.0.1:{port}/v1/transpose?rows={rows}&cols={cols}"
    out = subprocess.run(["curl", "-sS", "--fail", "-o", "/dev/null", "-H", "Expect:", "-H", "Content-Type: application/octet-stream",
                          "-X", "POST", "-T", str(path), "-w", "%{time_starttransfer} %{time_total} %{size_download}", url],
                         check=True, capture_output=True, text=True).stdout.split()
    assert int(out[2]) == rows * cols * 4, f"{out[2]} bytes came back"
    return float(out[1])


def wrk_rate(port, script, seconds):
    out = subprocess.run(["wrk", "-t2", "-c16", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{port}/v1/transpose?rows=32&cols=32"],
                         check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in out, out
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])


def machine():
    model = re.search(r"model name\s+:\s+(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"


def commit():
    out = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return out.stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs (5)")
    parser.add_argument("--write", action="store_true", help="write tests/bench/RESULTS.md")
    options = parser.parse_args()
    for tool in ("curl", "wrk"):
        if shutil.which(tool) is None:
            print(f"waived: {tool} is not installed")
            return 77
    transposed, bench_echo = options.build / "bin/transposed", options.build / "bin/bench_echo"
    threads = min(os.cpu_count(), 8)
    with tempfile.TemporaryDirectory() as folder:
        big, script = pathlib.Path(folder) / "big", pathlib.Path(folder) / "post.lua"
        with big.open("wb") as file:
            for _ in range(256):
                file.write(os.urandom(MIB))
        script.write_text('wrk.method = "POST"\nwrk.body = string.rep("0123456789abcdef", 256)\n'
                          'wrk.headers["Content-Type"] = "application/octet-stream"\n')
        echo, daemon = Echo(bench_echo, threads), Daemon(transposed, threads)
        pairs_big, pairs_small = [], []
        try:
            for i in range(options.runs + 1):
                pair = [curl_seconds(server.port, big, 8192, 8192) for server in (echo, daemon)]
                rates = [wrk_rate(server.port, script, 3) for server in (echo, daemon)]
                if i != 0:  # the first warms both
                    pairs_big.append(pair)
                    pairs_small.append(rates)
                    print(f"{i}: 256 MiB echo {pair[0]:.3f} s, transposed {pair[1]:.3f} s; "
                          f"4 KiB echo {rates[0]:.0f}/s, transposed {rates[1]:.0f}/s", flush=True)
        finally:
            echo.stop()
            daemon.stop()
        starts = []
        for _ in range(options.runs):
            daemon = Daemon(transposed, threads)
            starts.append(daemon.start_s)
            if len(starts) < options.runs:
                daemon.stop()
        with big.open("wb") as file:  # the last of them takes the 1 GiB request
            for _ in range(1024):
                file.write(os.urandom(MIB))
        curl_seconds(daemon.port, big, 16384, 16384)
        peak = daemon.peak_bytes()
        daemon.stop()
    median = statistics.median
    ratio_big = median(e / d for e, d in pairs_big)
    ratio_small = median(d / e for e, d in pairs_small)
    start, bar_memory = median(starts), int(2.1 * 1024 * MIB) + 64 * MIB
    rows = [
        ("256 MiB raw round trip, one curl", f"{median(d for _, d in pairs_big):.3f} s", f"{median(e for e, _ in pairs_big):.3f} s",
         f"{ratio_big:.2f} of its throughput", f"≥ {BAR_BIG}", ratio_big >= BAR_BIG),
        ("4 KiB raw POST, 16 connections (wrk)", f"{median(d for _, d in pairs_small):.0f}/s", f"{median(e for e, _ in pairs_small):.0f}/s",
         f"{ratio_small:.2f} of its requests/s", f"≥ {BAR_SMALL}", ratio_small >= BAR_SMALL),
        ("peak resident memory, one 1 GiB request", f"{peak / MIB:.0f} MiB", "–", f"{peak / (1024 * MIB):.2f} × the matrix",
         f"≤ {bar_memory / MIB:.0f} MiB", peak <= bar_memory),
        ("start to /readyz 200, no GPU", f"{start * 1000:.0f} ms", "–", "–", f"≤ {BAR_START_S * 1000:.0f} ms", start <= BAR_START_S),
    ]
    section = (f"## HTTP against a bare libmicrohttpd echo\n\n{machine()}; {threads} HTTP threads; commit {commit()}; "
               f"{datetime.date.today()}; medians of {options.runs} paired runs. Again: `tests/bench/run_http.py BUILD --write`.\n\n"
               "| work | transposed | echo | ratio | bar | |\n|---|---|---|---|---|---|\n")
    for *cells, good in rows:
        section += f"| {' | '.join(cells)} | {'met' if good else 'MISSED'} |\n"
    print(section)
    if options.write:
        put("http", "run_http.py", section)
    return 0 if all(row[-1] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
