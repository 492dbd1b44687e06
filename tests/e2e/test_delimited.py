"""test_delimited.py -- CSV, TSV, gzip and zstd: over HTTP, and by `transposed run` on files and pipes, whole or in panels."""
import gzip
import json
import os
import random
import resource
import subprocess
import zlib

from daemon import BINARY, CSV, JSON, RAW, TSV, Folder, Served, clean_environment, main, on_a_terminal, run_binary


def table(rows, cols, seed=1):
    numbers = random.Random(seed)
    return [[f"{numbers.gauss(0, 1):.6g}" if numbers.random() < 0.9 else '"a, ""b"" ' + "x" * numbers.randrange(40) + '\n"' for _ in range(cols)] for _ in range(rows)]


def spell(cells, delimiter=",", end="\n"):
    return "".join(delimiter.join(row) + end for row in cells).encode()


def turn(cells):
    return [list(row) for row in zip(*cells)]


class OverHttp(Served):
    flags = ("--max-body-bytes", "8MiB", "--max-cells", "100000")

    def test_tables(self):
        cells = table(40, 70)
        for type, delimiter in ((CSV, ","), (TSV, "\t")):
            for end in ("\n", "\r\n"):
                answer = self.good(self.daemon.post(spell(cells, delimiter, end), type=type + "; charset=utf-8"))
                self.assertEqual(answer.body, spell(turn(cells), delimiter, end))
                self.assertEqual((answer.headers["Content-Type"], answer.headers["Transposed-Shape"], answer.headers["Transposed-Dtype"]), (type, "70x40", "text"))

    def test_parameters(self):
        self.assertEqual(self.good(self.daemon.post(b"a;b\n1,5;2\n", "?delimiter=%3B", CSV)).body, b"a;1,5\nb;2\n")
        self.assertEqual(self.good(self.daemon.post(b"a|b\n1|2\n", "?delimiter=pipe", TSV)).body, b"a|1\nb|2\n")
        self.assertEqual(self.good(self.daemon.post(b"a,b\n1\n", "?ragged=pad&filler=NA", CSV)).body, b"a,1\nb,NA\n")
        self.assertEqual(self.good(self.daemon.post(b'"a,b\n1,2\n', "?quotes=off", CSV)).body, b'"a,1\nb,2\n')
        self.assertEqual(self.good(self.daemon.post(b"a,b\tc\n1,2\n", type=CSV, accept=TSV)).body, b'a\t1\n"b\tc"\t2\n')
        for query in ("?delimiter=", "?delimiter=ab", "?delimiter=%22", "?delimiter=%0A", "?ragged=no", "?quotes=yes", "?filler=a%0A", "?ragged=pad&filler=,", "?separator=,"):
            with self.subTest(query=query):
                refused = self.good(self.daemon.post(b"a,b\n", query, CSV), 400)
                self.assertEqual(refused.json()["code"], "bad-parameter")

    def test_refusals(self):
        for body, code, line, column in ((b"a,b\n1\n", "ragged", 2, 2), (b"a,b\n1,2,3\n", "ragged", 2, 5), (b'a,"b\n', "truncated", 1, 3), (b'a,b\n"1"x,2\n', "malformed", 2, 4)):
            refused = self.good(self.daemon.post(body, type=CSV), 400).json()
            self.assertEqual((refused["code"], refused["line"], refused["column"]), (code, line, column))
        refused = self.good(self.daemon.post(b"1,2\n" * 60000, type=CSV), 413).json()
        self.assertEqual((refused["code"], refused["limit"], refused["actual"]), ("too-large", 100000, 120000))
        refused = self.good(self.daemon.post(b"x" * 50 + b",1" * 400 + b"\n" + b"1\n" * 400, "?ragged=pad", CSV), 413).json()
        self.assertIn("max_cells", refused["detail"])

    def packed(self, data, coding):
        if coding == "gzip":
            return gzip.compress(data, 1)
        done = subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True)
        return done.stdout

    def codings(self):
        try:
            self.packed(b"", "zstd")
            return ("gzip", "zstd")
        except FileNotFoundError:
            return ("gzip",)

    def unpacked(self, answer):
        coding = answer.headers["Content-Encoding"]
        if coding == "gzip":
            return gzip.decompress(answer.body)
        return subprocess.run(["zstd", "-dqc"], input=answer.body, capture_output=True, check=True).stdout

    def test_content_encoding(self):
        cells = table(50, 90)
        raw = os.urandom(400 * 3) + bytes(1200)
        for coding in self.codings():
            answer = self.good(self.daemon.post(self.packed(spell(cells), coding), type=CSV, headers={"Content-Encoding": coding, "Accept-Encoding": coding}))
            self.assertEqual((answer.headers["Content-Encoding"], answer.headers["Vary"]), (coding, "Accept-Encoding"))
            self.assertEqual(self.unpacked(answer), spell(turn(cells)))
            answer = self.good(self.daemon.post(self.packed(raw, coding), "?rows=1&cols=2400&dtype=uint8", RAW, headers={"Content-Encoding": coding}))
            self.assertIsNone(answer.headers["Content-Encoding"])
            self.assertEqual(answer.body, raw)
            answer = self.good(self.daemon.post(self.packed(b"[[1,2],[3,4]]", coding), headers={"Content-Encoding": coding, "Accept-Encoding": coding}))
            self.assertEqual(answer.body, b"[[1,3],[2,4]]")  # too small to be packed
        self.assertEqual(self.good(self.daemon.post(b"[[1,2]]", type=JSON, headers={"Content-Encoding": "identity"})).body, b"[[1],[2]]")

    def test_broken_encodings(self):
        whole = gzip.compress(spell(table(50, 50)))
        for body, status, code in ((whole[:100], 400, "truncated"), (whole[:-4], 400, "truncated"), (whole + b"x" * 30, 400, "malformed"), (b"a,b\n", 400, "malformed"), (b"", 400, "truncated")):
            refused = self.good(self.daemon.post(body, type=CSV, headers={"Content-Encoding": "gzip"}), status)
            self.assertEqual(refused.json()["code"], code, body[:20])
        for coding in ("br", "gzip, gzip", "deflate"):
            self.assertEqual(self.good(self.daemon.post(whole, type=CSV, headers={"Content-Encoding": coding}), 415).json()["code"], "unsupported-type")

    def test_bomb(self):
        """A gigabyte in one megabyte stops at max_body_bytes, whatever the format, and the daemon goes on."""
        press = zlib.compressobj(9, zlib.DEFLATED, 31)
        bomb = b"".join(press.compress(b"1,2\n" * (1 << 18)) for _ in range(1024)) + press.flush()
        self.assertLess(len(bomb), 4 << 20)
        for type, query in ((CSV, ""), (RAW, "?rows=1024&cols=1048576&dtype=uint8"), (JSON, "")):
            refused = self.good(self.daemon.post(bomb, query, type, headers={"Content-Encoding": "gzip"}), 413)
            self.assertEqual(refused.json()["code"], "too-large")
        self.good(self.daemon.post(b"a,b\n", type=CSV))


