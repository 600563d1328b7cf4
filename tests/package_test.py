#!/usr/bin/env python3
"""Installs a build, moves the tree, and uses it as other people's builds do: CMake, pkg-config, C and C++.

    SIGHTLINE_BUILD=build tests/package_test.py

Nothing is fetched, and nothing outside a temporary folder is written. A build with static libraries alone is as good.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SIGHTLINE_BUILD", ROOT / "build")).resolve()
EXAMPLES = ["attend", "observe", "functions"]
DECODER = ROOT / "tests" / "data" / "tiny-decoder"
NO_DEPENDENCIES = ["-DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON"]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout + done.stderr


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="sightline-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        first = cls.top / "first"
        for component in ["development", "runtime"] + ["program"] * (BUILD / "sightline").is_file():
            code, output = run("cmake", "--install", BUILD, "--prefix", first, "--component", component)
            if code:
                raise RuntimeError(output)
        cls.first = first
        cls.prefix = cls.top / "moved" / "here"
        cls.prefix.parent.mkdir()
        first.rename(cls.prefix)
        cls.lib = next(cls.prefix.rglob("libsightline_attention.a")).parent
        cls.shared = (cls.lib / "libsightline.so").exists()
        cls.models = (cls.lib / "libsightline_model.a").exists()  # not where attention alone was built

    def must(self, *command, **options):
        code, output = run(*command, **options)
        self.assertEqual(code, 0, output)
        return output

    def project(self, name, text, *options):
        """Configures a project of one CMakeLists.txt; the exit code, the output and the build folder."""
        folder = self.top / name
        folder.mkdir(exist_ok=True)
        (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\n" + text, encoding="utf-8")
        prefix = f"-DCMAKE_PREFIX_PATH={self.prefix}"
        code, output = run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", prefix, *options)
        return code, " ".join(output.split()), folder / "build"

    def version(self):
        return re.search(r"project\(sightline VERSION ([0-9.]+) ", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]

    def test_program(self):
        program = self.prefix / "bin" / "sightline"
        if not program.exists():
            self.skipTest("this build has no program")
        self.assertTrue(self.must(program, "--version").startswith(f"sightline {self.version()}, arithmetic "))
        self.assertNotRegex(self.must("readelf", "--dynamic", "--wide", program), r"RPATH|RUNPATH")
        # What it runs beside itself came along.
        self.assertIn("all-MiniLM-L6-v2", self.must(program, "models"))
        for command in [["pull", "nothing"], ["import", "nothing", self.top / "out"]]:
            code, output = run(program, *command)
            self.assertEqual((code, output.count("\n")), (1, 1), output)
            self.assertRegex(output, "^sightline: .*nothing")

    def run_examples(self, folder):
        outputs = {name: self.must(folder / name) for name in EXAMPLES}
        self.assertTrue(outputs["attend"].startswith(f"Sightline {self.version()}, arithmetic "), outputs["attend"])
        self.assertIn("  0   0.0000  0 (1.0000)\n", outputs["observe"])
        self.assertIn("row 0: 0.4286\nrow 1: 0.2000\n", outputs["functions"])  # 3 / 7 and 1 / 5
        if not self.models:
            return
        lines = self.must(folder / "watch", DECODER, "the animal was").splitlines()
        self.assertRegex(lines[0], r"^layer  1: .* nats\)$")
        self.assertTrue(lines[-1].startswith("the animal was"), lines)
        self.check_generate(folder / "generate")
        for arguments in [("watch", self.top, "x"), ("generate", self.top, "x", "y")]:
            code, output = run(folder / arguments[0], *arguments[1:])
            self.assertEqual(code, 1)
            self.assertIn("config.json", output)

    def check_generate(self, program):
        """A line a token whose masses add up to 1 (no token begins the text), then the text, which the callback ended."""
        *lines, last = self.must(program, DECODER, "the cat sat", "was it tired?").splitlines()
        self.assertEqual(len(lines), 40, lines)
        texts = []
        for line in lines:
            masses = re.match(r"system ([0-9.]+)  question ([0-9.]+)  answer ([0-9.]+)  most: (\S+) *", line)
            self.assertAlmostEqual(sum(map(float, masses.groups()[:3])), 1, delta=0.021, msg=line)
            texts.append(line[masses.end():])
        self.assertEqual(float(re.search(r"answer ([0-9.]+)", lines[0])[1]), 0)
        self.assertTrue(last.endswith(" (cancelled)"), last)
        self.assertTrue(last.startswith("".join(texts).strip()), last)

    def test_examples_with_cmake(self):
        build = self.top / "with-cmake"
        self.must("cmake", "-S", ROOT / "examples", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.must("cmake", "--build", build)
        self.run_examples(build)

    def test_examples_with_pkg_config(self):
        out = self.top / "with-make"
        out.mkdir()
        pkg_config = "pkg-config" if self.shared else "pkg-config --static"
        self.must("make", "-C", ROOT / "examples", f"OUT={out}", f"PKG_CONFIG_PATH={self.lib / 'pkgconfig'}",
                  f"PKG_CONFIG={pkg_config}", "all", *["models"] * self.models)
        self.run_examples(out)

    def test_nothing_names_where_it_was_built(self):
        places = [re.escape(os.fsencode(place)) for place in (ROOT, BUILD, self.first)]
        place = re.compile(rb"(?<![\w.}>-])(" + b"|".join(places) + rb")\b")
        for path in filter(pathlib.Path.is_file, sorted(self.prefix.rglob("*"))):
            found = place.search(path.read_bytes())
            self.assertIsNone(found, path)

    def test_headers_stand_alone(self):
        include = self.prefix / "include"
        headers = sorted(include.rglob("*.h"))
        self.assertIn(include / "sightline" / "attention.h", headers)
        strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{include}"]
        for header in headers:
            name = header.relative_to(include)
            self.must("c++", "-std=c++20", "-x", "c++", "-", *strict, input=f"#include <{name}>\n")
        for name in ["sightline.h", "sightline_cache.h", "sightline_execution.h", "version.h"]:
            self.must("cc", "-std=c99", "-x", "c", "-", *strict, input=f"#include <sightline/{name}>\nint used;\n")

    def test_version_file(self):
        text = "project(p NONE)\nfind_package(sightline {} REQUIRED CONFIG COMPONENTS none)\n"
        for version, fits in [("0.1", True), ("0.1.0", True), ("0.2", False), ("0.0.9", False), ("1.0", False)]:
            _, output, _ = self.project("version", text.format(version))
            self.assertEqual("compatible with requested version" not in output, fits, output)

    def test_components(self):
        text = "project(p CXX)\nfind_package(sightline {})\nmessage(STATUS \"found ${{sightline_FOUND}}\"" \
               " \" ${{sightline_attention_FOUND}} ${{sightline_sightline_FOUND}}\")\n"
        for components, found in [
            ("", "1 TRUE TRUE"),
            ("COMPONENTS attention", "1 TRUE FALSE"),
            ("COMPONENTS sightline", "1 FALSE TRUE" if self.shared else "1 TRUE TRUE"),
            ("COMPONENTS sightline OPTIONAL_COMPONENTS attention", "1 TRUE TRUE"),
            ("COMPONENTS sightline OPTIONAL_COMPONENTS none", "1 FALSE TRUE" if self.shared else "1 TRUE TRUE"),
            *[("COMPONENTS model", "1 TRUE FALSE")] * self.models,
        ]:
            _, output, _ = self.project("components", text.format(components), "--fresh")
            self.assertIn(f"found {found}", output)
        code, output, _ = self.project("components", text.format("REQUIRED COMPONENTS sightline none"), "--fresh")
        self.assertNotEqual(code, 0)
        self.assertIn("there is no component none: attention, sightline or model", output)

    def test_attention_without_what_it_is_built_on(self):
        text = "project(p CXX)\nfind_package(sightline REQUIRED COMPONENTS attention)\n"
        code, output, _ = self.project("without", text, *NO_DEPENDENCIES)
        self.assertNotEqual(code, 0)
        self.assertIn("component attention needs Highway and oneTBB", output)

    def test_models_without_what_they_are_built_on(self):
        if not self.models:
            self.skipTest("this build has attention alone")
        text = "project(p CXX)\nfind_package(sightline REQUIRED COMPONENTS model)\n"
        code, output, _ = self.project("without-fmt", text, "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON")
        self.assertNotEqual(code, 0)
        self.assertIn("component model needs Highway, oneTBB, fmt, ICU, PCRE2 and xxHash (Debian: libhwy-dev", output)

    def test_c_library_needs_neither_cpp_nor_what_it_is_built_on(self):
        if not self.shared:
            self.skipTest("this build has static libraries alone")
        text = (
            "project(p C)\nfind_package(sightline REQUIRED COMPONENTS sightline)\n"
            f"add_executable(attend {ROOT}/examples/attend.c)\n"
            "target_link_libraries(attend PRIVATE sightline::sightline m)\n"
        )
        code, output, build = self.project("c-alone", text, *NO_DEPENDENCIES)
        self.assertEqual(code, 0, output)
        self.must("cmake", "--build", build)
        self.assertIn("looks most at", self.must(build / "attend"))

    def test_shared_library_as_the_loader_sees_it(self):
        if not self.shared:
            self.skipTest("this build has static libraries alone")
        library = self.lib / "libsightline.so"
        self.assertRegex(os.readlink(library), r"^libsightline\.so\.\d+$")
        dynamic = self.must("readelf", "--dynamic", "--wide", library)
        self.assertRegex(dynamic, r"SONAME\).*\[libsightline\.so\.0\]")
        self.assertRegex(dynamic, r"FLAGS.*(BIND_NOW|NOW)")
        self.assertNotRegex(dynamic, r"RPATH|RUNPATH|TEXTREL")
        needed = set(re.findall(r"NEEDED\).*\[(.*?)\.so", dynamic))
        self.assertLessEqual(needed, {"libhwy", "libtbb", "libstdc++", "libgcc_s", "libm", "libc", "ld-linux-x86-64", "ld-linux-aarch64"})
        segments = self.must("readelf", "--segments", "--wide", library)
        self.assertRegex(segments, r"GNU_STACK .* RW +0x")
        self.assertIn("GNU_RELRO", segments)


class Subproject(unittest.TestCase):
    """Sightline by add_subdirectory: configured only, which is where it could do harm."""

    PARENT = f"""
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DPARENT")
get_cmake_property(before VARIABLES)
add_subdirectory({ROOT} sightline)
foreach(name CMAKE_CXX_STANDARD CMAKE_CXX_FLAGS_RELEASE CMAKE_CXX_FLAGS CMAKE_BUILD_TYPE
    CMAKE_POSITION_INDEPENDENT_CODE BUILD_TESTING BUILD_SHARED_LIBS SIGHTLINE_ATTENTION_ONLY SIGHTLINE_BENCH)
  message(STATUS "${{name}}=${{${{name}}}};")
