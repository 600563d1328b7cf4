#!/usr/bin/env python3
"""The frame: state in the URL, texts and their states, keys, theme, language, phone."""
import re
import unittest

from page_testing import PageTest, Reference, SENTENCE, TINY


class Url(PageTest):
    def test_state_is_in_the_url_and_opens_the_same(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        self.press("d", "p", "s")
        self.page.locator(".picker [data-key='2.3']").click()
        self.settle()
        shown = (self.question(), self.finding(), self.options())
        url = self.page.url
        self.assertEqual({k: self.state()[k] for k in "ldpah"}, {"l": "2", "d": "in", "p": "1", "a": "1", "h": "3"})
        self.page.goto("about:blank")
        self.page.goto(url)
        self.wait("text")
        self.assertEqual((self.question(), self.finding(), self.options()), shown)

    def test_defaults_are_left_out(self):
        self.page.goto(self.url + "/")
        self.wait("text")
        self.assertNotIn("#", self.page.url)

    def test_back_and_forward_over_views_and_texts(self):
        self.open(x="too tired", l=1, h=1)
        self.press("2")
        self.wait("heads")
        self.page.locator("textarea").fill("it was")
        self.page.locator("textarea").press("Enter")
        self.until("document.querySelector('.note').textContent.startsWith('2 words, 4')")
        self.page.go_back()
        self.until("document.querySelector('textarea').value === 'too tired'")
        self.page.go_back()
        self.wait("text")
        self.page.go_forward()
        self.wait("heads")

    def test_nonsense_falls_back(self):
        for junk in ("v=nothing&l=99&h=99&w=99999&z=x&p=7&n=<b>", "%", "l=-1&h=1e3&w=1.5&lang=xx&th=pink", "=&&&=", "main"):
            with self.subTest(junk=junk):
                self.page.goto("about:blank")
                self.page.goto(f"{self.url}/#{junk}")
                self.wait("text")
                self.assertRegex(self.finding(), r"^In layer \d, ")

    def test_skip_link_keeps_the_state(self):
        self.open(x=SENTENCE, l=2, h=2)
        self.page.keyboard.press("Tab")
        self.page.keyboard.press("Enter")
        self.assertEqual(self.page.evaluate("document.activeElement.id"), "main")
        self.assertEqual(self.state()["l"], "2")


class Texts(PageTest):
    expected_errors = (r"status of 4\d\d", r"status of 5\d\d")

    def test_editing_in_place(self):
        self.open(x=SENTENCE, l=1, h=1)
        self.press("e")
        self.assertEqual(self.page.evaluate("document.activeElement.tagName"), "TEXTAREA")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type("it was too tired")  # letters are no shortcuts here
        self.page.keyboard.press("Enter")
        self.until("document.querySelectorAll('[role=option]').length === 6")
        self.assertEqual(self.state()["x"], "it was too tired")
        reference = Reference(TINY, "it was too tired")
        self.assertEqual([o.split(" → ")[1].split(" ")[0] for o in self.options()], reference.labels())

    def test_escape_takes_the_edit_back(self):
        self.open(x=SENTENCE)
        self.press("e")
        self.page.keyboard.type(" and more")
        self.page.keyboard.press("Escape")
        self.assertEqual(self.page.locator("textarea").input_value(), SENTENCE)
        self.assertEqual(self.state()["x"], SENTENCE)

    def test_file(self):
        path = self.scratch("text.txt")
        path.write_text("the street was too tired")
        self.open(x=SENTENCE)
        self.page.locator("input[type=file]").set_input_files(str(path))
        self.until("document.querySelectorAll('[role=option]').length === 7")
        self.assertEqual(self.state()["x"], "the street was too tired")

    def test_long_text_is_named_by_its_look(self):
        # Longer than a URL should be, and no more tokens than the model reads: a word of many letters is one unknown token.
        text = " ".join("x" * 1500 for _ in range(8))
        self.open(x=SENTENCE)
        self.page.locator("textarea").fill(text)
        self.page.locator("textarea").press("Enter")
        self.until("new URLSearchParams(location.hash.slice(1)).get('i')?.startsWith('pasted') === false")
        self.wait("text")
        self.assertLess(len(self.page.url), 300)
        url = self.page.url
        self.page.goto("about:blank")
        self.page.goto(url)
        self.wait("text")
        self.assertIn("8 words", self.text(".rail .note"))

    def test_empty(self):
        self.open(ready="state", x="  ")
        self.assertEqual(self.question(), "Nothing to look at yet")
        self.page.get_by_role("button", name="Take the example").click()
        self.wait("text")

    def test_too_long_and_its_beginning(self):
        self.open(ready="state", x="it was too tired . " * 30)
        self.assertEqual(self.question(), "The text is too long")
        self.assertRegex(self.finding(), r"\b48\b")  # the limit
        self.assertRegex(self.finding(), r"\b15[0-9]\b")  # and the text's tokens
        self.page.get_by_role("button", name="Look at its beginning").click()
        self.wait("text")
        self.assertIn("cut off", self.text(".rail .note"))

    def test_no_answer_and_again(self):
        self.open(x=SENTENCE)
        self.expected_errors = (".*",)
        self.page.route("**/api/look", lambda route: route.abort())
        self.page.locator("textarea").fill("it was")
        self.page.locator("textarea").press("Enter")
        self.wait("state")
        self.assertEqual(self.question(), "The numbers are missing")
        self.assertIn("sightline serve", self.finding())
        self.assertEqual(self.page.locator("textarea").input_value(), "it was")
        self.page.unroute("**/api/look")
        self.page.get_by_role("button", name="Try again").click()
        self.wait("text")

    def test_busy_says_when(self):
        self.open(x=SENTENCE)
        self.page.route("**/api/look", lambda route: route.fulfill(
            status=503, headers={"Retry-After": "7"}, json={"error": {"code": "busy", "message": "busy"}}))
        self.page.locator("textarea").fill("it was")
        self.page.locator("textarea").press("Enter")
        self.wait("state")
        self.assertIn("7 s", self.finding())

    def test_look_that_is_gone_is_made_again(self):
        self.open(x=SENTENCE, l=1, h=1)
        gone = []

        def answer(route):
            if gone:
                return route.continue_()
            gone.append(route.request.url)
            return route.fulfill(status=410, json={"error": {"code": "gone", "message": "gone"}})

        self.page.route("**/api/tile*", answer)
        self.page.locator("textarea").fill("it was too tired")
        self.page.locator("textarea").press("Enter")
        self.until("document.querySelectorAll('[role=option]').length === 6")
        self.assertEqual(len(gone), 1)

    def test_loading_is_shown_when_it_lasts(self):
        self.open(x=SENTENCE)
        held = []
        self.page.route("**/api/look", lambda route: held.append(route))
        self.page.locator("textarea").fill("it was")
        self.page.locator("textarea").press("Enter")
        self.until("document.querySelector('h1').textContent === 'One moment'")
        held[0].continue_()
        self.until("document.querySelectorAll('[role=option]').length === 4")


class Keys(PageTest):
    def test_sheet(self):
        self.open(x=SENTENCE)
        self.press("?")
        sheet = self.page.locator("dialog[open]")
        for text in ("How to read it", "previous or next word", "turn the direction", "Single-key shortcuts"):
            self.assertIn(text, sheet.inner_text())
        self.press("2")  # nothing happens behind the sheet
        self.assertEqual(self.state()["v"], "text")
        self.press("Escape")
        self.assertEqual(self.page.locator("dialog[open]").count(), 0)

    def test_single_keys_can_be_switched_off(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        self.press("?")
        self.page.get_by_role("switch", name="Single-key shortcuts").click()
        self.page.get_by_role("button", name="Close").click()
        self.press("]", "2", "d")
        self.assertEqual((self.state()["h"], self.state()["v"]), ("1", "text"))
        self.press("ArrowRight")  # arrows stay
        self.assertEqual(self.question(), "Where does cross look?")
        self.page.reload()
        self.wait("text")
        self.press("]")
        self.assertEqual(self.state()["h"], "1")

    def test_caveat_is_always_there_and_explained(self):
        for view in ("text", "heads"):
            self.open(view, x=SENTENCE)
            self.assertIn("where information flowed, not why", self.text("footer"))
        self.page.get_by_role("button", name="What this means").click()
        self.assertIn("does not say that the result depends on it", self.text("dialog[open]"))

    def test_picker_by_keyboard(self):
        self.open(x=SENTENCE, l=1, h=1)
        self.page.locator(".picker [aria-pressed=true]").focus()
        self.press("ArrowDown", "ArrowRight")
        self.assertEqual((self.state()["l"], self.state()["h"]), ("2", "2"))
        self.press("ArrowLeft", "ArrowLeft")
        self.assertEqual(self.state()["h"], "0")
        self.assertEqual(self.page.evaluate("document.activeElement.dataset.key"), "2.0")


class LanguageAndTheme(PageTest):
    def test_chinese(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        self.page.locator("#language").click()
        self.settle()
        self.assertEqual(self.page.evaluate("document.documentElement.lang"), "zh-Hans")
        self.assertIn("在看哪里", self.question())
        self.page.wait_for_timeout(600)  # the finding is announced, too
        english = re.findall(r"[A-Za-z]{3,}", re.sub(r"\[\w+\]|all-MiniLM\S*|tiny-bert|Sightline|English", "", self.page.locator("body").inner_text()))
        words = set(re.findall(r"[A-Za-z]+", SENTENCE)) | {"nats"}
        self.assertEqual([w for w in english if w not in words], [])
        self.press("l")
        self.assertEqual(self.question(), "Where does didn't look?")

    def test_theme(self):
        self.open(x=SENTENCE)
        paper = "getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.page.evaluate(paper), "rgb(250, 252, 251)")
        self.press("t")
        self.assertEqual(self.page.evaluate(paper), "rgb(13, 22, 21)")
        self.assertEqual(self.state()["th"], "dark")
        self.page.emulate_media(color_scheme="dark")
        self.open(x=SENTENCE)
        self.assertEqual(self.page.evaluate(paper), "rgb(13, 22, 21)")

    def test_browser_in_chinese(self):
        context = self.browser.new_context(locale="zh-CN")
        page = context.new_page()
        page.goto(self.url)
        page.wait_for_selector("body[data-ready=text]")
        self.assertEqual(page.evaluate("document.documentElement.lang"), "zh-Hans")
        context.close()


class Phone(PageTest):
    viewport = {"width": 390, "height": 844}

    def test_column_and_options_behind_a_button(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        self.assertEqual(self.page.locator(".tall [role=option]").count(), len(Reference(TINY).labels()))
        self.assertFalse(self.page.locator(".picker").is_visible())
        self.page.get_by_role("button", name="More options").click()
        self.assertTrue(self.page.locator(".picker").is_visible())
        self.page.get_by_role("button", name="Head: next").click()
        self.settle()
        self.assertEqual(self.state()["h"], "2")

    def test_nothing_is_wider_than_the_window(self):
        for view in ("text", "heads"):
            self.open(view, x=SENTENCE)
            self.assertLessEqual(self.page.evaluate("document.querySelector('.body').scrollWidth"), 390, view)


class Fits(PageTest):
    """From 1024 × 768 up a view fits its window."""

    def test_no_scrolling(self):
        for width, height in ((1024, 768), (1440, 900), (1920, 1080)):
            self.page.set_viewport_size({"width": width, "height": height})
            for view in ("text", "heads"):
                with self.subTest(size=(width, height), view=view):
                    self.open(view, x=SENTENCE)
                    over = self.page.evaluate("(m => [m.scrollHeight - m.clientHeight, m.scrollWidth - m.clientWidth])(document.querySelector('main'))")
                    self.assertEqual(over, [0, 0])

    def test_words_are_never_cut(self):
        for width in (1024, 1200, 1440):
            self.page.set_viewport_size({"width": width, "height": 800})
            self.open(x=SENTENCE)
            cut = self.page.evaluate("[...document.querySelectorAll('.tok')].filter(t => t.scrollWidth > t.clientWidth).map(t => t.textContent)")
            self.assertEqual(cut, [])


if __name__ == "__main__":
    unittest.main()
