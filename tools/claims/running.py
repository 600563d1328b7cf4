"""Runs the commands of claims, each once, and gives what they print."""

import json
import os
import pathlib
import shlex
import subprocess
import sys

from failure import Failure, Missing

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMPORT = ROOT / "tools" / "import" / "import_model.py"
# Debian's NumPy, which tools/import needs, belongs to the system's interpreter.
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
PATIENCE = 1800  # seconds: what takes longer hangs


def default_model():
    """Where the default model is, as tests find it."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return os.environ.get("SIGHTLINE_MINILM") or str(pathlib.Path(cache) / "sightline" / "all-MiniLM-L6-v2")


def shown_command(run):
    """The command as a reader types it, with --json left out."""
    parts = ["./sightline", *run.command]
    if run.model and not run.model.default:
        parts += ["-m", run.model.path or run.model.name]
    return " ".join(quoted(part) for part in parts)


def quoted(argument):
    """As in a shell, with double quotes where a sentence has an apostrophe."""
    if "'" in argument and not any(c in argument for c in '"$`\\!'):
        return f'"{argument}"'
    return shlex.quote(argument)


def check_there(arguments):
    """Throws Missing for a path beside the checkout that is not there."""
    for argument in arguments:
        if argument.startswith("../") and not (ROOT / argument).exists():
            raise Missing(f"no {argument}")


class Runner:
    """What commands print, each run once; `scratch` is a directory for models and files that are made on the way."""

    def __init__(self, claims, program, model, scratch):
        self.claims, self.program, self.scratch = claims, program, pathlib.Path(scratch)
        self.default = model or default_model()
        self.done = {}  # of a run its JSON, or what it ended with

    def __call__(self, name):
        if name not in self.done:
            try:
                self.done[name] = self.run(self.claims.runs[name])
            except (Failure, Missing) as problem:
                self.done[name] = problem
        if isinstance(self.done[name], Exception):
            raise self.done[name]
        return self.done[name]

    def run(self, run):
        check_there(run.command)
        arguments = [self.file(argument) if argument in self.claims.files else argument for argument in run.command]
        if run.model:
            arguments += ["-m", self.model(run.model)]
        printed = self.printed([self.program, *arguments, "--json"], shown_command(run))
        try:
            found = json.loads(printed)
        except ValueError:
            raise Failure(f"{shown_command(run)}: printed no JSON") from None
        if isinstance(found, dict) and found.get("complete") is False:
            raise Failure(f"{shown_command(run)}: was stopped")
        return found

    def printed(self, command, shown):
        try:
            done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"{shown}: took more than {PATIENCE} s") from None
        except OSError as error:
            raise Failure(f"{command[0]}: {error.strerror}") from None
        if done.returncode == -2 or done.returncode == 130:
            raise Failure(f"{shown}: was stopped")
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing was said"]
            raise Failure(f"{shown}: status {done.returncode}: {said[-1]}")
        return done.stdout

    def model(self, model):
        if model.default:
            if not pathlib.Path(self.default).exists():
                raise Missing(f"no {model.name} in {self.default}")
            return self.default
        if model.path:
            return model.path
        check_there(model.source)
        directory = self.scratch / model.name
        if not directory.exists():
            self.import_model(model, directory)
        return str(directory)

    def import_model(self, model, directory):
        if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode != 0:
            raise Missing(f"no NumPy, to import {model.name}")
        source, *options = model.source
        self.printed([PYTHON, str(IMPORT), source, str(directory), *options], f"import of {model.name}")

    def file(self, name):
        """A file that a tool makes, which takes its name among its arguments."""
        command, path = self.claims.files[name], self.scratch / name
        check_there(command)
        if not path.exists():
            self.printed([sys.executable, *(str(path) if argument == name else argument for argument in command)], command[0])
        return str(path)
