#!/usr/bin/env python3
"""The view Text: its numbers are the program's own, by mouse and by keyboard, in every direction and setting."""
import re
import unittest

from page_testing import PageTest, Reference, SENTENCE, TINY, minilm, weight_text


class Numbers(PageTest):
    """Every weight that the view shows or names, against `look --json`."""

    def setUp(self):
        super().setUp()
        self.reference = Reference(self.model)
        self.labels = self.reference.labels()

    def check_row(self, row, item, inward=False):
        names = self.options()
        self.assertEqual(len(names), len(self.labels))
        for i, (name, label) in enumerate(zip(names, self.labels)):
            pair = f"{label} → {self.labels[item]}" if inward else f"{self.labels[item]} → {label}"
            self.check_number(name, pair + " ", row[i])
        shown = [n.inner_text() for n in self.page.locator(".num").all()]
        self.assertEqual(len(shown), len(row))
        for text, weight in zip(shown, row):
            self.assertLessEqual(abs(float(text) - weight), 0.00051)

    def check_number(self, text, prefix, weight):
        self.assertTrue(text.startswith(prefix), f"{text} begins with {prefix}")
        shown = float(text.removeprefix(prefix))
        # Half of the last digit shown, and what fp32 sums in another order may differ by.
        digits = weight_text(weight)
        unit = 10 ** -len(digits.partition(".")[2]) if "e" not in digits else weight / 10
        self.assertLessEqual(abs(shown - weight), unit / 2 + 2e-7, text)

    def test_row_in_every_map(self):
        model = self.reference.report()["model"]
        item = 5
        token = self.reference.report()["words"][item]["token_begin"]
        for layer in range(1, model["layers"] + 1):
            for head in range(1, min(4, model["heads"]) + 1):
                with self.subTest(map=f"L{layer}H{head}"):
                    self.open(x=SENTENCE, l=layer, h=head, w=token)
                    self.check_row(self.reference.weights(layer, head)[item], item)

    def test_mean_of_a_layer(self):
        self.open(x=SENTENCE, l=2, h=0, w=self.reference.token("street"))
        item = self.labels.index("street")
        self.check_row(self.reference.mean(2)[item], item)
        self.assertIn("layer 2, mean of its heads", self.finding())

    def test_column(self):
        item = self.labels.index("didn't")
        self.open(x=SENTENCE, l=1, h=2, w=self.reference.token("didn't"), d="in")
        weights = self.reference.weights(1, 2)
        self.check_row([row[item] for row in weights], item, inward=True)
        self.assertEqual(self.question(), "Who looks at didn't?")

    def test_pieces(self):
        self.open(x=SENTENCE, l=1, h=1, w=4, p=1)
        report = self.reference.report(1, 1, "--pieces")
        names = [t["text"] or t["piece"] for t in report["tokens"]]
        row = self.reference.weights(1, 1, "--pieces")[4]
        self.assertEqual(len(self.options()), len(names))
        for i, option in enumerate(self.options()):
            self.check_number(option, f"{names[4]} → {names[i]} ", row[i])

    def test_sentence_names_the_largest(self):
        item = self.labels.index("it")
        self.open(x=SENTENCE, l=2, h=1, w=self.reference.token("it"))
        row = self.reference.weights(2, 1)[item]
        best = sorted(range(len(row)), key=lambda i: -row[i])[:3]
        words = ["itself" if i == item else self.labels[i] for i in best]
        numbers = [weight_text(row[i]) for i in best]
        expected = f"In layer 2, head 1, it gives {numbers[0]} of its weight to {words[0]}, {numbers[1]} to {words[1]} and {numbers[2]} to {words[2]}."
        self.assertEqual(self.finding(), expected)

    def test_set_aside_says_how_much(self):
        self.open(x=SENTENCE, l=1, h=1, w=self.reference.token("it"), a=1)
        report = self.reference.report(1, 1, "--no-special")
        grid = next(m for m in report["maps"] if "grid" in m)["grid"]
        item = self.labels.index("it")
        mass = grid["set_aside"][grid["row_items"].index(item)]
        self.assertIn(f" {weight_text(mass)} on [CLS] and [SEP] is set aside.", self.finding())
        self.assertNotIn("[CLS]", self.finding().split(" is set aside")[0].split(". ")[0])
        numbers = [n.inner_text() for n in self.page.locator(".num").all()]
        self.assertEqual(numbers[0], "–")
        self.assertEqual(numbers[-1], "–")
        row = self.reference.weights(1, 1)[item]
        self.assertEqual(float(numbers[3]), round(row[3], 3))  # nothing is renormalised

    def test_strip_has_every_head(self):
        heads = self.reference.report()["model"]["heads"]
        self.open(x=SENTENCE, l=1, h=1, w=self.reference.token("it"))
        item = self.labels.index("it")
        cells = self.page.locator("svg.heads rect:not(.chosen)")
        self.assertEqual(cells.count(), heads * len(self.labels))
        head, key = heads - 1, 2
        cells.nth(head * len(self.labels) + key).hover()
        row = self.reference.weights(1, heads)[item]
        self.check_number(self.text("#tip"), f"L1H{heads}: it → {self.labels[key]} ", row[key])

    def test_picker_has_the_pair_in_every_head(self):
        model = self.reference.report()["model"]
        item = self.labels.index("it")
        self.open(x=SENTENCE, l=1, h=1, w=self.reference.token("it"))
        cells = self.page.locator(".picker button")
        self.assertEqual(cells.count(), model["layers"] * (model["heads"] + 1))
        name = cells.first.get_attribute("aria-label")
        target = re.search("→ (.*) [0-9.e-]+$", name).group(1)
        to = self.labels.index(target)
        for layer in range(1, model["layers"] + 1):
            for head in range(1, min(4, model["heads"]) + 1):
                cell = self.page.locator(f".picker [data-key='{layer}.{head}']").get_attribute("aria-label")
                weight = self.reference.weights(layer, head)[item][to]
                self.check_number(cell, f"layer {layer}, head {head}: it → {target} ", weight)


