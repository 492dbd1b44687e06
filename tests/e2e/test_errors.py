"""test_errors.py -- what is refused, in which words, and that the connection lives on."""
import gzip
import os
import socket
import time

from daemon import JSON, NPY, RAW, Daemon, Served, main, npy, transpose_bytes


class Errors(Served):
    flags = ("--max-body-bytes", "1MiB", "--receive-timeout", "2s")

    def refused(self, answer, status, code):
        self.assertEqual(answer.status, status, answer.body[:300])
        self.assertTrue(answer.headers["Content-Type"].startswith("application/problem+json"))
        problem = answer.json()
        self.assertEqual((problem["code"], problem["status"]), (code, status))
        self.assertEqual(problem["error"], problem["detail"])
        for key in ("type", "title", "instance"):
            self.assertIn(key, problem)
        return problem

    def test_bodies(self):
        post = self.daemon.post
        for body, query, type, status, code in [
            (b"[[1,2],[3]]", "", JSON, 400, "ragged"),
            (b"[[1,2],[3", "", JSON, 400, "truncated"),
            (b"[[1,2],[3,4]] x", "", JSON, 400, "trailing-bytes"),
            (b"[[1,007]]", "", JSON, 400, "malformed"),
            (b'{"data":[1,2,3],"rows":2,"cols":2}', "", JSON, 400, "shape-mismatch"),
            (npy(b"\0" * 23, (2, 3)), "", NPY, 400, "truncated"),
            (npy(b"\0" * 25, (2, 3)), "", NPY, 400, "trailing-bytes"),
            (b"\x93NUMPY\x09\x00", "", NPY, 422, "unsupported"),
            (b"\0" * 23, "?rows=2&cols=3", RAW, 400, None),
            (b"\0" * 24, "?rows=2", RAW, 400, "bad-parameter"),
            (b"\0" * 24, "?rows=-2&cols=3", RAW, 400, "bad-parameter"),
            (b"\0" * 24, "?rows=9223372036854775807&cols=9223372036854775807", RAW, 422, "size-overflow"),
            (b"[[300]]", "?dtype=uint8", JSON, None, None),
            (b"[[3]]", "?dtype=int8", JSON, 400, "bad-parameter"),
        ]:
            with self.subTest(body=body[:30], query=query):
                answer = post(body, query, type, accept=NPY if query == "?dtype=uint8" else None)
                if status is None:
                    self.refused(answer, 422, "out-of-range")
                elif code is None:
                    self.assertEqual(answer.status, status, answer.body)
                    self.refused(answer, status, answer.json()["code"])
                else:
                    self.refused(answer, status, code)

    def test_what_to_do_is_said(self):
        post = self.daemon.post
        for body, query, type, status, words in [
            (b"[[0,1],[1,0]]", "?dtype=complex128", JSON, 400, ["a pair [re, im]", "[[[1,0],[2,0]],[[3,0],[4,0]]]"]),
            (gzip.compress(b"[[1,2]]"), "", None, 415, ["packed with gzip", "Content-Encoding: gzip"]),
            (b"\x28\xb5\x2f\xfd\x20\x07\x39\x00\x00[[1,2]]", "", None, 415, ["packed with zstd", "Content-Encoding: zstd"]),
            (b"[[1,2]]", "", "application/gzip", 415, ["Content-Encoding: gzip"]),
            (b"\0" * ((1 << 20) + 1), "", RAW, 413, ["the body has 1048577 bytes, the limit is 1048576", "send less or raise max_body_bytes"]),
            (b"[[1,2]]", "?column=1", JSON, 400, ["rows, cols, batch, dtype, itemsize, strategy, tile, device, nonfinite, delimiter, quotes, ragged, filler and tensor are taken"]),
            (b"[[1,2]]", "?strategy=vector&tile=64x64&device=simt", JSON, 422, ["tile=64x64", "strategy=vector", "leave tile out", "padded, swizzled"]),
        ]:
            with self.subTest(body=body[:30], query=query):
                answer = post(body, query, type, accept=NPY if "complex" in query else None)
                self.assertEqual(answer.status, status, answer.body[:300])
                for word in words:
                    self.assertIn(word, answer.json()["detail"])
        twice = self.daemon.request("POST", "/v1/transpose", gzip.compress(gzip.compress(b"[[1,2]]")), {"Content-Encoding": "gzip"})
        self.assertIn("packed twice", self.refused(twice, 415, "unsupported-type")["detail"])

    def test_a_configured_tile_refuses_nothing(self):
        with Daemon("--tile", "64x64") as daemon:
            for strategy in ("vector", "direct", "shifted", "narrow", "packed", "padded", "auto"):
                shape = (3, 1000) if strategy == "narrow" else (4, 4) if strategy == "packed" else (64, 64)
                data = os.urandom(shape[0] * shape[1] * 4)
                answer = daemon.post(data, f"?rows={shape[0]}&cols={shape[1]}&strategy={strategy}&device=simt", RAW)
                self.assertEqual((answer.status, answer.body), (200, transpose_bytes(data, *shape, 4)), strategy)
            self.assertEqual(daemon.post(os.urandom(64), "?rows=4&cols=4&strategy=auto&tile=32x32&device=simt", RAW).status, 200)

    def test_devices_that_are_not_here(self):
        reasons = [self.refused(self.daemon.post(b"[[1,2]]", f"?device={device}", JSON), 422, "unknown-device")["detail"] for device in ("cuda", "cuda:0")]
        self.assertEqual(reasons[0].replace("'cuda'", "'cuda:0'"), reasons[1])
        self.assertIn("isn't here: ", reasons[0])

    def test_places(self):
        problem = self.refused(self.daemon.post(b"[[1,2],\n [3,x]]", type=JSON), 400, "malformed")
        self.assertEqual((problem["line"], problem["column"], problem["offset"]), (2, 5, 12))

    def test_paths_and_methods(self):
        self.assertIn("/v1/transpose, /stats, ", self.refused(self.daemon.get("/nowhere"), 404, "not-found")["detail"])
        told = self.refused(self.daemon.get("/", address=self.daemon.admin), 404, "not-found")["detail"]
        self.assertIn("on the admin listener: here are /stats, ", told)
        self.assertNotIn("/v1/config", told)
        answer = self.daemon.get("/v1/transpose")
        self.refused(answer, 405, "method-not-allowed")
        self.assertIn("POST", answer.headers["Allow"])
        answer = self.daemon.request("DELETE", "/stats")
        self.refused(answer, 405, "method-not-allowed")
        self.assertIn("GET", answer.headers["Allow"])
        self.assertIn("HEAD", answer.headers["Allow"])
        head = self.daemon.request("HEAD", "/livez")
        self.assertEqual((head.status, head.body), (200, b""))
        self.refused(self.daemon.post(b"[[1]]", type=JSON, accept="image/png"), 406, "not-acceptable")
        self.refused(self.daemon.post(b"[[1]]", type="image/png"), 415, "unsupported-type")

    def test_too_large_and_the_connection_lives(self):
        connection = self.daemon.connection()
        problem = self.refused(self.daemon.post(b"\0" * (1 << 20) + b"\0" * 4, "?rows=1&cols=262145", RAW, connection=connection), 413, "too-large")
        self.assertEqual((problem["limit"], problem["actual"]), (1 << 20, (1 << 20) + 4))
        for _ in range(3):
            self.refused(self.daemon.post(b"[[1", type=JSON, connection=connection), 400, "truncated")
            answer = self.daemon.post(b"[[1,2]]", type=JSON, connection=connection)
            self.assertEqual(answer.json(), [[1], [2]])
        connection.close()

    def test_slow_body_is_told_so(self):
        with self.daemon.raw_socket() as one:
            one.sendall(b"POST /v1/transpose?rows=2&cols=3 HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 24\r\n\r\n1234")
            start = time.monotonic()
            reply = one.recv(65536)
            self.assertIn(b" 408 ", reply.split(b"\r\n")[0] + b" ")
            self.assertLess(time.monotonic() - start, 15)

    def test_ambiguous_framing(self):
        for headers in (b"Content-Length: 7\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 7\r\nContent-Length: 8\r\n"):
            with self.daemon.raw_socket() as one:
                one.sendall(b"POST /v1/transpose HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + headers + b"\r\n7\r\n[[1,2]]\r\n0\r\n\r\n")
                self.assertIn(b" 400 ", one.recv(65536).split(b"\r\n")[0] + b" ")

    def test_clients_that_die(self):
        for sent in (b"", b"POST /v1/tr", b"POST /v1/transpose?rows=2&cols=3 HTTP/1.1\r\nHost: x\r\nContent-Length: 24\r\n\r\n12"):
            for _ in range(20):
                one = self.daemon.raw_socket()
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                one.sendall(sent)
                one.close()
        end = time.monotonic() + 20
        while self.daemon.get("/stats", address=self.daemon.admin).json()["requests"]["in_flight"] > 1 and time.monotonic() < end:
            time.sleep(0.05)
        stats = self.daemon.get("/stats", address=self.daemon.admin).json()
        self.assertLessEqual(stats["requests"]["in_flight"], 1)
        self.assertEqual(stats["memory"]["host_used_bytes"], 0)
        self.assertEqual(self.daemon.post(b"[[1,2]]", type=JSON).json(), [[1], [2]])


if __name__ == "__main__":
    main()
