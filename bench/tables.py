#!/usr/bin/env python3
"""Tables of what bench/peers.py measured, and how it compares with what is to be reached.

    bench/tables.py RESULTS.json...                          all tables
    bench/tables.py --missed RESULTS.json...                 what misses its target, worst first
    bench/tables.py --into docs/performance.md RESULTS.json...   puts each table between <!-- NAME --> and <!-- end -->
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import sys

OURS = ("sightline", "sightline-fast", "sightline-f16", "watched", "sum", "full")  # runs of a row that are no peers
PREFILL_SHARE = {32: 0.62, 64: 0.74, 128: 0.80}
SHORT_SHARE = {64: 0.64, 128: 0.68}  # causal, n = 512
FULL_MAP_RATIO = {64: 1.4, 128: 1.35}  # over the best peer, not causal
PREFILL_RATIO, AVX2_RATIO, FAST_RATIO = 1.5, 1.3, 1.3
BACKWARD_SHARE, BACKWARD_RATIO = 0.60, 1.8
PAIR_TIME, CAUSAL_VARLEN_PAIR_TIME = 1.15, 1.4
SUM_SHARE = {"f32": 0.9, "bf16": 0.9, "f16": 0.9, "i8_row": 0.8, "q4_1": 0.8}
GROUPED_DECODE_RATIO = 2.5
BASIC, TOP4, EVERYTHING, DECODING = 0.03, {64: 0.08, 128: 0.05}, 0.12, 0.03
THREADS = 0.95
# Of a model's prefill by the layout of its file: times the best rival. bf16's are of two ways to compute.
MODEL_RATIOS = {
    "q8_0": {"sightline": 2.0},
    "q4_k_m": {"sightline": 2.0},
    "hf-f32": {"sightline": 1.5},
    "hf-bf16": {"sightline": 0.6, "sightline-fast": 1.0},
}
# Of a model's decoding: times the best rival, of what reading its weights allows, what watching costs, two threads.
DECODE_RATIOS = {"q8_0": 1.6, "q4_k_m": 1.6, "hf-f32": 1.5, "hf-bf16": 1.5}
DECODE_OF_WEIGHTS, WATCHING, DECODE_THREADS = 0.6, 0.03, 0.9
FIRST_SECONDS, FIRST_MEGABYTES = 1.0, 100  # to the first logits; resident beyond file and cache
IDLE_PEAKS = 1.8  # what two threads' peak is over one's at least, where nothing else runs
GROWTH, GROWTH_MARGIN = 2.0, 0.05


def peers_of(row):
    return {name: seconds for name, seconds in row["seconds"].items() if name not in OURS}


def best_peer_ratio(row, ours="sightline"):
    """How many times as fast as the fastest peer, of those that are held to the same instructions; NaN without one."""
    held = [seconds for name, seconds in peers_of(row).items() if name not in row.get("not_forced", ())]
    return min(held, default=math.nan) / row["seconds"][ours]


def share(row, name="sightline"):
    return row["operations"] / row["seconds"][name] / row["peak"]


def pair_time(row):
    """Time per visible pair over that of the full map."""
    return row["seconds"]["sightline"] / row["operations"] * row["full_operations"] / row["seconds"]["full"]


def of_sum(row):
    return row["seconds"]["sum"] / row["seconds"]["sightline"]


def thread_share(row):
    speedup, peaks = row["seconds"]["1"] / row["seconds"]["2"], row["peaks"]["2"] / row["peaks"]["1"]
    return speedup / peaks


def exponent(row):
    """Least squares of log seconds over log n."""
    seconds = [row["seconds"][str(n)] for n in row["lengths"]]
    return statistics.linear_regression([math.log(n) for n in row["lengths"]], [math.log(s) for s in seconds]).slope


def grouped(row):
    return row["shape"]["kv_heads"] != row["shape"]["query_heads"]


def at_least(what, value, bound):
    return what, value, bound, value / bound - 1


def at_most(what, value, bound):
    return what, value, bound, 1 - value / bound


def prefill_targets(row):
    shape, width = row["shape"], row["shape"]["width"]
    if shape["queries"] >= 2048 and width in PREFILL_SHARE:
        yield at_least("share of peak", share(row), PREFILL_SHARE[width])
    if shape["queries"] == 512 and shape["causal"] and width in SHORT_SHARE:
        yield at_least("share of peak", share(row), SHORT_SHARE[width])
    ratio = PREFILL_RATIO if shape["causal"] else FULL_MAP_RATIO.get(width, PREFILL_RATIO)
    yield at_least("x best peer", best_peer_ratio(row), ratio)


def avx2_targets(row):
    yield at_least("x best peer", best_peer_ratio(row), AVX2_RATIO)


def fast_targets(row):
    yield at_least("x best peer", best_peer_ratio(row, "sightline-fast"), FAST_RATIO)


def pair_targets(row):
    varlen_causal = row["shape"]["lengths"] and row["shape"]["causal"]
    yield at_most("time per pair", pair_time(row), CAUSAL_VARLEN_PAIR_TIME if varlen_causal else PAIR_TIME)


def decode_targets(row):
    yield at_least("of plain sum", of_sum(row), SUM_SHARE[row["dtype"]])
    torch = {"f32": "torch", "bf16": "torch-bf16"}.get(row["dtype"])
    if grouped(row) and torch in row["seconds"]:
        yield at_least("x PyTorch", row["seconds"][torch] / row["seconds"]["sightline"], GROUPED_DECODE_RATIO)


def decode_cache_targets(row):
    yield at_least("x best peer", best_peer_ratio(row), 1.0)


def backward_targets(row):
    yield at_least("share of peak", share(row), BACKWARD_SHARE)
    yield at_least("x best peer", best_peer_ratio(row), BACKWARD_RATIO)


def observe_targets(row):
    decoding = row["shape"]["queries"] == 1
    bounds = {"basic": BASIC, "top4": TOP4[row["shape"]["width"]], "all": EVERYTHING}
    for level in bounds.keys() & row["costs"].keys():
        yield at_most(f"{level} costs", row["costs"][level][1], DECODING if decoding else bounds[level])


def threads_targets(row):
    yield at_least("the peaks' own ratio, on a busy machine", row["peaks"]["2"] / row["peaks"]["1"], IDLE_PEAKS)
    yield at_least("of peaks' ratio", thread_share(row), THREADS)


def growth_targets(row):
    yield at_most("exponent from 2", abs(exponent(row) - GROWTH), GROWTH_MARGIN)


def model_targets(row):
    for ours, bound in MODEL_RATIOS.get(row["layout"], {}).items():
        if ours in row["seconds"] and peers_of(row):
            yield at_least(f"{ours} x best rival", best_peer_ratio(row, ours), bound)


def model_decode_targets(row):
    if peers_of(row):
        yield at_least("x best rival", best_peer_ratio(row), DECODE_RATIOS.get(row["layout"], 1.5))
    if not row["layout"].startswith("hf-"):
        yield at_least("of reading the weights", of_sum(row), DECODE_OF_WEIGHTS)
    yield at_most("watching costs", row["costs"]["watching"][1], WATCHING)


def model_threads_targets(row):
    yield at_least("of sums' ratio", thread_share(row), DECODE_THREADS)


def megabytes_beyond(row):
    return (row["resident"] - row["file"] - row["cache"]) / 1e6


def first_targets(row):
    yield at_most("seconds", row["seconds"], FIRST_SECONDS)
    yield at_most("MB beyond file and cache", megabytes_beyond(row), FIRST_MEGABYTES)


def percent(value):
    return f"{100 * value:.0f} %"


def times(value):
    return "" if math.isnan(value) else f"{value:.2f} ×"


def cost(quartiles):
    low, median, high = (100 * q for q in quartiles)
    return f"{median:+.1f} % ({low:+.1f} to {high:+.1f})"


def costs(row):
    return ", ".join(f"{name} {cost(quartiles)}" for name, quartiles in row["costs"].items())


def star(row, peer):
    return "*" if peer in row.get("not_forced", ()) else ""


def peer_cells(row, ours="sightline"):
    """Each peer's share of the peak, and how many times as fast Sightline is."""
    return ", ".join(
        f"{name}{star(row, name)} {percent(share(row, name))} ({times(seconds / row['seconds'][ours])})"
        for name, seconds in sorted(peers_of(row).items(), key=lambda peer: peer[1])
    )


