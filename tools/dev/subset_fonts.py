#!/usr/bin/env python3
"""Makes the page's fonts, web/fonts/*.woff2, from the packages that hold them, and puts their licences beside them.

    python3 -m venv fonts && fonts/bin/pip install fonttools brotli \\
        fontpkg-instrument-sans==1.0 fontpkg-newsreader==1.3 fontpkg-hanken-grotesk==3.13
    fonts/bin/python tools/dev/subset_fonts.py

The page ships fonts so that words, columns and beams are as wide on every machine. They hold Latin letters and the signs of
the interface; what they lack, the system's fonts show.
"""
import importlib.util
import pathlib
import shutil

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

FONTS = pathlib.Path(__file__).resolve().parent.parent.parent / "web" / "fonts"
LATIN = [*range(0x20, 0x7F), *range(0xA0, 0x100)]
PUNCTUATION = [0x2010, 0x2013, 0x2014, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2026, 0x2032, 0x2212, 0x00B5]
ARROWS = [0x2190, 0x2191, 0x2192, 0x2193]
SIGNS = [0x221A, 0x2211, 0x221E, 0x2248, 0x2260, 0x2264, 0x2265]

# What is kept of each face: its file, the range of each axis (one number fixes it), and the characters.
FACES = {
    "InstrumentSans": ("instrument_sans", "InstrumentSans[wdth,wght].ttf", {}, LATIN + PUNCTUATION + ARROWS),
    "Newsreader": ("newsreader", "Newsreader[opsz,wght].ttf", {"opsz": 24, "wght": (400, 600)}, LATIN + PUNCTUATION),
    "Newsreader-Italic": ("newsreader", "Newsreader-Italic[opsz,wght].ttf", {"opsz": 24, "wght": 400}, LATIN + PUNCTUATION),
    "MathSigns": ("hanken_grotesk", "HankenGrotesk[wght].ttf", {"wght": 400}, SIGNS),
}
LICENCES = {"InstrumentSans": "instrument_sans", "Newsreader": "newsreader", "HankenGrotesk": "hanken_grotesk"}
FEATURES = ["kern", "mark", "mkmk", "ccmp", "locl", "liga", "tnum", "lnum"]


def package(name):
    """The folder of an installed package; it need not be imported."""
    spec = importlib.util.find_spec(f"fontpkg_{name}")
    if spec is None:
        raise SystemExit(f"fontpkg-{name.replace('_', '-')} is not installed: see the head of {__file__}")
    return pathlib.Path(spec.origin).parent


def make(face, source, file, axes, characters):
    font = TTFont(package(source) / "files" / file, recalcTimestamp=False)  # the same input gives the same file
    if axes:
        font = instancer.instantiateVariableFont(font, axes)
    options = subset.Options(layout_features=FEATURES, flavor="woff2", hinting=False, name_IDs=[0, 1, 2, 13, 14])
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(FONTS / f"{face}.woff2")


def main():
    FONTS.mkdir(parents=True, exist_ok=True)
    for face, (source, file, axes, characters) in FACES.items():
        make(face, source, file, axes, characters)
        print(f"{face}.woff2: {(FONTS / f'{face}.woff2').stat().st_size:,} bytes")
    for name, source in LICENCES.items():
        shutil.copyfile(package(source) / "LICENSE", FONTS / f"{name}-OFL.txt")


if __name__ == "__main__":
    main()
