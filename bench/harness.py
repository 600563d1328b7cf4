"""How contenders are measured: each is compared with fp64 first, then they take turns, and minima count."""

import ctypes
import pathlib
import statistics
import time

import numpy as np

from engines import Unsupported

SAMPLE_SECONDS = 0.02
PEAK_SECONDS = 0.02
MOST_ROUNDS, FEWEST_ROUNDS = 9, 3
# A peer that took this many times the best one's seconds, in a turn of at least LONG_TURN, has no more turns.
HOPELESS, LONG_TURN = 1.5, 0.5
OBSERVED_TOLERANCE = 1e-4


class Limits:
    """What the machine can do at most (limits.h)."""

    def __init__(self, build):
        self._library = ctypes.CDLL(str(pathlib.Path(build) / "bench" / "libsightline_limits.so"))
        self._library.sightline_fma_peak.argtypes = [ctypes.c_double]
        self._library.sightline_fma_peak.restype = ctypes.c_double
        self._library.sightline_fma_peak_of_threads.argtypes = [ctypes.c_double, ctypes.c_int]
        self._library.sightline_fma_peak_of_threads.restype = ctypes.c_double
        self._library.sightline_plain_sum.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def peak(self, threads=1):
        """Operations a second: CPU time of one thread, wall time of more."""
        if threads == 1:
            return self._library.sightline_fma_peak(PEAK_SECONDS)
        return self.wall_peak(threads)

    def wall_peak(self, threads):
        return self._library.sightline_fma_peak_of_threads(PEAK_SECONDS, threads)

    def sum(self, arrays):
        for array in arrays:
            self._library.sightline_plain_sum(array.ctypes.data, array.nbytes // 4 * 4)


class Clock:
    """CPU time of the process with one thread, wall time with more."""

    def __init__(self, threads=1):
        self.now = time.process_time if threads == 1 else time.perf_counter

    def seconds(self, run, number=1):
        start = self.now()
        for _ in range(number):
            run()
        return (self.now() - start) / number

    def first_turn(self, run, once=0.0):
        """How many runs fill a sample, and the seconds that one took; `once`: those of a run before."""
        if once < LONG_TURN:
            once = self.seconds(run)
        number = max(1, round(SAMPLE_SECONDS / max(once, 1e-6)))
        return number, once if number == 1 else self.seconds(run, number)


def worst_difference(got, expected):
    """Largest difference, as a share of the largest value."""
    return float(np.max(np.abs(got - expected)) / np.max(np.abs(expected)))


def verified(contender, expected, clock):
    """The contender after a run that gave what it should; `expected` has names of outputs, and "rows" if not all."""
    contender.first = clock.seconds(contender.run)
    rows = expected.get("rows", slice(None))
    for name, got in contender.output().items():
        difference = worst_difference(got[:, :, rows], expected[name])
        contender.difference = max(contender.difference, difference)
        if not difference <= contender.tolerance:
            raise Unsupported(f"its {name} differs from fp64 by {difference:.1e} of the largest value")
    for name in ("lse", "entropy"):
        if name in contender.observed:
            difference = worst_difference(contender.observed[name][:, :, rows], expected[name])
            if not difference <= OBSERVED_TOLERANCE:
                raise Unsupported(f"its {name} differs from fp64 by {difference:.1e} of the largest value")
    return contender


def rounds_within(seconds_a_round, budget):
    return int(min(MOST_ROUNDS, max(FEWEST_ROUNDS, budget / seconds_a_round)))


def hopeless(best, ours):
    """Peers that need no second turn; `ours` are never among them."""
    peers = {name: seconds for name, seconds in best.items() if name not in ours}
    limit = max(LONG_TURN, HOPELESS * min(peers.values(), default=0))
    return {name for name, seconds in peers.items() if seconds > limit}


def interleaved_minima(runs, clock, peak, budget, ours=(), firsts=None):
    """Seconds of each run (name -> function) by turns, and the peak (a function) measured between them; as many rounds
    as `budget` seconds allow. `firsts`: seconds of a first run, which is the first turn of what takes long."""
    number, best = {}, {}
    for name, run in runs.items():
        number[name], best[name] = clock.first_turn(run, (firsts or {}).get(name, 0.0))
    names = [name for name in runs if name not in hopeless(best, ours)]
    highest = peak()
    for turn in range(rounds_within(sum(best[name] * number[name] for name in names), budget) - 1):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            best[name] = min(best[name], clock.seconds(runs[name], number[name]))
        highest = max(highest, peak())
    return best, highest


def paired_costs(runs, clock, pairs, number):
    """For each run but the first, quartiles of its time over that of the one named beside it, less 1. `runs`: name ->
    (function, name of the base); all take turns, `number` runs each, and the order changes from round to round."""
    names = list(runs)
    ratios = {name: [] for name in names[1:]}
    for pair in range(pairs):
        order = names if pair % 2 == 0 else names[::-1]
        seconds = {name: clock.seconds(runs[name][0], number) for name in order}
        for name in ratios:
            ratios[name].append(seconds[name] / seconds[runs[name][1]] - 1)
    return {name: statistics.quantiles(values, n=4) for name, values in ratios.items()}
