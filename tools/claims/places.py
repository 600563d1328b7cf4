"""Places in JSON, and the few sums over them that claims need.

A place is RUN:PATH, steps with "/" between, as in a JSON pointer:

    explanations/0/keys/token=2/weight    a member, an entry of a list, the one entry whose "token" is 2
    heads/layer=4&head=2/score            the one whose "layer" is 4 and whose "head" is 2
    tokens/0:9/log_probability            of entries 0 to 8 each; `*` of all

With a slice or `*` a place is a list of values, else one value.
"""

import json
import math
import re
import statistics

from failure import Failure

SLICE = re.compile(r"(-?\d*):(-?\d*)")
CHOICE = re.compile(r"\w+=[^&]*(&\w+=[^&]*)*")


def found_entry(values, choice):
    """The one entry of a list of objects that reads so under each key."""
    wanted = [part.partition("=")[::2] for part in choice.split("&")]
    objects = [value for value in values if isinstance(value, dict)]
    found = [value for value in objects if all(key in value and spelt(value[key]) == text for key, text in wanted)]
    if len(found) != 1:
        raise Failure(f"{len(found)} entries have {choice}")
    return found[0]


def spelt(value):
    return value if isinstance(value, str) else json.dumps(value)


def stepped(value, step):
    """(what one step leads to, whether that is several values)."""
    if isinstance(value, dict):
        if step not in value:
            raise Failure(f"there is no {step}")
        return value[step], False
    if not isinstance(value, list):
        raise Failure(f"there is nothing below {spelt(value)[:40]}")
    if step == "*":
        return value, True
    if part := SLICE.fullmatch(step):
        begin, end = (int(bound) if bound else None for bound in part.groups())
        return value[begin:end], True
    if CHOICE.fullmatch(step):
        return found_entry(value, step), False
    if not re.fullmatch(r"\d+", step) or int(step) >= len(value):
        raise Failure(f"a list of {len(value)} has no {step}")
    return value[int(step)], False


def value_at(value, path):
    """What stands at `path`. Throws Failure, which names the path, where nothing does."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]
    several, values = False, [value]
    try:
        for step in steps:
            reached = [stepped(each, step) for each in values]
            if any(many for _, many in reached):
                several, values = True, [each for entries, _ in reached for each in entries]
            else:
                values = [each for each, _ in reached]
    except Failure as failure:
        raise Failure(f"{path}: {failure}") from None
    if several and not values:
        raise Failure(f"{path}: there is nothing in this list")
    return values if several else values[0]


def numbers(value):
    """All numbers of a value or list of values, flat."""
    flat = []
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, list):
            flat += numbers(each)
        elif isinstance(each, (int, float)) and math.isfinite(each):
            flat.append(each)
        else:
            raise Failure(f"{spelt(each)[:40]} is no number")
    return flat


def single(value):
    found = numbers(value)
    if len(found) != 1:
        raise Failure(f"{len(found)} numbers stand where one was expected")
    return found[0]


def largest_difference(first, second):
    first, second = numbers(first), numbers(second)
    if len(first) != len(second):
        raise Failure(f"{len(first)} numbers cannot be compared with {len(second)}")
    return max(abs(a - b) for a, b in zip(first, second))


def ratio(first, second):
    if single(second) == 0:
        raise Failure("a division by 0")
    return single(first) / single(second)


# name -> (how many arguments, what it gives)
OPERATIONS = {
    "difference": (2, lambda a, b: single(a) - single(b)),
    "ratio": (2, ratio),
    "largest_difference": (2, largest_difference),
    "largest": (1, lambda a: max(numbers(a))),
    "smallest": (1, lambda a: min(numbers(a))),
    "mean": (1, lambda a: statistics.fmean(numbers(a))),
    "count": (1, lambda a: len(a) if isinstance(a, list) else 1),
    "even": (1, lambda a: 1 / len(a)),
    "even_entropy": (1, lambda a: math.log(len(a))),
}


def places_of(expression):
    """The RUN:PATH that an expression of claims.toml reads."""
    if isinstance(expression, str):
        return [expression] if ":" in expression else []
    if isinstance(expression, dict):
        return [place for arguments in expression.values() for each in arguments for place in places_of(each)]
    return []


def evaluated(expression, read):
    """What an expression comes to: RUN:PATH, a constant, or { operation = [arguments] }. read(run) gives its JSON."""
    if isinstance(expression, str):
        run, colon, path = expression.partition(":")
        return value_at(read(run), path) if colon else expression
    if not isinstance(expression, dict):
        return expression
    ((name, arguments),) = expression.items()
    return OPERATIONS[name][1](*(evaluated(each, read) for each in arguments))


def check_expression(expression):
    """Throws Failure for what evaluated() could not read."""
    if isinstance(expression, dict):
        if len(expression) != 1 or (name := next(iter(expression))) not in OPERATIONS:
            raise Failure(f"{expression}: one of {', '.join(OPERATIONS)} was expected")
        if not isinstance(expression[name], list) or len(expression[name]) != OPERATIONS[name][0]:
            raise Failure(f"{name} takes a list of {OPERATIONS[name][0]}")
        for each in expression[name]:
            check_expression(each)
    elif isinstance(expression, bool) or not isinstance(expression, (str, int, float)):
        raise Failure(f"{expression}: a place, a number or an operation was expected")
