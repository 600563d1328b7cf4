#!/usr/bin/env python3
"""The view Map: its numbers are the program's, by mouse and keyboard; deep zoom into 100,000 × 100,000 tokens."""
import math
import re
import unittest

from long_page import TOKENS, LongPage, weight
from page_testing import PageTest, Reference, SENTENCE, weight_text



class MapTest:
    """What tests of the map share."""

    def place(self, row, col, count):
        """Pixels of a cell's middle, by the picture: the square's edges are where the drawn border is."""
        box = self.page.locator(".map-box canvas").bounding_box()
        left, top, side = self.edges()
        return box["x"] + left + (col + 0.5) * side / count, box["y"] + top + (row + 0.5) * side / count

    def edges(self):
        """Left, top and side of the map within its canvas, found by the frame of cells: the canvas says where it drew."""
        return self.page.evaluate(
            "() => { const c = document.querySelector('.map-box canvas'); return ['left', 'top', 'side'].map(k => Number(c.dataset[k])); }")

    def pair(self):
        return self.text(".map-side .pair"), self.text(".map-side .weight")

    def quiet(self):
        self.page.wait_for_selector(".map[data-missing='0']")
        self.settle()


class Numbers(MapTest, PageTest):
    expected_errors = ("willReadFrequently",)  # the test reads pixels, the page does not

    def setUp(self):
        super().setUp()
        self.reference = Reference(self.model)
        self.labels = self.reference.labels()

    def test_every_cell_under_the_pointer(self):
        self.open("map", x=SENTENCE, l=2, h=3)
        weights = self.reference.weights(2, 3)
        n = len(weights)
        for row in range(0, n, 3):
            for col in range(n):
                self.page.mouse.move(*self.place(row, col, n))
                self.page.wait_for_function("s => document.querySelector('.map-side .pair').textContent === s",
                                            arg=f"{self.labels[row]} → {self.labels[col]}")
                self.assertEqual(float(self.pair()[1]), float(weight_text(weights[row][col])))

    def test_mean_and_pieces(self):
        self.open("map", x=SENTENCE, l=1, h=0, w=1, t=2)
        mean = self.reference.mean(1)
        self.assertAlmostEqual(float(self.pair()[1]), mean[1][2], delta=0.00051)
        self.open("map", x=SENTENCE, l=1, h=2, p=1, w=4, t=5)
        pieces = self.reference.weights(1, 2, "--pieces")
        self.assertAlmostEqual(float(self.pair()[1]), pieces[4][5], delta=0.00051)
        self.assertIn(f"{len(pieces)} × {len(pieces)} tokens", self.finding())

    def test_keyboard_alone(self):
        self.open("map", x=SENTENCE, l=1, h=1, w=1, t=1)
        weights = self.reference.weights(1, 1)
        self.page.locator(".map-box canvas").focus()
        self.press("ArrowDown", "ArrowRight", "ArrowRight")
        self.assertEqual(self.pair(), (f"{self.labels[2]} → {self.labels[3]}", weight_text(weights[2][3])))
        self.press("Shift+ArrowRight", "Enter")
        words = self.reference.report()["words"]
        self.assertEqual(self.state()["w"], str(words[2]["token_begin"]))
        self.assertEqual(self.state()["t"], str(words[min(13, len(words) - 1)]["token_begin"]))
        self.press("+", "+")
        self.page.wait_for_function("() => new URLSearchParams(location.hash.slice(1)).has('z')")
        zoomed = float(self.state()["z"])
        self.press("-")
        self.page.wait_for_function("z => Number(new URLSearchParams(location.hash.slice(1)).get('z')) < z", arg=zoomed)
        self.press("0")
        self.page.wait_for_function("() => !new URLSearchParams(location.hash.slice(1)).has('z')")

    def test_click_chooses_and_back_lets_go(self):
        self.open("map", x=SENTENCE, l=1, h=1, w=3)
        n = len(self.labels)
        self.page.mouse.click(*self.place(4, 6, n))
        self.settle()
        words = self.reference.report()["words"]
        self.assertEqual((self.state()["w"], self.state()["t"]), (str(words[4]["token_begin"]), str(words[6]["token_begin"])))
        self.page.go_back()
        self.settle()
        self.assertEqual(self.state()["w"], "3")

    def test_wheel_zooms_where_the_pointer_is(self):
        self.open("map", x=SENTENCE, l=1, h=1)
        n = len(self.labels)
        x, y = self.place(5, 7, n)
        self.page.mouse.move(x, y)
        before = self.pair()
        self.page.mouse.wheel(0, -400)
        self.settle()
        self.page.mouse.move(x + 1, y)
        self.settle()
        self.assertEqual(self.pair(), before)

    def test_set_aside_keeps_places_and_says_so(self):
        self.open("map", x=SENTENCE, l=1, h=1, a=1)
        self.quiet()
        left, top, side = self.edges()
        cell = side / len(self.labels)
        paper = self.pixel(left - 3, top + side / 2)
        self.assertEqual(self.pixel(left + cell * 0.5, top + cell * 1.3), paper)
        self.assertNotEqual(self.pixel(left + cell * 1.5, top + cell * 1.3), paper)

    def pixel(self, x, y):
        """Colour at a place of the canvas; [0, 0, 0, 0] where it shows the paper."""
        data = self.page.evaluate("""([x, y]) => {
            const canvas = document.querySelector('.map-box canvas');
            const ratio = canvas.width / canvas.clientWidth;
            return [...canvas.getContext('2d').getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data];
        }""", [x, y])
        paper = [250, 252, 251, 255]
        return [0, 0, 0, 0] if data == paper else data


