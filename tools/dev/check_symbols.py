#!/usr/bin/env python3
"""Checks by nm what the built libraries ask for and what they offer.

    tools/dev/check_symbols.py no-output LIBRARY.a...    the code neither ends the process nor prints
    tools/dev/check_symbols.py exports LIBRARY.so        it offers sightline_* and nothing else

Prints a line for each breach, and exits with 1 if there was any.
"""

import pathlib
import re
import subprocess
import sys

# Ends the process, or writes to a stream of the caller's. snprintf and the like write to memory, and may stay.
FORBIDDEN = re.compile(
    r"^(abort|_?_?exit|_Exit|quick_exit|v?f?printf(_chk)?|__v?f?printf_chk|puts|fputs|putchar|putc|fputc"
    r"|perror|stdout|stderr|std::(terminate\(\)|c(out|err|log)|wc(out|err|log)|print.*|basic_ostream.*c(out|err)))$"
)
# Code that the compiler adds on its own: leaving a noexcept function by an exception.
ADDED_BY_COMPILER = {"std::terminate()"}


def nm(*arguments):
    done = subprocess.run(["nm", "--demangle", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def output_breaches(library):
    member = library.name
    for line in nm("--undefined-only", str(library)):
        if line.endswith(":"):
            member = line[:-1]
        name = line.strip().removeprefix("U ").strip().split("@")[0]
        if FORBIDDEN.match(name) and name not in ADDED_BY_COMPILER:
            yield f"{library.name}({member}) uses {name}"


def export_breaches(library):
    exported = [line.split(maxsplit=2)[2] for line in nm("--dynamic", "--defined-only", str(library))]
    names = [name.split("@")[0] for name in exported]
    if not any(name.startswith("sightline_") for name in names):
        yield f"{library.name} exports no sightline_ symbol"
    for name in names:
        if not name.startswith("sightline_"):
            yield f"{library.name} exports {name}"


CHECKS = {"no-output": output_breaches, "exports": export_breaches}


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in CHECKS:
        sys.exit(__doc__)
    found = [breach for name in arguments[1:] for breach in CHECKS[arguments[0]](pathlib.Path(name))]
    print("\n".join(found) if found else "nothing found", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
