#!/usr/bin/env python3
"""Map and Steps by axe-core's rules, in both themes and languages and at three widths, from the one file."""
import itertools
import json
import unittest

from one_file_test import FilePage
from page_testing import PageTest, SENTENCE, skip

try:
    from axe_playwright_python.sync_playwright import Axe
except ImportError:
    skip("axe-playwright-python is missing: pip install -r tests/page/requirements.txt")

SIZES = ((1440, 900), (1024, 768), (390, 844))
STATES = (
    ("map", {"l": 2, "h": 1}), ("map", {"l": 2, "h": 0, "p": 1, "a": 1, "z": 5.3}),
    ("steps", {"l": 2, "h": 3, "w": 4}), ("steps", {"l": 1, "h": 1, "dv": 1, "ca": 1}), ("steps", {"l": 1, "h": 0}),
)


class Rules(FilePage):
    def test_no_violation(self):
        for (view, state), (width, height), theme, language in itertools.product(STATES, SIZES, ("light", "dark"), ("en", "zh")):
            if language == "zh" and (width, theme) != (1440, "light"):
                continue  # the language changes texts alone
            with self.subTest(view=view, state=state, width=width, theme=theme, language=language):
                self.page.set_viewport_size({"width": width, "height": height})
                self.open(view, th=theme, lang=language, **state)
                found = Axe().run(self.page).response["violations"]
                self.assertEqual([json.dumps([v["id"], [n["html"][:200] for n in v["nodes"][:3]]]) for v in found], [])

    def test_fits_its_window(self):
        self.check_windows()

    def check_windows(self, **more):
        for (view, state), (width, height) in itertools.product(STATES, SIZES):
            with self.subTest(view=view, state=state, width=width):
                self.page.set_viewport_size({"width": width, "height": height})
                self.open(view, **state, **more)
                self.assertEqual(self.page.evaluate("() => document.documentElement.scrollWidth"), width)
                box = self.page.evaluate("() => { const m = document.querySelector('main'); return [m.scrollWidth - m.clientWidth, m.scrollHeight - m.clientHeight]; }")
                self.assertLessEqual(box[0], 0, "wider than its window")
                if width > 720:
                    self.assertLessEqual(box[1], 0, "higher than its window")


class FromTheServer(PageTest):
    def test_fits_its_window_with_the_sentence_to_edit(self):
        Rules.check_windows(self, x=SENTENCE)


if __name__ == "__main__":
    unittest.main()
