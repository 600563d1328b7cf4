#!/usr/bin/env python3
"""Tests check_sources.py on small trees: a clean one passes, and each kind of breach alone is found."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).with_name("check_sources.py")
CLEAN = {
    "include/sightline/tensor.h": "#include <cstddef>\n",
    "src/cpu/exp.h": '#include "sightline/tensor.h"\n',
    "src/attention/kernel.cc": '#include "src/cpu/exp.h"\n#include "hwy/highway.h"\n#include "src/attention/state.h"\n',
    "src/attention/state.h": "\n" * 500,
    "cli/main.cc": '#include "src/attention/state.h"\n#include "cli/draw.h"\n',
    "cli/draw.h": "",
    "tests/all_test.cc": '#include "cli/draw.h"\n#include "src/attention/state.h"\n',
}


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


class CheckSources(unittest.TestCase):
    def assert_one_breach(self, name, text, expected):
        code, lines = check(CLEAN | {name: text})
        self.assertEqual((code, lines), (1, [expected]))

    def test_clean_tree(self):
        self.assertEqual(check(CLEAN), (0, []))

    def test_include_against_the_order(self):
        self.assert_one_breach(
            "src/cpu/exp.cc",
            '\n  #  include "src/attention/state.h"\n',
            'src/cpu/exp.cc:2: includes "src/attention/state.h": src/cpu comes before src/attention',
        )

    def test_public_header_includes_nothing_of_src(self):
        self.assert_one_breach(
            "include/sightline/tensor.h",
            '#include "src/cpu/exp.h"\n',
            'include/sightline/tensor.h:1: includes "src/cpu/exp.h": include/sightline comes before src/cpu',
        )

    def test_library_does_not_include_programs(self):
        self.assert_one_breach(
            "src/attention/kernel.cc",
            '#include "cli/draw.h"\n',
            'src/attention/kernel.cc:1: includes "cli/draw.h": src/attention comes before cli',
        )

    def test_programs_do_not_include_each_other(self):
        self.assert_one_breach(
            "bench/time.cc", '#include "cli/draw.h"\n', 'bench/time.cc:1: includes "cli/draw.h": bench comes before cli'
        )

    def test_relative_include(self):
        self.assert_one_breach(
            "src/cpu/exp.cc",
            '#include "../attention/state.h"\n',
            'src/cpu/exp.cc:1: includes "../attention/state.h": includes are written from the root',
        )

    def test_missing_file(self):
        self.assert_one_breach(
            "cli/main.cc",
            '#include "src/cpu/gone.h"\n',
            'cli/main.cc:1: includes "src/cpu/gone.h", which does not exist',
        )

    def test_long_file(self):
        self.assert_one_breach(
            "src/cpu/long.cc", "\n" * 501, "src/cpu/long.cc:501: is 501 lines long; 500 is the limit"
        )

    def test_long_function(self):
        body = '  call("}");  // }\n' * 80
        self.assert_one_breach(
            "src/cpu/long.cc",
            f"#include <cmath>\nnamespace a {{\nstruct B {{\n}};\nint f(int a,\n      int b) {{\n{body}}}\n}}\n",
            "src/cpu/long.cc:5: is a function of 83 lines; 80 is the limit",
        )
        self.assert_one_breach(
            "tools/long.py",
            "def f():\n" + "    call()\n" * 80,
            "tools/long.py:1: is a function of 81 lines; 80 is the limit",
        )

    def test_long_blocks_that_are_no_functions(self):
        lines = "  1,\n" * 90
        code = f"namespace a {{\nconstexpr int kTable[] = {{\n{lines}}};\nenum class B {{\n{lines}}};\n}}\n"
        self.assertEqual(check(CLEAN | {"src/cpu/table.cc": code}), (0, []))

    def test_end_of_the_process_in_the_library(self):
        for name in ("std::terminate", "abort", "std::exit", "::_exit", "quick_exit", "assert"):
            statement = f"void f() {{ {name}(); }}\n"
            self.assert_one_breach("src/cpu/end.cc", statement, f"src/cpu/end.cc:1: calls {name}: the library throws")
            self.assertEqual(check(CLEAN | {"cli/end.cc": statement, "src/cpu/end_test.cc": statement}), (0, []))
        self.assertEqual(check(CLEAN | {"src/cpu/end.cc": "static_assert(true);\nset_exit(1);\nvoid abort() { a.abort(), T::exit(); }\n"}), (0, []))

    def test_unfinished_work(self):
        word = "TO" + "DO"
        self.assert_one_breach("cli/draw.h", f"// {word}: more\n", f"cli/draw.h:1: says {word}")


if __name__ == "__main__":
    unittest.main()
