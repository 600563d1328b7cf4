#!/usr/bin/env python3
"""Turns the Winograd schemas (WSCollection.xml) into a table in GAP's format, which `sightline heads` reads.

    tools/claims/winograd.py WSCollection.xml > winograd.tsv

A schema is a text, its pronoun, two answers and which of them is right. An answer's place is where it stands in the text before the
pronoun, or else after it; articles and possessives are put aside where it does not stand there as it is given. A schema whose answers cannot be
found is left out, and counted on standard error.
"""

import re
import sys
import xml.etree.ElementTree

COLUMNS = ["ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL"]
DETERMINERS = re.compile(r"^(the|a|an|his|her|their|its|my|our)\s+", re.IGNORECASE)


def plain(element):
    return " ".join((element.text or "").split()) if element is not None else ""


def mention(text, answer, begin, end):
    """(what stands there, its offset): the last place before the pronoun, as a whole word, else the first one after it."""
    for words in (answer, DETERMINERS.sub("", answer)):
        places = [place.start() for place in re.finditer(rf"\b{re.escape(words)}\b", text, re.IGNORECASE)]
        before, after = [p for p in places if p + len(words) <= begin], [p for p in places if p >= end]
        if before or after:
            offset = before[-1] if before else after[0]
            return text[offset : offset + len(words)], offset
    return None


def row(number, schema):
    parts = [plain(schema.find(f"text/{part}")) for part in ("txt1", "pron", "txt2")]
    text = " ".join(part for part in parts if part)
    begin = len(parts[0]) + 1 if parts[0] else 0
    answers = [plain(answer).rstrip(".") for answer in schema.findall("answers/answer")]
    right = plain(schema.find("correctAnswer")).strip(" .").upper()
    found = [mention(text, answer, begin, begin + len(parts[1])) for answer in answers]
    if len(found) != 2 or None in found or found[0][1] == found[1][1] or right not in ("A", "B"):
        return None
    cells = [f"winograd-{number}", text, parts[1], begin]
    for name, (words, offset) in zip("AB", found):
        cells += [words, offset, str(right == name).upper()]
    return cells + [""]


def main(path):
    schemas = xml.etree.ElementTree.parse(path).getroot().findall("schema")
    rows = [row(number, schema) for number, schema in enumerate(schemas, 1)]
    kept = [cells for cells in rows if cells]
    print("\t".join(COLUMNS))
    for cells in kept:
        print("\t".join(str(cell) for cell in cells))
    print(f"winograd: {len(kept)} of {len(rows)} schemas", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: tools/claims/winograd.py WSCollection.xml > winograd.tsv")
    main(sys.argv[1])