endforeach()
foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FEATURES LINK_OPTIONS INCLUDE_DIRECTORIES)
  get_target_property(value sightline_attention INTERFACE_${{property}})
  message(STATUS "${{property}}=${{value}};")
endforeach()
if(NOT TARGET sightline::attention OR NOT TARGET sightline::sightline)
  message(FATAL_ERROR "a target is missing")
endif()
"""

    def test_parent_stays_as_it_was(self):
        with tempfile.TemporaryDirectory(prefix="sightline-parent-") as top:
            pathlib.Path(top, "CMakeLists.txt").write_text(self.PARENT, encoding="utf-8")
            code, output = run("cmake", "-S", top, "-B", f"{top}/build", "-G", "Ninja")
            self.assertEqual(code, 0, output)
            for line in [
                "CMAKE_CXX_STANDARD=17", "CMAKE_CXX_FLAGS_RELEASE=-O2 -DPARENT", "CMAKE_CXX_FLAGS=",
                "CMAKE_BUILD_TYPE=", "CMAKE_POSITION_INDEPENDENT_CODE=", "BUILD_TESTING=", "BUILD_SHARED_LIBS=",
                "SIGHTLINE_ATTENTION_ONLY=ON", "SIGHTLINE_BENCH=OFF", "COMPILE_OPTIONS=value-NOTFOUND",
                "COMPILE_DEFINITIONS=value-NOTFOUND", "COMPILE_FEATURES=cxx_std_20", "LINK_OPTIONS=value-NOTFOUND",
            ]:  # fmt: skip
                self.assertIn(f"-- {line};\n", output)
            self.assertNotIn(f"<BUILD_INTERFACE:{ROOT}>", output)
            _, tests = run("ctest", "--test-dir", f"{top}/build", "-N")
            self.assertIn("Total Tests: 0", tests)
            prefix = pathlib.Path(top, "prefix")
            self.assertEqual(run("cmake", "--install", f"{top}/build", "--prefix", prefix)[0], 0)
            self.assertFalse(prefix.exists())


if __name__ == "__main__":
    unittest.main()
