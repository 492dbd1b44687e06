"""client_curl.py -- curl as people type it: no type, files, pipes, large bodies with 100-continue, HEAD, compressed options off."""
import os
import shutil
import subprocess
import sys

from daemon import Folder, Served, main, npy, read_npy, transpose_bytes

if shutil.which("curl") is None:
    print("waived: curl is not installed")
    sys.exit(77)


class Curl(Served, Folder):
    flags = ("--max-body-bytes", "64MiB")

    def curl(self, *arguments, input=None, query=""):
        done = subprocess.run(["curl", "-sS", "--max-time", "60", *arguments, f"http://{self.daemon.listen}/v1/transpose{query}"],
                              input=input, capture_output=True, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_data_binary(self):
        self.write("a.npy", npy(bytes(range(24)), (2, 3)))
        header, items = read_npy(self.curl("--data-binary", "@a.npy"))
        self.assertEqual((header["shape"], items), ((3, 2), transpose_bytes(bytes(range(24)), 2, 3, 4)))
        self.assertEqual(self.curl("-d", "[[1,2],[3,4]]").strip(), b"[[1,3],[2,4]]")
        self.assertEqual(self.curl("--data-binary", "@-", query="?rows=2&cols=3&itemsize=1", input=b"abcdef"), b"adbecf")

    def test_large_and_piped(self):
        data = os.urandom(1 << 22)
        expected = transpose_bytes(data, 1024, 1024, 4)
        self.assertEqual(self.curl("--data-binary", "@-", query="?rows=1024&cols=1024", input=data), expected)
        # -T - uploads chunked, without a length.
        self.assertEqual(self.curl("-X", "POST", "-T", "-", query="?rows=1024&cols=1024", input=data), expected)

    def test_early_refusal(self):
        # With 100-continue the body is never sent: curl sees 413 at once.
        code = self.curl("-o", "/dev/null", "-w", "%{http_code} %{size_upload}", "--data-binary", "@-", "-H", "Content-Type: application/octet-stream",
                         query="?rows=5000&cols=5000", input=bytes(100000000))
        self.assertEqual(code, b"413 0")

    def test_keep_alive_over_errors(self):
        url = f"http://{self.daemon.listen}/v1/transpose"
        done = subprocess.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", "-d", "[[1", url,
                               "--next", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", "-d", "[[1]]", url],
                              capture_output=True, check=True)
        self.assertEqual(done.stdout.split(), [b"400", b"1", b"200", b"0"])


if __name__ == "__main__":
    main()
