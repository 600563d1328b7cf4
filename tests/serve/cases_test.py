#!/usr/bin/env python3
"""Faults of attention viewers (../shared/cases, family 10), as far as they concern the server."""

import json
import pathlib
import re
import struct
import tempfile
import unittest

import serving

CASES = serving.ROOT.parent / "shared" / "cases" / "reports.jsonl"


def cases():
    with CASES.open(encoding="utf-8") as lines:
        return {case["id"]: case for case in map(json.loads, lines) if case["id"].startswith("R10-")}


@unittest.skipUnless(CASES.exists(), f"{CASES} is not there")
class Viewers(unittest.TestCase):
    def test_hostile_tokens_are_text(self):
        case = cases()["R10-01"]
        text = " ".join(case["case"]["tokens"])
        with serving.serving() as server:
            answer = server.post_look(text, truncate=True)
            self.assertEqual(answer.json["text"], text)
            self.assertEqual(answer.headers["Content-Type"], "application/json")
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            for token in answer.json["tokens"]:
                part = text.encode()[token["byte_begin"] : token["byte_end"]].decode()
                self.assertEqual(token["text"], part)

    def test_answers_do_not_grow_with_the_square_and_pooling_keeps_mass(self):
        expected = cases()["R10-02"]["expected"]
        with tempfile.TemporaryDirectory() as folder:
            model = serving.write_long_model(pathlib.Path(folder) / "long", 4096)
            with serving.serving(model=model) as server:
                sizes = []
                for words in (255, 2047):
                    answer = server.post_look("cat " * words * 2)
                    tokens = len(answer.json["tokens"])
                    sizes.append(len(answer.body) / tokens)
                    tile = server.get(f"/api/tile?look={answer.json['look']}&maps=L1H1&step=64")
                    means = struct.unpack(f"<{len(tile.body) // 4}f", tile.body)
                    self.assertLess(len(tile.body), expected["first_payload_bytes_below"])
                    side = -(-tokens // 64)
                    counts = [min(64, tokens - 64 * i) for i in range(side)]
                    total = sum(means[i * side + j] * counts[i] * counts[j] for i in range(side) for j in range(side))
                    self.assertAlmostEqual(total, tokens, delta=1e-4 * tokens)
                self.assertLess(sizes[1], sizes[0] * 1.2)  # bytes a token

    def test_the_page_is_complete_in_itself(self):
        self.assertEqual(cases()["R10-08"]["expected"]["outside_requests"], 0)
        with serving.serving() as server:
            page = server.get("/")
            policy = page.headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotRegex(policy, r"https?:|\*|unsafe")
            for address in re.findall(r"""(?:src|href)=["']([^"']+)["']""", page.body.decode()):
                if not address.startswith("data:"):
                    self.assertNotIn("//", address)
                    path = address.partition("#")[0]  # a fragment is the page's own
                    self.assertEqual(server.get("/" + path.removeprefix("/")).status, 200, address)


if __name__ == "__main__":
    unittest.main()
