#!/usr/bin/env python3
"""What the API answers, compared with what the program prints about the same text."""

import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

import serving


def floats(answer):
    return struct.unpack(f"<{len(answer.body) // 4}f", answer.body)


def shape(answer):
    return tuple(int(n) for n in answer.headers["Sightline-Shape"].split(","))


def printed(*arguments, text=serving.SENTENCE):
    command = [serving.PROGRAM, "look", text, "-m", str(serving.TINY), "--json", *arguments]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


class Api(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(serving.serving())
        cls.look = cls.server.post_look().json

    def get(self, path):
        return self.server.get(path)

    def refused(self, answer, status, code):
        self.assertEqual((answer.status, answer.error[0]), (status, code), answer.body)
        return answer.error[1]

    def test_health_and_model(self):
        self.assertEqual(self.get("/health").json, {"status": "ok"})
        model = self.get("/api/model").json
        for field, value in printed()["model"].items():
            self.assertEqual(model[field], value)
        self.assertEqual((model["max_tokens"], model["max_text_bytes"]), (48, 1 << 20))
        self.assertEqual(model["caveat"], printed()["caveat"])

    def test_look_is_the_report_without_lists(self):
        report = printed()
        for entry in report["maps"]:
            for field in ("row", "col", "grid"):
                entry.pop(field, None)
        look = dict(self.look)
        self.assertRegex(look.pop("look"), "^[0-9a-f]{32}$")
        self.assertEqual(look, report)

    def test_same_text_same_id(self):
        self.assertEqual(self.server.post_look().json["look"], self.look["look"])
        self.assertNotEqual(self.server.post_look("the cat").json["look"], self.look["look"])
        self.assertNotEqual(self.server.post_look(keep_layers=[1]).json["look"], self.look["look"])
        again = self.get(f"/api/look?look={self.look['look']}")
        self.assertEqual(again.json, self.look)

    def test_lists_of_one_map(self):
        expected = printed()["maps"][4]
        answer = self.get(f"/api/look?look={self.look['look']}&lists=L2H2").json
        entry = next(entry for entry in answer["maps"] if entry["name"] == "L2H2")
        self.assertEqual(entry["row"], expected["row"])
        self.assertEqual(entry["col"], expected["col"])
        self.assertFalse(any("row" in other for other in answer["maps"] if other is not entry))

    def test_explanation_is_that_of_explain(self):
        command = [serving.PROGRAM, "explain", serving.SENTENCE, "-m", str(serving.TINY), "--token", "#2", "--layer",
                   "2", "--head", "1", "--json"]
        expected = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["explanations"]
        path = f"/api/look?look={self.look['look']}&explain=L2H1:1"
        self.assertEqual(self.get(path).json["explanations"], expected)
        part = self.get(path + "&only=explanations").json
        self.assertEqual(part["explanations"], expected)
        self.assertEqual(set(part), {"sightline_report", "caveat", "notes", "explanations", "look"})

    def test_tiles_are_the_grids_of_look(self):
        tokens = len(self.look["tokens"])
        answer = self.get(f"/api/tile?look={self.look['look']}&maps=all")
        self.assertEqual(shape(answer), (6, tokens, tokens))
        self.assertEqual(answer.headers["Content-Type"], "application/octet-stream")
        weights = floats(answer)
        for index in range(6):
            layer, head = index // 3 + 1, index % 3 + 1
            grid = next(entry["grid"] for entry in
                        printed("--pieces", "--layer", str(layer), "--head", str(head))["maps"] if "grid" in entry)
            flat = [weight for row in grid["weights"] for weight in row]
            part = weights[index * tokens * tokens : (index + 1) * tokens * tokens]
            # The report's numbers read back as the same fp32.
            self.assertEqual([struct.pack("<f", weight) for weight in flat], [struct.pack("<f", w) for w in part])

    def test_parts_steps_and_means_of_tiles(self):
        tokens = len(self.look["tokens"])
        base = f"/api/tile?look={self.look['look']}"
        whole = floats(self.get(f"{base}&maps=L1H1,L2H3"))
        part = self.get(f"{base}&maps=L1H1,L2H3&rows=1:4&keys=2:7")
        self.assertEqual(shape(part), (2, 3, 5))
        expected = [whole[(m * tokens + i) * tokens + j] for m in range(2) for i in range(1, 4) for j in range(2, 7)]
        self.assertEqual(list(floats(part)), expected)
        mean = self.get(f"{base}&maps=L1H1,L2H3&mean=1")
        self.assertEqual(shape(mean), (1, tokens, tokens))
        for i, weight in enumerate(floats(mean)):
            self.assertAlmostEqual(weight, (whole[i] + whole[i + tokens * tokens]) / 2, delta=1e-6)
        pooled = self.get(f"{base}&maps=L1H1&step=4")
        cells = -(-tokens // 4)
        self.assertEqual(shape(pooled), (1, cells, cells))
        for i in range(cells):
            for j in range(cells):
                block = [whole[a * tokens + b] for a in range(4 * i, min(4 * i + 4, tokens))
                         for b in range(4 * j, min(4 * j + 4, tokens))]
                self.assertAlmostEqual(floats(pooled)[i * cells + j], sum(block) / len(block), delta=1e-6)

    def test_page_in_one_file(self):
        answer = self.get(f"/api/look?look={self.look['look']}&html=1&maps=L1H1")
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("attachment", answer.headers["Content-Disposition"])
        for part in ["html=0", "html=1&maps=L9", "html=1&maps=x", "html=1&only=explanations"]:
            self.refused(self.get(f"/api/look?look={self.look['look']}&{part}"), 400, "bad_request")

    def test_layer_names_all_its_heads(self):
        base = f"/api/tile?look={self.look['look']}&maps="
        self.assertEqual(self.get(base + "L2").body, self.get(base + "L2H1,L2H2,L2H3").body)

    def test_keeps_the_layers_that_it_is_told_to(self):
        look = self.server.post_look(keep_layers=[2, 2]).json["look"]
        self.assertEqual(shape(self.get(f"/api/tile?look={look}&maps=all"))[0], 3)
        message = self.refused(self.get(f"/api/tile?look={look}&maps=L1H1"), 400, "bad_request")
        self.assertIn("2", message)
        message = self.refused(self.get(f"/api/look?look={look}&html=1&maps=L1"), 400, "bad_request")
        self.assertIn("was not kept", message)
        self.refused(self.server.post_look(keep_layers=[3]), 422, "no_such_layer")

    def test_texts_that_cannot_be_looked_at(self):
        self.refused(self.server.post_look(""), 422, "text_empty")
        self.refused(self.server.post_look(" \n\t "), 422, "text_empty")
        message = self.refused(self.server.post_look("the cat " * 40), 422, "text_too_long")
        self.assertIn("48", message)
        self.assertIn("82", message)
        self.assertNotIn("--truncate", message)
        cut = self.server.post_look("the cat " * 40, truncate=True)
        self.assertEqual((cut.status, cut.json["cut_tokens"], len(cut.json["tokens"])), (200, 34, 48))

    def test_bodies_that_are_none(self):
        def post(body, kind="application/json"):
            return self.server.ask("POST", "/api/look", body, {"Content-Type": kind})

        for body in ["", "{", "[]", "7", '{"text":7}', "{}", '{"text":"a","text":"b"}', '{"text":"a","more":1}',
                     '{"text":"a","truncate":"yes"}', '{"text":"a","keep_layers":[0]}', '{"text":"a","truncate":null}',
                     '{"text":"a","keep_layers":[1.5]}', '{"text":"\\ud800"}', b'{"text":"\xff"}', "[" * 100_000]:
            self.refused(post(body), 400, "bad_request")
        self.refused(post('{"text":"a"}', "text/plain"), 415, "not_json")
        self.refused(post('{"text":"a"}', "multipart/form-data; boundary=x"), 415, "not_json")
        self.assertEqual(post('{"text":"the cat"}', "application/json; charset=utf-8").status, 200)

    def test_addresses_that_ask_for_nothing(self):
        look = self.look["look"]
        for path in ["/api/tile", f"/api/tile?look={look}", "/api/tile?look=x&maps=all", "/api/look",
                     f"/api/tile?look={look}&maps=all&more=1", f"/api/tile?look={look}&maps=all&maps=L1",
                     f"/api/look?look={look}&only=words", "/api/model?x=1"]:
            self.refused(self.get(path), 400, "bad_request")
        for part in ["maps=", "maps=H1", "maps=L1H0", "maps=L9H1", "maps=L1H9", "maps=L1H1,", "maps=L1H1;L2",
                     "maps=L99999999999999999999H1", "maps=all&rows=0:0", "maps=all&rows=3:2", "maps=all&rows=0:99",
                     "maps=all&rows=-1:2", "maps=all&rows=1", "maps=all&keys=0:1e3", "maps=all&step=3",
                     "maps=all&step=0", "maps=all&step=4294967296", "maps=all&mean=2", "maps=%00"]:
            self.refused(self.get(f"/api/tile?look={look}&{part}"), 400, "bad_request")
        for part in ["explain=L1H1", "explain=L1H1:99", "explain=L1H1:-1", "explain=L3H1:0", "explain=", "lists=L1",
                     "lists=L1H4"]:
            self.refused(self.get(f"/api/look?look={look}&{part}"), 400, "bad_request")
        self.refused(self.get(f"/api/tile?look={'0' * 32}&maps=all"), 410, "look_gone")
        self.refused(self.get("/nothing"), 404, "not_found")

    def test_other_methods(self):
        for method, path in [("PUT", "/api/look"), ("DELETE", "/"), ("POST", "/health"), ("TRACE", "/api/tile"),
                             ("OPTIONS", "/api/look"), ("PATCH", "/openapi.json"), ("PROPFIND", "/")]:
            answer = self.server.ask(method, path)
            self.refused(answer, 405, "method_not_allowed")
            self.assertTrue(answer.headers["Allow"])
        head = self.server.ask("HEAD", "/api/model")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_text_is_only_ever_text(self):
        hostile = "</script><img src=x onerror=alert(1)> \u202e\u2028 \U0001f600 'a' \"b\" <!--"
        answer = self.server.post_look(hostile)
        self.assertEqual(answer.json["text"], hostile)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertTrue(answer.body.isascii())


class Limits(unittest.TestCase):
    def test_texts_longer_than_max_text(self):
        with serving.serving("--max-text", "100") as server:
            self.assertEqual(server.post_look("\0é" * 33 + "a").status, 200)  # 100 bytes, in JSON 400
            answer = server.post_look("a" * 101)
            self.assertEqual((answer.status, answer.error[0]), (422, "text_too_long"))
            self.assertIn("100", answer.error[1])
            self.assertEqual(server.ask("POST", "/api/look", b"x" * 10_000).status, 413)
            self.assertEqual(server.get("/api/model").json["max_text_bytes"], 100)

    def test_layers_that_the_server_keeps(self):
        with serving.serving("--keep-layers", "2") as server:
            look = server.post_look().json
            self.assertEqual([entry["name"] for entry in look["maps"] if entry["kept"]], ["L2H1", "L2H2", "L2H3"])
            answer = server.post_look(keep_layers=[1])
            self.assertEqual((answer.status, answer.error[0]), (422, "layer_not_kept"))

    def test_memory_is_bounded_and_said(self):
        with tempfile.TemporaryDirectory() as folder:
            model = serving.write_long_model(pathlib.Path(folder) / "long", 4096)
            with serving.serving("--memory", "1M", model=model) as server:
                self.assertIn("--memory", " ".join(server.lines))  # what the longest text takes is refused
                answer = server.post_look("the cat " * 2000)
                self.assertEqual((answer.status, answer.error[0]), (422, "memory_needed"))
                self.assertRegex(answer.error[1], r"--memory \d+M")
                first = server.post_look("the cat").json["look"]
                self.assertEqual(server.get(f"/api/look?look={first}").status, 200)
                for count in range(1, 60):  # some 10 KB each: the first one goes
                    self.assertEqual(server.post_look("the cat " * 20 + "a" * count).status, 200)
                self.assertEqual(server.get(f"/api/look?look={first}").status, 410)
                self.assertEqual(server.post_look("the cat").status, 200)

    def test_tiles_and_explanations_of_long_texts(self):
        with tempfile.TemporaryDirectory() as folder:
            model = serving.write_long_model(pathlib.Path(folder) / "long", 4096)
            with serving.serving(model=model) as server:
                look = server.post_look("the cat " * 2000).json
                base = f"/api/tile?look={look['look']}&maps=L1H1"
                answer = server.get(base)
                self.assertEqual((answer.status, answer.error[0]), (400, "too_many_cells"))
                self.assertEqual(server.get(base + "&step=4").headers["Sightline-Shape"], "1,1001,1001")
                self.assertEqual(server.get(base + "&rows=0:256&keys=3000:3256").status, 200)


if __name__ == "__main__":
    unittest.main()
