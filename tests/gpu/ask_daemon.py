#!/usr/bin/env python3
"""ask_daemon.py CARRIED -- starts the daemon on the GPU, asks it with curl, checks with numpy; prints Markdown.

Three starts are timed to the first 200 of /readyz: the first measures the strategies, the others read what it wrote. Then 8192 x 8192 float32 goes in as raw bytes and as .npy, twice each,
and /stats is asked what each request's kernel took.
"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy

SIDE = 8192
START_MOST_S = 3.0  # the bar: start to /readyz 200 on a machine with a GPU
BUDGET_S = 1.5  # tune_budget, once a GPU


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    reply = connection.getresponse()
    answer = reply.status, reply.read()
    connection.close()
    return answer


class Daemon:
    def __init__(self, carried, log, folder):
        self.port = free_port()
        self.log = log
        began = time.monotonic()
        self.process = subprocess.Popen(
            [os.path.join(carried, "bin", "transposed"), "serve", "--listen", f"127.0.0.1:{self.port}", "--admin-listen", "off",
             "--tune-file", os.path.join(folder, "tuning")],
            stderr=log, env=dict(os.environ, LD_LIBRARY_PATH=os.path.join(carried, "lib")))
        while True:
            try:
                if get(self.port, "/readyz")[0] == 200:
                    break
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() - began > 60:
                raise SystemExit(f"the daemon is not ready after {time.monotonic() - began:.1f} s; its log:\n" + tail(log))
            time.sleep(0.002)
        self.ready_s = time.monotonic() - began

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def tail(log):
    log.flush()
    with open(log.name, encoding="utf-8", errors="replace") as text:
        return "".join(text.readlines()[-20:])


def ask(curl, env, port, body, kind, query, answer, headers):
    subprocess.run(
        [curl, "-sS", "--fail-with-body", "-D", headers, "-o", answer, "-H", f"Content-Type: {kind}", "-H", "Expect:",
         "--data-binary", f"@{body}", f"http://127.0.0.1:{port}/v1/transpose{query}"], check=True, env=env)
    with open(headers, encoding="ascii") as lines:
        return {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def main():
    carried = sys.argv[1]
    curl, env = shutil.which("curl"), dict(os.environ)
    if curl is None:
        curl = os.path.join(carried, "bin", "curl")
        env["LD_LIBRARY_PATH"] = os.path.join(carried, "lib")
    good = True
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w+", encoding="utf-8") as log:
        starts = []
        for _ in range(2):
            daemon = Daemon(carried, log, folder)
            starts.append(daemon.ready_s)
            good &= daemon.stop() == 0
        daemon = Daemon(carried, log, folder)
        starts.append(daemon.ready_s)
        good &= starts[0] <= START_MOST_S + BUDGET_S and max(starts[1:]) <= START_MOST_S

        matrix = numpy.random.default_rng(7).integers(0, 2**32, (SIDE, SIDE), dtype=numpy.uint32).view(numpy.float32)
        bits = matrix.view(numpy.uint32)
        raw, npy, answer, headers = (os.path.join(folder, name) for name in ("raw", "npy", "answer", "headers"))
        matrix.tofile(raw)
        with open(npy, "wb") as file:
            numpy.save(file, matrix)
        rows = []
        for name, body, kind, query in (
                ("raw", raw, "application/octet-stream", f"?device=cuda&rows={SIDE}&cols={SIDE}&dtype=float32"),
                ("npy", npy, "application/x-npy", "?device=cuda")) * 2:
            reply = ask(curl, env, daemon.port, body, kind, query, answer, headers)
            if name == "raw":
                result = numpy.fromfile(answer, dtype=numpy.uint32).reshape(SIDE, SIDE)
            else:
                result = numpy.load(answer).view(numpy.uint32)
            right = numpy.array_equal(result, bits.T)
            record = json.loads(get(daemon.port, "/stats?id=" + reply["x-request-id"])[1])["recent"][0]
            on_gpu = record["device"].startswith("cuda") and record["kernel_ns"] > 0
            good &= right and on_gpu
            rows.append((name, record, reply, right))
        stats = json.loads(get(daemon.port, "/stats")[1])
        good &= daemon.stop() == 0

    print("Start to `/readyz` 200: " + ", ".join(f"{s:.2f} s" for s in starts) + f" (bar: {START_MOST_S:.0f} s, and {BUDGET_S} s more for the first, which tunes).\n")
    print(f"{SIDE}×{SIDE} float32, random bits (NaN payloads too), each answer compared with numpy's `.T` bit for bit; times from `/stats`.\n")
    print("| format | device | strategy | tile | receive ms | h2d ms | kernel_ns | kernel GB/s | d2h ms | total ms | answer |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, r, _, right in rows:
        rate = 2 * r["bytes"] / r["kernel_ns"] if r["kernel_ns"] else 0
        print(f"| {name} | {r['device']} | {r['strategy']} | {r['tile']} | {r['receive_ns'] / 1e6:.1f} | {r['h2d_ns'] / 1e6:.2f} | {r['kernel_ns']} "
              f"| {rate:.0f} | {r['d2h_ns'] / 1e6:.2f} | {r['total_ns'] / 1e6:.1f} | {'right' if right else 'WRONG'} |")
    print(f"\n`Server-Timing` of the last: `{rows[-1][2].get('server-timing', '')}`\n")
    print("What the start measured, in `/stats`:\n\n```json\n" + json.dumps(stats["strategy"], indent=1) + "\n```\n")
    print("The GPU in `/stats`:\n\n```json\n" + json.dumps(stats["devices"][0], indent=1) + "\n```")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
