"""Writes docs/claims.md from the list of claims and their values. The same list and values give the same bytes."""

import re

from failure import Failure
from running import shown_command

HEAD = """# Claims about attention, measured

<!-- Made by tools/claims/claims.py from tools/claims/claims.toml: edit that, then run `tools/claims/claims.py generate`. -->

What is commonly said of attention, each sentence with the model that it was measured on, the command, the number, a baseline to hold it
against, and what it does not show. **Attention weights show where information flowed, not why.** A number of one model and one text is a number
of that model and that text: of others it says nothing before it was measured there.

- **Each command runs as it stands** from the root of the checkout; with `--json` it prints the numbers in full, by the names of [report.md](report.md). Where no `-m` is given the
  model is all-MiniLM-L6-v2, which the first run fetches. Put another text and `-m MODEL` in their place, and it is measured there. {models}
- **The baseline** is what the number would be if the claim were idle: an even look, a rule that reads no weights, the same without what the
  claim is about. "Other software" is the same quantity by another program, where there is one.
- **`tools/claims/claims.py check`** runs all commands again and compares each number with this page, but times; every test run does that (ctest's
  `claims`). What a machine lacks (data of `../shared`, a model) is skipped, and counted. `tools/claims/claims.py measure --model MODEL` measures the claims
  that are made of the default model on another one, and says which hold there.
- **Times** are of the machine that the page was made on, and are not checked.
"""


def anchor(title):
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def cell(text):
    return text.replace("|", "\\|")


def shown(value, number):
    """A value as the page writes it."""
    if isinstance(value, str):
        return cell(value)
    if value == 0 or isinstance(value, int) and number.unit != "%":  # a whole share is 100 %
        value = int(value)
        text = f"{value:,}"
    else:
        value *= 100 if number.unit == "%" else 1
        text = f"{value:,.{number.digits}f}" if number.digits >= 0 else f"{value:.{-number.digits}g}"
    return f"{text} {number.unit}".rstrip()


def model_names(claims, claim):
    return ", ".join(model.name for model in claims.models_of(claim)) or "none"


def overview(claims, values):
    rows = ["| claim | model | number | | baseline |", "|---|---|---|---|---|"]
    for claim in claims.claims:
        first = claim.numbers[0]
        value = values[claim.name][first.what]
        rows.append(f"| [{cell(claim.title)}](#{anchor(claim.title)}) | {model_names(claims, claim)} | {cell(first.what)}: "
                    f"{shown(value['number'], first)} | {first.relation} | {shown(value['baseline'], first)}, {cell(first.baseline_is)} |")
    return "\n".join(rows) + "\n"


def number_rows(claim, values):
    others = any(number.other is not None for number in claim.numbers)
    rows = ["| what | measured | | baseline |" + (" other software |" if others else ""), "|---|---|---|---|" + ("---|" if others else "")]
    for number in claim.numbers:
        value = values[number.what]
        row = (f"| {cell(number.what)}{' (time)' if number.timed else ''} | {shown(value['number'], number)} | {number.relation} | "
               f"{shown(value['baseline'], number)}, {cell(number.baseline_is)} |")
        if others:
            row += f" {shown(number.other, number)}, {cell(number.other_is)} |" if number.other is not None else " |"
        rows.append(row)
    return "\n".join(rows)


def section(claims, claim, values):
    commands = "\n".join(shown_command(claims.runs[run]) for run in claim.runs())
    return f"""## {claim.title}

{claim.says.strip()}

```
{commands}
```

{number_rows(claim, values)}

Does not show: {claim.not_shown.strip()}
"""


def check_values(claims, values):
    """Throws Failure where values are not those of this list."""
    for claim in claims.claims:
        if list(values.get(claim.name, {})) != [number.what for number in claim.numbers]:
            raise Failure(f"claim {claim.name}: docs has other numbers than claims.toml: run tools/claims/claims.py generate")
    if stray := [name for name in values if name not in {claim.name for claim in claims.claims}]:
        raise Failure(f"claim {stray[0]} is in docs and not in claims.toml: run tools/claims/claims.py generate")


def page(claims, values):
    """The whole of docs/claims.md; values: claim -> what -> {"number", "baseline"}."""
    check_values(claims, values)
    models = " ".join(f"`{model.name}` is {model.about}." for model in claims.models.values() if not model.default)
    files = " ".join(f"`{' '.join(command)}` makes `{name}`." for name, command in claims.files.items())
    parts = [HEAD.format(models=f"{models} {files}".strip()), overview(claims, values)]
    return "\n".join(parts + [section(claims, claim, values[claim.name]) for claim in claims.claims])
