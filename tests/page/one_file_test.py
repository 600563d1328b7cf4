#!/usr/bin/env python3
"""The page as one file: every view works in it without a server or a request, several texts too; pictures are saved with the
caveat."""
import base64
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlencode

from page_testing import CHROMIUM, PROGRAM, PageTest, Reference, SENTENCE, TINY, run, sync_playwright, weight_text

CAVEAT = "Attention weights show where information flowed, not why."
HOSTILE = "</script><img src=x onerror=alert(1)> \"cat\" <!-- \u202e it"


class FilePage(PageTest):
    flags = ("--html-exact",)
    texts = (SENTENCE,)

    @classmethod
    def setUpClass(cls):
        cls.server = None
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        path = pathlib.Path(cls.folder.name) / "page.html"
        if len(cls.texts) == 1:
            run("look", cls.texts[0], "-m", TINY, "--html", path, *cls.flags)
        else:
            lines = pathlib.Path(cls.folder.name) / "lines.txt"
            lines.write_text("\n\n".join(cls.texts) + "\n", encoding="utf-8")
            run("look", "--lines", lines, "-m", TINY, "--html", path, *cls.flags)
        cls.url = path.as_uri()
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

    def open(self, view="text", ready=None, **state):
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}#{urlencode({'v': view, **state})}")
        self.wait(ready or view)


class KnockedOut(FilePage):
    """Weights that the page computes again leave out what was knocked out, and the page says what that is."""

    block = "it->animal@L2H3"
    flags = ("--html-exact", "--block", block)

    def test_weights_are_those_of_the_program(self):
        reference = Reference(TINY)
        labels = reference.labels()
        it, animal = labels.index("it"), labels.index("animal")
        row = reference.weights(2, 3, "--block", self.block)[it]
        self.assertEqual(row[animal], 0)
        self.open("text", l=2, h=3, w=reference.token("it"))
        names = [f"{labels[it]} → {label} {weight_text(w)}" for label, w in zip(labels, row)]
        self.assertEqual(self.options(), names)

    def test_the_rail_says_it(self):
        self.open("text", l=2, h=3)
        self.assertIn(f"Knocked out: {self.block}", self.page.locator("body").inner_text())

    def test_the_steps_leave_the_key_out(self):
        self.open("steps", l=2, h=3, w=Reference(TINY).token("it"))
        self.assertEqual(self.page.locator(".hidden-key").count(), 1)


class Views(FilePage):
    def setUp(self):
        super().setUp()
        self.reference = Reference(TINY)
        self.labels = self.reference.labels()

    def test_text(self):
        self.open("text", l=2, h=3, w=1)
        row = self.reference.weights(2, 3)[1]
        names = [f"{self.labels[1]} → {label} {weight_text(w)}" for label, w in zip(self.labels, row)]
        self.assertEqual(self.options(), names)

    def test_heads(self):
        self.open("heads", l=1, h=1)
        self.assertEqual(self.page.locator("#view canvas").count(), 6)

    def test_map(self):
        self.open("map", l=2, h=1, w=1, t=2)
        self.page.wait_for_selector(".map[data-missing='0']")
        self.assertEqual(self.text(".map-side .weight"), weight_text(self.reference.weights(2, 1)[1][2]))

    def test_steps(self):
        self.open("steps", l=2, h=3, w=1)
        shown = [float(cell.inner_text()) for cell in self.page.locator(".steps tbody .step-3.number").all()]
        row = self.reference.weights(2, 3, "--pieces")[1]
        self.assertLessEqual(max(abs(a - b) for a, b in zip(shown, row, strict=True)), 0.00051)
        self.assertGreater(self.page.locator(".steps tfoot .step-4 rect").count(), 0)

    def test_there_is_nothing_to_edit(self):
        self.open("steps")
        self.assertEqual(self.page.locator("textarea, input[type=text]").count(), 0)
        self.page.locator("#save button").first.click()
        self.assertEqual(self.page.get_by_role("menuitem", name="HTML").count(), 0)


