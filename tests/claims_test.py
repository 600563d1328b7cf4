#!/usr/bin/env python3
"""tools/claims on a list of its own, with a program that prints what a test says: what is wrong must be found.

    tests/claims_test.py
"""

import csv
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOOL = ROOT / "tools" / "claims" / "claims.py"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOOL.parent))

from failure import Failure
from page import shown
from places import evaluated, value_at

PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys, time
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
printed = json.loads((here / "prints.json").read_text())[sys.argv[1]]
if printed == "wait":
    (here / "waiting").touch()
    time.sleep(600)
if isinstance(printed, str):
    print(printed)
    print("program: first", "program: this went wrong", sep="\\n", file=sys.stderr)
    sys.exit(printed == "")
assert "--json" in sys.argv
print(json.dumps(printed))
"""
LIST = """
[models.small]
about = "the default one"
default = true

[models.other]
about = "another one"
import = ["../shared/no/such/model.bin"]

[runs.first]
model = "small"
command = "first 'a text'"

[runs.second]
command = "second"

[[claims]]
name = "sharp"
title = "Rows are sharp"
says = "A row looks at one key."
not_shown = "why."
[[claims.numbers]]
what = "weight on `it`"
number = "first:rows/0/keys/word=it/weight"
baseline = { even = ["first:rows/0/keys/*"] }
baseline_is = "an even look"
is = "above"
other = 0.75
other_is = "another program"
other_within = 0.001

[[claims]]
name = "quick"
title = "It is quick"
says = "A run takes a second."
not_shown = "more."
[[claims.numbers]]
what = "layers"
number = "second:layers"
baseline = 2
baseline_is = "all"
is = "equal"
[[claims.numbers]]
what = "seconds"
number = "second:seconds"
baseline = 0
baseline_is = "nothing"
is = "above"
timed = true
"""
MISSING_DATA = """
[runs.data]
command = "data ../shared/no/such/file.tsv"

[runs.model]
model = "other"
command = "first"