class NumbersOfMiniLM(Numbers):
    model = minilm()


class KeptLayers(Numbers):
    """A server that keeps a layer alone: what it does not keep is neither shown nor offered."""

    server_options = ("--keep-layers", "2")

    def test_row_in_every_map(self):
        token, item = self.reference.report()["words"][5]["token_begin"], 5
        self.open(x=SENTENCE, l=1, h=2, w=token)  # a layer that is not kept: the page takes one that is
        self.assertIn("layer 2, head 2", self.finding())
        self.check_row(self.reference.weights(2, 2)[item], item)
        self.assertEqual(self.page.locator(".picker button").count(), 4)
        for view in ("heads", "map", "steps"):
            self.open(view, x=SENTENCE, h=1, w=token)
            self.assertIn("2", self.text(".picker .layer, .hgrid .layer"))

    test_column = test_pieces = test_set_aside_says_how_much = test_sentence_names_the_largest = None
    test_strip_has_every_head = test_picker_has_the_pair_in_every_head = None  # all of layer 1


class ByMouse(PageTest):
    def test_hover_previews_and_leaving_returns(self):
        self.open(x=SENTENCE, l=1, h=1, w=Reference(TINY).token("it"))
        before = (self.question(), self.finding(), self.options())
        self.page.get_by_role("option").nth(6).hover()
        self.settle()
        self.assertEqual(self.question(), "Where does street look?")
        self.assertNotEqual(self.finding(), before[1])
        self.page.mouse.move(5, 400)
        self.settle()
        self.assertEqual((self.question(), self.finding(), self.options()), before)

    def test_click_chooses_and_back_returns(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        self.page.get_by_role("option").nth(6).click()
        self.settle()
        self.assertEqual(self.state()["w"], str(Reference(TINY).token("street")))
        self.page.mouse.move(5, 400)
        self.page.go_back()
        self.settle()
        self.assertEqual(self.state()["w"], "3")
        self.assertEqual(self.question(), "Where does didn't look?")

    def test_beams_have_the_width_of_the_weight(self):
        self.open(x=SENTENCE, l=1, h=1, w=Reference(TINY).token("it"))
        labels = Reference(TINY).labels()
        row = Reference(TINY).weights(1, 1)[labels.index("it")]
        widths = self.page.evaluate("""() => [...document.querySelectorAll('.beam')].map(beam => beam.getAttribute('d'))
            .filter(Boolean).map(d => /L([-\\d.]+) /.exec(d) && [/([-\\d.]+) [-\\d.]+L/.exec(d)[1], /L([-\\d.]+) /.exec(d)[1]])
            .filter(Boolean).map(([a, b]) => Math.abs(a - b))""")
        expected = sorted(44 * w for i, w in enumerate(row) if w >= 0.002 and labels[i] != "it")
        self.assertEqual(len(widths), len(expected))
        for shown, width in zip(sorted(widths), expected):
            self.assertAlmostEqual(shown, max(0.6, width), delta=0.01)

    def test_head_of_the_strip(self):
        self.open(x=SENTENCE, l=1, h=1)
        self.page.get_by_role("button", name="layer 1, head 2", exact=True).click()
        self.settle()
        self.assertEqual(self.state()["h"], "2")
        self.assertIn("In layer 1, head 2,", self.finding())


class ByKeyboard(PageTest):
    def test_words_heads_layers(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        self.press("ArrowRight")
        self.assertEqual(self.question(), "Where does cross look?")
        self.press("ArrowLeft", "ArrowLeft")
        self.assertEqual(self.question(), "Where does animal look?")
        self.press("]")
        self.assertIn("layer 1, head 2", self.finding())
        self.press("}")
        self.assertIn("layer 2, head 2", self.finding())
        self.press("m")
        self.assertIn("layer 2, mean of its heads", self.finding())
        self.press("m")
        self.assertIn("layer 2, head 2", self.finding())
        self.press("d")
        self.assertEqual(self.question(), "Who looks at animal?")

    def test_focus_follows_the_word(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        self.page.locator("[role=option][aria-selected=true]").focus()
        self.press("ArrowRight")
        self.assertTrue(self.page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("cross → cross"))
        self.press("p")
        self.assertEqual(self.page.evaluate("document.activeElement.getAttribute('aria-selected')"), "true")

    def test_tab_and_enter_choose(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        self.page.locator(".rowlab").nth(1).focus()
        self.press("Enter")
        self.assertEqual(self.state()["h"], "2")
        self.assertEqual(self.page.evaluate("document.activeElement.textContent"), "H2")

    def test_stepping_makes_no_history(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        before = self.page.evaluate("history.length")
        self.press("ArrowRight", "ArrowRight", "]")
        self.assertEqual(self.page.evaluate("history.length"), before)

    def test_finding_is_announced(self):
        self.open(x=SENTENCE, l=1, h=1, w=3)
        self.press("ArrowRight")
        self.page.wait_for_timeout(600)
        self.assertEqual(self.page.locator("#announcer").inner_text(), self.finding())


if __name__ == "__main__":
    unittest.main()
