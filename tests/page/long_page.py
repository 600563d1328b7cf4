"""A page of 100,000 tokens without a model: web/ from a plain server, and answers of /api that follow from a formula."""
import functools
import http.server
import json
import struct
import threading
from urllib.parse import parse_qs, urlparse

from page_testing import CHROMIUM, PageTest, ROOT, sync_playwright

TOKENS = 100_000


def weight(i, j):
    """The weight of row i on key j: no row, no column and no diagonal is like its neighbour."""
    return ((i * 31 + j * 17 + 5) % 997 + 1) / 1e6


def cell(level):
    """What every pooled cell of a level holds, so that a picture tells which level it was drawn from."""
    return (level + 1) / 1e6


def report(tokens=TOKENS):
    names = ["[CLS]"] + [f"w{i}" for i in range(1, tokens - 1)] + ["[SEP]"]
    last = tokens - 1
    summary = {name: 0.5 for name in ("entropy", "entropy_normalised", "special_share", "first_share", "sink_share", "previous_share",
                                      "same_share", "next_share", "distance", "text_entropy", "sharpness")}
    score = {"scale": 1, "softcap": 0, "causal": False, "query_position": 0, "window_left": -1, "window_right": -1}
    maps = [{"kind": "self", "layer": 1, "head": head, "name": f"L1H{head}", "row_axis": "tokens", "col_axis": "tokens", "kept": True,
             "rows": tokens, "cols": tokens, "score": score, "summary": summary} for head in (1, 2)]
    return {
        "sightline_report": 1, "look": "0" * 32, "caveat": "", "notes": [], "text": "made up", "cut_tokens": 0, "dropped": [],
        "model": {"name": "formula", "layers": 1, "heads": 2, "kv_heads": 2, "head_width": 32, "causal": False},
        "tokens": [{"id": i, "piece": name, "label": name, "text": "" if i in (0, last) else name, "word": i, "special": i in (0, last),
                    "byte_begin": 0, "byte_end": 0, "char_begin": 0, "char_end": 0, "segment": 1} for i, name in enumerate(names)],
        "words": [{"label": name, "token_begin": i, "token_end": i + 1, "byte_begin": 0, "byte_end": 0, "special": i in (0, last)}
                  for i, name in enumerate(names)],
        "segments": ["special", "text", "first"], "offsets": [-1, 0, 1], "top": 4, "special_in_top": True, "maps": maps,
        "sharpest": maps[0], "explanations": [],
    }


def block(query, counts):
    """(shape, bytes) of an answer of /api/tile, and notes its step in `counts`."""
    numbers = lambda name: [int(x) for x in query[name][0].split(":")]
    (top, bottom), (left, right), step = numbers("rows"), numbers("keys"), int(query.get("step", ["1"])[0])
    grids = 1 if "mean" in query else len(query["maps"][0].split(",")) * (2 if query["maps"][0] in ("all", "L1") else 1)
    rows, cols = -(-(bottom - top) // step), -(-(right - left) // step)
    counts.append((step, top, bottom, left, right))
    if step > 1:
        grid = struct.pack("<f", cell(step.bit_length() - 1)) * (rows * cols)
    else:
        line = [((j * 17 + 5) % 997) for j in range(left, right)]
        grid = b"".join(struct.pack(f"<{cols}f", *[((i * 31 + x) % 997 + 1) / 1e6 for x in line]) for i in range(top, bottom))
    return f"{grids},{rows},{cols}", grid * grids


class LongServer(http.server.ThreadingHTTPServer):
    """Counts what it was asked for in `asked`."""

    def __init__(self):
        self.report = json.dumps(report()).encode()
        self.asked = []
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(ROOT / "web")))
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def answer(self, kind, body, **headers):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer("application/json", self.server.report)

    def do_GET(self):
        url = urlparse(self.path)
        if url.path == "/api/model":
            return self.answer("application/json", json.dumps(report(4)["model"]).encode())
        if url.path == "/api/tile":
            shape, data = block(parse_qs(url.query), self.server.asked)
            return self.answer("application/octet-stream", data, **{"Sightline-Shape": shape})
        return super().do_GET()


class LongPage(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.server = LongServer()
        cls.url = cls.server.url
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
