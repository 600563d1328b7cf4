#!/usr/bin/env python3
"""Writes the page's files as a C++ source (serve/page.h), each as it is and compressed.

    cmake/embed_page.py OUTPUT WEB_FOLDER OPENAPI_FILE
"""

import gzip
import hashlib
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


def listed(web):
    lines = (web / "files.txt").read_text(encoding="utf-8").splitlines()
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for name in names:
        if pathlib.PurePosixPath(name).is_absolute() or ".." in name.split("/"):
            sys.exit(f"{web}/files.txt: {name} is not below {web}")
    return names


def literal(data):
    """A string_view of these bytes. Octal escapes have three digits at most, so what follows one never joins it."""
    if not data:
        return "{}"
    escaped = ["".join(f"\\{byte:03o}" for byte in data[at : at + 32]) for at in range(0, len(data), 32)]
    lines = "\n".join(f'    "{line}"' for line in escaped)
    return f"std::string_view(\n{lines},\n    {len(data)})"


def entry(path, name):
    data = path.read_bytes()
    if path.suffix not in TYPES:
        sys.exit(f"{path}: its kind of content is unknown, add {path.suffix} to {sys.argv[0]}")
    packed = gzip.compress(data, 9, mtime=0)
    if len(packed) >= len(data):
        packed = b""
    tag = hashlib.sha256(data).hexdigest()[:24]
    return f'{{"{name}", "{TYPES[path.suffix]}", "{tag}",\n  {literal(data)},\n  {literal(packed)}}}'


def main(output, web, openapi):
    web = pathlib.Path(web)
    files = ",\n".join(entry(web / name, name) for name in listed(web))
    text = f"""#include "serve/page.h"

namespace sightline::serve {{
namespace {{
const PageFile kFiles[] = {{
{files}}};
const PageFile kOpenapi = {entry(pathlib.Path(openapi), "openapi.json")};
}}  // namespace
std::span<const PageFile> page_files() {{ return kFiles; }}
const PageFile& openapi_file() {{ return kOpenapi; }}
}}  // namespace sightline::serve
"""
    pathlib.Path(output).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
