#!/usr/bin/env python3
"""Tests tools/corpora/winograd.py on schemas made up here, and on the collection itself where ../shared is there.

    tests/corpora/winograd_test.py
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "corpora" / "winograd.py"
COLLECTION = ROOT.parent / "shared" / "data" / "coref" / "WSCollection.xml"
HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL"


def schema(before, pronoun, after, a, b, right):
    return f"""<schema><text><txt1>{before}</txt1><pron> {pronoun} </pron><txt2>{after}</txt2></text>
<quote><pron>{pronoun}</pron></quote><answers><answer>{a} </answer><answer> {b}</answer></answers>
<correctAnswer> {right}.  </correctAnswer><source> nobody </source></schema>"""


def collection(*schemas, prolog='<?xml version="1.0" encoding="UTF-8"?>\n'):
    return (prolog + "<collection>" + "\n".join(schemas) + "</collection>").encode()


JAR = schema("\nThe spoon fell into the jar\nbecause", "it", "was open. ", "the spoon", "The jar", "B")


class Winograd(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_tool(self, content):
        source, out = self.folder / "in.xml", self.folder / "out.tsv"
        source.write_bytes(content)
        done = subprocess.run([sys.executable, TOOL, source, out], capture_output=True, text=True, timeout=60)
        return done, out

    def rows(self, content):
        done, out = self.run_tool(content)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        lines = out.read_text(encoding="utf-8").split("\n")
        self.assertEqual((lines[0], lines[-1]), (HEADER, ""))
        rows = [line.split("\t") for line in lines[1:-1]]
        for row in rows:
            self.assertEqual(len(row), 11)
            for name, offset in ((2, 3), (4, 5), (7, 8)):
                self.assertTrue(row[1][int(row[offset]) :].startswith(row[name]), row)
        return rows

    def refusal(self, content):
        done, out = self.run_tool(content)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(out.exists())
        return done.stderr

    def test_schema_is_a_row(self):
        text = "The spoon fell into the jar because it was open."
        self.assertEqual(
            self.rows(collection(JAR)),
            [["winograd-1", text, "it", "36", "The spoon", "0", "FALSE", "the jar", "20", "TRUE", ""]],
        )

    def test_names_are_whole_words_nearest_before_the_pronoun(self):
        row = self.rows(collection(schema("Tom met Ed; Tom saw Ted's bottom and Edgar when", "he", "left Tom.", "Tom", "Ed", "A")))[0]
        self.assertEqual((row[4:7], row[7:10]), (["Tom", "12", "TRUE"], ["Ed", "8", "FALSE"]))

    def test_pronoun_may_come_first_or_last(self):
        first = self.rows(collection(schema("", "Her", "back to Eva, Ida left.", "Eva", "Ida", "B")))[0]
        self.assertEqual(first[1:6], ["Her back to Eva, Ida left.", "Her", "0", "Eva", "12"])
        last = self.rows(collection(schema("Eva left Ida, who missed", "her", ".", "Eva", "Ida", "A")))[0]
        self.assertEqual(last[1:4], ["Eva left Ida, who missed her.", "her", "25"])

    def test_offsets_count_characters(self):
        prolog = '<?xml version="1.0" encoding="ISO-8859-1"?>'
        content = collection(schema("Zoë saw René when", "she", "left.", "Zoë", "René", "A"), prolog=prolog)
        row = self.rows(content.decode().encode("latin-1"))[0]
        self.assertEqual(row[1:10], ["Zoë saw René when she left.", "she", "18", "Zoë", "0", "TRUE", "René", "8", "FALSE"])

    def test_entities_are_refused(self):
        laughs = '<!DOCTYPE c [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
        outside = f'<!DOCTYPE c [<!ENTITY x SYSTEM "file://{self.folder}/in.xml">]>'
        for prolog in (laughs, outside, "<!DOCTYPE collection>"):
            self.assertIn("has a document type", self.refusal(collection(JAR, prolog=prolog)))
        self.assertIn("is not XML", self.refusal(collection(JAR.replace("spoon", "&b;"))))

    def test_what_is_no_collection_is_refused(self):
        self.assertIn("is not XML", self.refusal(b""))
        self.assertIn("is not XML", self.refusal(b"<collection><schema>"))
        self.assertIn("is not XML", self.refusal(collection(JAR, prolog='<?xml version="1.0" encoding="none-such"?>')))
        self.assertIn("has no <schema>", self.refusal(collection()))
        self.assertIn("schema 2 names no 'the lid'", self.refusal(collection(JAR, JAR.replace("The jar", "the lid"))))
        for broken in (JAR.replace(" B. ", " C. "), JAR.replace("<answer> The jar</answer>", ""), JAR.replace("<pron> it </pron>", "")):
            self.assertIn("schema 1 has not one pronoun, two answers", self.refusal(collection(broken)))

    def test_files_that_cannot_be_read_or_written_are_named(self):
        for paths in (["none.xml", "out.tsv"], ["in.xml", "none/out.tsv"]):
            (self.folder / "in.xml").write_bytes(collection(JAR))
            done = subprocess.run([sys.executable, TOOL, *paths], cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn(": No such file or directory\n", done.stderr)

    def test_outputs_are_named_and_take_no_sources_place(self):
        source, link = self.folder / "in.xml", self.folder / "link.tsv"
        content = collection(JAR)
        source.write_bytes(content)
        link.symlink_to(source)
        for out, says in ((source, "would be written over"), (link, "would be written over"), ("/dev/full", "/dev/full: ")):
            done = subprocess.run([sys.executable, TOOL, source, out], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
            self.assertIn(says, done.stderr)
            self.assertEqual(source.read_bytes(), content)

    def test_collection_itself(self):
        if not COLLECTION.exists():
            self.skipTest(f"no {COLLECTION}")
        rows = self.rows(COLLECTION.read_bytes())
        self.assertEqual(len(rows), 285)
        self.assertEqual(sum(row[6] == "TRUE" for row in rows), 143)


if __name__ == "__main__":
    unittest.main()
