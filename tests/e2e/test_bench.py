"""test_bench.py -- `transposed bench` from outside: its JSON key by key, its table, what it refuses, how it scales down and ends."""
import json
import signal
import subprocess
import time
import unittest

from daemon import BINARY, clean_environment, main, on_a_terminal

# The contract's keys, in its order, and what each is; what stands behind them came later.
TOP = ["device", "commit", "reference", "rows"]
ROW = {"device": str, "itemsize": int, "rows": int, "cols": int, "batch": int, "strategy": str, "tile": (str, type(None)), "seconds_median": float,
       "seconds_min": float, "repeats": int, "bytes": int, "bytes_per_second": (float, int), "copy_seconds_median": float, "share_of_copy": float,
       "wavefronts": (dict, type(None)), "sectors": (dict, type(None)), "verified": bool}
LATER = ["threads", "auto", "plain_seconds_median", "share_of_plain", "cache", "bar", "bar_of", "scaled_from"]


def bench(*arguments, expect=0):
    ended = subprocess.run([BINARY, "bench", *arguments], capture_output=True, text=True, env=clean_environment(), timeout=250, check=False)
    if ended.returncode != expect:
        raise AssertionError(f"bench {arguments}: status {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended


def rows_of(*arguments, expect=0):
    return json.loads(bench("--json", "--repeats", "3", *arguments, expect=expect).stdout)


class Json(unittest.TestCase):
    def check_row(self, row):
        self.assertEqual(list(row), list(ROW) + LATER)
        for key, kind in ROW.items():
            self.assertIsInstance(row[key], kind, key)
        self.assertIs(row["verified"], True)
        self.assertEqual(row["bytes"], row["rows"] * row["cols"] * row["batch"] * row["itemsize"])
        self.assertGreaterEqual(row["repeats"], 3)
        self.assertGreater(row["seconds_min"], 0)
        self.assertLessEqual(row["seconds_min"], row["seconds_median"])
        self.assertAlmostEqual(row["bytes_per_second"] / (2 * row["bytes"] / row["seconds_median"]), 1, 3)
        self.assertAlmostEqual(row["share_of_copy"] / (row["copy_seconds_median"] / row["seconds_median"]), 1, 3)
        self.assertAlmostEqual(row["share_of_plain"] / (row["plain_seconds_median"] / row["seconds_median"]), 1, 3)
        self.assertIn(row["cache"], ("warm", "mixed", "cold", "unknown"))

    def test_the_contract(self):
        answer = rows_of("--device", "cpu", "--shape", "64x48")
        self.assertEqual(list(answer), TOP + ["left_out"])
        self.assertTrue(answer["device"].startswith("cpu "))
        self.assertNotEqual(answer["commit"], "")
        self.assertIn("non-temporal", answer["reference"])
        self.assertEqual([row["itemsize"] for row in answer["rows"]], [1, 2, 4, 8, 16])
        for row in answer["rows"]:
            self.check_row(row)
            self.assertEqual((row["device"], row["rows"], row["cols"], row["batch"], row["strategy"], row["tile"]), ("cpu", 64, 48, 1, "blocked", None))
            self.assertEqual((row["wavefronts"], row["sectors"], row["scaled_from"]), (None, None, None))
            self.assertGreaterEqual(row["threads"], 1)
        self.assertEqual(answer["left_out"], [])

    def test_options_again_and_again(self):
        answer = rows_of("--device", "cpu", "--device", "simt", "--threads", "1", "--threads", "2", "--shape", "40x30", "--shape=3x5x7", "--itemsize", "4",
                         "--itemsize", "12")
        for row in answer["rows"]:
            self.check_row(row)
        seen = [(row["device"], row["threads"], row["rows"], row["batch"], row["itemsize"]) for row in answer["rows"]]
        expected = [(device, threads, *shape, size) for device, threads in (("cpu", 1), ("cpu", 2), ("simt", None)) for shape in ((40, 1), (3, 7))
                    for size in (4, 12)]
        self.assertEqual(seen, expected)

    def test_the_model_stands_beside_a_strategy(self):
        answer = rows_of("--device", "simt", "--shape", "64x64", "--itemsize", "4", "--strategy", "naive", "--strategy", "padded")
        naive, padded = answer["rows"]
        self.assertEqual((naive["strategy"], naive["tile"], naive["auto"]), ("naive", "32x32", False))
        self.assertEqual(naive["wavefronts"], {"store": 1, "load": 32, "ideal": 1})
        self.assertEqual(padded["wavefronts"], {"store": 1, "load": 1, "ideal": 1})
        self.assertEqual(padded["sectors"], {"load": 4, "store": 4, "ideal": 4})

    def test_every_strategy(self):
        answer = rows_of("--device", "simt", "--shape", "64x64", "--itemsize", "4", "--strategy", "all")
        self.assertIs(answer["rows"][0]["auto"], True)
        names = [row["strategy"] for row in answer["rows"][1:]]
        self.assertIn("swizzled", names)
        self.assertNotIn("narrow", names)  # which a square is nothing for
        self.assertEqual(answer["left_out"], [])

    def test_the_grid_is_scaled_to_the_memory(self):
        answer = rows_of("--device", "cpu", "--memory", "256KiB", "--itemsize", "4")
        self.assertGreaterEqual(len(answer["rows"]), 20)
        for row in answer["rows"]:
            self.check_row(row)
            self.assertLessEqual(row["bytes"], 128 << 10)
        shapes = {row["scaled_from"]: (row["rows"], row["cols"]) for row in answer["rows"]}
        self.assertEqual(shapes["8191x8193"][0] % 2, 1)
        self.assertEqual(shapes["3x40000000"][0], 3)
        self.assertEqual([row["scaled_from"] for row in answer["rows"] if (row["rows"], row["cols"]) == (32, 32) and row["batch"] == 1], [None])


class Words(unittest.TestCase):
    def test_a_table(self):
        said = bench("--device", "cpu", "--shape", "100x37", "--itemsize", "2", "--repeats", "3").stdout
        table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if line.startswith("|")]
        self.assertEqual(len(table), 3)
        row = dict(zip(table[0], table[2]))
        self.assertEqual((row["shape"], row["item"], row["strategy"], row["verified"]), ("100x37", "2", "blocked", "yes"))
        self.assertGreater(float(row["GB/s"]), 0)
        for words in ("non-temporal", "oracle", "warm", "cold", "commit"):
            self.assertIn(words, said)
        self.assertEqual(len({line.count("|") for line in said.splitlines() if line.startswith("|")}), 1)

    def test_what_is_no_command_line(self):
        for arguments, words in ((("--shape", "64"), "--shape is 64"), (("--shape", "0x5"), "ROWSxCOLS"), (("--itemsize", "0"), "1 to 4096"),
                                 (("--strategy", "magic"), "magic"), (("--device", "tpu"), "--device is tpu"), (("--threads", "0"), "1 to 1024"),
                                 (("--repeats", "2"), "3 to 1000"), (("--seconds", "0"), "1 to 3600"), (("--memory", "1"), "4KiB"),
                                 (("64x48",), "one word too many"), (("--nothing",), "--nothing"), (("--strategy", "all", "--strategy", "naive"), "alone")):
            ended = bench(*arguments, expect=2)
            self.assertIn(words, ended.stderr, arguments)
            self.assertIn("usage: transposed bench", ended.stderr)
            self.assertEqual(ended.stdout, "")

    def test_what_can_not_be_done(self):
        for arguments, words in ((("--device", "cuda:31"), "cuda"), (("--device", "cpu:1", "--shape", "4x4"), "cpu"),
                                 (("--device", "cpu", "--strategy", "padded", "--shape", "64x48"), "tile strategy of GPUs"),
                                 (("--device", "cpu", "--memory", "1MiB", "--shape", "1000x1000", "--itemsize", "4"),
                                  "1000x1000 with items of 4 bytes has 4000000 bytes, one matrix may have 524288 here, half of what --memory allows: give --memory 8000000 where"),
                                 (("--device", "cpu", "--shape", "1000000x1000000", "--itemsize", "4"),
                                  "1000000x1000000 with items of 4 bytes has 4000000000000 bytes, one matrix may have "),
                                 (("--device", "cpu", "--shape", "4000000000x2000000000", "--itemsize", "4"), "past 2^63 - 1 bytes"),
                                 (("--device", "simt", "--strategy", "narrow", "--shape", "64x64", "--itemsize", "4"), "narrow")):
            ended = bench(*arguments, expect=1)
            self.assertIn(words, ended.stderr, arguments)
            self.assertEqual(ended.stdout, "")
        answer = rows_of("--device", "cpu", "--memory", "1MiB", "--shape", "1000x1000", "--shape", "10x10", expect=1)
        self.assertEqual(len(answer["rows"]), 5)
        self.assertEqual(len(answer["left_out"]), 5)
        self.assertEqual(list(answer["left_out"][0]), ["device", "cell", "reason"])

    def test_progress_is_for_terminals(self):
        status, said = on_a_terminal("bench", "--device", "cpu", "--shape", "64x48", "--repeats", "3", stream="stderr")
        self.assertEqual(status, 0, said)
        self.assertIn(b"[1/5] cpu 64x48:1", said)
        self.assertIn(b"[5/5] cpu 64x48:16", said)
        self.assertEqual(bench("--device", "cpu", "--shape", "64x48", "--repeats", "3").stderr, "")

    def test_a_signal_ends_it_with_what_there_is(self):
        shapes = [word for _ in range(60) for word in ("--shape", "512x512")]
        child = subprocess.Popen([BINARY, "bench", "--device", "cpu", "--json", "--repeats", "1000", "--seconds", "1", *shapes], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True, env=clean_environment())
        time.sleep(3)
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 1)
        answer = json.loads(said)
        self.assertGreater(len(answer["rows"]), 0)
        self.assertIn("signal", answer["left_out"][-1]["reason"])


if __name__ == "__main__":
    main()
