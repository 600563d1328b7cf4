"""Sightline as a contender: what is timed of a Problem, and what that must give."""

import ctypes
import dataclasses
from collections.abc import Callable

import numpy as np

import packing
import sightline_c

EXACT_TOLERANCE = 1e-4
BF16_TOLERANCE = 0.05
TOP_KEYS = 4
OVERVIEW_BINS = 64


class Unsupported(Exception):
    """The engine is not installed, or cannot do the problem; the text says which."""


@dataclasses.dataclass
class Contender:
    run: Callable[[], None]  # points into what the contender holds
    output: Callable[[], dict]  # of the last run: "out" [B, Hq, Nq, Dv], or gradients by name
    observed: dict = dataclasses.field(default_factory=dict)  # Sightline's: name -> array
    tolerance: float = EXACT_TOLERANCE  # largest difference from fp64, as a share of the largest value
    difference: float = 0.0  # what it is
    first: float = 0.0  # seconds of the first run, by the clock that it is timed with
    state: object = None  # what else the run points into


BASIC = ("lse", "row_max", "entropy", "position")
SINGLE = ("distance", "offsets", "key_mass", "segments", "overview")
# What can be asked for; docs/performance.md lists it.
LEVELS = {
    "none": (),
    "basic": BASIC,
    "top4": (*BASIC, "top_k"),
    "all": (*BASIC, "top_k", *SINGLE),
    **{name: (name,) for name in SINGLE},
}


def observations(shape, level):
    """Arrays and counts of a level, by field name of the arguments."""
    rows, arrays, counts = shape.output_shape()[:3], {}, {}
    for name in LEVELS[level]:
        if name == "top_k":
            counts["top_k"] = TOP_KEYS
            arrays["topk_index"] = np.empty((*rows, TOP_KEYS), np.int32)
            arrays["topk_weight"] = np.empty((*rows, TOP_KEYS), np.float32)
        elif name == "offsets":
            arrays["offsets"] = np.array([-1, 0, 1])
            counts["offset_count"] = len(arrays["offsets"])
            arrays["offset_mass"] = np.empty((*rows, len(arrays["offsets"])), np.float32)
        elif name == "key_mass":
            arrays["key_mass"] = np.empty((*rows[:2], shape.keys), np.float32)
        elif name == "segments":
            # Two, the ends of the sequence and the rest, as special tokens would be.
            arrays["segment_of_key"] = np.zeros(shape.keys, np.int32)
            arrays["segment_of_key"][[0, -1]] = 1
            counts |= {"segment_key_count": shape.keys, "segments": 2}
            arrays["segment_mass"] = np.empty((*rows, 2), np.float32)
        elif name == "overview":
            bins = min(OVERVIEW_BINS, shape.queries), min(OVERVIEW_BINS, shape.keys)
            counts["overview_rows"], counts["overview_cols"] = bins
            arrays["overview"] = np.empty((*rows[:2], *bins), np.float32)
        else:
            arrays[name] = np.empty(rows, np.float32)
    return arrays, counts


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p).value


def arguments(problem, threads, q, out, **fields):
    """Arguments over the problem's keys and values."""
    shape = problem.shape
    args = sightline_c.AttentionArgs(
        q=q,
        k=problem.packed_k.tensor,
        v=problem.packed_v.tensor,
        out=out,
        threads=threads,
        causal=int(shape.causal),
        alignment=sightline_c.TOP_LEFT,
        **fields,
    )
    if shape.window:
        args.has_window, args.window_left, args.window_right = 1, shape.window - 1, -1
    bounds = np.array(shape.cu_seqlens(), np.int32)
    args.lives_as_long = (problem, bounds)
    if shape.lengths:
        args.cu_seqlens_q = args.cu_seqlens_k = pointer(bounds)
        args.cu_seqlen_count = len(bounds)
    return args


def sightline(problem, threads, library, level="none"):
    out = np.empty(problem.shape.output_shape(), np.float32)
    arrays, counts = observations(problem.shape, level)
    pointers = {name: pointer(array) for name, array in arrays.items()}
    args = arguments(problem, threads, packing.dense(problem.q), packing.dense(out), **pointers, **counts)
    return Contender(lambda: library.attention(args), lambda: {"out": out}, arrays)


def sightline_fast(problem, threads, library):
    """Precision fast, queries and output bf16; so are keys and values of the problem, or are rounded."""
    if not library.fast_available():
        raise Unsupported("this machine has no instruction for it")
    q = packing.pack(problem.q, "bf16")
    k, v = (packing.pack(array, "bf16") for array in (problem.k, problem.v))
    out = np.zeros(problem.shape.output_shape(), np.uint16)
    tensor = sightline_c.Tensor.dense(out.ctypes.data, out.shape, sightline_c.BF16)
    args = arguments(problem, threads, q.tensor, tensor)
    args.k, args.v = k.tensor, v.tensor
    options = sightline_c.Options(precision=sightline_c.FAST)
    return Contender(
        run=lambda: library.attention_run(args, options),
        output=lambda: {"out": packing.from_bf16(out)},
        tolerance=BF16_TOLERANCE,
        state=(q, k, v),
    )


def sightline_backward(problem, threads, library):
    """The gradients alone; the forward pass has been run."""
    shape = problem.shape
    out = np.empty(shape.output_shape(), np.float32)
    state = {name: np.empty(out.shape[:3], np.float32) for name in ("row_max", "row_sum")}
    pointers = {name: pointer(array) for name, array in state.items()}
    args = arguments(problem, threads, packing.dense(problem.q), packing.dense(out), **pointers)
    library.attention(args)
    dout = problem.gradient_of_output()
    shapes = {"q": shape.query_shape(), "k": shape.key_shape(), "v": shape.value_shape()}
    arrays = {name: np.empty(size, np.float32) for name, size in shapes.items()}
    gradients = sightline_c.Gradients(
        dout=packing.dense(dout), **{name: packing.dense(array) for name, array in arrays.items()}
    )
    return Contender(lambda: library.attention_backward(args, gradients), lambda: arrays, state=(out, state, dout))
