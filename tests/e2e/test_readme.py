"""test_readme.py -- runs every command of the README as it is printed, against a real daemon, and compares what it prints.

A block ```console holds commands, each behind `$ `, and their output. They run in one folder, in the README's order, so that one may
read what another wrote. Times and ids differ from run to run: they are compared by shape. A block ```python is run as it stands.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from daemon import BINARY, ROOT, Daemon, clean_environment, main


def blocks(text):
    """(language, lines) of each fenced block; a fence is a line of its own, so an end is never taken for a beginning."""
    language, lines = None, []
    for line in text.splitlines():
        if language is None and line.startswith("```"):
            language, lines = line[3:], []
        elif language is not None and line == "```":
            yield language, lines
            language = None
        elif language is not None:
            lines.append(line)
    if language is not None:
        raise AssertionError("a block of the README never ends")


def commands(lines):
    """(command, its output) of a console block."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found and not found[-1][1] and found[-1][0].endswith("\\"):
            found[-1][0] += "\n" + line
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(output)) for command, output in found]


def blur(text):
    text = re.sub(r"dur=[\d.]+", "dur=T", text)
    text = re.sub(r"[\d.]+ ms", "T ms", text)
    text = re.sub(r'("(?:id|at|instance|trace_id)":\s*)"[^"]*"', r'\1"X"', text)
    text = re.sub(r'("\w+_ns":\s*)\d+', r"\1N", text)
    return re.sub(r"\s+", " ", text).strip()


class Readme(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(ROOT, "README.md")) as file:
            self.text = file.read()

    def environment(self):
        environment = clean_environment()
        environment["PATH"] = os.path.dirname(os.path.abspath(BINARY)) + os.pathsep + environment["PATH"]
        return environment

    def run_one(self, arguments, daemon, folder):
        arguments = [argument.replace("127.0.0.1:7070", daemon.listen) for argument in arguments]
        done = subprocess.run(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, env=self.environment())
        said = done.stdout.decode().replace(daemon.listen, "127.0.0.1:7070")
        self.assertEqual(done.returncode, 0, said)
        return said

    def test_console_blocks(self):
        if shutil.which("curl") is None:
            self.skipTest("curl is not installed")
        found = [one for language, lines in blocks(self.text) if language == "console" for one in commands(lines)]
        self.assertEqual(len(found), len(re.findall(r"^\$ ", self.text, re.M)), "a command stands outside of a console block")
        with Daemon() as daemon, tempfile.TemporaryDirectory() as folder:
            for command, output in found:
                with self.subTest(command=command):
                    self.assertEqual(blur(self.run_one(["bash", "-c", command], daemon, folder)), blur(output))

    def test_python_blocks(self):
        found = ["\n".join(lines) for language, lines in blocks(self.text) if language == "python"]
        self.assertEqual(len(found), 1)
        pythons = [one for one in (sys.executable, os.path.join(ROOT, ".venv/bin/python"), "/usr/bin/python3")
                   if shutil.which(one) and subprocess.run([one, "-c", "import numpy"], capture_output=True).returncode == 0]
        if not pythons:
            self.skipTest("numpy is not installed")
        check = "\nassert transposed.shape == (500, 300) and (transposed.T == np.load(io.BytesIO(body.getvalue()))).all()\n"
        with Daemon() as daemon, tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_one([pythons[0], "-c", found[0] + check], daemon, folder), "")


class Quickstart(unittest.TestCase):
    def test_a_port_that_is_none(self):
        """Refused before anything is installed, built or started."""
        script = os.path.join(ROOT, "deploy/quickstart.sh")
        for words in (["--port", "abc"], ["--port=0"], ["--port", "65536"], ["--port=070"], ["--port", ""], ["--port"]):
            done = subprocess.run([script, *words], capture_output=True, text=True, env=clean_environment(), timeout=10)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            port = words[-1].removeprefix("--port").removeprefix("=")
            self.assertEqual(done.stderr, f"quickstart.sh: --port is '{port}': it takes a number from 1 to 65535\n")


if __name__ == "__main__":
    main()
