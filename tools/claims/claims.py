#!/usr/bin/env python3
"""Measures the claims of claims.toml, and keeps docs/claims.md true.

    tools/claims/claims.py generate            runs every command, writes docs/claims.md and its values, docs/claims.json
    tools/claims/claims.py check               runs them again, and compares with both
    tools/claims/claims.py measure --model M   measures claims about the default model on another one; writes nothing

`check` prints a line a claim, and a line for each number that is not as docs/claims.md has it. It exits with 0, 1 where a number, a command or
the page is wrong, 77 where nothing could be measured here, 2 for usage, 128 + the signal that ended it. A number whose model or data is
not there is skipped, and counted. Times are not checked. In the environment: SIGHTLINE, the program; SIGHTLINE_MINILM, the default model.
"""

import argparse
import dataclasses
import functools
import json
import math
import os
import pathlib
import signal
import sys
import tempfile

sys.dont_write_bytecode = True  # the tools may lie where others write nothing

from claim_list import RELATIONS, read_list
from failure import Failure, Missing
from page import page, shown
from places import evaluated
from running import ROOT, Runner

LIST = pathlib.Path(__file__).resolve().parent / "claims.toml"
PAGE = ROOT / "docs" / "claims.md"
SKIPPED = 77
DIGITS = 9  # of a value that is kept


class Stopped(BaseException):
    """A signal asks to end; its number."""


def on_signal(number, _frame):
    raise Stopped(number)


def say(text):
    print(text, flush=True)


def absolute(path):
    """Commands run from the root of the checkout."""
    return os.path.abspath(path) if path else path


