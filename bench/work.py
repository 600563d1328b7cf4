"""The works that bench/peers.py measures: which cases, what runs in each, and the row of numbers that it gives."""

import dataclasses
from collections.abc import Callable

import numpy as np

import engines
import harness
import rivals
import sightline_c
from problem import Problem
from shapes import Shape

DECODE_PEERS = ("torch", "torch-bf16", "ort-mha", "ort-attention", "ort-gqa", "openvino")
FORWARD_PEERS = ("torch", "ort-mha", "ort-attention", "ort-gqa", "openvino")
BUDGETED_PAIRS = (5, 31)  # fewest and most rounds of paired costs
VARLEN_SEED, VARLEN_SEQUENCES, VARLEN_RANGE = 7, 64, (20, 500)


@dataclasses.dataclass
class Session:
    """What measurements share."""

    library: sightline_c.Library
    limits: harness.Limits
    peers: tuple  # names of rivals.PEERS
    budget: float  # seconds of turns a case
    threads: int = 1
    seed: int = 0
    levels: tuple = ()  # of observations, each over none; empty: those that have targets

    def clock(self):
        return harness.Clock(self.threads)

    def peak(self):
        return self.limits.peak(self.threads)

    def problem(self, shape, dtype="f32"):
        return Problem(shape, self.seed, dtype=dtype)


def contenders(session, problem, expected, ours, peers):
    """Ours, which must be right, and peers; one that is absent, unable or wrong is left out, and why is said."""
    clock, left_out = session.clock(), {}
    found = {name: harness.verified(make(), expected, clock) for name, make in ours.items()}
    for name, make in peers.items():
        try:
            found[name] = harness.verified(make(problem, session.threads), expected, clock)
        except engines.Unsupported as reason:
            left_out[name] = str(reason)
    return found, left_out


def compared(session, problem, expected, ours, peers, operations, extra_runs=None):
    """A row: seconds of each contender by turns."""
    found, left_out = contenders(session, problem, expected, ours, peers)
    runs = {name: contender.run for name, contender in found.items()} | (extra_runs or {})
    mine = {*ours, *(extra_runs or {})}
    firsts = {name: contender.first for name, contender in found.items()}
    seconds, peak = harness.interleaved_minima(runs, session.clock(), session.peak, session.budget, mine, firsts)
    return {
        **about(problem),
        "peak": peak,
        "operations": operations,
        "seconds": seconds,
        "difference": {name: contender.difference for name, contender in found.items()},
        "left_out": left_out,
    }


def about(problem):
    shape = dataclasses.asdict(problem.shape)
    shape["lengths"] = len(shape["lengths"])
    return {"case": str(problem.shape), "shape": shape, "dtype": problem.dtype}


def forward(session, shape):
    problem = session.problem(shape)
    expected = problem.reference(problem.checked_rows())
    ours = {"sightline": lambda: engines.sightline(problem, session.threads, session.library)}
    peers = {name: rivals.PEERS[name] for name in session.peers}
    return compared(session, problem, expected, ours, peers, shape.operations())


def fast(session, shape):
    problem = session.problem(shape)
    expected = problem.reference(problem.checked_rows())
    ours = {
        "sightline": lambda: engines.sightline(problem, session.threads, session.library),
        "sightline-fast": lambda: engines.sightline_fast(problem, session.threads, session.library),
    }
    peers = {name: rivals.PEERS[name] for name in session.peers}
    return compared(session, problem, expected, ours, peers, shape.operations())


def backward(session, shape):
    problem = session.problem(shape)
    ours = {"sightline": lambda: engines.sightline_backward(problem, session.threads, session.library)}
    peers = {name: rivals.torch_backward for name in session.peers}
    return compared(session, problem, problem.reference_gradients(), ours, peers, shape.backward_operations())


