#!/usr/bin/env python3
"""Clients that are malformed, slow, many, or gone; and how the server ends."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import socket
import tempfile
import time
import unittest

import serving

BODY = json.dumps({"text": serving.SENTENCE}).encode()
LONG_TEXT = "the cat sat " * 5000


def request(line, *headers, body=b""):
    return "\r\n".join([line, "Host: 127.0.0.1:PORT", *headers, "", ""]).encode() + body


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(serving.serving())

    def raw(self, bytes_):
        return self.server.raw(bytes_.replace(b"PORT", str(self.server.port).encode()))

    def status(self, bytes_):
        return serving.status_of(self.raw(bytes_))

    def alive(self):
        self.assertEqual(self.server.get("/health").json, {"status": "ok"})

    def test_malformed_requests(self):
        look = "POST /api/look HTTP/1.1"
        host = "Host: 127.0.0.1:PORT\r\n"
        malformed = {
            400: [
                b"\x16\x03\x01\x02\x00\x01\r\n\r\n",  # a client that speaks TLS
                b"GET\r\n\r\n", b"GET /health\r\n\r\n", b"GET  /health HTTP/1.1\r\n\r\n", b"get /health HTTP/1.1\r\n\r\n",
                b"GET /health HTTP/2.0\r\n\r\n", b"GET health HTTP/1.1\r\n\r\n", b"GET http://x/ HTTP/1.1\r\n\r\n",
                b"GET /health HTTP/1.1\r\n\r\n",  # no host
                request("GET /health HTTP/1.1", "no colon"), request("GET /health HTTP/1.1", " folded: x"),
                request("GET /health HTTP/1.1", "a b: c"), request("GET /health HTTP/1.1", "Host: x"),
                request("GET /health HTTP/1.1", "a: b\x01"), request("GET /h\x7f HTTP/1.1"),
                request(look, "Content-Length: 5", "Transfer-Encoding: chunked"), request(look, "Content-Length: 1, 1"),
                request(look, "Content-Length: +5"), request(look, "Content-Length: 99999999999999999999999"),
                request(look, "Content-Length: 5", "Content-Length: 5"), request(look, "Content-Length: "),
                request(look, "Transfer-Encoding: chunked", body=b"zz\r\n"),
                request(look, "Transfer-Encoding: chunked", body=b"-1\r\n"),
                request(look, "Transfer-Encoding: chunked", body=b"3\r\nabcd\r\n0\r\n\r\n"),
                request(look, "Transfer-Encoding: chunked", body=b"1" * 300),
                f"GET /health HTTP/1.1\n{host}\n\r\n\r\n".encode(),
            ],
            413: [request(look, "Content-Length: 99999999"),
                  request(look, "Transfer-Encoding: chunked", body=b"fffffff\r\n")],
            414: [request("GET /" + "a" * 5000 + " HTTP/1.1")],
            431: [request("GET / HTTP/1.1", *[f"h{i}: x" for i in range(200)]),
                  request("GET / HTTP/1.1", "long: " + "x" * 20_000), b"GET / HTTP/1.1\r\na: " + b"x" * 100_000],
            501: [request(look, "Transfer-Encoding: gzip, chunked")],
        }
        for status, requests in malformed.items():
            for one in requests:
                answer = self.raw(one)
                self.assertEqual(serving.status_of(answer), status, (one[:200], answer[:300]))
                self.assertIn(b"Connection: close", answer)
                self.assertTrue(json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]["message"])
        self.alive()

    def test_chunked_body_however_it_is_cut(self):
        for size in (1, 7, len(BODY)):
            parts = [BODY[i : i + size] for i in range(0, len(BODY), size)]
            chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: x\r\n\r\n"
            whole = request("POST /api/look HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked",
                            "Connection: close", body=chunks).replace(b"PORT", str(self.server.port).encode())
            with self.server.connect() as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for i in range(0, len(whole), 50):
                    connection.sendall(whole[i : i + 50])
                answer = serving.read_all(connection)
            self.assertEqual(serving.status_of(answer), 200)
            self.assertEqual(json.loads(answer.split(b"\r\n\r\n", 1)[1])["text"], serving.SENTENCE)

    def test_requests_one_after_the_other_and_together(self):
        client = self.server.client()
        for _ in range(5):
            self.assertEqual(self.server.post_look(client=client).status, 200)
        client.close()
        ten = request("GET /health HTTP/1.1") * 9 + request("GET /health HTTP/1.1", "Connection: close")
        self.assertEqual(self.raw(ten).count(b'{"status":"ok"}'), 10)
        self.assertEqual(self.raw(b"\r\n" + request("GET /health HTTP/1.0")).count(b'{"status":"ok"}'), 1)

    def test_expects_continue(self):
        with self.server.connect() as connection:
            head = request("POST /api/look HTTP/1.1", "Content-Type: application/json", "Expect: 100-continue",
                           f"Content-Length: {len(BODY)}", "Connection: close")
            connection.sendall(head.replace(b"PORT", str(self.server.port).encode()))
            self.assertEqual(connection.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(BODY)
            self.assertEqual(serving.status_of(serving.read_all(connection)), 200)

    def test_idle_and_slow_connections_hold_nobody(self):
        waiting = [self.server.connect() for _ in range(64)]  # say nothing
        waiting += [self.server.connect() for _ in range(64)]
        for connection in waiting[64:96]:
            connection.sendall(b"GET /health HT")
        for connection in waiting[96:]:
            connection.sendall(b"POST /api/look HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        begin = time.monotonic()
        self.alive()
        self.assertEqual(self.server.post_look().status, 200)
        self.assertLess(time.monotonic() - begin, 5)
        for connection in waiting:
            connection.close()

    def test_more_connections_than_there_is_room_for(self):
        waiting = [self.server.connect() for _ in range(600)]  # 512 are held: the idle ones go, the oldest first
        self.alive()
        for connection in waiting:
            connection.close()
        self.alive()

    def test_clients_that_vanish(self):
        whole = request("POST /api/look HTTP/1.1", "Content-Type: application/json", f"Content-Length: {len(BODY)}",
                        body=BODY).replace(b"PORT", str(self.server.port).encode())
        for end in range(1, len(whole) + 1, 13):
            connection = self.server.connect()
            connection.sendall(whole[:end])
            if end % 2:  # as a client that crashes: reset, not closed
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.close()
        self.alive()
        descriptors = pathlib.Path(f"/proc/{self.server.process.pid}/fd")
        serving.wait_for(lambda: len(list(descriptors.iterdir())) < 30, "connections to be closed")

    def test_client_that_does_not_read(self):
        look = self.server.post_look().json["look"]
        connection = self.server.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one = f"GET /api/look?look={look} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n\r\n".encode()
        connection.sendall(one * 500)
        self.alive()
        connection.close()
        self.alive()


class Busy(unittest.TestCase):
    """Looks that take their time."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="sightline-serve-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.model = serving.write_long_model(pathlib.Path(cls.folder) / "long", 8192)

    def begin_look(self, server, text):
        body = json.dumps({"text": text, "truncate": True})
        client = server.client()
        client.request("POST", "/api/look", body, {"Content-Type": "application/json"})
        return client

    def cpu_seconds(self, server):
        fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_too_many_looks_are_sent_away_and_the_rest_goes_on(self):
        with serving.serving("--queue", "1", "--max-text", "4M", model=self.model) as server:
            clients = [self.begin_look(server, LONG_TEXT * 3 + str(i)) for i in range(6)]  # two run, one waits
            answers = []
            begin = time.monotonic()
            self.assertEqual(server.get("/health").status, 200)
            self.assertEqual(server.get("/api/model").status, 200)
            self.assertLess(time.monotonic() - begin, 5)
            for client in clients:
                answers.append(serving.Answer(client.getresponse()))
                client.close()
            self.assertEqual({answer.status for answer in answers}, {200, 503})
            self.assertGreaterEqual(sum(answer.status == 200 for answer in answers), 3)
            for answer in answers:
                if answer.status == 503:
                    self.assertEqual(answer.error[0], "busy")
                    self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)

    def test_looks_of_clients_that_went_away_are_given_up(self):
        with serving.serving("--max-text", "4M", model=self.model) as server:
            begin = time.monotonic()
            client = self.begin_look(server, LONG_TEXT * 3)
            client.getresponse().read()
            whole = self.cpu_seconds(server)
            client.close()
            self.assertGreater(time.monotonic() - begin, 0.2, "the look is too short for this test")
            for i in range(4):
                gone = self.begin_look(server, LONG_TEXT * 3 + str(i))
                time.sleep(0.1)
                gone.close()
            serving.wait_for(lambda: server.post_look("the cat").status == 200, "a look")
            self.assertLess(self.cpu_seconds(server) - whole, 3 * whole)

    def test_looks_that_take_too_long(self):
        with serving.serving("--max-text", "4M", "--max-seconds", "1", model=self.model) as server:
            clients = [self.begin_look(server, LONG_TEXT * 3 + str(i)) for i in range(8)]
            answers = [client.getresponse() for client in clients]
            statuses = {answer.status for answer in answers}
            self.assertLessEqual(statuses, {200, 422})  # by how fast the machine is
            for answer in answers:
                content = json.loads(answer.read())
                if answer.status == 422:
                    self.assertEqual(content["error"]["code"], "time_limit")
            for client in clients:
                client.close()

    def test_ends_while_looks_run(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            server = serving.start("--max-text", "4M", model=self.model)
            clients = [self.begin_look(server, LONG_TEXT * 3 + str(i)) for i in range(4)]
            idle = server.connect()
            time.sleep(0.2)
            begin = time.monotonic()
            self.assertEqual(server.end(how), 0)
            self.assertLess(time.monotonic() - begin, 10)
            self.assertEqual(serving.read_all(idle), b"")
            self.assertEqual(server.process.communicate()[1], "")
            for client in [*clients, idle]:
                client.close()

    @unittest.skipIf("SIGHTLINE_TEST_UNTIMED" in os.environ, "a build with sanitizers is not timed")
    def test_eight_clients_take_no_longer_than_one_after_the_other(self):
        words = 12 if serving.minilm() else 4000
        model = serving.minilm() or self.model
        texts = [" ".join(["the cat sat on", str(i)] + ["mat"] * (words - 5)) for i in range(400)]
        each = 6 if serving.minilm() else 2
        with serving.serving(model=model) as server:
            def looks(some):
                client = server.client()
                for text in some:
                    self.assertEqual(server.post_look(text, client).status, 200)
                client.close()

            def timed(action):
                begin = time.monotonic()
                action()
                return time.monotonic() - begin

            def together(batches):
                with concurrent.futures.ThreadPoolExecutor(8) as pool:
                    list(pool.map(looks, batches))

            looks(texts[-1:])
            ratios = []
            for _ in range(5):  # the machine may be busy with something else: the best of five counts
                in_a_row, texts = texts[: 8 * each], texts[8 * each :] + texts[: 8 * each]
                alone = timed(lambda: looks(text + " a" + str(len(ratios)) for text in in_a_row))
                batches = [[text + " b" + str(len(ratios)) for text in in_a_row[i::8]] for i in range(8)]
                ratios.append(timed(lambda: together(batches)) / alone)
                if ratios[-1] <= 1.2:
                    break
            self.assertLessEqual(min(ratios), 1.2, ratios)


if __name__ == "__main__":
    unittest.main()
