#!/usr/bin/env python3
"""Times Sightline beside PyTorch, ONNX Runtime and OpenVINO on the same inputs, in one process.

    bench/peers.py                                                 the four shapes of docs/performance.md
    bench/peers.py --shape 1,8,2,1024,1024,128 --causal --peers torch
    bench/peers.py --shape 1,8,8,2048,2048,64 --peers none --observe basic,all
    bench/peers.py --fast --peers torch-bf16                       Precision::fast beside PyTorch on bf16

Every output is compared with fp64 before anything is timed. One thread and process CPU time (with more threads: wall
time); contenders take turns, each one's minimum counts. The share of the peak is of what 12 independent multiply-add
chains in registers reached in the same run, in the SIMD target that Sightline uses (SIGHTLINE_TARGET forces one). What
observations cost is the median of paired ratios. Needs numpy; peers that are not installed are left out.
"""

import argparse
import ctypes
import functools
import json
import pathlib
import statistics
import sys
import time

import numpy as np

import engines
import problem
import sightline_c

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT_SHAPES = ["1,8,8,2048,2048,64", "1,8,8,2048,2048,128"]
SAMPLE_SECONDS = 0.02
PEAK_SECONDS = 0.02
TOLERANCE = 1e-4  # of what is observed


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", metavar="B,Hq,Hkv,Nq,Nk,D[,Dv]", help="may be given repeatedly")
    parser.add_argument("--causal", action="store_true", help="key j <= query i (default: both, where no shape is given)")
    parser.add_argument("--peers", default="torch,ort-mha,ort-attention,openvino", help="a list, or none")
    parser.add_argument("--observe", default="", help="a list of " + ", ".join(engines.LEVELS))
    parser.add_argument("--fast", action="store_true", help="Sightline's bf16 products too, where the machine has them")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=9, help="rounds in which every contender has a turn")
    parser.add_argument("--pairs", type=int, default=31, help="pairs with and without observations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--build", default=str(ROOT / "build"), help="where libsightline.so was built")
    chosen = parser.parse_args()
    chosen.peers = [] if chosen.peers == "none" else chosen.peers.split(",")
    chosen.observe = chosen.observe.split(",") if chosen.observe else []
    for level in set(chosen.observe) - set(engines.LEVELS):
        parser.error(f"--observe takes {', '.join(engines.LEVELS)}, not '{level}'")
    return parser, chosen


def problem_shapes(parser, chosen):
    try:
        if chosen.shape:
            return [problem.Shape.parse(text, chosen.causal) for text in chosen.shape]
        causal = [True] if chosen.causal else [False, True]
        return [problem.Shape.parse(text, c) for text in DEFAULT_SHAPES for c in causal]
    except ValueError as error:
        parser.error(str(error))


class Clock:
    """CPU time of the process with one thread, wall time with more; and the peak that belongs to it."""

    def __init__(self, threads, build):
        self.now = time.process_time if threads == 1 else time.perf_counter
        self._threads = threads
        self._library = ctypes.CDLL(str(pathlib.Path(build) / "bench" / "libsightline_fma_peak.so"))
        self._library.sightline_fma_peak.argtypes = [ctypes.c_double]
        self._library.sightline_fma_peak.restype = ctypes.c_double

    def peak(self):
        """Operations a second of all threads."""
        return self._threads * self._library.sightline_fma_peak(PEAK_SECONDS)

    def seconds(self, run, number=1):
        start = self.now()
        for _ in range(number):
            run()
        return (self.now() - start) / number

    def number(self, run):
        """Runs that fill a sample."""
        return max(1, round(SAMPLE_SECONDS / max(self.seconds(run), 1e-6)))


def worst_difference(got, expected):
    """Largest difference, as a share of the largest value."""
    return float(np.max(np.abs(got - expected)) / np.max(np.abs(expected)))


def verified(name, contender, expected):
    contender.run()
    difference = worst_difference(contender.output(), expected["out"])
    contender.difference = difference
    if not difference <= contender.tolerance:
        raise engines.Unsupported(f"its output differs from fp64 by {difference:.1e} of the largest value")
    for field in ("lse", "entropy"):
        if field in contender.observed:
            difference = worst_difference(contender.observed[field], expected[field])
            if not difference <= TOLERANCE:
                raise engines.Unsupported(f"its {field} differs from fp64 by {difference:.1e} of the largest value")
    return contender


