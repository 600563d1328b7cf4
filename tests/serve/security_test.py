#!/usr/bin/env python3
"""Who is answered: hosts, origins, keys, paths; and what every answer carries."""

import gzip
import pathlib
import subprocess
import unittest

import serving

KEY = "a-key-of-12_~."


def start_fails(*arguments, model=serving.TINY):
    command = [serving.PROGRAM, "serve", "-m", str(model), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=serving.PATIENCE, stdin=subprocess.DEVNULL)
    return ended.returncode, ended.stderr


class Loopback(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(serving.serving())

    def test_hosts(self):
        port = self.server.port
        for host in ["localhost", "127.0.0.1", "LOCALHOST", "[::1]"]:
            self.assertEqual(self.server.get("/health", Host=f"{host}:{port}").status, 200, host)
        for host in [f"evil.example:{port}", "evil.example", f"127.0.0.1.evil.example:{port}", "127.0.0.1",
                     f"127.0.0.1:{port + 1}", f"192.168.0.1:{port}", f"localhost.:{port}", f"localhost:{port}@evil",
                     f"[::1]x:{port}", f"[::2]:{port}"]:
            for path in ["/", "/health", "/api/model", "/openapi.json"]:
                self.assertIn(self.server.get(path, Host=host).status, (400, 403), (host, path))

    def test_heads_have_no_body(self):
        own = f"Host: 127.0.0.1:{self.server.port}\r\n"
        for path, host in [("/", own), ("/nothing", own), ("/api/look", own), ("/health", "Host: evil.example\r\n")]:
            two = f"HEAD {path} HTTP/1.1\r\n{host}\r\nGET /health HTTP/1.1\r\n{own}Connection: close\r\n\r\n"
            answers = self.server.raw(two.encode()).split(b"\r\n\r\n")
            self.assertEqual(len(answers), 3, (path, answers))
            self.assertTrue(answers[1].startswith(b"HTTP/1.1 200"), (path, answers))

    def test_origins(self):
        own = f"http://127.0.0.1:{self.server.port}"
        self.assertEqual(self.server.get("/api/model", Origin=own).status, 200)
        self.assertEqual(self.server.post_look(headers={"Origin": own}).status, 200)
        for origin in ["null", "http://evil.example", f"http://localhost:{self.server.port}", "http://127.0.0.1",
                       f"file://127.0.0.1:{self.server.port}", own + ".evil.example", ""]:
            self.assertEqual(self.server.get("/api/model", Origin=origin).status, 403, origin)
            self.assertEqual(self.server.post_look(headers={"Origin": origin}).status, 403, origin)
        for site, status in [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)]:
            self.assertEqual(self.server.get("/api/model", Sec_Fetch_Site=site).status, status)
        self.assertEqual(self.server.get("/", Sec_Fetch_Site="cross-site").status, 200)  # a link

    def test_no_answer_allows_other_origins(self):
        for path in ["/", "/api/model", "/health", "/nothing"]:
            headers = self.server.get(path).headers
            self.assertFalse([name for name in headers if name.lower().startswith("access-control")])

    def test_headers_of_every_answer(self):
        policy = ("default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob: data:; "
                  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        answers = [self.server.get(path) for path in ["/", "/health", "/api/model", "/nothing", "/api/look"]]
        answers += [self.server.get("/", Host="evil.example"), self.server.post_look(), self.server.post_look("")]
        for answer in answers:
            self.assertEqual(answer.headers.get_all("Content-Security-Policy"), [policy])
            self.assertEqual(answer.headers.get_all("X-Content-Type-Options"), ["nosniff"])
            self.assertEqual(answer.headers.get_all("X-Frame-Options"), ["DENY"])
            self.assertEqual(answer.headers.get_all("Referrer-Policy"), ["no-referrer"])
            self.assertEqual(answer.headers.get_all("Cross-Origin-Resource-Policy"), ["same-origin"])
            self.assertEqual(len(answer.headers.get_all("Cache-Control")), 1)
            self.assertEqual(len(answer.headers.get_all("Content-Type")), 1)
        raw = self.server.raw(b"nonsense\r\n\r\n")
        self.assertIn(b"Content-Security-Policy: default-src 'none'", raw)

    def test_paths_lead_to_the_page_alone(self):
        for path in ["/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/etc/passwd",
                     "/index.html/../files.txt", "/.%00./x", "/index.html%00.js", "/index.html/", "/INDEX.HTML",
                     "/web/index.html", "/files.txt", "/css/", "/%c0%ae%c0%ae/x", "/\\..\\x", "/%", "/%zz", "/%68ealth", "/api%2fmodel"]:
            answer = self.server.raw(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
                                     "Connection: close\r\n\r\n".encode())
            self.assertEqual(serving.status_of(answer), 404, path)
            self.assertNotIn(b"root:", answer)

    def test_files_of_the_page(self):
        web = serving.ROOT / "web"
        listed = [name for name in (web / "files.txt").read_text().splitlines() if name and not name.startswith("#")]
        kinds = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".woff2": "font/woff2"}
        for name in listed:
            content = (web / name).read_bytes()
            plain = self.server.get("/" + name)
            self.assertEqual((plain.status, plain.body), (200, content), name)
            self.assertNotIn("Content-Encoding", plain.headers)
            packed = self.server.get("/" + name, Accept_Encoding="br, gzip;q=0.8")
            if packed.headers.get("Content-Encoding") == "gzip":
                self.assertLess(len(packed.body), len(content))
                self.assertEqual(gzip.decompress(packed.body), content)
            self.assertNotEqual(self.server.get("/" + name, Accept_Encoding="gzip;q=0").headers.get("Content-Encoding"),
                                "gzip")
            kind = kinds.get(pathlib.Path(name).suffix)
            self.assertTrue(kind is None or plain.headers["Content-Type"].startswith(kind), name)
            self.assertEqual(plain.headers["Cache-Control"], "no-cache")
            same = self.server.get("/" + name, If_None_Match=plain.headers["ETag"])
            self.assertEqual((same.status, same.body), (304, b""))
            self.assertEqual(self.server.get("/" + name, If_None_Match='W/"other"').status, 200)
        self.assertEqual(self.server.get("/").body, (web / "index.html").read_bytes())

    def test_ranges_and_encodings_are_not_read(self):
        ranges = "bytes=" + ",".join(["0-"] * 1000)  # which would make a thousand copies
        answer = self.server.get("/", Range=ranges)
        self.assertEqual((answer.status, len(answer.body)), (200, len(self.server.get("/").body)))
        body = gzip.compress(b'{"text":"the cat"}')
        self.assertEqual(self.server.post_look(headers={"Content-Encoding": "gzip"}).status, 200)
        packed = self.server.ask("POST", "/api/look", body,
                                 {"Content-Type": "application/json", "Content-Encoding": "gzip"})
        self.assertEqual(packed.status, 400)


