#!/usr/bin/env python3
"""Tests tools/link_page.py on small pages of its own and on web/ itself.

    tests/link_page_test.py
"""

import base64
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = ROOT / "tools" / "link_page.py"
INDEX = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<link rel="preload" href="fonts/f.woff2" as="font">
<link rel="stylesheet" href="css/a.css">
<link rel="stylesheet" href="css/b.css">
<script type="module" src="main.js"></script>
</head>
<body>
<p>here</p>
</body>
</html>
"""


class Linking(unittest.TestCase):
    def setUp(self):
        self.web = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.web)
        self.write("index.html", INDEX)
        self.write("css/a.css", "/* note */\n@font-face { src: url('../fonts/f.woff2') }\n")
        self.write("css/b.css", "p { color: red }\n")
        self.write("fonts/f.woff2", "font")
        self.write("main.js", "import { one } from './one.js';\none();\n")
        self.write("one.js", "export function one() {}\n")

    def write(self, name, text):
        path = self.web / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def link(self, name="page.html"):
        out = self.web / name
        done = subprocess.run([sys.executable, LINK, self.web, out], capture_output=True, text=True, check=False)
        return done, out.read_text(encoding="utf-8") if out.exists() else None

    def run_script(self):
        """What the linked script logs, where there is Node to run it."""
        done, page = self.link()
        self.assertEqual(done.returncode, 0, done.stderr)
        script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL).group(1)
        if shutil.which("node") is None:
            self.skipTest("Node is missing, which runs the script")
        return subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout

    def refused(self, *parts):
        done, page = self.link()
        self.assertEqual(done.returncode, 1)
        self.assertIsNone(page)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_everything_is_in_one_file(self):
        done, page = self.link()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("src=", page)
        self.assertNotIn("<link", page)
        self.assertNotIn("/* note */", page)
        self.assertIn("url(data:font/woff2;base64," + base64.b64encode(b"font").decode() + ")", page)
        self.assertIn("p { color: red }", page)
        self.assertEqual(page.count("<!-- numbers -->"), 1)
        self.assertLess(page.index("<p>here</p>"), page.index("<!-- numbers -->"))
        self.assertLess(page.index("<!-- numbers -->"), page.index('<script type="module">'))

    def test_fonts_bring_their_licences(self):
        self.write("fonts/f-OFL.txt", "Copyright 2020 The F Authors\n\nThis Font Software is licensed under\n")
        _, page = self.link()
        self.assertIn("SIL Open Font License 1.1: Copyright 2020 The F Authors -->", page)

    def test_policy_names_what_is_there(self):
        _, page = self.link()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
        for tag, directive in (('script type="module"', "script-src"), ("style", "style-src")):
            content = re.search(rf"<{tag}>(.*?)</{tag.split()[0]}>", page, re.DOTALL).group(1)
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            self.assertIn(f"{directive} 'sha256-{digest}'", policy)
        self.assertTrue(policy.startswith("default-src 'none'"))
        self.assertNotIn("unsafe", policy)
        self.assertLess(page.index("Content-Security-Policy"), page.index("<style>"))

    def test_imports_and_exports_of_every_kind(self):
        self.write("main.js", "import './effect.js';\nimport {\n  one as uno,\n  Two,\n} from './one.js';\nimport { three, four } from './sub/three.js';\n"
                              "console.log(uno(), new Two().name, three, await four());\n")
        self.write("effect.js", "console.log('effect');\n")
        self.write("one.js", "// import { x } from './none.js'\nexport function one() { return 1; }\nexport class Two { name = 'two'; }\n")
        self.write("sub/three.js", "import { one } from '../one.js';\nconst inner = one() + 2;\nconst four = async () => 4;\n"
                                   "export { inner as three, four };\n")
        self.assertEqual(self.run_script(), "effect\n1 two 3 4\n")

    def test_a_module_runs_once_and_before_those_that_need_it(self):
        self.write("main.js", "import { a } from './a.js';\nimport { b } from './b.js';\nconsole.log(a, b);\n")
        self.write("a.js", "import { c } from './c.js';\nexport const a = `a${c}`;\n")
        self.write("b.js", "import { c } from './c.js';\nexport { c as b } from './c.js';\nconsole.log(c);\n")
        self.write("c.js", "console.log('c runs');\nexport const c = 'c';\n")
        self.assertEqual(self.run_script(), "c runs\nc\nac c\n")

    def test_names_of_modules_do_not_meet(self):
        self.write("main.js", "import { x as a } from './x.js';\nimport { x as b } from './sub/x.js';\nconst x = 3;\nconsole.log(a, b, x);\n")
        self.write("x.js", "const hidden = 1;\nexport const x = hidden;\n")
        self.write("sub/x.js", "const hidden = 2;\nexport const x = hidden;\n")
        self.assertEqual(self.run_script(), "1 2 3\n")

    def test_what_cannot_be_linked_is_refused(self):
        for line, part in (("import one from './one.js';", "import one"), ("import * as one from './one.js';", "import *"),
                           ("const m = await import('./one.js');", "import("), ("export default 3;", "export default"),
                           ("export let x = 3;", "export let"), ("const a = '</script>';", "</script"), ("const b = '<!--';", "<!--")):
            with self.subTest(line):
                self.write("main.js", line + "\n")
                self.refused("main.js", part)

    def test_cycles_and_missing_things_are_refused(self):
        self.write("one.js", "import { two } from './two.js';\nexport function one() { return two; }\n")
        self.write("two.js", "import { one } from './one.js';\nexport const two = one;\n")
        self.refused("cycle", "one.js -> two.js -> one.js")
        self.write("one.js", "export const other = 1;\n")
        self.refused("one.js exports no one")
        (self.web / "one.js").unlink()
        self.refused("one.js", "No such file")

    def test_as_cpp_it_is_the_same_page(self):
        self.write("main.js", "console.log('é \\\\ \" ?? \\n 中文');\n")
        _, page = self.link()
        _, source = self.link("page.cc")
        literals = re.findall(r'^    "(.*)";?$', source, re.MULTILINE)
        data = b"".join(re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m.group(1), 8)]), part.encode()) for part in literals)
        self.assertEqual(data.decode(), page)


class ThePage(unittest.TestCase):
    def test_web_is_linked_without_a_request(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "page.html"
            subprocess.run([sys.executable, LINK, ROOT / "web", out], check=True)
            page = out.read_text(encoding="utf-8")
        markup, style = page[: page.index('<script type="module">')], re.search(r"<style>(.*?)</style>", page, re.DOTALL)
        self.assertEqual(re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', markup), [])
        self.assertEqual(re.findall(r"url\((?!data:)[^)]*\)", style.group(1)), [])

    def test_every_module_is_listed(self):
        listed = {line for line in (ROOT / "web/files.txt").read_text().splitlines() if not line.startswith("#")}
        there = {path.relative_to(ROOT / "web").as_posix() for path in (ROOT / "web").rglob("*") if path.is_file()}
        self.assertEqual(listed, there - {"files.txt", "context.js"})


if __name__ == "__main__":
    unittest.main()
