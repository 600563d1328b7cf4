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


def check(mode, text, *options, shared=False):
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder, "library.so" if shared else "library.a")
        if shared:
            compile_to(library, text, "-shared", "-fPIC")
        else:
            compile_to(library.with_suffix(".o"), text, "-c")
            subprocess.run(["ar", "rcs", library, library.with_suffix(".o")], check=True)
        done = subprocess.run(
            [sys.executable, CHECK, mode, *options, library], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout.splitlines()


QUIET = """
#include <cstdio>
#include <sstream>
struct A { ~A(); };
void g();
int f(char* out) {
  if (!out) throw 1;
  std::ostringstream text;
  text << 1.5;
  return std::snprintf(out, 9, "%s", text.str().c_str());
}
void h() noexcept { A a; g(); }
"""
LOUD = [
    ("cstdlib", "std::abort()", "abort"),
    ("cstdlib", "std::exit(1)", "exit"),
    ("cstdlib", "std::quick_exit(1)", "quick_exit"),
    ("cstdlib", "std::system(\"a\")", "system"),
    ("unistd.h", "_exit(1)", "_exit"),
    ("csignal", "std::raise(6)", "raise"),
    ("cassert", "assert(getenv(\"a\"))", "__assert_fail"),
    ("cstdio", 'std::printf("%d", 1)', "printf"),
    ("cstdio", 'std::printf("a\\n")', "puts"),
    ("cstdio", 'std::fprintf(stderr, "ab")', "fwrite"),
    ("cstdio", 'std::fprintf(stderr, "%d", 1)', "fprintf"),
    ("cstdio", "std::putchar(65)", "putchar"),
    ("cstdio", "std::fputc(65, stdout)", "stdout"),
    ("cstdio", 'std::perror("a")', "perror"),
    ("cstdio", 'dprintf(2, "%d", 1)', "dprintf"),
    ("unistd.h", 'if (write(1, "a", 1)) return', "write"),
    ("iostream", "std::cout << 1", "std::cout"),
    ("iostream", "std::cerr.flush()", "std::cerr"),
    ("iostream", "", "std::ios_base::Init::Init()"),
    ("unistd.h", "fork()", "fork"),
]


class CheckSymbols(unittest.TestCase):
    def test_library_that_only_computes_and_throws(self):
        for shared in (False, True):
            self.assertEqual(check("no-output", QUIET.replace("~A();", "~A() {}").replace("void g();", "void g() {}"),
                                   shared=shared), (0, ["nothing found"]))
        self.assertEqual(check("no-output", QUIET), (0, ["nothing found"]))

    def test_output_and_ends_of_the_process(self):
        for header, statement, name in LOUD:
            code, lines = check("no-output", f"#include <cstdlib>\n#include <{header}>\nvoid f() {{ {statement}; }}")
            self.assertEqual(code, 1, name)
            self.assertIn(f"library.a(library.o) uses {name}", lines)

    def test_output_of_a_shared_library(self):
        code, lines = check("no-output", "#include <cstdlib>\nvoid f() { std::abort(); }", shared=True)
        self.assertEqual((code, lines), (1, ["library.so(library.so) uses abort"]))

    def test_names_that_are_allowed(self):
        text = '#include <unistd.h>\nint f() { return write(1, "a", 1); }'
        self.assertEqual(check("no-output", text, "--allow", "write"), (0, ["nothing found"]))
        self.assertEqual(check("no-output", text, "--allow", "writes")[0], 1)

    def test_exports(self):
        own = 'extern "C" void sightline_attention_f() {}\n'
        self.assertEqual(check("exports", own, shared=True), (0, ["nothing found"]))
        self.assertEqual(check("exports", own + "void g(int) {}", shared=True), (1, ["library.so exports g(int)"]))
        self.assertEqual(check("exports", "static int h;", shared=True), (1, ["library.so exports no sightline_ symbol"]))


if __name__ == "__main__":
    unittest.main()
