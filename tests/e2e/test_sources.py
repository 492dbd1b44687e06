"""test_sources.py -- where knobs come from, and what a wrong one does."""
import json
import os
import tempfile
import unittest

from daemon import Daemon, main, run_binary


class Sources(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "a file.json")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, knobs):
        with open(self.path, "w") as file:
            file.write(knobs if isinstance(knobs, str) else json.dumps(knobs))

    def test_order_of_sources(self):
        self.write({"queue_depth": 11, "recent": 12, "cpu_threads": 2})
        env = {"TRANSPOSED_RECENT": "22", "TRANSPOSED_CPU_THREADS": "1", "TRANSPOSED_CONFIG": self.path}
        with Daemon("--cpu-threads=3", env=env) as daemon:
            shown = daemon.get("/v1/config").json()
            knobs = shown.get("config", shown)
            self.assertEqual((knobs["queue_depth"]["value"], knobs["queue_depth"]["source"]), (11, "file"))
            self.assertEqual((knobs["recent"]["value"], knobs["recent"]["source"]), (22, "environment"))
            self.assertEqual((knobs["cpu_threads"]["value"], knobs["cpu_threads"]["source"]), (3, "flag"))
            self.assertEqual(knobs["drain_deadline"]["source"], "default")

    def test_print_config_reads_back(self):
        first = run_binary("serve", "--max-body-bytes", "5MiB", "--tile=64x32", "--drain-delay", "1500ms", "--print-config").stdout
        self.write(first.decode())
        again = run_binary("serve", "--config", self.path, "--print-config").stdout
        self.assertEqual(json.loads(first), json.loads(again))
        self.assertEqual(run_binary("serve", "--config", self.path, "--check-config").returncode, 0)

    def test_wrong_files_stop_the_start(self):
        for text, words in [({"no_such_knob": 1}, ["no_such_knob"]), ({"queue_depth": 0}, ["queue_depth", "0"]),
                            ({"queue_depth": "many"}, ["queue_depth"]), ({"strategy": "nosuch"}, ["strategy", "nosuch"]),
                            ({"listen": "foo"}, ["listen = 'foo' from the file"]), ({"devices": "foo"}, ["devices = 'foo' from the file"]),
                            ({"listen": "off"}, ["listen = 'off'"]), ({"admin_listen": "127.0.0.1:7070"}, []),
                            ('{"recent": 1, "recent": 2}', ["recent"]), ("{", []), ("[]", [])]:
            self.write(text)
            for more in ([], ["--check-config"], ["--print-config"]):
                done = run_binary("serve", "--config", self.path, *more, expect=1)
                self.assertIn(b"transposed serve: %s: " % self.path.encode(), done.stderr)
                for word in words:
                    self.assertIn(word.encode(), done.stderr)
        self.assertIn(b"absent.json", run_binary("serve", "--config", "/absent.json", expect=1).stderr)

    def test_wrong_flags_and_variables(self):
        self.assertIn(b"queue-depth", run_binary("serve", "--queue-depths", "3", expect=2).stderr)
        self.assertIn(b"queue_depth", run_binary("serve", "--queue-depth", "0", expect=2).stderr)
        self.assertIn(b"needs a value", run_binary("serve", "--queue-depth", expect=2).stderr)
        self.assertIn(b"--log-level needs a value", run_binary("serve", "--log-level", "--check-config", expect=2).stderr)
        for flag in ("--strategy", "--devices"):  # a wrong word is a wrong command line, whatever the knob
            self.assertIn(b"from the command line", run_binary("serve", flag, "gpu", expect=2).stderr)
        self.assertIn(b"from the environment", run_binary("serve", env={"TRANSPOSED_DEVICES": "gpu"}, expect=1).stderr)
        self.assertIn(b"TRANSPOSED_NOTHING", run_binary("serve", env={"TRANSPOSED_NOTHING": "1"}, expect=1).stderr)
        self.assertIn(b"one word too many", run_binary("serve", "now", expect=2).stderr)

    def test_an_address_that_is_taken_is_named(self):
        with Daemon() as daemon:
            done = run_binary("serve", "--listen", daemon.admin, "--admin-listen", "off", "--devices", "none", expect=1)
            self.assertIn(daemon.admin.encode(), done.stderr)
        for wrong in ("nowhere", "nosuchhost:1", "127.0.0.1", "127.0.0.1:70700", "unix:", "fd:x"):
            for more in ([], ["--check-config"], ["--print-config"]):
                done = run_binary("serve", "--listen", wrong, "--admin-listen", "off", "--devices", "none", *more, expect=2)
                self.assertIn(wrong.encode(), done.stderr)
                self.assertIn(b"from the command line", done.stderr)
            run_binary("serve", "--check-config", env={"TRANSPOSED_ADMIN_LISTEN": wrong}, expect=1)


if __name__ == "__main__":
    main()
