#!/usr/bin/env python3
"""Puts the page of web/ into one HTML file: modules become one script, style sheets one style element, fonts and icons
data URLs, and a Content-Security-Policy lets nothing else run or load.

    tools/link_page.py WEB page.html       the file itself, where "<!-- numbers -->" stands for what it shows
    tools/link_page.py WEB page.cc         the same as C++: sightline::engine::page_template()

Modules may use named imports (`import { a, b as c } from './x.js'`), imports for their effect, and exports of functions,
classes, constants and lists of names, each at the start of a line. Anything else is an error that names the line: there
is no default, no dynamic import, no `export let` (a copy of it would not follow), and no cycle.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import sys

NUMBERS = "<!-- numbers -->"
IMPORT = re.compile(r"^import\s+(?:\{([^}]*)\}\s+from\s+)?'([^']+)';[ \t]*\n", re.MULTILINE)
EXPORT_LIST = re.compile(r"^export\s+\{([^}]*)\}(?:\s+from\s+'([^']+)')?;[ \t]*\n", re.MULTILINE)
EXPORT = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+([A-Za-z_$][\w$]*)", re.MULTILINE)
REST = re.compile(r"^(import|export)\b.*|\bimport\s*[.(].*", re.MULTILINE)
STYLE = re.compile(r'[ \t]*<link rel="stylesheet" href="([^"]+)">\n')
PRELOAD = re.compile(r'[ \t]*<link rel="(?:modulepreload|preload)"[^>]*>\n')
ICON = re.compile(r'(<link rel="icon"[^>]* href=")(?!data:)([^"]+)(")')
SCRIPT = re.compile(r'[ \t]*<script type="module" src="([^"]+)"></script>\n')
URL = re.compile(r"""url\((['"]?)([^)'"]+)\1\)""")
TYPES = {".woff2": "font/woff2", ".svg": "image/svg+xml", ".png": "image/png"}


class LinkError(Exception):
    """What in web/ cannot be linked; the message names file and line."""


def read(path):
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LinkError(f"{path}: {error.strerror}") from error


def names(text):
    """`a, b as c` as pairs (a, a), (b, c)."""
    parts = [part.split() for part in re.sub(r"//.*", "", text).split(",") if part.strip()]
    return [(part[0], part[-1]) for part in parts]


def without_comments(code):
    """The code without block comments, and without lines that are a comment: a third of it, which no reader of the page
    needs. Comments behind code stay."""
    code = re.sub(r"^[ \t]*/\*.*?\*/[ \t]*\n", "", code, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^[ \t]*//.*\n", "", code, flags=re.MULTILINE)


class Linker:
    """Modules in the order in which they must run, each a function that returns what it exports."""

    def __init__(self, web):
        self.web = web
        self.parts = []
        self.variables = {}
        self.exports = {}
        self.open = []

    def variable(self, path, importer):
        """The variable that holds the module's exports; links it first."""
        if path in self.open:
            raise LinkError(f"{importer}: a cycle of imports: {' -> '.join(p.name for p in [*self.open, path])}")
        if path not in self.variables:
            self.link(path)
        return self.variables[path]

    def link(self, path, entry=False):
        self.open.append(path)
        code = without_comments(read(path))
        imports = []

        def take(match):
            module = (path.parent / match.group(2)).resolve()
            variable = self.variable(module, path)
            wanted = names(match.group(1) or "")
            for name, _ in wanted:
                self.require(name, module, path)
            if wanted:
                list_ = ", ".join(a if a == b else f"{a}: {b}" for a, b in wanted)
                imports.append(f"const {{ {list_} }} = {variable};\n")
            return ""

        code = IMPORT.sub(take, code)
        code, exports = self.take_exports(code, path, imports)
        self.refuse_rest(code, path)
        self.variables[path] = "module_" + re.sub(r"\W", "_", path.relative_to(self.web).as_posix())
        self.exports[path] = {name for name, _ in exports}
        self.parts.append(self.wrapped(path, "".join(imports) + code, exports, entry))
        self.open.pop()

    def take_exports(self, code, path, imports):
        exports = []

        def take_list(match):
            pairs = names(match.group(1))
            if match.group(2):
                module = (path.parent / match.group(2)).resolve()
                variable = self.variable(module, path)
                for name, _ in pairs:
                    self.require(name, module, path)
                exports.extend((shown, f"{variable}.{name}") for name, shown in pairs)
            else:
                exports.extend((shown, name) for name, shown in pairs)
            return ""

        code = EXPORT_LIST.sub(take_list, code)
        exports.extend((match.group(2), match.group(2)) for match in EXPORT.finditer(code))
        return EXPORT.sub(r"\1 \2", code), exports

    def require(self, name, module, importer):
        if name not in self.exports[module]:
            raise LinkError(f"{importer}: {module.name} exports no {name}")

    @staticmethod
    def refuse_rest(code, path):
        for pattern in (REST, re.compile(r"</script|<!--", re.IGNORECASE)):
            if match := pattern.search(code):
                raise LinkError(f"{path}: cannot be linked: {match.group().strip()}")

    def wrapped(self, path, code, exports, entry):
        if entry:
            return f"(async () => {{\n{code}}})();\n"
        list_ = ", ".join(name if name == value else f"{name}: {value}" for name, value in exports)
        return f"const {self.variables[path]} = (() => {{\n{code}return {{ {list_} }};\n}})();\n"

    def script(self, entry):
        self.link(entry, entry=True)
        return "'use strict';\n" + "".join(self.parts)


def data_url(path):
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LinkError(f"{path}: {error.strerror}") from error
    return f"data:{TYPES[path.suffix]};base64,{base64.b64encode(content).decode()}"


def style_of(web, sheets):
    parts = []
    for sheet in sheets:
        path = web / sheet
        css = without_comments(read(path))
        if "@import" in css or "</" in css:
            raise LinkError(f"{path}: neither @import nor </ can be linked")
        parts.append(URL.sub(lambda match: f"url({data_url((path.parent / match.group(2)).resolve())})", css))
    return re.sub(r"\n\s*\n+", "\n", "".join(parts))


def source_hash(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(script, style):
    return (
        f"default-src 'none'; script-src {source_hash(script)}; style-src {source_hash(style)}; font-src data:; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def only(found, what):
    if len(found) != 1:
        raise LinkError(f"index.html: has {len(found)} {what}, not one")
    return found[0]


def font_notice(web):
    """The copyright lines of the fonts' licences, which ask to go where the fonts go."""
    lines = [read(path).splitlines()[0].strip() for path in sorted((web / "fonts").glob("*-OFL.txt"))]
    if any("--" in line for line in lines):
        raise LinkError("fonts: a licence's first line cannot stand in a comment")
    return f"<!-- Fonts under the SIL Open Font License 1.1: {'; '.join(lines)} -->\n" if lines else ""


def linked_page(web):
    web = web.resolve()
    page = read(web / "index.html")
    entry = only(SCRIPT.findall(page), "module scripts")
    sheets = STYLE.findall(page)
    script = Linker(web).script(web / entry)
    style = "\n" + style_of(web, sheets)
    only(re.findall(r'<meta charset="utf-8">\n', page), '<meta charset="utf-8">')
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(script, style)}">\n'
    # Replacements are functions: what they put in is no pattern.
    page = PRELOAD.sub("", page)
    page = re.sub(r'(<meta charset="utf-8">\n)', lambda match: match.group() + meta + font_notice(web), page, count=1)
    page = STYLE.sub(lambda match: f"<style>{style}</style>\n" if match.group(1) == sheets[0] else "", page)
    page = ICON.sub(lambda match: match.group(1) + data_url(web / match.group(2)) + match.group(3), page)
    page = SCRIPT.sub("", page)
    end = page.rindex("</body>")
    return f"{page[:end]}{NUMBERS}\n<script type=\"module\">{script}</script>\n{page[end:]}"


def as_cpp(page):
    data = page.encode()
    lines = []
    for begin in range(0, len(data), 4096):
        part = data[begin : begin + 4096]
        lines.append('    "' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in part) + '"')
    text = "\n".join(lines)
    return (
        '#include "src/engine/page_template.h"\n\nnamespace sightline::engine {\nnamespace {\n\n'
        f"constexpr char kPage[] =\n{text};\n\n}}  // namespace\n\n"
        "std::string_view page_template() { return {kPage, sizeof(kPage) - 1}; }\n\n}  // namespace sightline::engine\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("web", type=pathlib.Path, help="the page's folder")
    parser.add_argument("out", type=pathlib.Path, help="page.html or page.cc")
    arguments = parser.parse_args()
    try:
        page = linked_page(arguments.web)
    except LinkError as error:
        sys.exit(f"link_page: {error}")
    arguments.out.write_text(as_cpp(page) if arguments.out.suffix == ".cc" else page, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
