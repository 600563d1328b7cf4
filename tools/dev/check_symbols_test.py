#!/usr/bin/env python3
"""Tests check_symbols.py on libraries compiled here: quiet ones pass, each breach is named."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).with_name("check_symbols.py")


def compile_to(path, text, *options):
    subprocess.run(["c++", "-x", "c++", "-", "-o", path, *options], input=text, text=True, check=True)


def check(mode, text):
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder, "library.a" if mode == "no-output" else "library.so")
        if mode == "no-output":
            compile_to(library.with_suffix(".o"), text, "-c")
            subprocess.run(["ar", "rcs", library, library.with_suffix(".o")], check=True)
        else:
            compile_to(library, text, "-shared", "-fPIC")
        done = subprocess.run([sys.executable, CHECK, mode, library], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


class CheckSymbols(unittest.TestCase):
    def test_library_that_only_computes_and_throws(self):
        code = "#include <cstdio>\nint f(char* out) { if (!out) throw 1; return std::snprintf(out, 9, \"%g\", 1.5); }"
        self.assertEqual(check("no-output", code), (0, ["nothing found"]))

    def test_output_and_ends_of_the_process(self):
        for header, statement, name in [
            ("cstdlib", "std::abort()", "abort"),
            ("cstdlib", "std::exit(1)", "exit"),
            ("cstdio", 'std::printf("%d", 1)', "printf"),
            ("iostream", "std::cout << 1", "std::cout"),
            ("iostream", "std::cerr.flush()", "std::cerr"),
        ]:
            code, lines = check("no-output", f"#include <{header}>\nvoid f() {{ {statement}; }}")
            self.assertEqual((code, lines), (1, [f"library.a(library.o) uses {name}"]))

    def test_exports(self):
        own = 'extern "C" void sightline_attention_f() {}\n'
        self.assertEqual(check("exports", own), (0, ["nothing found"]))
        self.assertEqual(check("exports", own + "void g(int) {}"), (1, ["library.so exports g(int)"]))
        self.assertEqual(check("exports", "static int h;"), (1, ["library.so exports no sightline_ symbol"]))


if __name__ == "__main__":
    unittest.main()