def decode(session, case):
    """A query a head over n keys; beside it a plain sum over the bytes of keys and values."""
    shape, dtype = case
    problem = session.problem(shape, dtype)
    ours = {"sightline": lambda: engines.sightline(problem, session.threads, session.library)}
    bf16_peers = [name for name in session.peers if name.endswith("bf16")]
    able = {"f32": [name for name in session.peers if name not in bf16_peers], "bf16": bf16_peers}.get(dtype, [])
    peers = {name: rivals.PEERS[name] for name in able}
    kept = [problem.packed_k.data, problem.packed_v.data]
    sums = {"sum": lambda: session.limits.sum(kept)}
    row = compared(session, problem, problem.reference(), ours, peers, shape.operations(), sums)
    return {**row, "bytes": problem.kv_bytes()}


def beside_full_map(session, shape):
    """A problem that sees few of its pairs, and n = 4096 where all are seen."""
    problem = session.problem(shape)
    full = session.problem(Shape.square(shape.query_heads, shape.kv_heads, 4096, shape.width))
    base = engines.sightline(full, session.threads, session.library)
    harness.verified(base, full.reference(full.checked_rows()), session.clock())
    expected = problem.reference(problem.checked_rows())
    ours = {"sightline": lambda: engines.sightline(problem, session.threads, session.library)}
    peers = {name: rivals.PEERS[name] for name in session.peers}
    row = compared(session, problem, expected, ours, peers, shape.operations(), {"full": base.run})
    return {**row, "full_operations": full.shape.operations()}


def observe(session, case):
    """What levels of observation cost, over none or the level named beside them."""
    shape, dtype = case
    problem, clock = session.problem(shape, dtype), session.clock()
    expected = problem.reference(problem.checked_rows())
    asked = {level: "none" for level in session.levels}
    bases = {"none": "none"} | (asked or {"basic": "none", "top4": "basic", "all": "none"})
    found = {
        level: harness.verified(engines.sightline(problem, session.threads, session.library, level), expected, clock)
        for level in bases
    }
    runs = {level: (found[level].run, base) for level, base in bases.items()}
    number, once = clock.first_turn(runs["none"][0], found["none"].first)
    fewest, most = BUDGETED_PAIRS
    pairs = int(min(most, max(fewest, session.budget / (len(runs) * number * once))))
    costs = harness.paired_costs(runs, clock, pairs, number)
    return {**about(problem), "costs": costs, "pairs": pairs}


def two_threads(session, case):
    """Wall time of a pass on one thread and on two, and the peaks of as many."""
    shape, make = case
    problem, clock = session.problem(shape), harness.Clock(2)
    backwards = make is engines.sightline_backward
    expected = problem.reference_gradients() if backwards else problem.reference(problem.checked_rows())
    found = {n: harness.verified(make(problem, n, session.library), expected, clock) for n in (1, 2)}
    peaks = {1: 0.0, 2: 0.0}

    def measure_peaks():
        for threads in peaks:
            peaks[threads] = max(peaks[threads], session.limits.wall_peak(threads))
        return peaks[1]

    runs = {threads: contender.run for threads, contender in found.items()}
    seconds, _ = harness.interleaved_minima(runs, clock, measure_peaks, session.budget, set(runs))
    return {**about(problem), "kind": "backward" if backwards else "forward", "seconds": seconds, "peaks": peaks}


def growth(session, case):
    """Seconds of one head at each length."""
    width, causal, lengths = case
    problems = {n: session.problem(Shape.square(1, 1, n, width, causal)) for n in lengths}
    found = {n: engines.sightline(p, session.threads, session.library) for n, p in problems.items()}
    for n, problem in problems.items():
        harness.verified(found[n], problem.reference(problem.checked_rows()), session.clock())
    runs = {n: contender.run for n, contender in found.items()}
    firsts = {n: contender.first for n, contender in found.items()}
    seconds, peak = harness.interleaved_minima(runs, session.clock(), session.peak, session.budget, set(runs), firsts)
    name = f"one head, D={width}" + (", causal" if causal else "")
    return {**about(problems[lengths[0]]), "case": name, "seconds": seconds, "peak": peak, "lengths": list(lengths)}


def varlen_lengths():
    low, high = VARLEN_RANGE
    return [int(n) for n in np.random.default_rng(VARLEN_SEED).integers(low, high + 1, VARLEN_SEQUENCES)]