[[claims]]
name = "far"
title = "Far"
says = "It is far."
not_shown = "how far."
[[claims.numbers]]
what = "distance"
number = "data:distance"
baseline = 1
baseline_is = "near"
is = "above"
[[claims.numbers]]
what = "distance elsewhere"
number = "model:distance"
baseline = 1
baseline_is = "near"
is = "above"
"""


class Claims(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sightline-claims-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.list, self.page, self.values = (self.folder / name for name in ("list.toml", "page.md", "page.json"))
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.list.write_text(LIST)
        self.prints = {"first": {"rows": [{"keys": [{"word": "it", "weight": 0.75}, {"word": "was", "weight": 0.25}]}]},
                       "second": {"layers": 2, "seconds": 1.5}}  # fmt: skip

    def command(self, action, *options):
        (self.folder / "prints.json").write_text(json.dumps(self.prints))
        return [sys.executable, TOOL, action, "--claims", self.list, "--page", self.page, "--program", self.program, "--model", self.folder, *options]

    def run_tool(self, action, *options, status=0):
        done = subprocess.run(self.command(action, *options), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def generate(self):
        return self.run_tool("generate")

    def weight(self, value):
        self.prints["first"]["rows"][0]["keys"][0]["weight"] = value

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def test_page_says_what_was_measured_and_check_finds_it_so(self):
        self.generate()
        page = self.page.read_text()
        for part in ("| weight on `it` | 0.750 | above | 0.500, an even look | 0.750, another program |", "./sightline first 'a text'\n",
                     "| seconds (time) | 1.500 | above | 0, nothing |", "Does not show: why.", "[Rows are sharp](#rows-are-sharp)"):  # fmt: skip
            self.assertIn(part, page)
        self.assertIn("2 claims hold, 0 failed, 0 skipped; 2 numbers hold, 0 skipped, 1 times not checked", self.run_tool("check"))

    def test_a_run_is_run_once(self):
        self.list.write_text(LIST + LIST[LIST.index("[[claims]]") :].replace('"sharp"', '"sharp 2"').replace('"quick"', '"quick 2"'))
        self.generate()
        self.assertEqual(self.calls(), [f"first a text -m {self.folder} --json", "second --json"])

    def test_a_changed_number_is_found(self):
        self.generate()
        self.weight(0.7501)
        said = self.run_tool("check", status=1)
        self.assertIn("FAIL  sharp: weight on `it`: docs/claims.md says 0.75, measured 0.7501", said)
        self.assertIn("ok    quick", said)

    def test_a_changed_baseline_is_found(self):
        self.generate()
        self.prints["first"]["rows"][0]["keys"].append({"word": "x", "weight": 0})
        self.assertIn("FAIL  sharp: weight on `it`, baseline", self.run_tool("check", status=1))

    def test_a_changed_page_is_found(self):
        self.generate()
        self.page.write_text(self.page.read_text().replace("0.750 | above", "0.751 | above", 1))
        self.assertIn("FAIL  page.md is not what", self.run_tool("check", status=1))

    def test_changed_values_are_found(self):
        self.generate()
        self.values.write_text(self.values.read_text().replace("0.75", "0.7502"))
        self.assertIn("docs/claims.md says 0.7502, measured 0.75", self.run_tool("check", status=1))

    def test_a_changed_sentence_or_command_is_found(self):
        self.generate()
        for old, new in (("A row looks at one key.", "A row looks at all keys."), ("first 'a text'", "first 'b text'")):
            self.list.write_text(LIST.replace(old, new))
            self.assertIn("FAIL  page.md is not what", self.run_tool("check", status=1))

    def test_a_changed_page_is_found_where_all_is_skipped(self):
        self.generate()
        self.page.write_text(self.page.read_text() + "\n")
        shutil.rmtree(self.folder / "model", ignore_errors=True)
        said = self.run_tool("check", "--only", "sharp", "--model", self.folder / "model", status=1)
        self.assertIn("skip  sharp", said)

    def test_a_claim_without_values_is_found(self):
        self.generate()
        self.list.write_text(LIST.replace('"layers"', '"all layers"'))
        self.assertIn("other numbers", self.run_tool("check", status=1))
        self.values.unlink()
        self.run_tool("check", status=1)

    def test_a_missing_place_is_found(self):
        self.generate()
        self.prints["first"]["rows"][0]["keys"][0]["word"] = "its"
        self.assertIn("rows/0/keys/word=it/weight: 0 entries have word=it", self.run_tool("check", status=1))
        self.prints["second"] = {"seconds": 1}
        self.assertIn("layers: there is no layers", self.run_tool("check", status=1))

    def test_a_claim_that_does_not_hold_is_not_written(self):
        self.weight(0.4)
        said = self.run_tool("generate", status=1)
        self.assertIn("0.400 should be above 0.500, an even look", said)
        self.assertIn("0.400, where another program gives 0.750", said)
        self.assertFalse(self.page.exists() or self.values.exists())

    def test_what_is_no_number_is_found(self):
        for value in (None, True, [1], {"a": 1}):
            self.prints["second"]["layers"] = value
            self.run_tool("generate", status=1)
        self.prints["second"]["layers"] = "two"
        self.assertIn("should be equal", self.run_tool("generate", status=1))

    def test_times_are_neither_run_nor_checked(self):
        self.list.write_text(LIST.replace('"second:layers"', '"first:layers"'))
        self.prints["first"]["layers"] = 2
        self.generate()
        (self.folder / "calls").unlink()
        self.prints["second"]["seconds"] = 99
        self.assertIn("ok    quick: 1 numbers; 1 times, not checked", self.run_tool("check"))
        self.assertEqual(len(self.calls()), 1)

    def test_a_command_that_fails_is_named(self):
        self.generate()
        for printed, said in (("", "./sightline second: status 1: program: this went wrong"), ("text", "printed no JSON"),
                              ({"complete": False, "layers": 2}, "was stopped")):  # fmt: skip
            self.prints["second"] = printed
            self.assertIn(said, self.run_tool("check", status=1))
        self.run_tool("check", "--program", self.folder / "no_program", status=1)

    def test_what_is_missing_is_skipped_and_counted(self):
        self.generate()
        values = json.loads(self.values.read_text())
        values["far"] = {what: {"number": 3, "baseline": 1} for what in ("distance", "distance elsewhere")}
        self.values.write_text(json.dumps(values))
        self.list.write_text(LIST + MISSING_DATA)
        said = self.generate()  # what cannot be measured keeps the values that it has
        self.assertIn("skip  far: 2 skipped: no ../shared/no/such/file.tsv, no ../shared/no/such/model.bin", said)
        self.assertIn("| distance | 3 | above | 1, near |", self.page.read_text())
        self.assertIn("2 claims hold, 0 failed, 1 skipped; 2 numbers hold, 2 skipped", self.run_tool("check"))
        self.assertIn("0 numbers hold, 2 skipped", self.run_tool("check", "--only", "far", status=77))

    def test_what_was_never_measured_is_not_written(self):
        self.list.write_text(LIST + MISSING_DATA)
        self.assertIn("far, distance, was never measured", self.run_tool("generate", status=1))
        self.assertFalse(self.page.exists())

    def test_only_leaves_the_others_as_they_are(self):
        self.generate()
        self.weight(0.7505)
        self.prints["second"]["layers"] = 3
        self.run_tool("generate", "--only", "sharp")
        values = json.loads(self.values.read_text())
        self.assertEqual((values["sharp"]["weight on `it`"]["number"], values["quick"]["layers"]["number"]), (0.7505, 2))
        self.assertIn("there are: sharp, quick", self.run_tool("check", "--only", "dull", status=1))

    def test_measure_writes_nothing_and_says_what_holds(self):
        said = self.run_tool("measure")
        self.assertIn("weight on `it`: 0.750; an even look: 0.500", said)
        self.assertNotIn("layers", said)  # no claim about the default model
        self.weight(0.4)
        self.assertIn("FAIL  sharp", self.run_tool("measure", status=1))
        self.assertFalse(self.page.exists())

    def test_a_faulty_list_is_refused(self):
        faults = {
            "even = [": "evenly = [", '"second:layers"': '"third:layers"', 'is = "above"': 'is = "over"', 'not_shown = "why."': "",
            'name = "quick"': 'name = "sharp"', "baseline = 2": "baseline = true", 'command = "second"': 'command = "second --json"',
            'model = "small"': 'model = "large"', "timed = true": "timely = true", "other_within = 0.001": "", "[runs.first]": "[runs.first",
            'command = "second"\n': 'command = "second"\n[runs.third]\ncommand = "third"\n',
        }  # fmt: skip
        for old, new in faults.items():
            self.assertIn(old, LIST)
            self.list.write_text(LIST.replace(old, new, 1))
            said = self.run_tool("check", status=1)
            self.assertEqual(len(said.splitlines()), 1, said)

    def test_a_file_is_made_on_the_way(self):
        maker = self.folder / "maker.py"
        maker.write_text("import sys; open(sys.argv[2], 'w').write(sys.argv[1])")
        self.list.write_text(LIST.replace("first 'a text'", "first made.tsv") + f'[files."made.tsv"]\ncommand = "{maker} text made.tsv"\n')
        self.generate()
        self.assertRegex(self.calls()[0], r"^first /.*/made\.tsv -m ")
        self.assertIn(f"`{maker} text made.tsv` makes `made.tsv`.", self.page.read_text())
        self.assertIn("./sightline first made.tsv\n", self.page.read_text())

    def test_ends_when_asked_to(self):
        self.prints["second"] = "wait"
        for number in (signal.SIGINT, signal.SIGTERM):
            (self.folder / "waiting").unlink(missing_ok=True)
            with subprocess.Popen(self.command("generate"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tool:
                deadline = time.monotonic() + float(os.environ.get("SIGHTLINE_TEST_PATIENCE") or 60)
                while not (self.folder / "waiting").exists() and time.monotonic() < deadline:
                    time.sleep(0.02)
                tool.send_signal(number)
                printed, said = tool.communicate()
            self.assertEqual((tool.returncode, said), (128 + number, "claims: stopped\n"))
            self.assertIn("ok    sharp", printed)
            self.assertFalse(self.page.exists())


class Places(unittest.TestCase):
    VALUE = {"a/b": {"~": 1}, "list": [{"n": 1, "name": "x"}, {"n": 2, "name": "y"}, {"n": 2, "name": "z"}], "rows": [[1, 2], [3, 4]]}

    def test_paths(self):
        for path, expected in {
            "a~1b/~0": 1, "list/1/name": "y", "list/name=z/n": 2, "list/n=2&name=y/name": "y", "list/n=1&name=y/n": None,
            "list/*/n": [1, 2, 2], "list/0:2/n": [1, 2], "list/-1:/n": [2],
            "rows/*/1": [2, 4], "rows/*/*": [1, 2, 3, 4], "rows/n=1": None, "list/n=2/name": None, "list/3": None, "list/-1": None, "list/5:/n": None,
            "rows/0/0/x": None, "list/*/m": None, "": None,
        }.items():  # fmt: skip
            if expected is None:
                self.assertRaises(Failure, value_at, self.VALUE, path)
            else:
                self.assertEqual(value_at(self.VALUE, path), expected, path)

    def test_operations(self):
        for expression, expected in (
            ({"difference": ["r:list/1/n", 0.5]}, 1.5), ({"ratio": ["r:list/0/n", "r:list/1/n"]}, 0.5), ({"largest": ["r:rows"]}, 4),
            ({"smallest": ["r:rows/1"]}, 3), ({"mean": ["r:list/*/n"]}, 5 / 3), ({"count": ["r:list"]}, 3), ({"even": ["r:list"]}, 1 / 3),
            ({"largest_difference": ["r:rows/0", "r:rows/1"]}, 2), ("r:list/0/name", "x"), (3, 3), ("word", "word"),
        ):  # fmt: skip
            self.assertEqual(evaluated(expression, lambda _: self.VALUE), expected, expression)
        for expression in ({"ratio": [1, 0]}, {"largest_difference": ["r:rows/0", "r:list/*/n"]}, {"mean": ["r:list/*/name"]}, {"difference": ["r:rows", 1]}):
            self.assertRaises(Failure, evaluated, expression, lambda _: self.VALUE)


class Shown(unittest.TestCase):
    """A value as the page writes it."""

    def test_shares(self):
        for value, unit, digits, expected in (
            (0.5, "%", 1, "50.0 %"), (1, "%", 1, "100.0 %"), (1.0, "%", 0, "100 %"), (0, "%", 1, "0 %"), (1, "", 1, "1"), (2304, "", 3, "2,304"),
            (0.5, "nats", 2, "0.50 nats"), (1.264, "nats", -2, "1.3 nats"), ("a|b", "", 1, "a\\|b"),
        ):  # fmt: skip
            self.assertEqual(shown(value, types.SimpleNamespace(unit=unit, digits=digits)), expected)


class MadeUpNames(unittest.TestCase):
    """The table of made-up sentences: mentions stand where it says, and the nearer name is right in half of them."""

    def test_table(self):
        with open(ROOT / "tests" / "data" / "claims" / "names.tsv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        for row in rows:
            for name in ("Pronoun", "A", "B"):
                self.assertTrue(row["Text"][int(row[f"{name}-offset"]) :].startswith(row[name]), row)
            self.assertEqual({row["A-coref"], row["B-coref"]}, {"TRUE", "FALSE"})
        nearer = [max("AB", key=lambda name: int(row[f"{name}-offset"])) for row in rows]
        right = [row[f"{name}-coref"] == "TRUE" for row, name in zip(rows, nearer)]
        self.assertEqual((len(rows), sum(right)), (24, 12))


if __name__ == "__main__":
    unittest.main()
