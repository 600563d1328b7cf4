#!/usr/bin/env python3
"""Checks what no compiler checks: the order of the layers, the length of files and functions, ends of the process in
library code, unfinished work.

    tools/dev/check_sources.py [ROOT]

Prints a line for each breach, and exits with 1 if there was any.
"""

import ast
import pathlib
import re
import sys

# A file includes files of its own layer and of those above it in this list, which is the order of docs and HACKING.md.
LAYERS = [
    "include/sightline",
    "src/tensor",
    "src/cpu",
    "src/observe",
    "src/attention",
    "src/cache",
    "src/ops",
    "src/format",
    "src/tokenizer",
    "src/template",
    "src/model",
    "src/generation",
    "src/analysis",
    "src/engine",
    "src/capi",
    "serve",
]
# What stands on the library. These do not include one another; tests may include all.
PROGRAMS = ["cli", "tools", "bench"]
TOP = "tests"

MAX_LINES = 500
MAX_FUNCTION_LINES = 80
SUFFIXES = {".c", ".cc", ".h", ".py", ".sh", ".cmake"}
NAMES = {"sightline", "run", "long", "CMakeLists.txt", "Makefile"}
# Spelt in two parts, so that this file passes its own check.
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')
# How library code would end the process; a method may have such a name. Tests may assert.
ENDING = re.compile(r"(?<![\w.>:])(?<!void )((std)?(::)?(terminate|abort|_exit|_Exit|(quick_)?exit)|assert)\s*\(")
# What may hold a brace that is none: directives, raw and plain strings, characters, comments.
NOT_CODE = re.compile(
    r"""(?m:^[ \t]*\#(?:\\\n|[^\n])*)"""
    r"""|R"([^()\\\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'"""
    r"""|//[^\n]*|/\*.*?\*/""",
    re.DOTALL,
)
# A block with one of these before it is not a function's.
NO_FUNCTION = re.compile(r"^\s*(template\s*<.*>\s*)?(namespace|class|struct|union|enum|extern)\b", re.DOTALL)


def folders(root):
    """Where sources are looked for: the project's own folders, so that build directories do not count."""
    tops = {layer.split("/")[0] for layer in LAYERS} | set(PROGRAMS) | {TOP, "cmake", ".ci", "examples", "packaging"}
    return [root / top for top in sorted(tops) if (root / top).is_dir()]


def sources(root):
    found = [path for folder in folders(root) for path in folder.rglob("*")] + list(root.glob("*"))
    return sorted(path for path in found if path.is_file() and (path.suffix in SUFFIXES or path.name in NAMES))


def layer_of(name):
    """The layer or program that a path from the root belongs to; None for what is in no layer."""
    for layer in LAYERS + PROGRAMS + [TOP]:
        if name.startswith(layer + "/"):
            return layer
    return None


def in_library(name):
    return layer_of(name) in LAYERS and not name.endswith(("_test.cc", "_test.c", "testing.c", "testing.h"))


def may_include(user, used):
    if user == used or user == TOP:
        return True
    if user in PROGRAMS:
        return used in LAYERS
    return used in LAYERS and LAYERS.index(used) < LAYERS.index(user)


def included_name(root, target):
    """The path from the root that an include means, or None where it is not the project's."""
    public = "include/" + target
    return public if (root / public).is_file() else target if layer_of(target) else None


def include_breach(root, name, target):
    user = layer_of(name)
    if user is None:
        return None
    if target.startswith("."):
        return f'includes "{target}": includes are written from the root'
    used_name = included_name(root, target)
    if used_name is None:
        return None
    if not (root / used_name).is_file():
        return f'includes "{target}", which does not exist'
    if not may_include(user, layer_of(used_name)):
        return f'includes "{target}": {user} comes before {layer_of(used_name)}'
    return None


def cpp_functions(text):
    """First and last line of each function and lambda: blocks in braces with a parameter list before them."""
    code = NOT_CODE.sub(lambda match: "\n" * match.group().count("\n"), text)
    head, line, blocks = "", 1, []
    for part in re.split(r"([{};])", code):
        if part == "{":
            is_function = "(" in head and not head.rstrip().endswith("=") and not NO_FUNCTION.match(head)
            blocks.append((line - head.lstrip().count("\n"), is_function))
        elif part == "}" and blocks:
            begin, is_function = blocks.pop()
            if is_function:
                yield begin, line
        line += part.count("\n")
        head = part if part not in "{};" else ""


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


FUNCTIONS = {".c": cpp_functions, ".cc": cpp_functions, ".h": cpp_functions, ".py": python_functions}


def function_breaches(path, text):
    for begin, end in FUNCTIONS.get(path.suffix, lambda _: ())(text):
        if end - begin + 1 > MAX_FUNCTION_LINES:
            yield begin, f"is a function of {end - begin + 1} lines; {MAX_FUNCTION_LINES} is the limit"


def breaches(root, path):
    name = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        yield name, MAX_LINES + 1, f"is {len(lines)} lines long; {MAX_LINES} is the limit"
    for number, message in function_breaches(path, text):
        yield name, number, message
    for number, line in enumerate(lines, 1):
        unfinished = UNFINISHED.search(line)
        ending = ENDING.search(line) if in_library(name) else None
        if ending:
            yield name, number, f"calls {ending.group(1)}: the library throws"
        if unfinished:
            yield name, number, f"says {unfinished.group()}"
        include = INCLUDE.match(line) if path.suffix in {".c", ".cc", ".h"} else None
        breach = include_breach(root, name, include.group(1)) if include else None
        if breach:
            yield name, number, breach


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else __file__ + "/../../..").resolve()
    found = [breach for path in sources(root) for breach in breaches(root, path)]
    for name, number, message in found:
        print(f"{name}:{number}: {message}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