def squares(heads_of_n, widths, causal=(False, True)):
    """Shapes by length; heads_of_n: n -> (query heads, KV heads), fewer for long ones so that none takes minutes."""
    return [Shape.square(*heads, n, width, c) for n, heads in heads_of_n.items() for width in widths for c in causal]


def prefill_cases():
    alone = {2048: (8, 8), 4096: (2, 2), 8192: (1, 1), 16384: (1, 1)}
    grouped = {2048: (8, 2), 4096: (4, 1), 8192: (4, 1), 16384: (4, 1)}
    short = squares({512: (12, 12)}, (32, 64, 128), (True,))
    return short + squares(alone, (32, 64, 128)) + squares({2048: (8, 2)}, (32,)) + squares(grouped, (64, 128))


def avx2_cases():
    alone, widths = {2048: (8, 8), 8192: (1, 1)}, (32, 64, 128)
    return squares({512: (12, 12)}, widths, (True,)) + squares(alone, widths) + squares({2048: (8, 2)}, (64, 128))


def decode_shape(heads, n):
    return Shape(1, *heads, 1, n, 128, 128)


def decode_cases():
    dtypes = ("f32", "bf16", "f16", "i8_row", "q4_1")
    return [(decode_shape(heads, 8192), dtype) for heads in ((32, 8), (32, 32)) for dtype in dtypes]


def decode_cache_cases():
    dtypes = ("f32", "bf16")
    sizes = (128, 256, 512, 1024)
    return [(decode_shape(heads, n), dtype) for heads in ((32, 8), (32, 32)) for dtype in dtypes for n in sizes]


def observe_cases():
    shapes = squares({2048: (4, 4), 8192: (1, 1)}, (64, 128)) + squares({32768: (1, 1)}, (64, 128), (True,))
    decoding = [(decode_shape((32, 8), 8192), dtype) for dtype in ("f32", "bf16")]
    return [(shape, "f32") for shape in shapes] + decoding


def thread_cases():
    forwards = [(shape, engines.sightline) for shape in squares({2048: (8, 8), 4096: (1, 1)}, (64, 128))]
    return forwards + [(shape, engines.sightline_backward) for shape in squares({2048: (2, 2)}, (64, 128), (False,))]


GROWTH_LENGTHS = [1024 << i for i in range(7)]


@dataclasses.dataclass(frozen=True)
class Work:
    """How one work is measured."""

    measure: Callable  # (session, case) -> row
    cases: Callable  # () -> list
    peers: tuple = ()
    of_shape: Callable | None = None  # shape -> case, where shapes may be asked for


def with_dtype(shape):
    return shape, "f32"


WORKS = {
    "prefill": Work(forward, prefill_cases, FORWARD_PEERS, lambda shape: shape),
    "avx2": Work(forward, avx2_cases, FORWARD_PEERS, lambda shape: shape),
    "window": Work(
        beside_full_map,
        lambda: [Shape.square(1, 1, 16384, width, True, 1024) for width in (64, 128)],
        ("torch",),
    ),
    "varlen": Work(
        beside_full_map,
        lambda: [Shape.packed(2, varlen_lengths(), width, causal) for width in (64, 128) for causal in (False, True)],
        ("torch",),
    ),
    "fast": Work(
        fast,
        lambda: squares({2048: (4, 4), 8192: (1, 1)}, (64, 128)) + squares({2048: (8, 2)}, (128,)),
        ("torch-bf16",),
        lambda shape: shape,
    ),
    "decode": Work(decode, decode_cases, DECODE_PEERS, with_dtype),
    "decode-cache": Work(decode, decode_cache_cases, DECODE_PEERS, with_dtype),
    "backward": Work(
        backward,
        lambda: squares({1024: (8, 8), 2048: (4, 4), 4096: (1, 1)}, (64, 128)),
        ("torch",),
        lambda shape: shape,
    ),
    "observe": Work(observe, observe_cases, (), with_dtype),
    "threads": Work(two_threads, thread_cases, (), lambda shape: (shape, engines.sightline)),
    "growth": Work(growth, lambda: [(64, causal, GROWTH_LENGTHS) for causal in (False, True)]),
}
