"""test_run.py -- the subcommands that need no daemon: run, devices, strategies, version, help, completion, man."""
import json
import os
import struct
import subprocess
import time

from daemon import BINARY, Folder, clean_environment, main, npy, read_npy, run_binary, transpose_bytes


class Run(Folder):
    def setUp(self):
        super().setUp()
        self.data = os.urandom(37 * 53 * 4)
        self.expected = transpose_bytes(self.data, 37, 53, 4)

    def test_files(self):
        source = self.write("in put.npy", npy(self.data, (37, 53)))
        done = run_binary("run", source, "-o", self.path("out.npy"), "-v")
        self.assertEqual(read_npy(self.read("out.npy")), ({"descr": "<f4", "fortran_order": False, "shape": (53, 37)}, self.expected))
        self.assertIn(b"kernel", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["in put.npy", "out.npy"])
        run_binary("run", source, "-o", self.path("out.bin"))
        self.assertEqual(self.read("out.bin"), self.expected)
        run_binary("run", source, f"--output={source}")  # over itself
        self.assertEqual(read_npy(self.read("in put.npy"))[1], self.expected)

    def test_pipes(self):
        self.assertEqual(run_binary("run", "-", input=b"[[1.10,2],[3,4]]").stdout.strip(), b"[[1.10,3],[2,4]]")
        out = run_binary("run", "-", "--rows", "37", "--cols=53", "--dtype", "int32", "--strategy", "swizzled", "--device", "simt", input=self.data).stdout
        self.assertEqual(out, self.expected)
        out = run_binary("run", "-", "--from", "json", "--to", "npy", "--dtype", "int16", input=b"[[1,2,3]]").stdout
        self.assertEqual(read_npy(out), ({"descr": "<i2", "fortran_order": False, "shape": (3, 1)}, b"\1\0\2\0\3\0"))

    def test_a_strategy_before_the_shape_is_known(self):
        rows = [[str(100 * r + c) for c in range(40)] for r in range(3)]
        out = run_binary("run", "-", "--strategy", "narrow", "--device", "simt", input=json.dumps(rows).encode()).stdout
        self.assertEqual(json.loads(out), [list(column) for column in zip(*rows)])

    def test_closed_standard_files(self):
        source = self.write("in.npy", npy(self.data, (37, 53)))
        done = subprocess.run([BINARY, "run", source, "-o", self.path("out.npy"), "-v"], env=clean_environment(), preexec_fn=lambda: os.close(2))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(read_npy(self.read("out.npy"))[1], self.expected)
        done = subprocess.run([BINARY, "run", source], env=clean_environment(), stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)

    def test_a_file_that_says_it_has_no_bytes(self):
        if not os.path.exists("/proc/sys/kernel/ostype"):
            self.skipTest("no /proc here")
        self.assertEqual(run_binary("run", "/proc/sys/kernel/ostype", "--from", "csv").stdout, b"Linux\n")

    def test_a_packed_stream_that_comes_slowly(self):
        text = json.dumps([[str(r * 7919 % 1000 + c) for c in range(200)] for r in range(200)]).encode()
        for suffix in ("zst", "gz"):
            packed = self.path("in.json." + suffix)
            run_binary("run", self.write("in.json", text), "-o", packed)
            data = self.read("in.json." + suffix)
            child = subprocess.Popen([BINARY, "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment())
            for part in (data[:100], data[100:1000], data[1000:]):
                child.stdin.write(part)
                child.stdin.flush()
                time.sleep(0.2)
            out = child.communicate()[0]
            self.assertEqual((child.returncode, json.loads(out)), (0, json.loads(text)), suffix)

    def test_what_goes_wrong(self):
        for arguments, data, code, words in [
            (["run", self.path("absent.npy")], None, 1, [b"absent.npy"]),
            (["run", "-"], b"what", 1, [b"--from"]),
            (["run", "-"], b"", 1, [b"it is empty"]),
            (["run", "-", "--rows", "2"], b"abcd", 1, [b"cols", b"--cols C"]),
            (["run", "-", "--from", "json"], b"[[1,2],\n[3]]", 1, [b"ragged", b"line 2"]),
            (["run", "-", "--from", "xml"], b"", 2, [b"xml", b"npy"]),
            (["run"], b"", 2, [b"IN is missing"]),
            (["run", "a", "b"], b"", 2, [b"second input"]),
            (["run", "-", "--rows", "x"], b"", 2, [b"--rows", b"x"]),
            (["run", "-", "--strategy", "nosuch"], b"", 2, [b"nosuch", b"padded"]),
            (["run", "-", "--device", "cuda:99"], b"[[1]]", 1, [b"cuda:99"]),
            (["run", "-", "--strategy", "vector", "--tile", "64x64", "--device", "simt"], b"[[1]]", 1, [b"tile=64x64", b"leave tile out"]),
            (["run", "-", "--device", "gpu"], b"[[1]]", 2, [b"gpu", b"transposed devices"]),
            (["run", "-", "--device", "auto:1"], b"[[1]]", 2, [b"auto:1"]),
            (["run", "-", "-o", self.path("b.xls")], b"[[1]]", 2, [b"b.xls", b"--to", b"npy"]),
            (["run", "-", "-o", "--to", "npy"], b"[[1]]", 2, [b"-o needs a value"]),
            (["completion", "zsh"], b"", 2, [b"zsh"]),
            (["man", "extra"], b"", 2, [b"extra"]),
            (["help", "serve", "extra"], b"", 2, [b"extra"]),
            (["run", "-", "-o", "/dev/full"], b"[[1]]", 1, [b"/dev/full"]),
            (["run", "-", "-o", self.path("no/folder")], b"[[1]]", 1, [b"no/folder"]),
            (["frobnicate"], b"", 2, [b"frobnicate"]),
            ([], b"", 2, [b"serve"]),
        ]:
            with self.subTest(arguments=arguments):
                done = run_binary(*arguments, input=data, expect=code)
                for word in words:
                    self.assertIn(word, done.stderr)
                self.assertEqual(done.stdout, b"")

    def test_conversions(self):
        """A file of text is mapped, and becomes numbers: of every size about a page, and through a pipe the same."""
        for size in (4, 4079, 4080, 4095, 4096, 4097, 8192, 70000):
            text = "".join(f"{i % 10}.5\n" for i in range(size // 4 - 1)) + "0" * (size % 4) + "7.5\n"
            values = [float(line) for line in text.split()]
            source = self.write("n.csv", text.encode())
            run_binary("run", source, "-o", self.path("n.npy"))
            header, data = read_npy(self.read("n.npy"))
            self.assertEqual(header["shape"], (1, len(values)))
            self.assertEqual(struct.unpack(f"<{len(values)}d", data), tuple(values))
            self.assertEqual(run_binary("run", "-", "--from", "csv", "--to", "npy", input=text.encode()).stdout, self.read("n.npy"))
            run_binary("run", self.path("n.npy"), "-o", self.path("n.mtx"))
            self.assertEqual(self.read("n.mtx").split(b"\n")[:2], [b"%%MatrixMarket matrix array real general", f"{len(values)} 1".encode()])
            run_binary("run", self.path("n.mtx"), "-o", self.path("n.safetensors"), "--tensor", "w")
            self.assertEqual(run_binary("run", self.path("n.safetensors"), "--to", "csv").stdout.decode(), "".join(f"{v}\n" for v in values))
        done = run_binary("run", self.path("n.safetensors"), "--tensor", "other", expect=1)
        self.assertIn(b"it has w", done.stderr)
        done = run_binary("run", self.write("w.csv", b"1,2\n3,four\n"), "--to", "npy", expect=1)
        self.assertIn(b"'four' is no number", done.stderr)
        self.assertIn(b"line 2, column 3", done.stderr)

    def test_a_suffix_of_no_format(self):
        source = self.write("m.npy", npy(self.data, (37, 53)))
        run_binary("run", source, "-o", self.path("out.csv"), "--to", "raw")
        self.assertEqual(self.read("out.csv"), self.expected)
        run_binary("run", source, "-o", self.path("out"))  # no suffix: the format of IN
        self.assertEqual(read_npy(self.read("out"))[1], self.expected)

    def test_a_strategy_without_a_gpu(self):
        done = subprocess.run([BINARY, "run", "-", "--strategy", "padded"], input=b"[[1,2]]", capture_output=True, env=clean_environment())
        self.assertIn(done.returncode, (0, 1))
        self.assertNotIn(b"devices=none", done.stderr)

    def test_a_failure_leaves_no_output(self):
        target = self.write("old.json", b"old")
        run_binary("run", "-", "-o", target, input=b"[[1,2],[3]]", expect=1)
        self.assertEqual(self.read("old.json"), b"old")
        self.assertEqual(os.listdir(self.folder.name), ["old.json"])

    def test_a_closed_pipe(self):
        source = self.write("big.bin", bytes(4 << 20))
        child = subprocess.Popen([BINARY, "run", source, "--rows", "1024", "--cols", "1024"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=clean_environment())
        child.stdout.read(10)
        child.stdout.close()
        said = child.stderr.read()
        child.stderr.close()
        self.assertEqual(child.wait(), 1)
        self.assertIn(b"standard output", said)

    def test_tables(self):
        devices = json.loads(run_binary("devices", "--json").stdout)["devices"]
        self.assertIn(("cpu", "ready"), [(d["id"], d["state"]) for d in devices])
        for device in devices:
            self.assertTrue(device["state"] == "ready" or device["reason"], device)
        self.assertIn(b"cpu", run_binary("devices").stdout)
        strategies = {s["name"]: s for s in json.loads(run_binary("strategies", "--json").stdout)["strategies"]}
        self.assertEqual(max(strategies["naive"]["degree"]["4"].values()), 32)
        self.assertEqual(max(strategies["swizzled"]["degree"]["4"].values()), 1)
        self.assertIn(b"swizzled", run_binary("strategies").stdout)
        version = json.loads(run_binary("version", "--json").stdout)
        for flag in ("--version", "-V", "-v"):
            self.assertEqual(run_binary(flag).stdout, run_binary("version").stdout)
        self.assertIn(version["version"].encode(), run_binary("--version").stdout)
        self.assertIn(version["compiler"].encode(), run_binary("--version").stdout)
        self.assertEqual(run_binary("version", "--jsn", expect=2).stdout, b"")

    def test_help_for_everything(self):
        overview = run_binary("--help").stdout
        for name in ("serve", "run", "devices", "strategies", "banks", "bench", "version", "completion", "man", "help"):
            self.assertIn(name.encode(), overview)
            self.assertIn(b"usage: transposed " + name.encode(), run_binary(name, "--help").stdout)
            self.assertEqual(run_binary("help", name).stdout, run_binary(name, "-h").stdout)
        self.assertIn(b"--max-body-bytes", run_binary("serve", "--help").stdout)
        script = run_binary("completion").stdout
        for typed, offered in [("serve --max-b", "--max-body-bytes"), ("serve --log-level ''", "error warn info debug"), ("serve --log-level = w", "warn"),
                               ("serve --strategy sw", "swapped swizzled"), ("run --to ''", "npy json csv tsv mtx safetensors raw"), ("run --to = n", "npy"), ("run --to =", "npy json csv tsv mtx safetensors raw"),
                               ("run --device c", "cuda cpu"), ("run --dtype bf", "bfloat16"), ("run --nonfinite ''", "error null string"), ("help st", "strategies"),
                               ("run a.npy --verb", "--verbose"), ("se", "serve"), ("run --rows ''", "")]:
            words = subprocess.run(["bash", "-c", f"{script.decode()}\nCOMP_WORDS=(transposed {typed})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n_transposed\n"
                                    "echo ${COMPREPLY[*]}"], capture_output=True, check=True).stdout
            self.assertEqual(words.decode(), offered + "\n", typed)
        page = run_binary("man").stdout
        self.assertRegex(page, rb'^\.TH TRANSPOSED 1 "\d{4}-\d\d-\d\d"')
        for word in (b"\\-o, \\-\\-output", b".SH EXAMPLES", b".SH FILES", b".SH ENVIRONMENT", b".SH SEE ALSO", b"Default: \\fB4GiB"):
            self.assertIn(word, page)
        with open("/dev/full", "wb") as full:
            self.assertEqual(subprocess.run([BINARY, "--help"], stdout=full, stderr=subprocess.DEVNULL, env=clean_environment()).returncode, 1)


if __name__ == "__main__":
    main()
