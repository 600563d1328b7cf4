#!/usr/bin/env python3
"""How large the page of a text is as one file, beside BertViz's head view of the same weights.

    bench/page_size.py [--program build/sightline] [--model DIRECTORY] [--text FILE]

Prints a row for each number of words, taken from the beginning of the text: bytes of `look --html`, of the same with
--html-exact, and of bertviz.head_view(html_action="return") for all layers and heads. Needs bertviz and torch.
"""

import argparse
import ast
import json
import pathlib
import re
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORDS = (12, 48, 200, 440)


def run(*arguments):
    return subprocess.run(list(map(str, arguments)), check=True, capture_output=True).stdout


def maps_of(path):
    """[layers][1, heads, rows, columns] tensors of a file that `map --all -o x.npy` wrote."""
    import torch

    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    shape = ast.literal_eval(data[10 : 10 + length].decode())["shape"]
    weights = torch.frombuffer(bytearray(data[10 + length :]), dtype=torch.float32).reshape(shape)
    return [layer.unsqueeze(0) for layer in weights]


def bertviz_bytes(arguments, text, folder):
    import bertviz

    report = json.loads(run(*arguments, text, "--json"))
    maps = folder / "maps.npy"
    run(arguments[0], "map", *arguments[2:], text, "--all", "--pieces", "-o", maps)
    tokens = [token["piece"] for token in report["tokens"]]
    page = bertviz.head_view(maps_of(maps), tokens, html_action="return")
    return len(tokens), len(page.data.encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build" / "sightline")
    parser.add_argument("--model", help="directory (default: the program's)")
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "docs" / "attention.md")
    chosen = parser.parse_args()
    words = re.findall(r"[A-Za-z']+[.,]?", chosen.text.read_text(encoding="utf-8"))
    arguments = [chosen.program, "look", *(["-m", chosen.model] if chosen.model else []), "--truncate"]
    print("| words | tokens | one file | one file, exact | BertViz |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        page, exact = folder / "page.html", folder / "exact.html"
        for count in WORDS:
            text = " ".join(words[:count])
            run(*arguments, text, "--html", page)
            run(*arguments, text, "--html", exact, "--html-exact")
            tokens, theirs = bertviz_bytes(arguments, text, folder)
            sizes = [f"{size / 1e6:.2f} MB" for size in (page.stat().st_size, exact.stat().st_size, theirs)]
            print(f"| {count} | {tokens} | {' | '.join(sizes)} |", flush=True)


if __name__ == "__main__":
    main()
