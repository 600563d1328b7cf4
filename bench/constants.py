#!/usr/bin/env python3
"""Builds Sightline with other block and chunk sizes, and measures their speed and error beside the frozen ones.

    bench/constants.py [--work DIR] [--build build]

The constants of src/observe/tile_block.h are part of the arithmetic: this shows what they were frozen on. Copies of the
sources are changed and built in DIR (a temporary folder unless given, then reused). Blocks of 128 keys cannot count
segments, which have 64 bits a block; no segments are asked for here. Needs numpy, CMake and Ninja.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import accuracy
import engines
import harness
import problem
import sightline_c
from shapes import Shape

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPIED = ["src", "include", "cmake", "CMakeLists.txt"]
FROZEN = (64, 4096)
NO_CHUNKS = 1 << 30
VARIANTS = [(32, 4096), (128, 4096), (64, 1024), (64, 2048), (64, 8192), (64, NO_CHUNKS)]
SHAPES = [
    Shape(1, heads, heads, n, n, width, width, causal)
    for n, heads, width in ((2048, 4, 64), (2048, 4, 128), (8192, 1, 64))
    for causal in (False, True)
]


def name(variant):
    block, chunk = variant
    return f"blocks of {block}, " + ("no chunks" if chunk == NO_CHUNKS else f"chunks of {chunk}")


def changed(text, constant, value):
    """The header with another value of a constant; it must be there."""
    text, count = re.subn(rf"(constexpr int {constant} = )\d+;", rf"\g<1>{value};", text)
    if count != 1:
        raise SystemExit(f"{constant} is not in tile_block.h")
    return text


def built(variant, work):
    """The library of a variant."""
    block, chunk = variant
    folder = work / f"{block}_{chunk}"
    for part in COPIED:
        source, target = ROOT / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
    header = folder / "src/observe/tile_block.h"
    header.write_text(changed(changed(header.read_text(), "kBlockKeys", block), "kChunkKeys", chunk))
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DSIGHTLINE_ATTENTION_ONLY=ON", "-DSIGHTLINE_BENCH=OFF", "-DBUILD_TESTING=OFF"]
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", *options], **quiet)
    subprocess.run(["ninja", "-C", folder / "build", "sightline_c"], **quiet)
    return sightline_c.built_library(folder / "build")


def errors(shape, libraries, seeds):
    """Of each variant, over the seeds."""
    found = {variant: accuracy.Error() for variant in libraries}
    for seed in range(seeds):
        case = problem.Problem(shape, seed)
        expected = case.reference()["out"]
        for variant, library in libraries.items():
            contender = engines.sightline(case, 1, library)
            contender.run()
            found[variant].add(contender.output()["out"], expected)
    return found


def show_shape(shape, libraries, limits, chosen):
    case = problem.Problem(shape)
    found = {variant: engines.sightline(case, 1, library) for variant, library in libraries.items()}
    runs = {variant: contender.run for variant, contender in found.items()}
    best, peak = harness.interleaved_minima(runs, harness.Clock(), limits.peak, chosen.budget, set(runs))
    error = errors(shape, libraries, chosen.seeds)
    for variant, seconds in best.items():
        cells = [
            str(shape),
            name(variant),
            f"{100 * shape.operations() / seconds / peak:.1f} %",
            f"{100 * (seconds / best[FROZEN] - 1):+.1f} %",
            f"{error[variant].rms():.2e}",
            f"{error[variant].largest:.2e}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", help="where to build")
    parser.add_argument("--build", default=str(ROOT / "build"), help="where the frozen ones were built")
    parser.add_argument("--budget", type=float, default=30, help="seconds of turns for each shape")
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    work = pathlib.Path(chosen.work or tempfile.mkdtemp(prefix="sightline-constants-"))
    libraries = {FROZEN: sightline_c.built_library(chosen.build)}
    for variant in VARIANTS:
        print(f"building {name(variant)}", file=sys.stderr)
        libraries[variant] = built(variant, work)
    limits = harness.Limits(chosen.build)
    print("| shape | constants | of peak | time | RMS error | max error |\n|---|---|---|---|---|---|")
    for shape in SHAPES:
        show_shape(shape, libraries, limits, chosen)


if __name__ == "__main__":
    main()
