"""test_banks.py -- the bank model as people meet it: `transposed banks`, GET and POST /v1/banks, and the committed pictures."""
import json
import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from daemon import BINARY, ROOT, Daemon, main, on_a_terminal, run_binary

sys.path.insert(0, os.path.join(ROOT, "kernels/banks"))
from draw_pictures import FOLDER, PICTURES, draw  # noqa: E402

KEYS = {"strategy", "itemsize", "tile", "pitch", "rows", "cols", "bank_bytes", "shared", "global", "shared_bytes", "advice"}
RESULT_KEYS = {"wavefronts", "ideal", "excess", "degree", "phases", "busiest_bank", "lanes"}


def oracle(op, width, addresses, bank_bytes=4):
    """(wavefronts, ideal) of a warp request, written from the rules and not from the program."""
    lanes_of_phase = 32 if width <= bank_bytes else 32 * bank_bytes // width
    if op == "load" and lanes_of_phase < 32 and bank_bytes == 4:
        for distance in (1, 2):
            pairs = [(addresses[n], addresses[n ^ distance]) for n in range(32)]
            if all(a is None or b is None or a == b for a, b in pairs):
                lanes_of_phase *= 2
                break
    wavefronts = ideal = 0
    for first in range(0, 32, lanes_of_phase):
        words = {}
        for address in addresses[first:first + lanes_of_phase]:
            if address is not None:
                for word in range(address // bank_bytes, (address + width - 1) // bank_bytes + 1):
                    words.setdefault(word % 32, set()).add(word)
        wavefronts += max((len(one) for one in words.values()), default=0)
        ideal += bool(words)
    return wavefronts, ideal


def random_requests(seed, count):
    import random
    chance = random.Random(seed)
    for _ in range(count):
        width = chance.choice([1, 2, 4, 8, 16])
        addresses = [chance.randrange(200) * width if chance.random() < 0.8 else None for _ in range(32)]
        if chance.random() < 0.3:  # neighbours that agree
            addresses = [addresses[n & ~chance.choice([1, 1, 1, 2])] for n in range(32)]
        yield {"op": chance.choice(["load", "store"]), "width": width, "addresses": addresses}


class Command(unittest.TestCase):
    def json(self, *arguments):
        return json.loads(run_binary("banks", "--json", *arguments).stdout)

    def test_the_contract(self):
        answer = self.json("--strategy", "naive", "--itemsize", "4")
        self.assertLessEqual(KEYS, set(answer))
        self.assertEqual((answer["strategy"], answer["itemsize"], answer["tile"], answer["pitch"], answer["bank_bytes"]), ("naive", 4, "32x32", 32, 4))
        for op in ("load", "store"):
            self.assertLessEqual({"requests", "wavefronts", "ideal", "excess", "degree"}, set(answer["shared"][op]))
            self.assertEqual(set(answer["global"][op]), {"requests", "sectors", "ideal"})
        load = answer["shared"]["load"]
        self.assertEqual((load["wavefronts"], load["ideal"], load["excess"], load["degree"]), (32 * load["requests"], load["requests"], 31 * load["requests"], 32))
        self.assertEqual(answer["shared_bytes"], 4096)
        self.assertIn("33", answer["advice"])
        everything = self.json()["rows"]
        self.assertEqual(len(everything), 5 * len({row["strategy"] for row in everything}))
        self.assertEqual([row["itemsize"] for row in self.json("--strategy", "padded")["rows"]], [1, 2, 4, 8, 16])

    def test_questions(self):
        for flag in ("--bank-width", "--bank-bytes", "--bank_bytes"):
            self.assertEqual(self.json("--stride", "2", flag, "8")["bank_bytes"], 8)
        rows = self.json("--stride", "1..64", "--itemsize", "4")["rows"]
        self.assertEqual([row["shared"]["load"]["degree"] for row in rows], [min(32, n & -n) for n in range(1, 65)])
        self.assertEqual(self.json("--tile", "32x48", "--pitch", "33")["tile"], "32x48")
        bytes_at_33 = self.json("--stride", "33", "--itemsize", "1")["by_column"]
        self.assertEqual(sum(bytes_at_33) / len(bytes_at_33), 1.75)
        halves_at_33 = self.json("--stride=33", "--itemsize=2")["by_column"]
        self.assertEqual(sum(halves_at_33) / len(halves_at_33), 1.5)
        self.assertIn("no pitch", self.json("--tile", "16x16", "--itemsize", "4")["advice"])
        self.assertEqual(self.json("--record", "16", "--offset", "4")["shared"]["load"]["degree"], 4)
        self.assertEqual(self.json("--strategy", "naive", "--itemsize", "8", "--bank-width", "8")["shared"]["load"]["ideal"] * 2,
                         self.json("--strategy", "naive", "--itemsize", "8")["shared"]["load"]["ideal"])

    def test_tables(self):
        table = run_binary("banks").stdout.decode()
        for word in ("naive", "swizzled", "direct", "32/1", "RESIDENT", "(threads)"):
            self.assertIn(word, table)
        self.assertNotIn("\033", table)
        for arguments, words in [(["--tile", "32x32", "--pitch", "33"], ["load by columns", "Free of conflicts"]), (["--reduce", "256"], ["SEQUENTIAL"]),
                                 (["--stride", "1..8", "--itemsize", "2"], ["BY FIRST COLUMN"]), (["--group", "32"], ["32 neighbouring lanes"])]:
            said = run_binary("banks", *arguments).stdout.decode()
            for word in words:
                self.assertIn(word, said)

    def coloured(self, **environment):
        status, said = on_a_terminal("banks", "--strategy", "naive", stream="stdout", env={"TERM": "xterm", **environment})
        self.assertEqual(status, 0, said)
        self.assertIn(b"naive", said)
        return b"\033[" in said

    def test_colour_on_a_terminal_alone(self):
        self.assertTrue(self.coloured(NO_COLOR=""))
        self.assertFalse(self.coloured(NO_COLOR="1"))
        self.assertFalse(self.coloured(TERM="dumb", NO_COLOR=""))

    def test_addresses(self):
        requests = list(random_requests(4, 300))
        body = json.dumps({"requests": requests}).encode()
        results = json.loads(run_binary("banks", "--addresses", "-", "--json", input=body).stdout)["requests"]
        self.assertEqual(len(results), len(requests))
        for request, result in zip(requests, results):
            self.assertEqual(set(result), RESULT_KEYS)
            wavefronts, ideal = oracle(**request)
            self.assertEqual((result["wavefronts"], result["ideal"], result["excess"]), (wavefronts, ideal, wavefronts - ideal), request)
        with tempfile.NamedTemporaryFile() as file:
            file.write(body)
            file.flush()
            self.assertIn(b"LANES THAT MEET", run_binary("banks", "--addresses", file.name).stdout)
        self.assertIn(b"request 0", run_binary("banks", "--addresses", "-", input=b'{"requests":[7]}', expect=1).stderr)
        self.assertIn(b"absent", run_binary("banks", "--addresses", "absent", expect=1).stderr)

    def test_what_goes_wrong(self):
        for arguments, words in [(["--itemsize", "3"], b"itemsize=3"), (["--tile", "9"], b"ROWSxCOLS"), (["--strategy", "nope"], b"nope"), (["word"], b"word"),
                                 (["--stride", "1..9999"], b"1024"), (["--json", "--svg"], b"one of them"), (["--svg", "--stride", "1..3"], b"one stride"),
                                 (["--addresses", "x", "--stride", "2"], b"--addresses"), (["--strategy", "naive", "--itemsize", "4", "--tile", "24x24"], b"power of two"),
                                 (["--record", "10"], b"lane 1"), (["--stride"], b"needs a value"), (["--arch", "91"], b"75|80|86|89|90|100|120"),
                                 (["--strategy", "vector", "--tile", "64x64"], b"leave tile out"), (["--bank-width", "8", "--bank-bytes", "8"], b"two names"),
                                 (["--pitch", "0"], b"pitch=0")]:
            with self.subTest(arguments=arguments):
                done = run_binary("banks", *arguments, expect=2)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, b"")

    def test_pictures_are_current(self):
        self.assertEqual(sorted(os.listdir(FOLDER)), sorted(name + ".svg" for name in PICTURES))
        with open(os.path.join(ROOT, "include/transposed/tbl/strategies.def")) as file:
            for line in file:
                if line.startswith("X("):
                    self.assertIn(line.split('"')[1], PICTURES)
        with open(os.path.join(os.path.dirname(FOLDER), "README.md")) as file:
            page = file.read()
        for name in PICTURES:
            drawn = draw(BINARY, name)
            with open(os.path.join(FOLDER, name + ".svg"), "rb") as file:
                self.assertEqual(file.read(), drawn, f"{name}.svg is not what the binary draws: run kernels/banks/draw_pictures.py")
            self.assertIn(f"pictures/{name}.svg", page)
            root = xml.etree.ElementTree.fromstring(drawn)
            space = "{http://www.w3.org/2000/svg}"
            self.assertEqual(root.attrib["role"], "img")
            self.assertTrue(root.find(space + "title").text and root.find(space + "desc").text)

    def test_output_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.svg")
            run_binary("banks", "--svg", "--strategy", "rotated", "-o", path)
            xml.etree.ElementTree.parse(path)
            self.assertEqual(os.listdir(folder), ["a.svg"])


