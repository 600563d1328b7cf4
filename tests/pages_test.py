#!/usr/bin/env python3
"""Code that a page of docs shows is code that is compiled: what stands between `// [docs/X.md` and `// docs/X.md]` in a
source is a block of that page."""
import pathlib
import re
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOWN = re.compile(r"^ *// \[(docs/\w+\.md)\n(.*?)^ *// \1\]\n", re.M | re.S)


class Pages(unittest.TestCase):
    def test_blocks_of_pages_are_compiled(self):
        pages = set()
        for folder in ("src", "tests", "examples"):
            for source in (ROOT / folder).rglob("*.cc"):
                for page, code in SHOWN.findall(source.read_text()):
                    pages.add(page)
                    block = "```cpp\n" + textwrap.dedent(code) + "```\n"
                    self.assertIn(block, (ROOT / page).read_text(), f"{source} and {page} differ")
        self.assertGreaterEqual(pages, {"docs/cache.md", "docs/functions.md", "docs/library.md"})


if __name__ == "__main__":
    unittest.main()