def contenders(case, expected, chosen, library):
    """Sightline first; it must be right. A peer that is absent, unable or wrong is said and left out."""
    found = {"sightline": verified("sightline", engines.sightline(case, chosen.threads, library), expected)}
    left_out = {}
    makers = {name: engines.PEERS[name] for name in chosen.peers}
    if chosen.fast:
        makers = {"sightline-fast": functools.partial(engines.sightline_fast, build=chosen.build), **makers}
    for name, make in makers.items():
        try:
            found[name] = verified(name, make(case, chosen.threads), expected)
        except engines.Unsupported as reason:
            left_out[name] = str(reason)
    return found, left_out


def interleaved_minima(found, clock, rounds):
    """Seconds of each contender, and the peak measured between them."""
    number = {name: clock.number(contender.run) for name, contender in found.items()}
    best = {name: float("inf") for name in found}
    peak = 0
    names = list(found)
    for turn in range(rounds):
        peak = max(peak, clock.peak())
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            best[name] = min(best[name], clock.seconds(found[name].run, number[name]))
    return best, peak


def overhead(plain, observed, clock, pairs):
    """Quartiles of observed / plain - 1 over pairs, the order changing from pair to pair."""
    number = clock.number(plain.run)
    ratios = []
    for pair in range(pairs):
        if pair % 2 == 0:
            base = clock.seconds(plain.run, number)
            ratios.append(clock.seconds(observed.run, number) / base - 1)
        else:
            with_observations = clock.seconds(observed.run, number)
            ratios.append(with_observations / clock.seconds(plain.run, number) - 1)
    return statistics.quantiles(ratios, n=4)


def measure(shape, chosen, clock, library):
    case = problem.Problem(shape, chosen.seed)
    expected = case.reference()
    found, left_out = contenders(case, expected, chosen, library)
    best, peak = interleaved_minima(found, clock, chosen.repeat)
    result = {"shape": str(shape), "peak": peak, "left_out": left_out, "engines": {}, "observations": {}}
    for name, seconds in best.items():
        result["engines"][name] = {
            "seconds": seconds,
            "of_peak": shape.operations() / seconds / peak,
            "ratio": seconds / best["sightline"],
            "difference": found[name].difference,
        }
    for level in chosen.observe:
        observed = verified("sightline", engines.sightline(case, chosen.threads, library, level), expected)
        result["observations"][level] = overhead(found["sightline"], observed, clock, chosen.pairs)
    return result


def show(result):
    print(f"\n{result['shape']}: peak {result['peak'] / 1e9:.1f} GFLOP/s")
    for name, row in result["engines"].items():
        ratio = "" if name == "sightline" else f"   sightline is {row['ratio']:.2f} x as fast"
        print(f"  {name:14}{1e3 * row['seconds']:10.3f} ms {100 * row['of_peak']:6.1f} % of peak{ratio}"
              f"   off by {row['difference']:.1e}")
    for name, reason in result["left_out"].items():
        print(f"  {name:14}left out: {reason}")
    for level, (low, median, high) in result["observations"].items():
        print(f"  + {level:12}{100 * median:+10.1f} %   (quartiles {100 * low:+.1f} %, {100 * high:+.1f} %)")
    sys.stdout.flush()


def versions(peers):
    found = {}
    for peer in peers:
        try:
            found[peer] = engines.version(peer)
        except engines.Unsupported as reason:
            found[peer] = str(reason)
    return found


def main():
    parser, chosen = arguments()
    for unknown in set(chosen.peers) - set(engines.PEERS):
        parser.error(f"--peers takes {', '.join(engines.PEERS)}, or none; not '{unknown}'")
    shapes = problem_shapes(parser, chosen)
    library = sightline_c.built_library(chosen.build)
    clock = Clock(chosen.threads, chosen.build)
    about = {
        "target": library.simd_target(),
        "arithmetic": library.arithmetic_version(),
        "threads": chosen.threads,
        "peers": versions(chosen.peers),
    }
    if not chosen.json:
        print(f"sightline: target {about['target']}, arithmetic {about['arithmetic']}, {about['threads']} thread(s)")
        print("peers: " + (", ".join(f"{peer} {version}" for peer, version in about["peers"].items()) or "none"))
    results = []
    for shape in shapes:
        results.append(measure(shape, chosen, clock, library))
        if not chosen.json:
            show(results[-1])
    if chosen.json:
        json.dump({**about, "results": results}, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
