#!/usr/bin/env python3
"""Whatever a text holds, it is only ever text: no markup, no script, no change of what stands around it."""
import unittest

from page_testing import PageTest, minilm

MARKUP = ("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\"quotes' `ticks` &lt;b&gt;", "{w} {list} ${1} %s",
          "<svg/onload=alert(4)>", "javascript:alert(3)")
SCRIPTS = "שלום عربي 動物很累 😀👩‍👧 naïve Ü ﷽"
BIDI = "on \u202eevil\u202c \u2066it\u2069 \u200fmat\u200e un"
COMBINING = "Z̴̡̢͎̝̲̳̈́a̴l̴g̴o é ế"
LONG_WORD = "a" * 400
VIEWS = ("text", "heads", "map", "steps")


class Hostile(PageTest):
    def check_nothing_came_alive(self):
        alive = self.page.evaluate("""() => ({
            scripts: [...document.scripts].map(s => s.getAttribute('src')),
            images: document.querySelectorAll('main img, .rail img, #tip img, iframe, object, embed').length,
            handlers: [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).length,
        })""")
        self.assertEqual(alive, {"scripts": ["main.js"], "images": 0, "handlers": 0})

    def test_markup_in_every_view(self):
        for view in VIEWS:
            for text in MARKUP:
                with self.subTest(view=view, text=text):
                    self.open(view, x=text, p=1)
                    self.check_nothing_came_alive()

    def test_every_kind_of_text_in_every_view(self):
        for text in (SCRIPTS, BIDI, COMBINING, LONG_WORD, "\u0007\u001b[31m tired", " \t\n cat \r\n sat "):
            for view in VIEWS:
                with self.subTest(view=view, text=text[:20]):
                    self.open(view, x=text)
                    self.check_nothing_came_alive()

    def test_words_appear_as_written(self):
        for text in MARKUP:
            self.open(x=text, p=1)
            words = self.page.locator(".tok, .tall .word").all_text_contents()
            self.assertEqual("".join(words[1:-1]), text.replace(" ", ""))

    def test_values_of_texts_are_no_slots(self):
        # A word that looks like a slot of i18n.js stays what it is.
        self.open(x="{w} it {t} was {list}", w=1)
        self.assertNotIn("undefined", self.page.locator("body").inner_text())
        self.assertIn("{", "".join(self.page.locator(".tok, .tall .word").all_text_contents()))

    def test_bidi_controls_show(self):
        shown = self.page_label("a\u202eb\u2066c\u200fd\u00ade\u2028f\u001bg")
        self.assertEqual(shown, r"a\u202eb\u2066c\u200fd\u00ade\u2028f\u001bg")
        self.assertEqual(self.page_label("👩‍👧 می‌خواهم"), "👩‍👧 می‌خواهم")  # joiners are part of writing
        self.assertEqual(self.page_label("\n"), "↵")
        self.assertEqual(self.page_label(" \n\u00a0"), "␣↵␣")
        self.assertEqual(self.page_label("  "), "␣␣")

    def page_label(self, text):
        self.page.goto(self.url)
        return self.page.evaluate("async text => (await import('/look.js')).visibleText(text)", text)

    def test_no_word_turns_the_words_around_it(self):
        self.open(x="שלום it was", w=1)
        box = lambda i: self.page.get_by_role("option").nth(i).bounding_box()["x"]
        self.assertLess(box(1), box(2))
        self.assertLess(box(2), box(3))

    def test_text_from_right_to_left(self):
        self.open(x="שלום עולם גדול", w=1)
        box = lambda i: self.page.get_by_role("option").nth(i).bounding_box()["x"]
        self.assertGreater(box(1), box(2))
        self.page.get_by_role("option").nth(1).click()
        self.press("ArrowLeft")  # to the left stands the next word
        self.assertEqual(self.page.locator("[role=option][aria-selected=true]").get_attribute("data-key"), "word 2")

    def test_title_of_the_page(self):
        self.open(x="<b>it</b> was", w=2)
        self.assertTrue(self.page.title().endswith("· Sightline"))

    def test_url_is_hostile_too(self):
        for fragment in ("v=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E", "th=%22onload%3D", "i=..%2F..%2Fetc", "n=__proto__", "__proto__=1&constructor=2"):
            with self.subTest(fragment=fragment):
                self.expected_errors = (r"status of 4\d\d",)
                self.page.goto("about:blank")
                self.page.goto(f"{self.url}/#{fragment}")
                self.page.wait_for_selector("body[data-ready]")
                self.check_nothing_came_alive()


class HostileInMiniLM(Hostile):
    model = minilm()


if __name__ == "__main__":
    unittest.main()
