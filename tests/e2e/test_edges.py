"""test_edges.py -- budgets that hold a request or don't, and the odd ways in which a request can be written."""
import json
import os
import signal
import socket
import struct
import tempfile
import threading
import time
import unittest

from daemon import JSON, NPY, RAW, Daemon, Served, main, npy, transpose_bytes

MIB = 1 << 20


def exchange(daemon, data, seconds=20):
    """What comes back for these very bytes, until the daemon closes or `seconds` are over."""
    with daemon.raw_socket(seconds) as one:
        one.sendall(data)
        got = b""
        try:
            while piece := one.recv(65536):
                got += piece
        except (TimeoutError, ConnectionResetError):
            pass
        return got


def chunked(body, size=65536):
    return b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + size]), body[i:i + size]) for i in range(0, len(body), size)) + b"0\r\n\r\n"


class Budget(unittest.TestCase):
    def never_fits(self, answer, at_least):
        self.assertEqual(answer.status, 413, answer.body[:300])
        problem = answer.json()
        self.assertEqual((problem["code"], problem["limit"]), ("too-large", 40 * MIB))
        self.assertGreaterEqual(problem["actual"], at_least)
        self.assertGreater(problem["actual"], 40 * MIB)
        self.assertNotIn("Retry-After", answer.headers)

    def test_what_never_fits_is_413(self):
        with Daemon("--host-memory-bytes", "40MiB") as daemon:
            data = os.urandom(2048 * 3072 * 4)
            self.never_fits(daemon.post(data, "?rows=2048&cols=3072", RAW), 48 * MIB)
            self.never_fits(daemon.post(npy(data, (2048, 3072)), type=NPY), 48 * MIB)
            self.never_fits(daemon.post(b"[" + b",".join([b"[1,2]"] * 1300000) + b"]", type=JSON), 40 * MIB)
            self.never_fits(daemon.post(b"[" + b",".join([b"[1,2]"] * 2600000) + b"]", type=JSON), 54 * MIB)
            head = b"POST /v1/transpose HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            got = exchange(daemon, head + chunked(b"[[" + b"1" * 100 + b" " * (30 * MIB) + b"]]"))
            self.assertIn(b" 413 ", got.split(b"\r\n")[0])
            # What needs no second block fits: a relabel, and Fortran order.
            wide = os.urandom(30 * MIB)
            self.assertEqual(daemon.post(npy(wide, (1, len(wide) // 4)), type=NPY).status, 200)
            self.assertEqual(daemon.post(npy(wide, (1024, len(wide) // 4096), fortran=True), type=NPY).status, 200)
            text = b'[["x","' + b"y" * (15 * MIB) + b'"]]'
            self.assertEqual(daemon.post(text, type=JSON).body, text.replace(b",", b"],["))

    def test_what_is_accepted_is_finished(self):
        rows, cols, clients, each = 1024, 1024, 20, 6
        data = os.urandom(rows * cols * 4)
        expected = transpose_bytes(data, rows, cols, 4)
        counts = {200: 0, 503: 0}
        late, wrong = [], []
        with Daemon("--host-memory-bytes", "40MiB") as daemon:
            host, port = daemon.listen.rsplit(":", 1)
            head = (f"POST /v1/transpose?rows={rows}&cols={cols} HTTP/1.1\r\nHost: t\r\nContent-Type: application/octet-stream\r\n"
                    f"Content-Length: {len(data)}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n").encode()

            def client():
                for _ in range(each):
                    with socket.create_connection((host, int(port)), 60) as one:
                        one.sendall(head)
                        first = one.recv(65536)
                        accepted = first.startswith(b"HTTP/1.1 100")
                        if accepted:
                            one.sendall(data)
                            first = first.split(b"\r\n\r\n", 1)[1]
                        while piece := one.recv(1 << 20):
                            first += piece
                    status = int(first.split(b" ", 2)[1])
                    counts[status] = counts.get(status, 0) + 1
                    if accepted and status != 200:
                        late.append(first[:600])
                    if status == 200 and first.split(b"\r\n\r\n", 1)[1] != expected:
                        wrong.append(len(first))

            threads = [threading.Thread(target=client) for _ in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(200)
            self.assertEqual((late, wrong), ([], []))
            self.assertEqual(sum(counts.values()), clients * each)
            self.assertEqual(set(counts), {200, 503})
            self.assertGreater(counts[200], 0)
            end = time.monotonic() + 10
            while (used := daemon.get("/stats").json()["memory"]["host_used_bytes"]) != 0 and time.monotonic() < end:
                time.sleep(0.02)
            self.assertEqual(used, 0)


class Odd(Served):
    flags = ("--idle-timeout", "1s", "--receive-timeout", "30s", "--min-receive-rate", "0")

    def said(self, data, *words, seconds=20):
        got = exchange(self.daemon, data, seconds)
        for word in words:
            self.assertIn(word, got, got[:400])
        self.assertEqual(got.count(b"HTTP/1.1 "), 1)
        return got

    def test_many_parameters(self):
        for count in (65, 300, 600, 2300, 8000):
            query = b"&".join([b"a=1"] * count)
            start = time.monotonic()
            got = exchange(self.daemon, b"GET /stats?" + query[:31000] + b" HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
            self.assertIn(b" 400 ", got.split(b"\r\n")[0] + b" ", count)
            self.assertIn(b"bad-parameter", got)
            self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(self.daemon.get("/livez").status, 200)

    def test_absolute_form(self):
        self.said(b"GET http://t/livez HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", b" 200 OK", b"alive")
        self.said(b"GET HTTPS://t:99/stats?recent=1 HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", b" 200 OK", b"uptime")
        self.said(b"GET http://t/nowhere HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n", b" 404 ", b"/nowhere")

    def test_empty_pairs(self):
        for query in ("?&rows=2&cols=3", "?rows=2&&cols=3", "?rows=2&cols=3&"):
            self.assertEqual(self.daemon.post(bytes(24), query, RAW).status, 200, query)
        self.assertEqual(self.daemon.get("/stats?&recent=1").status, 200)
        self.assertEqual(self.daemon.post(bytes(24), "?rows=2&cols=3&=4", RAW).status, 400)

    def test_type_is_a_whole_word(self):
        form = "application/x-www-form-urlencoded"
        for type, status in ((form, 200), (form + "; charset=utf-8", 200), (form + "X", 415)):
            self.assertEqual(self.daemon.post(b"[[1,2]]", type=type).status, status, type)

    def test_keys_are_read_through_escapes(self):
        answer = self.daemon.post(rb'{"d\u0061ta":[[1,2]],"dtype":"\u0069nt8"}', type=JSON)
        self.assertEqual((answer.status, answer.json()), (200, {"dtype": "int8", "data": [[1], [2]]}))
        for body in (rb'{"data":[[1]],"d\u0061ta":[[2]]}', rb'{"d\u00e1ta":[[1]]}', rb'{"dat\u0061a":[[1]]}', rb'{"data\u0000":[[1]]}', rb'{"d\nata":[[1]]}'):
            self.assertEqual(self.daemon.post(body, type=JSON).status, 400, body)

    def test_lists_in_several_headers(self):
        head = b"POST /v1/transpose HTTP/1.1\r\nHost: t\r\nContent-Length: 7\r\nContent-Type: application/json\r\nConnection: close\r\n"
        good = b"sha-256=:bZBGDwCzTlVFCJIJcWAmcLaLOgAxNEYoVYbMxkX3rDI=:"  # of something else
        self.said(head + b"Accept: image/png\r\nAccept: application/x-npy\r\n\r\n[[1,2]]", b" 200 OK", b"NUMPY")
        self.said(head + b"Accept: image/png\r\nAccept: image/gif\r\n\r\n[[1,2]]", b" 406 ")
        self.said(head + b"Content-Digest: md5=:AAAA:\r\nContent-Digest: " + good + b"\r\n\r\n[[1,2]]", b" 400 ", b"digest-mismatch")
        self.said(head + b"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n\r\n[[1,2]]", b" 415 ")
        self.said(head + b"Accept: image/png\r\n" * 40 + b"\r\n[[1,2]]", b" 431 ")

    def test_a_silent_body_is_told_so(self):
        start = time.monotonic()
        self.said(b"POST /v1/transpose?rows=2&cols=3 HTTP/1.1\r\nHost: t\r\nContent-Type: application/octet-stream\r\nContent-Length: 24\r\n\r\n1234",
                  b" 408 ", b"idle_timeout", b"receive-timeout")
        self.assertLess(time.monotonic() - start, 10)

    def test_headers_that_drip(self):
        with self.daemon.raw_socket(30) as one:
            start = time.monotonic()
            one.settimeout(0.2)
            try:
                for byte in b"GET /livez HTTP/1.1\r\nX: " + b"y" * 200:
                    one.sendall(bytes([byte]))
                    try:
                        self.assertEqual(one.recv(100), b"")
                        break
                    except TimeoutError:
                        pass
            except OSError:
                pass
            self.assertLess(time.monotonic() - start, 10)
            self.assertGreater(time.monotonic() - start, 1)

    def test_log_keeps_its_end(self):
        exchange(self.daemon, b"M" * 3000 + b" /odd-path HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
        self.daemon.wait_log("path=/odd-path")
        line = [line for line in self.daemon.lines if "path=/odd-path" in line][-1]
        self.assertIn(" status=404 ", line)
        self.assertIn(" ms=", line)

    def test_an_answer_that_was_cut_says_so(self):
        rows = 4096
        data = bytes(rows * rows * 4)
        one = self.daemon.raw_socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.sendall(b"POST /v1/transpose?rows=4096&cols=4096 HTTP/1.1\r\nHost: t\r\nX-Request-Id: cut-short\r\n"
                    b"Content-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
        one.recv(1000)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
        self.daemon.wait_log("id=cut-short")
        line = [line for line in self.daemon.lines if "id=cut-short" in line][-1]
        self.assertIn(" status=200 ", line)
        self.assertIn(" bytes_out=0 aborted=1 ", line)
        self.assertEqual(self.daemon.get("/livez", headers={"X-Request-Id": "whole"}).status, 200)
        self.daemon.wait_log("id=whole")
        self.assertNotIn("aborted", [line for line in self.daemon.lines if "id=whole" in line][-1])


class Reload(unittest.TestCase):
    def test_a_pipe_for_a_file_holds_nobody_up(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "knobs.json")
            with open(path, "w") as file:
                json.dump({"log_level": "info"}, file)
            with Daemon("--config", path) as daemon:
                os.unlink(path)
                os.mkfifo(path)
                daemon.process.send_signal(signal.SIGHUP)
                daemon.wait_log("no regular file")
                self.assertEqual(daemon.get("/livez").status, 200)


if __name__ == "__main__":
    main()
