#!/usr/bin/env python3
"""Checks by nm what the built libraries ask for and what they offer.

    tools/dev/check_symbols.py no-output [--allow NAME]... LIBRARY...    the code neither ends the process nor prints
    tools/dev/check_symbols.py exports LIBRARY.so...                     it offers sightline_* and nothing else

Prints a line for each breach, and exits with 1 if there was any. LIBRARY is an archive or a shared library.

False positives. A symbol says that code could call a function, not that it does, nor who wrote the call. Where a library
has good reason for one (write, where it writes files) or a header of another project brings it (__assert_fail, by
nlohmann-json), its test names it with --allow, and the reason stands there. Two are let through everywhere:
std::terminate(), which compilers add where an exception would leave a noexcept function, and functions that print into
memory (snprintf). What our own sources say is not left to this: check_sources.py finds std::terminate, exit, abort and
assert in them.
"""

import argparse
import pathlib
import re
import subprocess
import sys

FORBIDDEN = re.compile(
    "^("
    # Ends the process, or may.
    r"abort|_?_?exit|_Exit|quick_exit|raise|kill|__assert(_fail|_perror_fail)?|__chk_fail|err|errx|verrx?|hwy::Abort\(.*"
    # Writes to a stream or a descriptor of the caller's. snprintf and the like write to memory, and may stay.
    r"|(__)?v?[fd]?printf(_chk)?|f?puts(_unlocked)?|f?putw?c(har)?(_unlocked)?|f?putw(s|char)|_IO_putc|v?f?wprintf|perror|psignal"
    r"|fwrite(_unlocked)?|write|writev|pwrite(64)?|send|v?syslog|v?warnx?|error|stdout|stderr"
    r"|std::(c(out|err|log)|wc(out|err|log)|v?print.*|ios_base::Init::.*)|fmt::(v\d+::)?v?print.*"
    # Starts another program.
    r"|system|popen|fork|vfork|execv[pe]*|posix_spawnp?"
    ")$"
)


def nm(*arguments):
    done = subprocess.run(["nm", "--demangle", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def output_breaches(library, allowed):
    member = library.name
    tables = ["--dynamic"] if library.suffix != ".a" else []
    for line in nm(*tables, "--undefined-only", str(library)):
        if line.endswith(":"):
            member = line[:-1]
        symbol = re.match(r"\s+[Uwv] (.*?)(@.*)?$", line)
        if symbol and FORBIDDEN.match(symbol.group(1)) and symbol.group(1) not in allowed:
            yield f"{library.name}({member}) uses {symbol.group(1)}"


def export_breaches(library, _):
    exported = [line.split(maxsplit=2)[2] for line in nm("--dynamic", "--defined-only", str(library))]
    names = [name.split("@")[0] for name in exported]
    if not any(name.startswith("sightline_") for name in names):
        yield f"{library.name} exports no sightline_ symbol"
    for name in names:
        if not name.startswith("sightline_"):
            yield f"{library.name} exports {name}"


CHECKS = {"no-output": output_breaches, "exports": export_breaches}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("libraries", nargs="+", type=pathlib.Path, metavar="LIBRARY")
    parser.add_argument("--allow", action="append", default=[], metavar="NAME", help="let this symbol through")
    given = parser.parse_args()
    found = [breach for path in given.libraries for breach in CHECKS[given.check](path, given.allow)]
    print("\n".join(found) if found else "nothing found", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
