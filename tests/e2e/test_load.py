"""test_load.py -- many clients at once, every answer compared bit for bit, and the books balanced at the end."""
import os
import random
import subprocess
import sys
import threading
import time
import unittest

from daemon import JSON, NPY, RAW, Daemon, main, npy, read_npy, transpose_bytes


class Load(unittest.TestCase):
    def test_many_clients_bit_exact(self):
        with Daemon() as daemon:
            problems, counted = [], []

            def client(seed):
                rng = random.Random(seed)
                connection = daemon.connection()
                try:
                    for i in range(25):
                        rows, cols, itemsize = rng.randrange(0, 90), rng.randrange(0, 90), rng.choice((1, 2, 4, 8, 16))
                        data = rng.randbytes(rows * cols * itemsize)
                        expected = transpose_bytes(data, rows, cols, itemsize)
                        if i % 3 == 0:
                            descr = {1: "|u1", 2: "<f2", 4: "<f4", 8: "<i8", 16: "<c16"}[itemsize]
                            answer = daemon.post(npy(data, (rows, cols), descr), type=NPY, connection=connection)
                            got = read_npy(answer.body)[1] if answer.status == 200 else None
                        elif i % 3 == 1:
                            device = rng.choice(("cpu", "auto", "simt"))
                            answer = daemon.post(data, f"?rows={rows}&cols={cols}&itemsize={itemsize}&device={device}", RAW, connection=connection)
                            got = answer.body
                        else:
                            rows, cols = max(rows, 1), max(cols, 1)
                            matrix = [[rng.randrange(-10**18, 10**18) for _ in range(cols)] for _ in range(rows)]
                            answer = daemon.post(repr(matrix).encode(), type=JSON, connection=connection)
                            got, expected = (answer.json() if answer.status == 200 else None), [list(c) for c in zip(*matrix)]
                        counted.append(1)
                        if answer.status != 200 or got != expected:
                            problems.append((seed, i, answer.status, answer.body[:200]))
                except Exception as error:
                    problems.append((seed, repr(error)))
                finally:
                    connection.close()

            threads = [threading.Thread(target=client, args=(seed,)) for seed in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(200)
            self.assertEqual(problems, [])
            # A request is counted when its answer has left: the last ones a moment after their clients have them.
            end = time.monotonic() + 10
            while (stats := daemon.get("/stats?recent=5").json())["requests"]["ok"] < len(counted) and time.monotonic() < end:
                time.sleep(0.01)
            self.assertGreaterEqual(stats["requests"]["ok"], len(counted))
            self.assertEqual(len(stats["recent"]), 5)
            self.assertEqual(stats["memory"]["host_used_bytes"], 0)

    def test_killed_clients_leave_nothing_behind(self):
        with Daemon() as daemon:
            host, port = daemon.listen.rsplit(":", 1)
            script = ("import socket,os\ns=socket.create_connection((%r,%s))\n"
                      "s.sendall(b'POST /v1/transpose?rows=2048&cols=2048&device=simt HTTP/1.1\\r\\nHost: x\\r\\n"
                      "Content-Type: application/octet-stream\\r\\nContent-Length: 16777216\\r\\n\\r\\n'+bytes(%%d))\n"
                      "print('sent',flush=True)\nimport time\ntime.sleep(60)\n" % (host, port))
            for count in (1000000, 1000000):
                child = subprocess.Popen([sys.executable, "-c", script % count], stdout=subprocess.PIPE)
                child.stdout.readline()
                child.kill()
                child.wait()
                child.stdout.close()
            end = time.monotonic() + 30
            while time.monotonic() < end:
                stats = daemon.get("/stats", address=daemon.admin).json()
                if stats["memory"]["host_used_bytes"] == 0 and stats["requests"]["in_flight"] <= 1:
                    break
                time.sleep(0.05)
            self.assertEqual(stats["memory"]["host_used_bytes"], 0)
            self.assertEqual(daemon.post(b"[[1,2]]", type=JSON).json(), [[1], [2]])

    def test_a_full_queue_says_when_to_come_back(self):
        data = os.urandom(1200 * 1200 * 4)
        with Daemon("--queue-depth", "1") as daemon:
            answers = []

            def client():
                answers.append(daemon.post(data, "?rows=1200&cols=1200&device=simt", RAW))

            threads = [threading.Thread(target=client) for _ in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
            expected = transpose_bytes(data, 1200, 1200, 4)
            self.assertEqual(len(answers), 12)
            for answer in answers:
                if answer.status == 200:
                    self.assertEqual(answer.body, expected)
                else:
                    self.assertEqual((answer.status, answer.json()["code"]), (503, "queue-full"))
                    self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
            self.assertIn(200, [answer.status for answer in answers])


if __name__ == "__main__":
    main()