def kept(value):
    """A value as docs/claims.json keeps it."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def measured(number, runner):
    """{"number", "baseline"}, as kept. Throws Failure and Missing."""
    try:
        found = {"number": evaluated(number.number, runner), "baseline": evaluated(number.baseline, runner)}
    except Failure as failure:
        raise Failure(f"{number.what}: {failure}") from None
    for value in found.values():
        if isinstance(value, bool) or not isinstance(value, (int, float, str)) or isinstance(value, float) and not math.isfinite(value):
            raise Failure(f"{number.what}: {json.dumps(value)[:40]} is neither a number nor a word")
    return {key: kept(value) for key, value in found.items()}


def unlike_claim(number, value):
    """What is wrong with a value by itself: lines."""
    wrong = []
    try:
        holds = RELATIONS[number.relation](value["number"], value["baseline"])
    except TypeError:
        return [f"{number.what}: {value['number']} and {value['baseline']} cannot be compared"]
    if not holds:
        wrong.append(f"{number.what}: {shown(value['number'], number)} should be {number.relation} {shown(value['baseline'], number)}, "
                     f"{number.baseline_is}")
    if number.other is not None and abs(value["number"] - number.other) > number.other_within:
        wrong.append(f"{number.what}: {shown(value['number'], number)}, where {number.other_is} gives {shown(number.other, number)}")
    return wrong


def unlike_page(number, value, stored):
    """What differs from the page: lines."""
    wrong = []
    for key in ("number", "baseline"):
        now, then = value[key], stored[key]
        numeric = isinstance(now, (int, float)) and isinstance(then, (int, float))
        same = math.isclose(now, then, rel_tol=number.tolerance, abs_tol=1e-12) if numeric else now == then
        if not same:
            label = number.what if key == "number" else f"{number.what}, baseline"
            wrong.append(f"{label}: docs/claims.md says {then}, measured {now}")
    return wrong


@dataclasses.dataclass
class Outcome:
    """What came of a claim."""

    wrong: list = dataclasses.field(default_factory=list)  # lines
    skipped: list = dataclasses.field(default_factory=list)  # reasons, one a number
    good: int = 0
    timed: int = 0

    def line(self):
        parts = [f"{self.good} numbers"] if self.good else []
        parts += [f"{self.timed} times, not checked"] if self.timed else []
        parts += [f"{len(self.skipped)} skipped: {', '.join(dict.fromkeys(self.skipped))}"] if self.skipped else []
        return "; ".join(parts)


class Tally:
    """Prints a line a claim, and counts."""

    def __init__(self):
        self.claims = {"ok": 0, "skip": 0, "FAIL": 0}
        self.numbers = Outcome()

    def add(self, claim, outcome):
        verdict = "FAIL" if outcome.wrong else "ok" if outcome.good or outcome.timed else "skip"
        self.claims[verdict] += 1
        self.numbers.good += outcome.good
        self.numbers.timed += outcome.timed
        self.numbers.skipped += outcome.skipped
        for line in outcome.wrong or [outcome.line()]:
            say(f"{verdict:4}  {claim.name}: {line}")

    def total(self):
        numbers = self.numbers
        say(f"{self.claims['ok']} claims hold, {self.claims['FAIL']} failed, {self.claims['skip']} skipped; "
            f"{numbers.good} numbers hold, {len(numbers.skipped)} skipped, {numbers.timed} times not checked")  # fmt: skip

    def status(self):
        return 1 if self.claims["FAIL"] else 0 if self.numbers.good else SKIPPED


class Measuring:
    def __init__(self, options, scratch):
        self.claims = read_list(options.claims)
        self.page, self.store = options.page, options.page.with_suffix(".json")
        self.runner = Runner(self.claims, absolute(options.program), absolute(options.model), scratch)
        self.chosen, self.tally = self.choose(options.only), Tally()

    def choose(self, only):
        names = [claim.name for claim in self.claims.claims]
        if unknown := [name for name in only if name not in names]:
            raise Failure(f"there is no claim {unknown[0]}; there are: {', '.join(names)}")
        return [claim for claim in self.claims.claims if not only or claim.name in only]

    def stored(self):
        try:
            return json.loads(self.store.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise Failure(f"{self.store}: {error}") from None

    def each(self, numbers, unlike):
        """Measures numbers(claim) of each claim; unlike(claim, number, value) gives lines about what is wrong."""
        for claim in self.chosen:
            outcome = Outcome(timed=len(claim.numbers) - len(numbers(claim)))
            for number in numbers(claim):
                self.one(outcome, number, functools.partial(unlike, claim))
            self.tally.add(claim, outcome)
        self.tally.total()

    def one(self, outcome, number, unlike):
        try:
            wrong = unlike(number, measured(number, self.runner))
        except Missing as missing:
            outcome.skipped.append(str(missing))
            return
        except Failure as failure:
            wrong = [str(failure)]
        outcome.wrong += wrong
        outcome.good += not wrong

    def generate(self):
        before, values = self.stored(), {claim.name: {} for claim in self.claims.claims}

        def unlike(claim, number, value):
            values[claim.name][number.what] = value
            return unlike_claim(number, value)

        self.each(lambda claim: claim.numbers, unlike)
        if self.tally.claims["FAIL"]:
            raise Failure("nothing was written: a claim that does not hold does not go into docs")
        for claim in self.claims.claims:
            values[claim.name] = {number.what: self.value_for_page(claim, number, values, before) for number in claim.numbers}
        text = page(self.claims, values)
        self.page.write_text(text, encoding="utf-8")
        self.store.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return 0

    @staticmethod
    def value_for_page(claim, number, values, before):
        """The one just measured; of what was not chosen or could not be measured here, the one that docs have."""
        found = values[claim.name].get(number.what) or before.get(claim.name, {}).get(number.what)
        if not found:
            raise Failure(f"nothing was written: {claim.name}, {number.what}, was never measured")
        return found

    def check(self):
        values = self.stored()
        drifted = not self.page.exists() or page(self.claims, values) != self.page.read_text(encoding="utf-8")
        if drifted:
            say(f"FAIL  {self.page.name} is not what the list and {self.store.name} come to: run tools/claims/claims.py generate")

        def unlike(claim, number, value):
            return unlike_claim(number, value) + unlike_page(number, value, values[claim.name][number.what])

        self.each(lambda claim: [number for number in claim.numbers if not number.timed], unlike)
        return 1 if drifted else self.tally.status()

    def measure(self):
        def unlike(_claim, number, value):
            say(f"      {number.what}: {shown(value['number'], number)}; {number.baseline_is}: {shown(value['baseline'], number)}")
            return unlike_claim(dataclasses.replace(number, other=None), value)

        self.chosen = [claim for claim in self.chosen if any(model.default for model in self.claims.models_of(claim))]
        self.each(lambda claim: claim.numbers, unlike)
        return self.tally.status()


def parse(arguments):
    parser = argparse.ArgumentParser(description="Measures the claims of tools/claims/claims.toml, and keeps docs/claims.md true.")
    parser.add_argument("action", choices=["generate", "check", "measure"],
                        help="write docs/claims.md; compare with it; or show numbers and write nothing")  # fmt: skip
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="this claim alone; may be given again")
    parser.add_argument("--model", metavar="DIR", help="in place of the default model")
    parser.add_argument("--program", default=os.environ.get("SIGHTLINE") or str(ROOT / "sightline"), help="default: ./sightline")
    parser.add_argument("--claims", metavar="FILE", type=pathlib.Path, default=LIST, help="another list")
    parser.add_argument("--page", metavar="FILE", type=pathlib.Path, default=PAGE, help="another page; its values stand beside it, in .json")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    try:
        with tempfile.TemporaryDirectory(prefix="sightline-claims-") as scratch:
            return getattr(Measuring(options, scratch), options.action)()
    except Failure as failure:
        print(f"claims: {failure}", file=sys.stderr)
        return 1
    except Stopped as stopped:
        print("claims: stopped", file=sys.stderr)
        return 128 + stopped.args[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
