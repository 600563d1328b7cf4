#!/usr/bin/env python3
"""What can be said of the page's files without a browser: all are served, light enough, and only what is safe is in them."""
import gzip
import pathlib
import re
import unittest

WEB = pathlib.Path(__file__).resolve().parent.parent.parent / "web"
DOCUMENTATION = {"context.js", "files.txt"}  # types alone; the list itself
MOST_BYTES = 300_000


def listed():
    lines = (WEB / "files.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def scripts():
    return {name: (WEB / name).read_text() for name in listed() if name.endswith(".js")}


def texts():
    """Keys of i18n.js: [English, Chinese] as they are written."""
    table = re.search(r"const TEXTS = \{(.*?)\n\};", (WEB / "i18n.js").read_text(), re.S).group(1)
    string = r"'((?:[^'\\]|\\.)*)'"
    entry = re.compile(rf"^  (?:'([\w.]+)'|(\w+)): \[\s*{string},\s*{string}\],", re.M)
    return {a or b: (english, chinese) for a, b, english, chinese in entry.findall(table)}, table


class Files(unittest.TestCase):
    def test_all_are_listed_and_there(self):
        there = {str(p.relative_to(WEB)) for p in WEB.rglob("*") if p.is_file()}
        self.assertEqual(sorted(there - DOCUMENTATION), sorted(listed()))

    def test_modules_are_asked_for_at_once(self):
        # One that is not preloaded is asked for when the module that imports it has come: a round trip more.
        preloaded = re.findall(r'rel="modulepreload" href="([^"]+)"', (WEB / "index.html").read_text())
        self.assertEqual(sorted([*preloaded, "main.js"]), sorted(scripts()))

    def test_weight_as_sent(self):
        sent = 0
        for name in listed():
            data = (WEB / name).read_bytes()
            sent += min(len(data), len(gzip.compress(data, 9)))
        self.assertLessEqual(sent, MOST_BYTES)

    def test_nothing_makes_markup_of_text(self):
        unsafe = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser|createContextualFragment")
        for name, code in scripts().items():
            code = re.sub(r"^\s*//.*$|^\s*\*.*$|/\*\*.*?\*/", "", code, flags=re.M)
            self.assertIsNone(unsafe.search(code), name)

    def test_nothing_is_fetched_from_elsewhere(self):
        for name in listed():
            if name.endswith((".js", ".css", ".html")):
                found = set(re.findall(r"https?://[^\s'\"`)]+", (WEB / name).read_text()))
                self.assertEqual(found - {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/xmlns/"}, set(), name)

    def test_modules_are_what_the_linker_reads(self):
        for name, code in scripts().items():
            self.assertNotRegex(code, r"export default|import\(|import \*|export \*", name)


class Texts(unittest.TestCase):
    def test_table_is_read_whole(self):
        entries, table = texts()
        self.assertEqual(len(entries), len(re.findall(r"^  (?:'[\w.]+'|\w+): \[", table, re.M)))
        self.assertGreater(len(entries), 100)

    def test_both_languages_take_the_same_values(self):
        for key, (english, chinese) in texts()[0].items():
            slots = [sorted(set(re.findall(r"\{(\w+)\}", text))) for text in (english, chinese)]
            self.assertEqual(slots[0], slots[1], key)
            self.assertTrue(english and chinese, key)

    def test_every_text_is_used_and_there(self):
        entries, table = texts()
        code = "\n".join(scripts().values()).replace(table, "") + (WEB / "index.html").read_text()
        families = set(re.findall(r"(?:\bt|rich)\(`([\w.]+)\$\{", code))  # t(`number.${id}`)
        for key in entries:
            used = re.search(rf"['\"`]{re.escape(key)}['\"`]", code) or key.startswith(tuple(families))
            self.assertTrue(used, f"{key} is not used")
        for key in re.findall(r"\b(?:t|rich)\('([\w.]+)'", code):
            self.assertIn(key, entries)


if __name__ == "__main__":
    unittest.main()