class Keys(unittest.TestCase):
    def test_asks_for_the_key(self):
        for arguments, environment in [(["--api-key", KEY], {}), ([], {"SIGHTLINE_API_KEY": KEY})]:
            with serving.serving(*arguments, environment=environment) as server:
                self.assertEqual(server.get("/health").status, 200)
                self.assertEqual(server.get("/").status, 200)  # the page holds nothing of anybody's
                for headers in [{}, {"Authorization": f"Bearer {KEY}x"}, {"Authorization": f"Bearer {KEY[:-1]}"},
                                {"Authorization": f"Basic {KEY}"}, {"Authorization": KEY}, {"Authorization": "Bearer "},
                                {"Cookie": "sightline_key=x"}, {"Cookie": f"other_sightline_key={KEY}"}]:
                    for path in ["/api/model", "/api/look?look=x", "/api/tile", "/api/nothing"]:
                        answer = server.get(path, **headers)
                        self.assertEqual((answer.status, answer.error[0]), (401, "key_needed"), headers)
                        self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
                    self.assertEqual(server.post_look(headers=headers).status, 401)
                for path in ["/%61pi/model", "/api%2Fmodel", "/api/%6dodel", "/%u0061pi/model", "//api/model", "/x/../api/model"]:
                    self.assertIn(server.get(path).status, (401, 404), path)  # no way around the key
                self.assertEqual(server.get("/api/model", Authorization=f"Bearer {KEY}").status, 200)
                self.assertEqual(server.get("/api/model", Cookie=f"a=b; sightline_key={KEY}; c=d").status, 200)

    def test_no_spelling_of_a_path_needs_no_key(self):
        body = b'{"text": "the cat"}'
        with serving.serving("--api-key", KEY) as server:
            for path in ["/api/model", "/api/look", "/api/tile?look=x&maps=all"]:
                name, _, query = path.partition("?")
                spelled = [name.replace(c, f"%{ord(c):02x}", 1) for c in set(name)]
                spelled += ["/" + "".join(f"%{ord(c):02X}" for c in name[1:]), "/" + name, "/." + name, "/x/.." + name,
                            name + "/", name + "%00", name + "%3f", "/;" + name[1:]]
                for other in spelled[:]:
                    if "%" in other:
                        spelled.append(other.replace("%", "%25"))
                for other in spelled:
                    target = other + ("?" + query if query else "")
                    if not target.startswith("/"):
                        continue
                    for method in ["GET", "POST", "HEAD"]:
                        raw = (f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
                               f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
                        status = serving.status_of(server.raw(raw))
                        self.assertIn(status, (401, 404, 405), (method, target))

    def test_leaves_a_cookie_in_the_browser(self):
        with serving.serving("--api-key", KEY) as server:
            answer = server.get(f"/?key={KEY}")
            self.assertEqual((answer.status, answer.headers["Location"]), (303, "/"))
            self.assertEqual(answer.headers["Set-Cookie"], f"sightline_key={KEY}; Path=/; HttpOnly; SameSite=Strict")
            wrong = server.get("/?key=wrong")
            self.assertEqual((wrong.status, wrong.headers["Set-Cookie"]), (401, None))
            self.assertNotIn(KEY, " ".join(server.lines))

    def test_other_names_with_a_key(self):
        with serving.serving("--host", "0.0.0.0", "--api-key", KEY, "--allow-host", "lab.example") as server:
            for host, status in [("lab.example", 200), ("LAB.example:8080", 200), ("10.0.0.7:80", 200),
                                 ("evil.example", 403), ("", 400)]:
                self.assertEqual(server.get("/health", Host=host).status, status, host)

    def test_is_not_opened_to_others_without_a_key(self):
        for host in ["0.0.0.0", "::", "192.168.1.1"]:
            code, error = start_fails("--host", host)
            self.assertEqual(code, 1)
            self.assertIn("--api-key", error)


class Usage(unittest.TestCase):
    def test_wrong_usage(self):
        for arguments in [["--port", "70000"], ["--port", "x"], ["--api-key", "short"], ["--api-key", "a b c d e f g"],
                          ["--max-text", "x"], ["--max-text", "1T"], ["--memory", "0"], ["--memory", "-1"],
                          ["--queue", "-1"], ["--host", ""], ["--keep-layers", "x"], ["more"]]:
            code, error = start_fails(*arguments)
            self.assertEqual(code, 2, (arguments, error))
            self.assertEqual(error.count("\n"), 1, error)

    def test_what_cannot_be_served(self):
        for arguments in [["--keep-layers", "3"], ["--host", "nowhere.invalid", "--api-key", KEY]]:
            self.assertEqual(start_fails(*arguments)[0], 1, arguments)
        self.assertEqual(start_fails(model="/nowhere")[0], 1)

    def test_a_port_that_is_taken(self):
        with serving.serving() as server:
            code, error = start_fails("--port", str(server.port))
            self.assertEqual(code, 1)
            self.assertIn("--port", error)

    def test_memory_is_said_at_start(self):
        with serving.serving("--memory", "3G", "--host", "localhost") as server:
            self.assertRegex(server.lines[1], r"^memory: model \d+ KB, looks at most 3.0 GB, requests and answers at most")
            self.assertEqual(server.get("/api/model").json["memory_bytes"], 3 << 30)


if __name__ == "__main__":
    unittest.main()