class Files(Folder):
    def setUp(self):
        super().setUp()
        self.cells = table(300, 400, 3)

    def test_files_and_pipes(self):
        source, wanted = self.write("t.csv", spell(self.cells)), spell(turn(self.cells))
        for threads in ("1", "2", "7"):
            done = run_binary("run", source, "-o", self.path("o.csv"), "--threads", threads, "-v")
            self.assertEqual(self.read("o.csv"), wanted)
            self.assertIn(b"300x400 cells, csv to csv", done.stderr)
        self.assertEqual(run_binary("run", "-", "--from", "csv", input=spell(self.cells)).stdout, wanted)
        self.assertEqual(run_binary("run", source, "--device", "simt").stdout, wanted)  # the other road
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["o.csv", "t.csv"])
        with open(source, "rb") as file:  # from where the descriptor stands
            file.seek(len(spell(self.cells[:1])))
            done = subprocess.run([BINARY, "run", "-", "--from", "csv"], stdin=file, capture_output=True, check=True, env=clean_environment())
        self.assertEqual(done.stdout, spell(turn(self.cells[1:])))

    def test_packed(self):
        source, wanted = self.write("t.csv.gz", gzip.compress(spell(self.cells), 1)), spell(turn(self.cells))
        run_binary("run", source, "-o", self.path("o.csv.gz"))
        self.assertEqual(gzip.decompress(self.read("o.csv.gz")), wanted)
        self.assertEqual(run_binary("run", "-", "--from", "csv", input=self.read("t.csv.gz")).stdout, wanted)
        self.write("named.csv", self.read("t.csv.gz"))  # known by its first bytes
        self.assertEqual(run_binary("run", self.path("named.csv")).stdout, wanted)
        self.assertEqual(run_binary("run", "-", input=gzip.compress(b"[[1,2]]")).stdout, b"[[1],[2]]")
        run_binary("run", source, "-o", self.path("o.csv.zst"))
        self.assertEqual(run_binary("run", self.path("o.csv.zst")).stdout, spell(self.cells))
        said = run_binary("run", self.write("cut.csv.gz", self.read("t.csv.gz")[:5000]), "-o", self.path("never.csv"), expect=1).stderr
        self.assertIn(b"truncated", said)
        self.assertFalse(os.path.exists(self.path("never.csv")))

    def test_options(self):
        self.assertEqual(run_binary("run", "-", "--from", "csv", "--delimiter", ";", input=b"a;b\n1;2\n").stdout, b"a;1\nb;2\n")
        self.assertEqual(run_binary("run", "-", "--from", "tsv", "--ragged", "pad", "--filler=-", input=b"a\tb\n1\n").stdout, b"a\t1\nb\t-\n")
        self.assertEqual(run_binary("run", "-", "--from", "csv", "--to", "tsv", input=b"a,b\n1,2\n").stdout, b"a\t1\nb\t2\n")
        for arguments, data, status, words in ((["--delimiter", "xy"], b"", 2, b"delimiter"), (["--ragged", "x"], b"", 2, b"error or pad"), (["--memory", "x"], b"", 2, b"host_memory_bytes"),
                                               ([], b"a,b\n1\n", 1, b"line 2, column 2"), (["--quotes", "on"], b'a,"b\n', 1, b"quotes=off")):
            self.assertIn(words, run_binary("run", "-", "--from", "csv", *arguments, input=data, expect=status).stderr)

    def test_panels(self):
        """Less memory than the answer: more readings, the same bytes, and a word before it begins."""
        cells = table(3000, 300, 5)
        source, wanted = self.write("t.csv", spell(cells)), spell(turn(cells))
        done = run_binary("run", source, "-o", self.path("o.csv"), "--threads", "1", "--memory", "5MiB", "-v")
        self.assertEqual(self.read("o.csv"), wanted)
        self.assertRegex(done.stderr, rb"more than may be held at once: 2 readings of it, some \d+ s")  # rows are read on from panel to panel
        self.assertIn(b" 1 passes", done.stderr)
        narrow = table(30000, 30, 5)
        done = run_binary("run", self.write("n.csv", spell(narrow)), "-o", self.path("o.csv"), "--threads", "1", "--memory", "5MiB", "-v")
        self.assertEqual(self.read("o.csv"), spell(turn(narrow)))
        self.assertRegex(done.stderr, rb"more than may be held at once: ([3-9]|\d\d+) readings of it, some \d+ s")
        said = run_binary("run", source, "-o", self.path("o.csv"), "--memory", "1KiB", expect=1).stderr
        self.assertIn(b"--memory", said)

    def test_little_address_space(self):
        if b"Sanitizer" in subprocess.run([BINARY, "run", "/dev/null", "--from", "csv"], capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))).stderr:
            self.skipTest("a sanitizer needs its own address space")
        cells = [[f"{r * c}" * 8 for c in range(500)] for r in range(6000)]
        source, wanted = self.write("t.csv", spell(cells)), spell(turn(cells))
        self.assertGreater(len(wanted), 120 << 20)
        limit = 192 << 20
        subprocess.run([BINARY, "run", source, "-o", self.path("o.csv"), "--threads", "2"], check=True, env=clean_environment(), stderr=subprocess.DEVNULL,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(self.read("o.csv"), wanted)
        limit = 100000 << 10
        for memory in ([], ["--memory", "20MiB"]):
            done = subprocess.run([BINARY, "run", source, "-o", self.path("o.csv"), "--threads", "1", *memory], capture_output=True, env=clean_environment(),
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"left of the 102400000 bytes of address space that this process may have (ulimit -v 100000): raise that limit", done.stderr)
        with open(source, "rb") as stream:
            done = subprocess.run([BINARY, "run", "-", "--from", "csv", "--threads", "1"], input=stream.read(), capture_output=True, env=clean_environment(),
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"(ulimit -v 100000)", done.stderr)

    def test_a_full_disk_and_a_closed_pipe(self):
        source = self.write("t.csv", spell(table(500, 500)))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BINARY, "run", source], stdout=full, stderr=subprocess.PIPE, env=clean_environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No space left", done.stderr)
        child = subprocess.Popen([BINARY, "run", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment())
        child.stdout.read(10)
        child.stdout.close()
        said = child.stderr.read()
        child.stderr.close()
        self.assertEqual(child.wait(), 1)
        self.assertIn(b"standard output", said)

    def test_a_file_that_becomes_shorter(self):
        for threads in ("1", "3"):
            with self.subTest(threads=threads):
                source = self.write("t.csv", b"1,2,3,4,5,6,7\n" * 3000000)
                child = subprocess.Popen([BINARY, "run", source, "-o", self.path("o.csv"), "--threads", threads], stderr=subprocess.PIPE, env=clean_environment({"ASAN_OPTIONS": "handle_sigbus=0"}))
                while child.poll() is None:  # once it is mapped
                    with open(f"/proc/{child.pid}/maps") as maps:
                        if "t.csv" in maps.read():
                            os.truncate(source, 100)
                            break
                said = child.stderr.read()
                child.stderr.close()
                self.assertEqual(child.wait(), 1)
                self.assertIn(b"became shorter", said)
                self.assertEqual(os.listdir(self.folder.name), ["t.csv"])

    def test_a_progress_bar_on_a_terminal(self):
        source = self.write("t.csv", spell(table(200, 50)) * 1600)  # a bar is drawn after 0.3 s
        status, seen = on_a_terminal("run", source, "-o", self.path("o.csv"), "--threads", "1", "--memory", "6MiB", stream="stderr")
        self.assertEqual(status, 0, seen)
        self.assertIn(b"readings of it", seen)
        self.assertIn(b"transposing [", seen)

    def test_json_through_run(self):
        cells = [[str(r * c) for c in range(150)] for r in range(170)]
        text = json.dumps([[int(x) for x in row] for row in cells]).encode()
        self.assertEqual(json.loads(run_binary("run", "-", input=text).stdout), [[int(x) for x in row] for row in turn(cells)])


if __name__ == "__main__":
    main()
