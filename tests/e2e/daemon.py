"""daemon.py -- starts the real binary on port 0, talks to it, and stops it; what every end-to-end test shares."""
import ast
import contextlib
import http.client
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BINARY = os.environ.get("TPD_BINARY", "")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def clean_environment(extra=None):
    """The environment without knobs of ours that the caller's shell may hold."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRANSPOSED_") and k != "NOTIFY_SOCKET"}
    environment.update(extra or {})
    return environment


class Unix(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout=30):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


class Daemon:
    """`with Daemon("--queue-depth", "3") as d: d.post(...)`. Stops by SIGTERM and expects status 0 unless told otherwise."""

    def __init__(self, *flags, env=None, listen="127.0.0.1:0", admin="127.0.0.1:0", expect=0, pass_fds=(), preexec=None):
        self.expect = expect
        self.lines = []
        self.asked = False
        self.ready = threading.Event()
        self.listen = self.admin = None
        command = [BINARY, "serve", "--listen", listen, "--admin-listen", admin, "--devices", "none", *flags]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=clean_environment(env),
                                        pass_fds=pass_fds, preexec_fn=preexec)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for raw in self.process.stderr:
            line = raw.decode("utf-8", "replace").rstrip()
            self.lines.append(line)
            found = re.search(r'"?\blisten"?[=:]"?([^\s",]+)', line)
            if found and "ready" in line:
                self.listen = found.group(1)
                self.admin = re.search(r'admin_listen"?[=:]"?([^\s",]+)', line).group(1)
                self.ready.set()
        self.ready.set()

    def wait_ready(self):
        if not self.ready.wait(60) or self.listen is None:
            raise AssertionError("the daemon did not start:\n" + "\n".join(self.lines))
        return self

    def __enter__(self):
        try:
            return self.wait_ready()
        except BaseException:
            self.process.kill()
            raise

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None and not self.asked:
            self.ask_to_stop()
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join(10)
        self.process.stderr.close()
        log = "\n".join(self.lines)
        if kind is not None:
            sys.stderr.write("--- the daemon's log ---\n" + log[-8000:] + "\n")
            return False
        if "Sanitizer" in log or "runtime error:" in log:
            raise AssertionError("a sanitizer spoke:\n" + log[-8000:])
        if code != self.expect:
            raise AssertionError(f"ended with {code}, not {self.expect}:\n" + log[-8000:])
        return False

    def ask_to_stop(self):
        """SIGTERM, once: a second one would cut requests off."""
        self.asked = True
        self.process.send_signal(signal.SIGTERM)

    def connection(self, address=None, timeout=60):
        address = address or self.listen
        if address.startswith("unix:"):
            return Unix(address[5:], timeout)
        host, port = address.rsplit(":", 1)
        return http.client.HTTPConnection(host.strip("[]"), int(port), timeout=timeout)

    def request(self, method, path, body=None, headers=None, address=None, connection=None):
        one = connection or self.connection(address)
        try:
            one.request(method, path, body=body, headers=headers or {})
            return Answer(one.getresponse())
        finally:
            if connection is None:
                one.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, body, query="", type=None, accept=None, headers=None, **more):
        headers = dict(headers or {})
        if type is not None:
            headers["Content-Type"] = type
        if accept is not None:
            headers["Accept"] = accept
        return self.request("POST", "/v1/transpose" + query, body=body, headers=headers, **more)

    def raw_socket(self, timeout=20):
        host, port = self.listen.rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout)

    def wait_log(self, words, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if any(words in line for line in self.lines):
                return
            time.sleep(0.01)
        raise AssertionError(f"the log never said {words!r}:\n" + "\n".join(self.lines[-30:]))


NPY, JSON, RAW = "application/x-npy", "application/json", "application/octet-stream"
CSV, TSV, MTX, SAFETENSORS = "text/csv", "text/tab-separated-values", "text/x-matrix-market", "application/x-safetensors"


def transpose_bytes(data, rows, cols, itemsize, batch=1):
    """The oracle of these tests: slices, no arithmetic."""
    out = []
    for b in range(batch):
        base = b * rows * cols * itemsize
        items = [data[base + i * itemsize:base + (i + 1) * itemsize] for i in range(rows * cols)]
        for c in range(cols):
            out.extend(items[c::cols])
    return b"".join(out)


def npy(data, shape, descr="<f4", fortran=False, version=1):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)!r}, }}"
    length_bytes = 2 if version == 1 else 4
    pad = -(len(header) + 1 + 8 + length_bytes) % 64
    header = (header + " " * pad + "\n").encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(length_bytes, "little") + header + data


def read_npy(body):
    """(header dict, data)"""
    if body[:6] != b"\x93NUMPY":
        raise AssertionError(f"not an npy file: {body[:80]!r}")
    length_bytes = 2 if body[6] == 1 else 4
    start = 8 + length_bytes
    length = int.from_bytes(body[8:start], "little")
    if (start + length) % 16 != 0:
        raise AssertionError("the data is not aligned")
    return ast.literal_eval(body[start:start + length].decode("latin-1")), body[start + length:]


def run_binary(*arguments, input=None, env=None, expect=0, timeout=120):
    done = subprocess.run([BINARY, *arguments], input=input, capture_output=True, env=clean_environment(env), timeout=timeout)
    if done.returncode != expect or b"Sanitizer" in done.stderr:
        raise AssertionError(f"{arguments} ended with {done.returncode}, not {expect}:\n{done.stderr.decode('utf-8', 'replace')}")
    return done


def on_a_terminal(*arguments, stream, env=None, timeout=120):
    """(status, what was said) of the binary with that stream of it, "stdout" or "stderr", on a terminal."""
    ours, terminal = pty.openpty()
    streams = {"stdout": subprocess.DEVNULL, stream: terminal}
    child = subprocess.Popen([BINARY, *arguments], env=clean_environment(env), **streams)
    os.close(terminal)
    said = b""
    with contextlib.suppress(OSError):  # which is how a terminal says that nobody is left on its other end
        while piece := os.read(ours, 65536):
            said += piece
    os.close(ours)
    return child.wait(timeout), said


class Served(unittest.TestCase):
    """Tests that share one daemon, which gets these flags."""

    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(*cls.flags).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__(None, None, None)

    def good(self, answer, status=200):
        self.assertEqual(answer.status, status, answer.body[:500])
        return answer

    def post(self, body, query="", **more):
        """The body of an answer that is 200."""
        return self.good(self.daemon.post(body, query, **more)).body


class Folder(unittest.TestCase):
    """Tests of files: a folder of its own for each."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()


def main():
    if not BINARY or not os.access(BINARY, os.X_OK):
        print("waived: TPD_BINARY names no binary")
        sys.exit(77)
    unittest.main(verbosity=1)