class Long(MapTest, LongPage):
    def test_overview_then_exact_tiles(self):
        self.server.asked.clear()
        self.open("map", x="made up", l=1, h=1)
        self.quiet()
        steps = {step for step, *_ in self.server.asked}
        self.assertIn(512, steps)
        self.assertIn("100,000 tokens, 10,000,000,000 weights", self.finding())
        asked = [(step, bottom - top) for step, top, bottom, *_ in self.server.asked if step > 1]
        self.assertLessEqual(max(-(-rows // step) for step, rows in asked), 256)
        self.assertTrue(all(top % step == 0 for step, top, *_ in self.server.asked))

    def test_tiles_that_fail_are_not_asked_for_all_the_time(self):
        self.expected_errors = (r"status of 503",)
        self.open("map", x="made up", l=1, h=1)
        self.quiet()
        refused = []

        def refuse(route):
            refused.append(route.request.url)
            route.fulfill(status=503, json={"error": {"code": "busy", "message": "busy"}})

        self.page.route("**/api/tile*", refuse)
        self.page.keyboard.press("+")
        self.page.keyboard.press("+")
        self.page.wait_for_timeout(1500)
        self.assertTrue(refused)
        self.assertLessEqual(len(refused), 8)  # four at a time
        self.page.unroute("**/api/tile*")
        self.quiet()

    def test_readout_far_in(self):
        for row, col in ((0, 0), (77_777, 12_345), (99_999, 99_999)):
            with self.subTest(row=row, col=col):
                self.open("map", x="made up", l=1, h=1, z=5, zx=col + 0.5, zy=row + 0.5, w=row, t=col)
                self.quiet()
                name = lambda i: "[CLS]" if i == 0 else "[SEP]" if i == TOKENS - 1 else f"w{i}"
                pair, shown = self.pair()
                self.assertEqual(pair, f"{name(row)} ({row + 1:,}) → {name(col)} ({col + 1:,})")
                self.assertEqual(float(shown), float(weight_text(weight(row, col))))

    def test_zooming_in_by_wheel_ends_at_single_weights(self):
        self.open("map", x="made up", l=1, h=2)
        self.quiet()
        left, top, side = self.edges()
        box = self.page.locator(".map-box canvas").bounding_box()
        x, y = box["x"] + left + side * 0.61, box["y"] + top + side * 0.37
        self.page.mouse.move(x, y)
        for _ in range(40):
            self.page.mouse.wheel(0, -300)
            self.page.wait_for_timeout(20)
        self.page.mouse.move(x + 1, y)
        self.quiet()
        row, col = [int(n.replace(",", "")) - 1 for n in re.findall(r"\(([\d,]+)\)", self.pair()[0])]
        self.assertEqual(float(self.pair()[1]), float(weight_text(weight(row, col))))
        self.assertAlmostEqual(row / TOKENS, 0.37, delta=0.01)
        self.assertAlmostEqual(col / TOKENS, 0.61, delta=0.01)
        self.assertIn("One cell = one weight", self.text(".map-side [role=status]"))
        self.press("0")
        self.quiet()
        self.assertIn("mean of", self.text(".map-side [role=status]"))

    def test_drag_moves_by_as_much(self):
        self.open("map", x="made up", l=1, h=1, z=4, zx=50_000, zy=50_000)
        self.quiet()
        left, top, side = self.edges()
        box = self.page.locator(".map-box canvas").bounding_box()
        x, y = box["x"] + left + side / 2, box["y"] + top + side / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x - 160, y - 80, steps=8)
        self.page.mouse.up()
        self.page.wait_for_function("() => Number(new URLSearchParams(location.hash.slice(1)).get('zx')) > 50001")
        self.assertAlmostEqual(float(self.state()["zx"]), 50_000 + 160 / 16, delta=0.6)
        self.assertAlmostEqual(float(self.state()["zy"]), 50_000 + 80 / 16, delta=0.6)

    def test_no_task_over_50_ms_in_pan_and_zoom(self):
        longest = math.inf
        for _ in range(3):  # other programs of the machine may take the processor away
            longest = min(longest, self.longest_task())
            if longest <= 50:
                return
        self.fail(f"a task of {longest} ms")

    def longest_task(self):
        self.open("map", x="made up", l=1, h=1)
        self.quiet()
        left, top, side = self.edges()
        box = self.page.locator(".map-box canvas").bounding_box()
        x, y = box["x"] + left + side / 2, box["y"] + top + side / 2
        self.page.evaluate("""() => {
            window.tasks = [];
            new PerformanceObserver(list => window.tasks.push(...list.getEntries().map(e => e.duration))).observe({ type: 'longtask' });
        }""")
        self.page.mouse.move(x, y)
        for i in range(24):
            self.page.mouse.wheel(0, -250 if i < 16 else 400)
            self.page.wait_for_timeout(30)
        self.page.mouse.down()
        for i in range(30):
            self.page.mouse.move(x + 6 * i, y - 4 * i)
            self.page.wait_for_timeout(16)
        self.page.mouse.up()
        self.quiet()
        return self.page.evaluate("() => Math.max(0, ...window.tasks)")


if __name__ == "__main__":
    unittest.main()
