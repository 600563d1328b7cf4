#!/usr/bin/env python3
"""serve/openapi.json describes what is answered, and nothing else is. Its routes are compared in serve/http_test.cc."""

import json
import unittest

import serving

DOCUMENT = json.loads((serving.ROOT / "serve" / "openapi.json").read_text(encoding="utf-8"))


class Openapi(unittest.TestCase):
    def test_is_served_as_it_stands(self):
        with serving.serving() as server:
            self.assertEqual(server.get("/openapi.json").json, DOCUMENT)

    def test_addresses_and_parameters_are_answered_as_described(self):
        with serving.serving("--api-key", "a-key-for-tests") as server:
            headers = {"Authorization": "Bearer a-key-for-tests"}
            look = server.post_look(headers=headers).json["look"]
            for path, methods in DOCUMENT["paths"].items():
                for method, operation in methods.items():
                    query = "&".join(f"{p['name']}={self.example(p, look)}" for p in operation.get("parameters", [])
                                     if p["name"] != "html" and (path, p["name"]) != ("/api/look", "maps"))
                    body = None
                    if "requestBody" in operation:
                        body = json.dumps({"text": serving.SENTENCE})
                    answer = server.ask(method.upper(), f"{path}?{query}" if query else path, body,
                                        headers | {"Content-Type": "application/json"})
                    self.assertEqual(answer.status, 200, (path, answer.body))
                    kind = next(iter(operation["responses"]["200"]["content"]))
                    self.assertEqual(answer.headers["Content-Type"], kind)
                    open_to_all = {} in operation.get("security", DOCUMENT["security"][1:])
                    self.assertEqual(server.ask(method.upper(), path, body).status == 401, not open_to_all, path)

    @staticmethod
    def example(parameter, look):
        if parameter["name"] == "look":
            return look
        if parameter["name"] in ("rows", "keys"):
            return "0:4"
        return parameter.get("example", parameter["schema"].get("enum", [None])[0])


if __name__ == "__main__":
    unittest.main()
