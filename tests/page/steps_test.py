#!/usr/bin/env python3
"""The view Steps: its table is the program's `explain`, by mouse and keyboard, with the divisor and mask of the reader's choice."""
import json
import math
import unittest

from page_testing import PageTest, Reference, SENTENCE, run


def softmax(scores):
    powers = [math.exp(s - max(scores)) for s in scores]
    return [p / sum(powers) for p in powers]


def number(text):
    return -math.inf if text == "−∞" else float(text.replace("−", "-"))


class StepsTest(PageTest):
    layer, head, word = 2, 3, "because"

    def setUp(self):
        super().setUp()
        options = ("--token", self.word, "--layer", self.layer, "--head", self.head, "--json")
        self.report = json.loads(run("explain", SENTENCE, "-m", self.model, *options))
        self.steps = self.report["explanations"][0]
        self.token = self.steps["token"]

    def open_steps(self, **state):
        self.open("steps", x=SENTENCE, **{"l": self.layer, "h": self.head, "w": self.token} | state)

    def column(self, step):
        return [number(cell.inner_text()) for cell in self.page.locator(f".steps tbody .step-{step}.number").all()]

    def near(self, got, right, delta=0.00501):
        self.assertEqual(len(got), len(right))
        for a, b in zip(got, right):
            self.assertTrue(a == b or abs(a - b) <= delta, (a, b))

    def dots(self):
        return [key["dot"] for key in self.steps["keys"]]


class Table(StepsTest):
    def test_numbers_are_those_of_explain(self):
        self.open_steps()
        keys = self.steps["keys"]
        self.near(self.column(1), self.dots())
        self.near(self.column(2), [key["score"] for key in keys])
        self.near(self.column(3), [key["weight"] for key in keys], 0.00051)
        labels = [token["text"] or token["piece"] for token in self.report["tokens"]]
        self.assertEqual([b.inner_text() for b in self.page.locator(".steps tbody th button").all()], labels)

    def test_heading_and_products_tell_of_the_chosen_row(self):
        self.open_steps(t=2)
        key = self.steps["keys"][2]
        self.assertEqual(self.question(), f"How does because come to give {key['weight']:.3f} to animal?")
        sign = "−" if key["dot"] < 0 else ""
        self.assertIn(f"{len(self.steps['query'])} products add up to {sign}{abs(key['dot']):.2f}", self.text(".steps .products h3"))
        bars = self.page.locator(".steps .products rect").count()
        self.assertEqual(bars, 3 * len(self.steps["query"]))

    def test_divisor_off_and_back(self):
        self.open_steps()
        self.page.get_by_role("button", name="off").click()
        self.settle()
        self.assertEqual(self.state()["dv"], "1")
        self.near(self.column(2), self.dots())
        self.near(self.column(3), softmax(self.dots()), 0.00051)
        self.page.get_by_role("button", name=f"√{len(self.steps['query'])}").click()
        self.settle()
        self.assertNotIn("dv", self.state())
        self.near(self.column(3), [key["weight"] for key in self.steps["keys"]], 0.00051)

    def test_slider_by_keyboard(self):
        self.open_steps()
        slider = self.page.get_by_role("slider", name="Divisor")
        slider.focus()
        self.press("End")
        self.assertTrue(slider.evaluate("e => e === document.activeElement"))
        divisor = float(self.state()["dv"])
        self.assertEqual(divisor, 32)
        self.near(self.column(2), [dot / 32 for dot in self.dots()])
        self.near(self.column(3), softmax([dot / 32 for dot in self.dots()]), 0.00051)

    def test_causal_hides_what_follows(self):
        self.open_steps()
        self.page.get_by_role("switch", name="Causal").click()
        self.settle()
        scores = [key["score"] if j <= self.token else -math.inf for j, key in enumerate(self.steps["keys"])]
        self.near(self.column(2), scores)
        self.near(self.column(3), softmax(scores), 0.00051)

    def test_saturation_is_named(self):
        self.open_steps()
        self.assertEqual(self.page.locator(".steps .warn").count(), 0)
        self.open_steps(dv=0.01)
        weights = softmax([dot / 0.01 for dot in self.dots()])
        squares, cubes = sum(w**2 for w in weights), sum(w**3 for w in weights)
        self.assertLess(math.sqrt(squares - 2 * cubes + squares**2), 0.06)
        self.assertIn("saturated", self.text(".steps .warn"))

    def test_rows_by_keyboard(self):
        self.open_steps(t=2)
        self.page.locator(".steps [data-key='row-2']").focus()
        self.press("ArrowDown", "ArrowDown", "ArrowUp")
        self.assertEqual(self.state()["t"], "3")
        self.assertEqual(self.page.evaluate("() => document.activeElement.dataset.key"), "row-3")

    def test_rows_by_mouse(self):
        self.open_steps(t=2)
        self.page.locator(".steps tbody tr").nth(6).click()
        self.settle()
        self.assertEqual(self.state()["t"], "6")
        self.page.go_back()
        self.settle()
        self.assertEqual(self.state()["t"], "2")

    def test_a_mean_has_no_steps_and_says_where_they_are(self):
        self.open_steps(h=0)
        self.assertEqual(self.question(), "No steps to show here")
        self.page.get_by_role("button", name="Open head").click()
        self.wait("steps")
        self.page.wait_for_selector(".steps tbody tr")
        self.assertNotEqual(self.state()["h"], "0")


class Editing(StepsTest):
    def test_in_place(self):
        self.open_steps()
        sentence = self.page.get_by_role("textbox", name="The sentence")
        sentence.fill(SENTENCE.replace("tired", "wide"))
        sentence.press("Enter")
        self.page.wait_for_function("() => [...document.querySelectorAll('.steps tbody th')].some(e => e.textContent === 'wide')")
        self.settle()
        self.assertEqual(self.state()["x"], SENTENCE.replace("tired", "wide"))
        self.assertEqual(self.state()["w"], str(self.token))
        reference = Reference(self.model, SENTENCE.replace("tired", "wide"))
        self.near(self.column(3), reference.weights(self.layer, self.head, "--pieces")[self.token], 0.00051)

    def test_keys_typed_are_text(self):
        self.open_steps()
        sentence = self.page.get_by_role("textbox", name="The sentence")
        sentence.focus()
        sentence.press("End")
        self.page.keyboard.type(" 1 [ m o c")
        self.assertEqual(sentence.input_value(), SENTENCE + " 1 [ m o c")
        self.assertEqual(self.state()["v"], "steps")
        sentence.press("Escape")
        self.assertEqual(sentence.input_value(), SENTENCE)


class Phone(StepsTest):
    viewport = {"width": 390, "height": 844}

    def test_one_step_at_a_time(self):
        self.open_steps()
        self.assertTrue(self.page.locator(".steps thead .step-3").is_visible())
        self.assertFalse(self.page.locator(".steps thead .step-1").is_visible())
        self.page.get_by_role("radio", name="1 Score").click()
        self.settle()
        self.assertTrue(self.page.locator(".steps thead .step-1").is_visible())
        self.near(self.column(1), self.dots())
        self.assertEqual(self.page.evaluate("() => document.querySelector('.body').scrollWidth <= innerWidth"), True)


if __name__ == "__main__":
    unittest.main()