def peer_ratios(row):
    return ", ".join(
        f"{name} {times(seconds / row['seconds']['sightline'])}"
        for name, seconds in sorted(peers_of(row).items(), key=lambda peer: peer[1])
    )


def token_rates(row, names):
    """Tokens a second, and in brackets how many times a rival's that is."""
    seconds = row["seconds"]
    return ", ".join(
        f"{name} {row['tokens'] / seconds[name]:.0f}" + (f" ({times(best_peer_ratio(row, name))})" if name in OURS else "")
        for name in names
        if name in seconds
    )


def differences(row):
    return ", ".join(f"{name} {value:.1e}" for name, value in row["difference"].items())


def case(row):
    return row["case"] + ("" if row["dtype"] == "f32" else f", {row['dtype']}")


def thread_columns(limit, share):
    """What two threads gain, beside what the machine allows."""
    return {
        "": lambda row: f"{case(row)}, {row['kind']}",
        "2 threads": lambda row: times(row["seconds"]["1"] / row["seconds"]["2"]),
        limit: lambda row: times(row["peaks"]["2"] / row["peaks"]["1"]),
        share: lambda row: f"{thread_share(row):.2f}",
    }


FORWARD = {
    "": case,
    "of peak": lambda row: percent(share(row)),
    "× best peer": lambda row: times(best_peer_ratio(row)),
    "at the peak it would be": lambda row: times(best_peer_ratio(row) / share(row)),
    "peers: of peak (Sightline is)": peer_cells,
}
PAIRS = {
    "": case,
    "time per visible pair, n = 4096 not causal is 1": lambda row: f"{pair_time(row):.2f}",
    "of peak": lambda row: percent(share(row)),
    "Sightline is": peer_ratios,
}
DECODE = {
    "32 query heads": lambda row: f"{row['shape']['kv_heads']} KV heads, n={row['shape']['keys']}, {row['dtype']}",
    "µs": lambda row: f"{1e6 * row['seconds']['sightline']:.0f}",
    "GB/s": lambda row: f"{1e-9 * row['bytes'] / row['seconds']['sightline']:.1f}",
    "of a plain sum": lambda row: percent(of_sum(row)),
    "Sightline is": peer_ratios,
}
# Of each work: columns (header -> cell of a row), and its targets.
TABLES = {
    "prefill": (FORWARD, prefill_targets),
    "avx2": (FORWARD, avx2_targets),
    "window": (PAIRS, pair_targets),
    "varlen": (PAIRS, pair_targets),
    "fast": (
        {
            "": case,
            "fast: of fp32 peak": lambda row: percent(share(row, "sightline-fast")),
            "exact": lambda row: percent(share(row)),
            "peers (fast is)": lambda row: peer_cells(row, "sightline-fast"),
            "off by": differences,
        },
        fast_targets,
    ),
    "decode": (DECODE, decode_targets),
    "decode-cache": (DECODE, decode_cache_targets),
    "backward": (FORWARD, backward_targets),
    "observe": (
        {
            "": case,
            "cost (quartiles)": costs,
        },
        observe_targets,
    ),
    "threads": (
        thread_columns("peak", "of the peaks' ratio"),
        threads_targets,
    ),
    "models": (
        {
            "": lambda row: row["case"],
            "tokens a second (× the best rival)": lambda row: token_rates(row, OURS),
            "rivals": lambda row: token_rates(row, sorted(peers_of(row), key=row["seconds"].get)),
            "at the fp32 peak it would be": lambda row: times(
                min(peers_of(row).values(), default=math.nan) * row["peak"] / row["operations"]
            ),
        },
        model_targets,
    ),
    "model-decode": (
        {
            "": lambda row: f"{row['case']}, after {row['context']} tokens",
            "ms a token": lambda row: f"{1e3 * row['seconds']['sightline']:.2f}",
            "GB/s of weights": lambda row: f"{1e-9 * row['weights'] / row['seconds']['sightline']:.1f}",
            "of reading them": lambda row: percent(of_sum(row)),
            "tokens a second (× the best rival)": lambda row: token_rates(row, ("sightline", "sightline-f16")),
            "rivals": lambda row: token_rates(row, sorted(peers_of(row), key=row["seconds"].get)),
            "watching": lambda row: cost(row["costs"]["watching"]),
        },
        model_decode_targets,
    ),
    "model-threads": (
        thread_columns("two plain sums", "of the sums' ratio"),
        model_threads_targets,
    ),
    "first-logits": (
        {
            "": lambda row: row["case"],
            "file": lambda row: f"{row['file'] / 1e6:.0f} MB",
            "CPU time": lambda row: f"{row['seconds']:.2f} s",
            "of it the tokenizer": lambda row: f"{row['tokenizer']:.2f} s",
            "wall time": lambda row: f"{row['wall']:.2f} s",
            "resident": lambda row: f"{row['resident'] / 1e6:.0f} MB",
            "beyond file and cache": lambda row: f"{megabytes_beyond(row):.0f} MB",
        },
        first_targets,
    ),
    "growth": (
        {
            "": case,
            "ms at n": lambda row: ", ".join(f"{n}: {1e3 * row['seconds'][str(n)]:.1f}" for n in row["lengths"]),
            "exponent": lambda row: f"{exponent(row):.3f}",
        },
        growth_targets,
    ),
}


