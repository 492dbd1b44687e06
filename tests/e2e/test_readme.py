"""test_readme.py -- runs the README's curl lines as they are printed, against a real daemon, and compares what they print.

A block of the README that begins with `$ curl` is a command and its output. Times and ids differ from run to run: numbers with
a point, and ids, are compared by shape.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from daemon import ROOT, Daemon, main, npy


def blocks(text):
    for block in re.findall(r"```(?:console|sh|text)?\n(.*?)```", text, re.S):
        if block.startswith("$ "):
            command, output = [], []
            for line in block.splitlines():
                if line.startswith("$ "):
                    if command:
                        yield "\n".join(command), "\n".join(output)
                    command, output = [line[2:]], []
                elif command[-1].endswith("\\"):
                    command.append(line)
                else:
                    output.append(line)
            yield "\n".join(command), "\n".join(output)


def blur(text):
    text = re.sub(r"dur=[\d.]+", "dur=T", text)
    text = re.sub(r'("(?:id|at|instance|trace_id)":\s*)"[^"]*"', r'\1"X"', text)
    text = re.sub(r'("\w+_ns":\s*)\d+', r"\1N", text)
    return re.sub(r"\s+", " ", text).strip()


class Readme(unittest.TestCase):
    def test_curl_lines(self):
        if shutil.which("curl") is None:
            self.skipTest("curl is not installed")
        with open(os.path.join(ROOT, "README.md")) as file:
            found = [(c, o) for c, o in blocks(file.read()) if "curl" in c and "127.0.0.1:7070" in c]
        self.assertGreaterEqual(len(found), 5)
        with Daemon() as daemon, tempfile.TemporaryDirectory() as folder:
            for command, output in found:
                with self.subTest(command=command):
                    done = subprocess.run(["bash", "-c", command.replace("127.0.0.1:7070", daemon.listen)], cwd=folder, capture_output=True, timeout=60)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(blur(done.stdout.decode().replace(daemon.listen, "127.0.0.1:7070")), blur(output))


if __name__ == "__main__":
    main()
