#!/usr/bin/env python3
"""The view Heads: a tile for each head with the report's numbers and the map's own colours."""
import unittest

from page_testing import PageTest, Reference, SENTENCE, minilm

NUMBERS = {
    "entropy": ("Entropy of the head", lambda s: f"{s['entropy']:.2f}"),
    "special": ("On special tokens", lambda s: f"{int(s['special_share'] * 100 + 0.5)} %"),
    "previous": ("On the previous token", lambda s: f"{int(s['previous_share'] * 100 + 0.5)} %"),
    "same": ("On the same token", lambda s: f"{int(s['same_share'] * 100 + 0.5)} %"),
    "next": ("On the next token", lambda s: f"{int(s['next_share'] * 100 + 0.5)} %"),
    "distance": ("Mean distance", lambda s: f"{s['distance']:.1f}"),
}

# Colours of a tile's canvas, and of the scale's table at weight ** 0.6.
PIXELS = """key => { const c = document.querySelector(`[data-key='${key}'] canvas`);
    return [c.width, [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]]; }"""
TABLE = "async () => (await import('/colour.js')).gazeTable()"


class Heads(PageTest):
    def setUp(self):
        super().setUp()
        self.report = Reference(self.model).report()

    def tile(self, layer, head):
        return self.page.locator(f".tile[data-key='{layer}.{head}']")

    def test_every_number_of_every_head(self):
        for number, (name, text) in NUMBERS.items():
            self.open("heads", x=SENTENCE, n=number)
            for entry in self.report["maps"]:
                with self.subTest(number=number, map=entry["name"]):
                    expected = text(entry["summary"])
                    tile = self.tile(entry["layer"], entry["head"])
                    self.assertEqual(tile.inner_text().strip(), expected)
                    label = f"layer {entry['layer']}, head {entry['head']}: {name} {expected}"
                    self.assertEqual(tile.get_attribute("aria-label"), label)

    def test_pixels_are_the_weights(self):
        self.open("heads", x=SENTENCE)
        table = self.page.evaluate(TABLE)
        for layer, head in ((1, 1), (2, 3)):
            weights = Reference(self.model).weights(layer, head)
            side, pixels = self.page.evaluate(PIXELS, f"{layer}.{head}")
            self.assertEqual(side, len(weights))
            for i, weight in enumerate(w for row in weights for w in row):
                place = weight ** 0.6 * 255
                near = [table[int(place)], table[min(255, int(place) + 1)]]
                self.assertIn(pixels[4 * i : 4 * i + 3], near)

    def test_what_is_set_aside_keeps_its_place_and_is_blank(self):
        special = [word["special"] for word in self.report["words"]]
        n = len(special)
        for options, away in (({"a": 1}, special), ({"f": 1}, [True] + [False] * (n - 1)), ({}, [False] * n)):
            self.open("heads", x=SENTENCE, l=1, h=1, **options)
            for place in (".tile[data-key='1.1'] canvas", ".tile[data-key='2.3'] canvas", "canvas.largemap"):
                alphas = self.page.evaluate(
                    "s => { const c = document.querySelector(s); return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
                    ".filter((_, i) => i % 4 === 3); }", place)
                self.assertEqual(alphas, [0 if away[i] or away[j] else 255 for i in range(n) for j in range(n)], (options, place))

    def test_sharpest_is_named(self):
        sharpest = self.report["sharpest"]
        summary = next(m["summary"] for m in self.report["maps"] if m["name"] == sharpest["name"])
        self.open("heads", x=SENTENCE)
        self.assertIn(f"layer {sharpest['layer']}, head {sharpest['head']} is the sharpest: {summary['entropy']:.2f} nats", self.finding())

    def test_click_chooses_then_opens(self):
        self.open("heads", x=SENTENCE, l=1, h=1)
        self.tile(2, 2).click()
        self.settle()
        self.assertEqual((self.state()["v"], self.state()["l"], self.state()["h"]), ("heads", "2", "2"))
        self.assertEqual(self.tile(2, 2).get_attribute("aria-pressed"), "true")
        self.tile(2, 2).click()
        self.wait("text")
        self.assertIn("layer 2, head 2", self.finding())

    def test_by_keyboard(self):
        self.open("heads", x=SENTENCE, l=1, h=1)
        self.press("ArrowRight", "ArrowDown")
        self.assertEqual((self.state()["l"], self.state()["h"]), ("2", "2"))
        self.assertEqual(self.page.evaluate("document.activeElement.dataset.key"), "2.2")
        self.press("Enter")
        self.wait("text")
        self.assertIn("layer 2, head 2", self.finding())
        self.press("2")
        self.wait("heads")

    def test_number_by_keyboard(self):
        self.open("heads", x=SENTENCE, l=1, h=1)
        self.page.locator(".hfoot [aria-checked=true]").focus()
        self.press("ArrowRight")
        self.assertEqual(self.state()["n"], "special")
        self.assertEqual(self.page.evaluate("document.activeElement.textContent"), "on special")

    def test_rail_has_the_summary(self):
        self.open("heads", x=SENTENCE, l=2, h=1)
        summary = next(m["summary"] for m in self.report["maps"] if m["name"] == "L2H1")
        card = self.text(".card .whole")
        self.assertIn(f"{summary['entropy']:.2f} nats", card)
        self.assertIn(f"{summary['distance']:.1f} tokens", card)


class HeadsOfMiniLM(Heads):
    model = minilm()


if __name__ == "__main__":
    unittest.main()
