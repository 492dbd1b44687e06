"""test_formats.py -- every format in and out, over HTTP, against an oracle made of slices."""
import base64
import hashlib
import json
import random
import re
import struct
import time

from daemon import JSON, NPY, RAW, Served, main, npy, read_npy, run_binary, transpose_bytes

DTYPES = {"bool": ("|b1", 1), "int8": ("|i1", 1), "uint8": ("|u1", 1), "int16": ("<i2", 2), "uint16": ("<u2", 2), "float16": ("<f2", 2),
          "int32": ("<i4", 4), "uint32": ("<u4", 4), "float32": ("<f4", 4), "int64": ("<i8", 8), "uint64": ("<u8", 8),
          "float64": ("<f8", 8), "complex64": ("<c8", 8), "complex128": ("<c16", 16)}
SHAPES = [(1, 1), (2, 3), (1, 7), (7, 1), (0, 5), (5, 0), (31, 33), (32, 32), (64, 65), (3, 300)]


class Formats(Served):
    random = random.Random(20240607)

    def test_raw_every_itemsize_and_shape(self):
        for itemsize in (1, 2, 4, 8, 16, 3, 12):
            for rows, cols in SHAPES:
                data = self.random.randbytes(rows * cols * itemsize)
                answer = self.good(self.daemon.post(data, f"?rows={rows}&cols={cols}&itemsize={itemsize}", RAW))
                self.assertEqual(answer.body, transpose_bytes(data, rows, cols, itemsize), (rows, cols, itemsize))
                self.assertEqual(answer.headers["Transposed-Shape"], f"{cols}x{rows}")
                self.assertEqual(answer.headers["Content-Type"], RAW)

    def test_raw_batch(self):
        data = self.random.randbytes(5 * 6 * 7 * 4)
        answer = self.good(self.daemon.post(data, "?rows=6&cols=7&batch=5&dtype=int32", RAW))
        self.assertEqual(answer.body, transpose_bytes(data, 6, 7, 4, 5))
        self.assertEqual(answer.headers["Transposed-Dtype"], "int32")

    def test_npy_every_dtype_version_and_order(self):
        for name, (descr, itemsize) in DTYPES.items():
            data = self.random.randbytes(9 * 4 * itemsize)
            if name == "bool":
                data = bytes(b & 1 for b in data)
            for version in (1, 2, 3):
                answer = self.good(self.daemon.post(npy(data, (9, 4), descr, version=version), type=NPY))
                header, items = read_npy(answer.body)
                self.assertEqual((header["descr"], header["fortran_order"], header["shape"]), (descr, False, (4, 9)))
                self.assertEqual(items, transpose_bytes(data, 9, 4, itemsize), name)
        big = self.random.randbytes(9 * 4 * 4)
        header, items = read_npy(self.good(self.daemon.post(npy(big, (9, 4), ">f4"), type=NPY)).body)
        self.assertEqual((header["descr"], items), (">f4", transpose_bytes(big, 9, 4, 4)))
        # Fortran order: the same bytes are the C-order transpose.
        header, items = read_npy(self.good(self.daemon.post(npy(big, (9, 4), "<f4", fortran=True), type=NPY)).body)
        self.assertEqual((header["shape"], header["fortran_order"], items), ((4, 9), False, big))

    def test_npy_batch(self):
        data = self.random.randbytes(3 * 4 * 5 * 8)
        header, items = read_npy(self.good(self.daemon.post(npy(data, (3, 4, 5), "<f8"), type=NPY)).body)
        self.assertEqual((header["shape"], items), ((3, 5, 4), transpose_bytes(data, 4, 5, 8, 3)))

    def test_json_keeps_every_letter(self):
        text = b"[[1.10, 9007199254740993, 1e400],\n [-0.0, true, null]]"
        answer = self.good(self.daemon.post(text, type=JSON))
        self.assertEqual(re.sub(rb"\s", b"", answer.body), b"[[1.10,-0.0],[9007199254740993,true],[1e400,null]]")
        self.assertTrue(answer.headers["Content-Type"].startswith(JSON))

    def test_dtype_of_what_is_sent(self):
        for accept, dtype, itemsize in ((JSON, "text", None), (NPY, "float64", 8), (RAW, "float64", 8)):
            answer = self.good(self.daemon.post(b"[[1.5,2],[3,4]]", type=JSON, accept=accept, headers={"X-Request-Id": f"sent-{dtype}-{accept[-3:]}"}))
            self.assertEqual(answer.headers["Transposed-Dtype"], dtype)
            end = time.monotonic() + 10  # a request is in the ring when its answer has left: a moment after its client has it
            while not (rows := self.good(self.daemon.get(f"/stats?id=sent-{dtype}-{accept[-3:]}")).json()["recent"]) and time.monotonic() < end:
                time.sleep(0.01)
            row = rows[0]
            self.assertEqual(row["dtype"], dtype)
            if itemsize:
                self.assertEqual((row["itemsize"], row["bytes"]), (itemsize, 4 * itemsize))

    def test_devices_are_those_of_the_command(self):
        told = {row["id"]: row for row in json.loads(run_binary("devices", "--json").stdout)["devices"]}
        for row in self.good(self.daemon.get("/stats")).json()["devices"]:
            if row["kind"] == "cuda":  # this daemon was told to use none
                continue
            for key, value in told[row["id"]].items():
                self.assertEqual(row[key], value, (row["id"], key))

    def test_json_objects_keep_their_form(self):
        for body, expected in [
            ({"data": [[1, 2, 3], [4, 5, 6]]}, {"data": [[1, 4], [2, 5], [3, 6]]}),
            ({"data": [1, 2, 3, 4, 5, 6], "rows": 2, "cols": 3}, {"data": [1, 4, 2, 5, 3, 6], "rows": 3, "cols": 2}),
            ({"data": [1, 2, 3, 4, 5, 6], "shape": [2, 3], "dtype": "int32"},
             {"data": [1, 4, 2, 5, 3, 6], "shape": [3, 2], "dtype": "int32"}),
        ]:
            answer = self.good(self.daemon.post(json.dumps(body), type=JSON)).json()
            for key, value in expected.items():
                self.assertEqual(answer[key], value, body)

    def test_conversions_there_and_back(self):
        for name, (descr, itemsize) in DTYPES.items():
            if name in ("bool", "complex64", "complex128"):
                continue
            letter = {"i": "bhiq", "u": "BHIQ", "f": " efd"}[descr[1]][(itemsize.bit_length() - 1)]
            values = [self.random.randrange(0, 100) for _ in range(12)]
            if descr[1] == "f":
                values = [struct.unpack("<" + letter, struct.pack("<" + letter, self.random.uniform(-9, 9)))[0] for _ in range(12)]
            data = struct.pack(f"<12{letter}", *values)
            text = self.good(self.daemon.post(npy(data, (3, 4), descr), type=NPY, accept=JSON))
            columns = [values[c::4] for c in range(4)]
            # The shortest text that reads back to the same bits: compared as bits.
            printed = [value for row in text.json() for value in row]
            self.assertEqual(struct.pack(f"<12{letter}", *printed), struct.pack(f"<12{letter}", *[v for c in columns for v in c]), name)
            back = self.good(self.daemon.post(text.body, f"?dtype={name}", JSON, accept=NPY))
            self.assertEqual(read_npy(back.body), ({"descr": descr, "fortran_order": False, "shape": (3, 4)}, data), name)
            raw = self.good(self.daemon.post(data, f"?rows=3&cols=4&dtype={name}", RAW, accept=NPY))
            self.assertEqual(read_npy(raw.body)[1], transpose_bytes(data, 3, 4, itemsize))

    def test_nonfinite(self):
        data = struct.pack("<4f", 1.5, float("nan"), float("inf"), float("-inf"))
        refused = self.daemon.post(npy(data, (2, 2)), type=NPY, accept=JSON)
        self.assertEqual((refused.status, refused.json()["code"]), (422, "nonfinite"))
        null = self.good(self.daemon.post(npy(data, (2, 2)), "?nonfinite=null", NPY, JSON)).json()
        self.assertEqual(null, [[1.5, None], [None, None]])
        string = self.good(self.daemon.post(npy(data, (2, 2)), "?nonfinite=string", NPY, JSON)).json()
        self.assertEqual([string[0][0], isinstance(string[0][1], str), isinstance(string[1][1], str)], [1.5, True, True])

    def test_every_bit_pattern_survives(self):
        halves = b"".join(i.to_bytes(2, "little") for i in range(65536))
        answer = self.good(self.daemon.post(halves, "?rows=128&cols=512&dtype=float16", RAW))
        self.assertEqual(answer.body, transpose_bytes(halves, 128, 512, 2))
        nans = struct.pack("<4Q", 0x7ff0000000000001, 0x8000000000000000, 1, 0xfff8dead00000000)
        header, items = read_npy(self.good(self.daemon.post(npy(nans, (2, 2), "<f8"), type=NPY)).body)
        self.assertEqual(items, transpose_bytes(nans, 2, 2, 8))

    def test_sniffing(self):
        curl = "application/x-www-form-urlencoded"
        data = self.random.randbytes(24)
        for type in (None, curl):
            self.assertEqual(self.good(self.daemon.post(npy(data, (2, 3)), type=type)).headers["Content-Type"], NPY)
            self.assertEqual(self.good(self.daemon.post(b"[[1,2],[3,4]]", type=type)).json(), [[1, 3], [2, 4]])
            self.assertEqual(self.good(self.daemon.post(data, "?rows=2&cols=3", type)).body, transpose_bytes(data, 2, 3, 4))
            refused = self.daemon.post(b"what is this", type=type)
            self.assertEqual((refused.status, refused.json()["code"]), (415, "unsupported-type"))
            self.assertIn("curl", refused.json()["detail"])

    def test_strategies_and_devices(self):
        data = self.random.randbytes(72 * 52 * 4)
        listed = self.good(self.daemon.get("/v1/strategies")).json()
        names = [row["name"] for row in (listed["strategies"] if isinstance(listed, dict) else listed)]
        self.assertIn("padded", names)
        for name in names:
            rows, cols = (24, 156) if name == "narrow" else (72, 52)
            answer = self.good(self.daemon.post(data, f"?rows={rows}&cols={cols}&device=simt&strategy={name}", RAW))
            self.assertEqual(answer.body, transpose_bytes(data, rows, cols, 4), name)
            self.assertEqual((answer.headers["Transposed-Strategy"], answer.headers["Transposed-Device"]), (name, "simt"))
        answer = self.good(self.daemon.post(data, "?rows=72&cols=52&device=cpu", RAW))
        self.assertEqual(answer.headers["Transposed-Device"], "cpu")
        for query, code in (("strategy=nosuch", "unknown-strategy"), ("device=cuda:77", "unknown-device"), ("dtype=float17", "unknown-dtype")):
            refused = self.daemon.post(data, f"?rows=72&cols=52&{query}", RAW)
            self.assertEqual((refused.status, refused.json()["code"]), (422, code))

    def test_timing_and_ids(self):
        answer = self.good(self.daemon.post(b"[[1,2]]", type=JSON, headers={"X-Request-Id": "mine-42"}))
        self.assertEqual(answer.headers["X-Request-Id"], "mine-42")
        stages = re.findall(r"(\w+);dur=([\d.]+)", answer.headers["Server-Timing"])
        self.assertTrue({"receive", "decode", "kernel", "encode"} <= {name for name, _ in stages}, stages)
        made = self.good(self.daemon.post(b"[[1,2]]", type=JSON, headers={"X-Request-Id": "not valid!" * 20})).headers["X-Request-Id"]
        self.assertRegex(made, r"^[A-Za-z0-9_.-]{1,64}$")
        row = self.good(self.daemon.get("/stats?id=mine-42")).json()["recent"]
        self.assertEqual((len(row), row[0]["rows"], row[0]["cols"], row[0]["format_in"]), (1, 1, 2, "json"))

    def test_recent_row_of_a_kernel(self):
        data = self.random.randbytes(300 * 200 * 4)
        self.good(self.daemon.post(data, "?rows=300&cols=200", RAW, headers={"X-Request-Id": "kernel-1"}))
        row = self.good(self.daemon.get("/stats?id=kernel-1")).json()["recent"][0]
        self.assertGreater(row["kernel_ns"], 0)
        self.assertGreaterEqual(row["total_ns"], row["kernel_ns"])
        self.assertEqual((row["rows"], row["cols"], row["itemsize"], row["status"], row["device"]), (300, 200, 4, 200, "cpu"))

    def test_digest(self):
        data = self.random.randbytes(24)
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        answer = self.good(self.daemon.post(data, "?rows=2&cols=3", RAW, headers={
            "Content-Digest": f"sha-256=:{digest}:", "Want-Content-Digest": "sha-256=1"}))
        expected = base64.b64encode(hashlib.sha256(answer.body).digest()).decode()
        self.assertEqual(answer.headers["Content-Digest"], f"sha-256=:{expected}:")
        wrong = self.daemon.post(data + b"", "?rows=2&cols=3", RAW, headers={"Content-Digest": "sha-256=:" + "A" * 43 + "=:"})
        self.assertEqual((wrong.status, wrong.json()["code"]), (400, "digest-mismatch"))

    def test_chunked_upload(self):
        data = self.random.randbytes(1000 * 40)
        answer = self.good(self.daemon.post(iter([data[i:i + 777] for i in range(0, len(data), 777)]), "?rows=100&cols=100", RAW))
        self.assertEqual(answer.body, transpose_bytes(data, 100, 100, 4))


if __name__ == "__main__":
    main()