class NotExact(FilePage):
    flags = ()

    def test_says_by_how_much(self):
        self.open("map")
        within = float(re.search(r"within (0\.\d+)", self.finding()).group(1))
        self.assertGreater(within, 0)
        self.assertLessEqual(within, 0.003)


class ChosenMaps(FilePage):
    flags = ("--layer", "2")

    def test_others_are_not_offered(self):
        self.open("text", l=1, h=1)
        self.assertIn("layer 2", self.finding())
        self.open("heads")
        self.assertEqual(self.page.locator("#view canvas").count(), 3)


class SeveralTexts(FilePage):
    texts = (SENTENCE, "the cat sat on the mat", HOSTILE)

    def test_one_after_the_other(self):
        self.open("text", s=1)
        self.assertIn("cat", self.text(".rail"))
        self.press(">")
        self.wait("text")
        self.assertEqual(self.state()["s"], "2")
        self.press("<", "<")
        self.wait("text")
        self.assertNotIn("s", self.state())

    def test_hostile_text_is_text(self):
        for view in ("text", "heads", "map", "steps"):
            with self.subTest(view):
                self.open(view, s=2)
                self.assertEqual(self.page.locator("img").count(), 0)
        self.assertEqual(self.page.locator("tbody th button").all_inner_texts()[1], "<")
        self.assertIn("</script><img src=x onerror=alert(1)>", self.text(".rail"))


class Policy(FilePage):
    expected_errors = (r"Content Security Policy|Refused to", r"ERR_")

    def test_nothing_else_runs_or_loads(self):
        self.open("text")
        ran = self.page.evaluate("""async () => {
            const script = document.createElement('script');
            script.textContent = 'window.ran = 1';
            document.body.append(script);
            const image = new Image();
            image.src = 'http://127.0.0.1:9/x.png';
            const asked = await fetch('http://127.0.0.1:9/').then(() => 'asked', () => 'refused');
            return [window.ran ?? 0, asked];
        }""")
        self.assertEqual(ran, [0, "refused"])
        self.outside.clear()

    def test_a_changed_script_does_not_run(self):
        html = pathlib.Path(self.folder.name, "page.html").read_text(encoding="utf-8")
        changed = pathlib.Path(self.folder.name, "changed.html")
        changed.write_text(html.replace("'use strict';", "'use strict'; window.ran = 1;", 1), encoding="utf-8")
        self.page.goto(changed.as_uri())
        self.page.wait_for_timeout(300)
        self.outside.clear()
        self.assertEqual(self.page.evaluate("() => [window.ran ?? 0, document.body.dataset.ready ?? 'no']"), [0, "no"])