def value_text(value, bound):
    """Three digits, or as many as it takes to tell the value from the bound that it misses."""
    return next(text for text in (f"{value:.{digits}g}" for digits in range(3, 18)) if text != f"{bound:g}")


def verdict(work, row):
    """Misses of a row, as text; empty where there is none."""
    targets = TABLES[work][1](row)
    return "; ".join(f"{what}: {value_text(value, bound)}, not {bound:g}" for what, value, bound, margin in targets if margin < 0)


def header(work):
    names = [*TABLES[work][0], "missed"]
    return "| " + " | ".join(names) + " |\n|" + "---|" * len(names)


def line(work, row):
    return "| " + " | ".join([*(cell(row) for cell in TABLES[work][0].values()), verdict(work, row)]) + " |"


def table(result):
    work = result["work"]
    return "\n".join([header(work), *(line(work, row) for row in result["rows"])])


def misses(results):
    """(margin, work, case, text), worst first."""
    found = []
    for result in results:
        for row in result["rows"]:
            for what, value, bound, margin in TABLES[result["work"]][1](row):
                if margin < 0:
                    found.append((margin, result["work"], case(row), f"{what} {value:.3f}, target {bound:g}"))
    return sorted(found)


def replaced(text, result):
    """The text with the table of a work in its place."""
    place = re.compile(rf"(<!-- {re.escape(result['work'])} -->\n).*?(\n<!-- end -->)", re.DOTALL)
    text, count = place.subn(lambda match: match[1] + "\n" + table(result) + "\n" + match[2], text)
    if count != 1:
        raise SystemExit(f"there must be one place for the table of {result['work']}, not {count}")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--missed", action="store_true", help="only what misses its target, worst first")
    parser.add_argument("--into", type=pathlib.Path, metavar="FILE", help="the text whose tables are replaced")
    chosen = parser.parse_args()
    results = [json.loads(path.read_text()) for path in chosen.results]
    if chosen.into:
        text = chosen.into.read_text()
        for result in results:
            text = replaced(text, result)
        chosen.into.write_text(text)
    elif chosen.missed:
        for margin, work, name, text in misses(results):
            print(f"{100 * margin:+6.1f} %  {work}: {name}: {text}")
    else:
        print("\n\n".join(f"{result['work']}\n\n{table(result)}" for result in results))


if __name__ == "__main__":
    sys.exit(main())
