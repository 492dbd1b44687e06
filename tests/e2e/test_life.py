"""test_life.py -- readiness, reload, drain, signals, the service manager, listeners of other kinds, restart."""
import json
import os
import signal
import socket
import tempfile
import threading
import time
import unittest

from daemon import JSON, RAW, Daemon, main, transpose_bytes


class Life(unittest.TestCase):
    def test_health_and_admin(self):
        with Daemon() as daemon:
            for address in (daemon.listen, daemon.admin):
                for path in ("/livez", "/readyz", "/healthz"):
                    answer = daemon.get(path, address=address)
                    self.assertEqual(answer.status, 200, path)
                    answer.json()
            self.assertIn("health+json", daemon.get("/healthz").headers["Content-Type"])
            self.assertEqual(daemon.request("POST", "/v1/transpose", b"[[1]]", address=daemon.admin).status, 404)

    def test_who_is_turned_away_counts_once(self):
        with Daemon("--max-connections-per-ip=1") as daemon:
            held = daemon.connection()
            held.request("GET", "/livez")
            held.getresponse().read()
            for _ in range(3):
                self.assertEqual(daemon.get("/livez").status, 429)
            for _ in range(2):
                daemon.raw_socket().close()  # says nothing
            deadline = time.monotonic() + 20
            while (rejected := daemon.get("/stats", address=daemon.admin).json()["requests"]["rejected"]) < 5 and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(rejected, 5)
            held.close()

    def test_admin_answers_while_data_is_full(self):
        with Daemon("--max-connections", "4", "--http-threads", "1") as daemon:
            idle = [daemon.raw_socket() for _ in range(4)]
            time.sleep(0.3)
            try:
                with daemon.raw_socket(5) as one:
                    one.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                    self.assertIn(b" 503 ", one.recv(4096).split(b"\r\n")[0] + b" ")
            except ConnectionError:
                pass  # closed before the request was read: refused all the same
            for path in ("/livez", "/readyz", "/metrics", "/stats"):
                self.assertEqual(daemon.get(path, address=daemon.admin).status, 200)
            for one in idle:
                one.close()

    def test_reload(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "knobs.json")

            def write(knobs):
                with open(path, "w") as file:
                    file.write(knobs if isinstance(knobs, str) else json.dumps(knobs))

            def value(daemon, name):
                shown = daemon.get("/v1/config").json()
                return shown.get("config", shown)[name]["value"]

            write({"log_level": "info", "queue_depth": 9})
            with Daemon("--config", path) as daemon:
                write({"log_level": "debug", "queue_depth": 10, "recent": 3, "max_body_bytes": "1KiB"})
                daemon.process.send_signal(signal.SIGHUP)
                daemon.wait_log("reloaded")
                daemon.wait_log("2 changed knobs need a restart and keep the old value: queue_depth, recent")
                self.assertEqual((value(daemon, "log_level"), value(daemon, "queue_depth")), ("debug", 9))
                self.assertEqual(daemon.post(b"\0" * 2048, "?rows=1&cols=512", RAW).status, 413)
                write({"log_level": "nonsense", "max_body_bytes": "1MiB"})
                daemon.process.send_signal(signal.SIGHUP)
                daemon.wait_log("not reloaded")
                self.assertEqual(value(daemon, "log_level"), "debug")
                self.assertEqual(daemon.post(b"\0" * 2048, "?rows=1&cols=512", RAW).status, 413)

    def test_drain_under_load_loses_nothing(self):
        data = os.urandom(256 * 256 * 4)
        expected = transpose_bytes(data, 256, 256, 4)
        with Daemon("--drain-delay", "400ms", "--drain-deadline", "20s") as daemon:
            outcomes, stop = [], threading.Event()

            def client():
                while not stop.is_set():
                    try:
                        connection = daemon.connection()
                        connection.connect()
                    except (ConnectionRefusedError, ConnectionResetError):
                        # Reset: the listener was closed between this connection's first packet and its last.
                        outcomes.append("refused")
                        return
                    except OSError as error:
                        outcomes.append(f"connect: {error!r}")
                        return
                    try:
                        answer = daemon.post(data, "?rows=256&cols=256", RAW, connection=connection)
                        good = answer.status == 503 or (answer.status == 200 and answer.body == expected)
                        outcomes.append(answer.status if good else "wrong bytes")
                    except ConnectionResetError:
                        # The listener was closed while this connection still lay in its backlog: never accepted.
                        outcomes.append("refused")
                        return
                    except Exception as error:
                        outcomes.append(repr(error))
                    finally:
                        connection.close()

            threads = [threading.Thread(target=client) for _ in range(8)]
            for thread in threads:
                thread.start()
            time.sleep(0.5)
            daemon.ask_to_stop()
            time.sleep(0.1)
            self.assertEqual(daemon.get("/readyz", address=daemon.admin).status, 503)
            self.assertEqual(daemon.get("/livez", address=daemon.admin).status, 200)
            for thread in threads:
                thread.join(30)
            stop.set()
            self.assertEqual(set(outcomes) - {200, 503, "refused"}, set())
            self.assertGreater(outcomes.count(200), 10)
            self.assertEqual(daemon.process.wait(30), 0)

    def test_drain_waits_for_a_slow_upload(self):
        with Daemon("--drain-deadline", "20s") as daemon, daemon.raw_socket() as one:
            one.sendall(b"POST /v1/transpose?rows=2&cols=3&itemsize=1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 6\r\n\r\nabc")
            time.sleep(0.2)
            daemon.ask_to_stop()
            time.sleep(0.5)
            with self.assertRaises(OSError):
                daemon.raw_socket(2)
            one.sendall(b"def")
            reply = b""
            while not reply.endswith(b"adbecf"):
                more = one.recv(4096)
                self.assertTrue(more, reply)
                reply += more
            self.assertIn(b" 200 ", reply.split(b"\r\n")[0])

    def test_drain_deadline_answers_the_rest(self):
        with Daemon("--drain-deadline", "300ms") as daemon, daemon.raw_socket() as one:
            one.sendall(b"POST /v1/transpose?rows=2&cols=3 HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 24\r\n\r\nabc")
            time.sleep(0.2)
            start = time.monotonic()
            daemon.ask_to_stop()
            reply = one.recv(4096)
            self.assertIn(b" 503 ", reply.split(b"\r\n")[0] + b" ")
            self.assertIn(b"draining", reply)
            self.assertEqual(daemon.process.wait(20), 0)
            self.assertLess(time.monotonic() - start, 10)

    def test_second_sigterm_ends_at_once(self):
        with Daemon("--drain-delay", "60s", expect=1) as daemon:
            daemon.ask_to_stop()
            daemon.wait_log("draining")
            start = time.monotonic()
            daemon.ask_to_stop()
            self.assertEqual(daemon.process.wait(10), 1)
            self.assertLess(time.monotonic() - start, 2)

    def test_the_service_manager(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in (os.path.join(folder, "notify"), f"@tpd-e2e-{os.getpid()}"):
                manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                manager.bind("\0" + name[1:] if name.startswith("@") else name)
                manager.settimeout(20)
                with Daemon(env={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"}) as daemon:
                    heard = [manager.recv(256) for _ in range(3)]
                    self.assertIn(b"READY=1", heard)
                    self.assertIn(b"WATCHDOG=1", heard)
                    daemon.process.send_signal(signal.SIGHUP)
                    message = b""
                    while not message.startswith(b"RELOADING=1"):
                        message = manager.recv(256)
                    self.assertRegex(message, rb"^RELOADING=1\nMONOTONIC_USEC=\d+$")
                    while message != b"READY=1":
                        message = manager.recv(256)
                    daemon.ask_to_stop()
                    while message != b"STOPPING=1":
                        message = manager.recv(256)
                manager.close()

    def test_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.sock")
            with Daemon(listen=f"unix:{path}", admin=f"unix:{path}.admin") as daemon:
                self.assertEqual(daemon.listen, f"unix:{path}")
                self.assertEqual(daemon.post(b"[[1,2]]", type=JSON).json(), [[1], [2]])
                self.assertEqual(daemon.get("/livez", address=daemon.admin).status, 200)
            # A socket file that a killed daemon left behind is no obstacle.
            with Daemon(listen=f"unix:{path}", expect=-signal.SIGKILL) as daemon:
                daemon.process.kill()
            with Daemon(listen=f"unix:{path}") as daemon:
                self.assertEqual(daemon.post(b"[[1,2]]", type=JSON).json(), [[1], [2]])

    def test_inherited_descriptor(self):
        listener = socket.create_server(("127.0.0.1", 0))
        fd = listener.fileno()
        os.set_inheritable(fd, True)
        with Daemon(listen=f"fd:{fd}", admin="off", pass_fds=(fd,)) as daemon:
            address = "127.0.0.1:%d" % listener.getsockname()[1]
            self.assertEqual(daemon.post(b"[[1,2]]", type=JSON, address=address).json(), [[1], [2]])
        listener.close()

    def test_restart_on_the_same_port(self):
        with Daemon(expect=-signal.SIGKILL) as daemon:
            listen, admin = daemon.listen, daemon.admin
            keep = daemon.connection()
            self.assertEqual(daemon.post(b"[[1,2]]", type=JSON, connection=keep).status, 200)
            daemon.process.kill()
        for _ in range(3):
            with Daemon(listen=listen, admin=admin) as daemon:
                self.assertEqual(daemon.listen, listen)
                self.assertEqual(daemon.post(b"[[1,2]]", type=JSON).json(), [[1], [2]])

    def test_ready_fast(self):
        start = time.monotonic()
        with Daemon() as daemon:
            took = time.monotonic() - start
            self.assertEqual(daemon.get("/readyz").status, 200)
        self.assertLess(took, 5)  # sanitizers included; tests/bench holds the real bar


if __name__ == "__main__":
    main()