class Pictures(FilePage):
    def save(self, name):
        self.page.locator("#save button").first.click()
        with self.page.expect_download() as download:
            self.page.get_by_role("menuitem", name=name).click()
        path = self.scratch(download.value.suggested_filename)
        download.value.save_as(path)
        return path

    def test_svg_of_every_view_says_what_it_shows(self):
        for view in ("text", "heads", "map", "steps"):
            with self.subTest(view):
                self.open(view, l=2, h=3, w=1)
                if view == "map":
                    self.page.wait_for_selector(".map[data-missing='0']")
                question = self.question()
                path = self.save("SVG")
                self.assertEqual(path.name, f"sightline-{view}-L2H3.svg")
                root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
                self.assertTrue(root.tag.endswith("}svg"))
                texts = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}text")]
                self.assertIn(CAVEAT, texts)
                together = re.sub(r"\W", "", "".join(texts))
                self.assertIn(re.sub(r"\W", "", question), together)
                self.assertIn("@font-face", "".join(e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}style")))
                links = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
                self.assertEqual([link[:40] for link in links if not link.startswith("data:")], [])
                self.assertEqual(list(root.iter("{http://www.w3.org/2000/svg}script")), [])

    def test_png_is_what_was_seen(self):
        self.open("map", l=2, h=3, w=1)
        self.page.wait_for_selector(".map[data-missing='0']")
        data = self.save("PNG").read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", data[16:24])
        view = self.page.locator("#view").bounding_box()
        self.assertGreaterEqual(width, 2 * view["width"])
        self.assertGreaterEqual(height, 2 * view["height"])
        colours = self.page.evaluate("""async data => {
            const image = new Image();
            image.src = `data:image/png;base64,${data}`;
            await image.decode();
            const canvas = new OffscreenCanvas(image.width, image.height);
            const context = canvas.getContext('2d');
            context.drawImage(image, 0, 0);
            const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
            return new Set(pixels).size;
        }""", base64.b64encode(data).decode())
        self.assertGreater(colours, 50)


class FromTheServer(PageTest):
    """The page that a server's page saves is the one that the command line writes."""

    def test_saved_page_opens_and_shows_the_same(self):
        self.open("text", x=SENTENCE, l=2, h=3, w=1)
        names = self.options()
        self.page.locator("#save button").first.click()
        with self.page.expect_download() as download:
            self.page.get_by_role("menuitem", name="HTML").click()
        self.assertEqual(download.value.suggested_filename, "sightline.html")
        saved = self.scratch("sightline.html")
        download.value.save_as(saved)
        written = self.scratch("written.html")
        run("look", SENTENCE, "-m", self.model, "--html", written)
        parts = re.compile(r'<script type="application/octet-stream"[^>]*>[^<]*')
        self.assertEqual(parts.findall(saved.read_text()), parts.findall(written.read_text()))
        self.page.goto(f"{saved.as_uri()}#v=text&l=2&h=3&w=1")
        self.wait("text")
        self.outside.clear()  # the file itself
        for name, kept in zip(names, self.options(), strict=True):
            self.assertEqual(name.rpartition(" ")[0], kept.rpartition(" ")[0])
            self.assertAlmostEqual(float(name.rpartition(" ")[2]), float(kept.rpartition(" ")[2]), delta=0.004)


class CommandLine(unittest.TestCase):
    def program(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments), "-m", str(TINY)], capture_output=True, text=True, timeout=120, check=False)

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.lines = self.folder / "lines.txt"

    def test_over_the_limit_it_says_what_to_choose(self):
        long_text = self.folder / "long.txt"
        long_text.write_text("the cat sat " * 10, encoding="utf-8")
        page = self.folder / "page.html"
        self.lines.write_text((long_text.read_text() + "\n") * 400, encoding="utf-8")
        done = self.program("look", "--lines", self.lines, "--html", page, "--html-max", 1)
        self.assertEqual(done.returncode, 1)
        for part in ("MB and --html-max allows 1", "--layer and --head"):
            self.assertIn(part, done.stderr)
        self.assertFalse(page.exists())

    def test_usage(self):
        self.lines.write_text("the cat\n", encoding="utf-8")
        for arguments in (("look", "the cat", "--html-exact"), ("look", "the cat", "--html-max", 5), ("look", "--lines", self.lines),
                          ("look", "the cat", "--lines", self.lines, "--html", self.folder / "p.html"),
                          ("look", "--lines", self.lines, "--html", self.folder / "p.html", "--json"),
                          ("look", "the cat", "--html", "")):
            with self.subTest(arguments):
                done = self.program(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(list(self.folder.glob("*.html")), [])

    def test_a_line_that_cannot_be_read_is_named(self):
        self.lines.write_text("the cat\n\n" + "the cat sat " * 100 + "\n", encoding="utf-8")
        done = self.program("look", "--lines", self.lines, "--html", self.folder / "p.html")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lines.txt, line 3: the text has", done.stderr)
        self.lines.write_text("\n \n", encoding="utf-8")
        self.assertIn("has no text", self.program("look", "--lines", self.lines, "--html", self.folder / "p.html").stderr)

    def test_says_what_it_wrote(self):
        self.lines.write_text("the cat\r\nthe mat\r\n", encoding="utf-8")
        done = self.program("look", "--lines", self.lines, "--html", self.folder / "p.html")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 texts in", done.stdout)
        self.assertIn(CAVEAT, done.stdout)
        self.assertRegex(done.stderr, r"wrote .*p\.html, 0\.\d MB: open it in a browser")


if __name__ == "__main__":
    unittest.main()
