#!/usr/bin/env python3
"""axe-core finds no violation: every view and state, at three sizes, light and dark, in both languages."""
import unittest

from page_testing import PageTest, SENTENCE, skip

try:
    from axe_playwright_python.sync_playwright import Axe
except ImportError:
    skip("axe is missing: pip install -r tests/page/requirements.txt")

SIZES = ({"width": 1440, "height": 900}, {"width": 1024, "height": 768}, {"width": 390, "height": 844})
LONG = "the animal didn't cross the street. " * 5
VIEWS = ({"view": "text"}, {"view": "text", "d": "in"}, {"view": "text", "a": 1, "p": 1}, {"view": "text", "h": 0},
         {"view": "heads"}, {"view": "map"}, {"view": "steps"})


class Axes(PageTest):
    def check(self, what):
        result = Axe().run(self.page)
        found = [(v["id"], [n["target"] for n in v["nodes"]][:3]) for v in result.response["violations"]]
        self.assertEqual(found, [], what)

    def test_views(self):
        for size in SIZES:
            self.page.set_viewport_size(size)
            for theme in ("light", "dark"):
                for state in VIEWS:
                    with self.subTest(size=size["width"], theme=theme, **state):
                        self.open(x=SENTENCE, l=1, h=state.get("h", 1), th=theme, **{k: v for k, v in state.items() if k not in "h"})
                        self.check(state)

    def test_chinese(self):
        for view in ("text", "heads", "map", "steps"):
            self.open(view, x=SENTENCE, lang="zh")
            self.check(view)

    def test_states(self):
        self.expected_errors = (r"status of 4\d\d",)
        for theme in ("light", "dark"):
            for text in ("  ", "it was too tired . " * 30):
                self.open(ready="state", x=text, th=theme)
                self.check(text[:8])

    def test_dialogs_and_menu(self):
        for theme in ("light", "dark"):
            self.open(x=SENTENCE, th=theme)
            self.press("?")
            self.check("keys")
            self.press("Escape")
            self.page.get_by_role("button", name="What this means").click()
            self.check("caveat")
            self.press("Escape")
            self.page.locator("#save button").first.click()
            self.check("save")

    def test_phone_with_options(self):
        self.page.set_viewport_size(SIZES[2])
        self.open(x=SENTENCE)
        self.page.get_by_role("button", name="More options").click()
        self.check("options")

    def test_long_text(self):
        self.page.set_viewport_size(SIZES[0])
        self.open(x="a cat sat " * 15)
        self.check("column")


if __name__ == "__main__":
    unittest.main()
