#!/usr/bin/env python3
"""Writes Winograd schemas as questions in GAP's format, which `sightline heads --coref FILE` reads.

    tools/corpora/winograd.py WSCollection.xml OUT.tsv

WSCollection.xml is the collection of Davis, Levesque and Morgenstern. A schema is a row: its text on one line, its pronoun, and its two
answers where the text names them, the last time before the pronoun or else the first time after it. Exits with 0, 1, or 2 for usage.
"""

import argparse
import pathlib
import re
import sys
import xml.parsers.expat
from xml.etree import ElementTree

COLUMNS = ["ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL"]
MAX_BYTES = 64 << 20


class Refused(Exception):
    """The file is not what it should be."""


def parse(content):
    """The root element. A document type, which could define entities without end, is refused before any of it acts."""

    def refuse(*_):
        raise Refused("has a document type (<!DOCTYPE), which such a collection does not need: take it out")

    builder = ElementTree.TreeBuilder()
    parser = xml.parsers.expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(content, True)
    except (xml.parsers.expat.ExpatError, LookupError, ValueError) as error:
        raise Refused(f"is not XML: {error}") from None
    return builder.close()


def line_of(element):
    """An element's text, white space made single blanks; nothing of an element that is not there."""
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def joined(parts):
    """The parts with blanks between them, but none before what closes a clause."""
    text = ""
    for part in filter(None, parts):
        text += part if not text or re.match(r"[.,;:!?]", part) else " " + part
    return text


def place_of(answer, text, pronoun_at):
    """Where the text names the answer, as whole words, upper and lower case alike."""
    found = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE)]
    before = [at for at in found if at < pronoun_at]
    if not found:
        raise Refused(f"names no {answer!r} in {text!r}")
    return before[-1] if before else found[0]


def row_of(schema, number):
    """A line of GAP's table."""
    before, pronoun, after = (line_of(schema.find("text/" + tag)) for tag in ("txt1", "pron", "txt2"))
    answers = [line_of(answer) for answer in schema.findall("answers/answer")]
    right = line_of(schema.find("correctAnswer"))[:1]
    if not pronoun or len(answers) != 2 or not all(answers) or right not in ("A", "B"):
        raise Refused("has not one pronoun, two answers, and A or B as the right one")
    pronoun_at = len(before) + 1 if before else 0
    text = joined([before, pronoun, after])
    row = [f"winograd-{number}", text, pronoun, pronoun_at]
    for letter, answer in zip("AB", answers):
        at = place_of(answer, text, pronoun_at)
        row += [text[at : at + len(answer)], at, str(letter == right).upper()]
    return "\t".join(map(str, row + [""]))


def table_of(content):
    """The whole table of a collection."""
    lines = ["\t".join(COLUMNS)]
    for number, schema in enumerate(parse(content).iter("schema"), 1):
        try:
            lines.append(row_of(schema, number))
        except Refused as refused:
            raise Refused(f"schema {number} {refused}") from None
    if len(lines) == 1:
        raise Refused("has no <schema> in it")
    return "".join(line + "\n" for line in lines)


def read(path):
    with open(path, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Refused(f"is longer than the {MAX_BYTES} bytes that it may have")
    return content


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, metavar="WSCollection.xml")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT.tsv")
    paths = parser.parse_args()
    try:
        if paths.out.exists() and paths.out.samefile(paths.source):
            raise Refused("is read, and would be written over: name another file")
        table = table_of(read(paths.source))
    except Refused as refused:
        sys.exit(f"{paths.source}: {refused}")
    except OSError as error:
        sys.exit(f"{paths.source}: {error.strerror}")
    try:
        paths.out.write_text(table, encoding="utf-8", newline="\n")
    except OSError as error:  # of a full disk it has no name
        sys.exit(f"{paths.out}: {error.strerror}")


if __name__ == "__main__":
    main()