class Routes(unittest.TestCase):
    def test_get_and_post(self):
        with Daemon() as daemon:
            for query in ("?strategy=naive&itemsize=4", "?tile=32x32&pitch=34&itemsize=4", "?stride=5&itemsize=4"):
                answer = daemon.get("/v1/banks" + query)
                self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/json"))
                self.assertLessEqual(KEYS, set(answer.json()))
                flags = [word for pair in query[1:].split("&") for word in ("--" + pair.split("=")[0], pair.split("=")[1])]
                self.assertEqual(answer.json(), json.loads(run_binary("banks", "--json", *flags).stdout))
            for query in ("bank_bytes", "bank_width", "bank-width"):
                self.assertEqual(daemon.get(f"/v1/banks?stride=2&{query}=8").json(), daemon.get("/v1/banks?stride=2&bank_bytes=8").json())
            self.assertIn("group, reduce, bank_bytes, bank_width, arch, request and side are taken here", daemon.get("/v1/banks?what=1").json()["detail"])
            self.assertIn("75|80|86|89|90|100|120", daemon.get("/v1/banks?arch=91").json()["detail"])
            self.assertEqual(daemon.get("/v1/banks?strategy=vector&tile=64x64").status, 422)
            picture = daemon.get("/v1/banks?strategy=padded&itemsize=4", headers={"Accept": "image/svg+xml"})
            self.assertEqual((picture.status, picture.headers["Content-Type"]), (200, "image/svg+xml"))
            self.assertEqual(picture.body, draw(BINARY, "padded"))
            requests = list(random_requests(9, 200))
            answer = daemon.request("POST", "/v1/banks", json.dumps({"requests": requests, "bank_bytes": 8}), {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 200, answer.body)
            for request, result in zip(requests, answer.json()["requests"]):
                self.assertEqual(set(result), RESULT_KEYS)
                self.assertEqual((result["wavefronts"], result["ideal"]), oracle(**request, bank_bytes=8), request)
            wrong = {"requests": [{"op": "load", "width": 4, "addresses": [0] * 32}, {"op": "load", "width": 4, "addresses": [0] * 17 + [2] + [0] * 14}]}
            answer = daemon.request("POST", "/v1/banks", json.dumps(wrong))
            self.assertEqual((answer.status, answer.json()["code"]), (422, "unsupported"))
            self.assertIn("request 1: lane 17", answer.json()["detail"])
            wrong["requests"][1]["width"] = 3
            self.assertEqual(daemon.request("POST", "/v1/banks", json.dumps(wrong)).status, 422)
            self.assertEqual(daemon.request("POST", "/v1/banks", "[1,").status, 400)
            self.assertEqual(daemon.request("PUT", "/v1/banks", "").headers["Allow"], "GET, HEAD, POST")
            strategies = {one["name"]: one for one in daemon.get("/v1/strategies").json()["strategies"]}
            model = strategies["naive"]["by_itemsize"][2]["model"]
            self.assertEqual(model["shared"]["load"]["degree"], 32)
            self.assertEqual(model["occupancy"]["resident_blocks"], 8)


if __name__ == "__main__":
    main()
