#!/usr/bin/env python3
"""Error of Sightline and of PyTorch's fp32 attention against fp64, on the same inputs.

    bench/accuracy.py [--seeds 20] [--build build]

Prints the table of docs/accuracy.md: root mean square and largest error of the output over all elements and seeds, and
how Sightline's relate to PyTorch's. Exits with 1 where one is above twice PyTorch's. Needs numpy and torch.
"""

import argparse
import dataclasses
import pathlib
import sys

import numpy as np

import engines
import problem
import rivals
import sightline_c
from shapes import Shape

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 2
LENGTHS = [128, 512, 2048, 4096]
WIDTHS = [32, 64, 128]
# Scores of standard deviation 25 reach about 100: a row is then decided by one or two keys, as in sharp heads.
LARGE = 5.0
LARGE_LENGTHS = [512, 4096]


@dataclasses.dataclass
class Error:
    squares: float = 0
    count: int = 0
    largest: float = 0

    def add(self, got, expected):
        difference = got - expected
        self.squares += float(np.sum(difference**2))
        self.count += difference.size
        self.largest = max(self.largest, float(np.max(np.abs(difference))))

    def rms(self):
        return (self.squares / self.count) ** 0.5


@dataclasses.dataclass
class Row:
    case: Shape
    magnitude: float
    ours: Error = dataclasses.field(default_factory=Error)
    torch: Error = dataclasses.field(default_factory=Error)
    lse: Error = dataclasses.field(default_factory=Error)
    entropy: Error = dataclasses.field(default_factory=Error)

    def ratios(self):
        return self.ours.rms() / self.torch.rms(), self.ours.largest / self.torch.largest

    def measure(self, seeds, library):
        for seed in range(seeds):
            case = problem.Problem(self.case, seed, self.magnitude)
            expected = case.reference()
            ours = engines.sightline(case, 1, library, "basic")
            ours.run()
            self.ours.add(ours.output()["out"], expected["out"])
            self.lse.add(ours.observed["lse"], expected["lse"])
            self.entropy.add(ours.observed["entropy"], expected["entropy"])
            torch = rivals.torch_sdpa(case, 1)
            torch.run()
            self.torch.add(torch.output()["out"], expected["out"])

    def __str__(self):
        rms, largest = self.ratios()
        cells = [
            self.case.keys,
            self.case.width,
            "yes" if self.case.causal else "no",
            f"{self.magnitude**2:.0f}",
            f"{self.ours.rms():.2e}",
            f"{self.torch.rms():.2e}",
            f"{rms:.2f}",
            f"{self.ours.largest:.2e}",
            f"{self.torch.largest:.2e}",
            f"{largest:.2f}",
            f"{self.lse.largest:.1e}",
            f"{self.entropy.largest:.1e}",
        ]
        return "| " + " | ".join(str(cell) for cell in cells) + " |"


HEADER = """\
| n | D | causal | std of scores | RMS | PyTorch's | ratio | max | PyTorch's | ratio | max, lse | max, entropy |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def table():
    """Shapes with about the same number of rows for each length, so that maxima compare."""
    for magnitude, lengths in ((1.0, LENGTHS), (LARGE, LARGE_LENGTHS)):
        for width in WIDTHS:
            for n in lengths:
                heads = max(LENGTHS) // n
                for causal in (False, True):
                    yield Row(Shape(1, heads, heads, n, n, width, width, causal), magnitude)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--build", default=str(ROOT / "build"), help="where libsightline.so was built")
    chosen = parser.parse_args()
    library = sightline_c.built_library(chosen.build)
    try:
        print(f"torch {rivals.version('torch')}, sightline {library.simd_target()}, {chosen.seeds} seeds\n")
    except engines.Unsupported as reason:
        parser.error(f"torch is {reason}")
    print(HEADER)
    worst = 0
    for row in table():
        row.measure(chosen.seeds, library)
        worst = max(worst, *row.ratios())
        print(row, flush=True)
    print(f"\nlargest ratio {worst:.2f}, limit {LIMIT}")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
