#!/usr/bin/env python3
"""100,000 tokens through a model: what Text and Map show against rows of /api/tile, and the memory that the server takes."""
import array
import json
import re
import unittest
import urllib.request

from long_texts import LongText, words
from page_testing import weight_text

CHOSEN = 77_000
LARGEST_GROWTH = 1 << 30  # bytes, most of it the report's; the whole maps would be 80 GB


class HundredThousand(LongText):
    tokens = 100_000
    shape = ("--heads", "1", "--head-width", "8")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.words = words(cls.tokens - 2)
        cls.before = cls.resident()
        body = json.dumps({"text": " ".join(cls.words)}).encode()
        request = urllib.request.Request(f"{cls.url}/api/look", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            cls.look = json.load(answer)["look"]

    @classmethod
    def resident(cls):
        with open(f"/proc/{cls.server.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s*(\d+)", status.read()).group(1)) << 10

    def tile(self, rows, keys):
        url = f"{self.url}/api/tile?look={self.look}&maps=L2H1&rows={rows}&keys={keys}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return array.array("f", answer.read())

    def open_long(self, view="text", **state):
        self.open(view, i=self.look, l=2, h=1, **state)

    def test_passages_of_a_row(self):
        self.open_long(w=CHOSEN)
        self.check_passages(self.tile(f"{CHOSEN}:{CHOSEN + 1}", f"0:{self.tokens}"))
        self.assertTrue(self.finding().startswith(f"Word {CHOSEN + 1:,} of 100,000: in layer 2, head 1, "), self.finding())

    def test_passages_of_a_column(self):
        self.open_long(w=CHOSEN, d="in")
        self.check_passages(self.tile(f"0:{self.tokens}", f"{CHOSEN}:{CHOSEN + 1}"))

    def test_map_from_afar_and_close_up(self):
        self.open_long("map", w=CHOSEN)
        self.assertIn("10,000,000,000 weights", self.finding())
        key = int(self.state().get("t", 0)) or max(range(self.tokens), key=self.tile(f"{CHOSEN}:{CHOSEN + 1}", f"0:{self.tokens}").__getitem__)
        self.open_long("map", w=CHOSEN, t=key, z=5, zx=key, zy=CHOSEN)
        weight = self.tile(f"{CHOSEN}:{CHOSEN + 1}", f"{key}:{key + 1}")[0]
        self.assertIn(weight_text(weight), self.page.locator(".rail, #view").all_inner_texts()[-1])

    def test_memory_of_the_server(self):
        self.assertLess(self.resident() - self.before, LARGEST_GROWTH)


if __name__ == "__main__":
    unittest.main()
