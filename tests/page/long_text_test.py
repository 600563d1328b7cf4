#!/usr/bin/env python3
"""Text for long inputs: strip, passages and surroundings from one row of weights, against the program's own npy."""
import pathlib
import subprocess
import tempfile
import time
import unittest

from long_texts import LongText, words
from page_testing import PROGRAM, npy, weight_text


class Thousand(LongText):
    tokens = 1000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.words = words(cls.tokens - 2)
        cls.text_given = " ".join(cls.words)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PROGRAM, "map", cls.text_given, "-m", cls.model, "--layer", "2", "--head", "1", "-o", f"{folder}/m.npy"],
                           check=True, capture_output=True)
            (rows, cols), numbers = npy(pathlib.Path(folder) / "m.npy")
            cls.weights = [numbers[i * cols : (i + 1) * cols] for i in range(rows)]

    def open_long(self, view="text", **state):
        self.open(view, x=self.text_given, l=2, h=1, **state)

    def test_passages_are_the_best(self):
        for word in (500, 3):
            self.open_long(w=word)
            self.check_passages(self.weights[word])
            self.assertTrue(self.finding().startswith(f"Word {word + 1} of {self.tokens:,}: in layer 2, head 1, {self.words[word - 1]} gives "))

    def test_who_looks(self):
        self.open_long(w=500, d="in")
        self.check_passages([row[500] for row in self.weights])
        self.assertIn("receives", self.finding())

    def test_parts_add_up(self):
        self.open_long(w=500)
        sums = [float(text) for text in self.page.locator(".longstrip .sum").all_text_contents()]
        self.assertAlmostEqual(sum(sums), 1, delta=0.001 * len(sums))
        first = self.page.locator(".longstrip .range").first.text_content()
        begin, end = (int(x.replace(",", "")) for x in first.split("–"))
        self.assertAlmostEqual(sums[0], sum(self.weights[500][begin - 1 : end]), delta=0.00052)

    def test_weight_under_the_pointer(self):
        self.open_long(w=500)
        word = self.page.locator(".around .lw").nth(4)
        word.hover()
        name = word.get_attribute("aria-label")
        self.assertEqual(self.text("#tip"), name)
        me = self.page.locator(".around .lw").all_text_contents()
        first = 500 - [w.get_attribute("aria-current") for w in self.page.locator(".around .lw").all()].index("true")
        weight = self.weights[500][first + 4]
        self.assertEqual(name, f"{self.words[499]} → {me[4]} {weight_text(weight)}")

    def test_by_keyboard(self):
        self.open_long(w=500)
        for key, word in (("ArrowRight", 501), ("PageDown", 601), ("PageUp", 501), ("ArrowLeft", 500), ("End", 999), ("Home", 0)):
            self.press(key)
            self.assertEqual(int(self.state().get("w", 0)), word, key)
        self.page.locator(".longstrip").focus()
        self.press("PageDown")
        self.assertEqual(self.page.evaluate("document.activeElement.getAttribute('aria-valuenow')"), "101")

    def test_click_on_the_strip(self):
        self.open_long(w=500)
        box = self.page.locator(".longstrip").bounding_box()
        self.page.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + box["height"] - 70)
        self.settle()
        self.assertAlmostEqual(int(self.state()["w"]), self.tokens / 4, delta=2)

    def test_first_token_set_aside(self):
        self.open_long(w=500, f=1, a=1)
        self.assertIn("is set aside", self.finding())
        self.check_passages([0, *self.weights[500][1:-1], 0])

    def test_document_stays_small(self):
        self.open_long(w=500)
        self.assertLess(self.page.evaluate("document.querySelectorAll('*').length"), 1500)

    def test_heads_and_picker(self):
        self.open_long("heads", w=500)
        self.assertEqual(self.page.evaluate("document.querySelector('.tile canvas').width"), 63)  # 1000 tokens in steps of 16
        self.open_long(w=500)
        self.assertEqual(self.page.locator(".picker button").count(), 6)

    def test_stepping_is_quick(self):
        self.open_long(w=500)
        self.press("ArrowRight")
        began = time.monotonic()
        for _ in range(20):
            self.page.keyboard.press("ArrowRight")
        self.until("document.querySelector('h1').textContent && new URLSearchParams(location.hash.slice(1)).get('w') === '521'")
        self.assertLess(time.monotonic() - began, 10)


if __name__ == "__main__":
    unittest.main()
