"""The list of claims, claims.toml, as it is read and checked.

    [models.NAME]   about = "..."; and one of: default = true (the launcher's model), path = "DIR" from the root, import = [SOURCE, options...]
    [files.NAME]    command = "TOOL ARGUMENTS", one of which is NAME, the file that it makes; runs name it so, too
    [runs.NAME]     command = "look TEXT ...", without --json and -m; model = NAME, where it reads one
    [[claims]]      name, title, says, not_shown, and [[claims.numbers]]

A number: what it is; `number`, an expression (places.py); `baseline`, another, and baseline_is, what that is; `is`, how they compare; optional are
`other`, the same measured with other software (`other_is`) and how near it must come (`other_within`); `digits` (below 0: significant ones), `unit`, `tolerance`
(relative, against the value that the page has), `timed` (differs from run to run: shown, not checked).
"""

import dataclasses
import math
import pathlib
import shlex
import tomllib

from failure import Failure
from places import check_expression, places_of

RELATIONS = {
    "above": lambda number, baseline: number > baseline,
    "below": lambda number, baseline: number < baseline,
    "equal": lambda number, baseline: number == baseline,
    "near": lambda number, baseline: math.isclose(number, baseline, rel_tol=1e-4),
    "not above": lambda number, baseline: number <= baseline,
}


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    about: str
    default: bool = False
    path: str = ""
    source: tuple = ()


@dataclasses.dataclass(frozen=True)
class Run:
    name: str
    command: tuple
    model: Model | None


@dataclasses.dataclass(frozen=True)
class Number:
    what: str
    number: object
    baseline: object
    baseline_is: str
    relation: str
    other: float | None = None
    other_is: str = ""
    other_within: float = 0.0
    digits: int = 3
    unit: str = ""
    tolerance: float = 1e-6
    timed: bool = False

    def runs(self):
        """Names of the runs that it reads, in order, each once."""
        return list(dict.fromkeys(place.partition(":")[0] for place in places_of(self.number) + places_of(self.baseline)))


@dataclasses.dataclass(frozen=True)
class Claim:
    name: str
    title: str
    says: str
    not_shown: str
    numbers: tuple

    def runs(self):
        return list(dict.fromkeys(run for number in self.numbers for run in number.runs()))


@dataclasses.dataclass(frozen=True)
class ClaimList:
    models: dict
    files: dict
    runs: dict
    claims: tuple

    def models_of(self, claim):
        found = (self.runs[run].model for run in claim.runs())
        return list(dict.fromkeys(model for model in found if model))


def made(kind, values, where, **renamed):
    """A dataclass from a table of the file."""
    values = {renamed.get(key, key): value for key, value in values.items()}
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if unknown := sorted(set(values) - set(fields)):
        raise Failure(f"{where}: {unknown[0]} means nothing here")
    lacking = [name for name, field in fields.items() if field.default is dataclasses.MISSING and name not in values]
    if lacking:
        raise Failure(f"{where}: {lacking[0]} is missing")
    return kind(**values)


def read_number(values, where):
    number = made(Number, values, where, **{"is": "relation"})
    if number.relation not in RELATIONS:
        raise Failure(f"{where}: is = one of {', '.join(RELATIONS)}")
    if (number.other is None) != (number.other_is == "") or (number.other is not None and number.other_within <= 0):
        raise Failure(f"{where}: other, other_is and other_within go together")
    for expression in (number.number, number.baseline):
        check_expression(expression)
    if not number.runs():
        raise Failure(f"{where}: nothing is measured")
    return number


def read_claim(values):
    where = f"claim {values.get('name', '?')}"
    entries = values.get("numbers", [])
    try:
        numbers = tuple(read_number(entry, f"{where}, {entry.get('what', '?')}") for entry in entries)
    except Failure as failure:
        raise failure if str(failure).startswith(where) else Failure(f"{where}: {failure}") from None
    if not numbers or len({number.what for number in numbers}) != len(numbers):
        raise Failure(f"{where}: needs numbers, each with a name of its own")
    return made(Claim, values | {"numbers": numbers}, where)


def read_file_command(name, values):
    command = tuple(shlex.split(values.get("command", "")))
    if name not in command[1:]:
        raise Failure(f"file {name}: a command that makes {name} was expected")
    return command


def read_run(name, values, models):
    where = f"run {name}"
    command = tuple(shlex.split(values.get("command", "")))
    if not command or "--json" in command or "-m" in command:
        raise Failure(f"{where}: a command without -m and --json was expected")
    if (model := values.get("model")) is not None and model not in models:
        raise Failure(f"{where}: there is no model {model}")
    return made(Run, values | {"name": name, "command": command, "model": models.get(model)}, where)


def read_list(path):
    """Throws Failure, which names what is wrong with it."""
    try:
        found = tomllib.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure(f"{path}: {error}") from None
    models = {}
    for name, values in found.get("models", {}).items():
        if "import" in values:
            values = values | {"import": tuple(values["import"])}
        models[name] = made(Model, values | {"name": name}, f"model {name}", **{"import": "source"})
    files = {name: read_file_command(name, values) for name, values in found.get("files", {}).items()}
    runs = {name: read_run(name, values, models) for name, values in found.get("runs", {}).items()}
    claims = tuple(read_claim(values) for values in found.get("claims", []))
    check_names(runs, claims)
    return ClaimList(models, files, runs, claims)


def check_names(runs, claims):
    named = [claim.name for claim in claims]
    if twice := [name for name in named if named.count(name) > 1]:
        raise Failure(f"claim {twice[0]} is there twice")
    for claim in claims:
        for run in claim.runs():
            if run not in runs:
                raise Failure(f"claim {claim.name}: there is no run {run}")
    read = {run for claim in claims for run in claim.runs()}
    if unread := [run for run in runs if run not in read]:
        raise Failure(f"run {unread[0]}: no claim reads it")
