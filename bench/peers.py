#!/usr/bin/env python3
"""Times Sightline beside PyTorch, ONNX Runtime and OpenVINO on the same inputs, in one process.

    bench/peers.py                                        prefill: the first table of docs/performance.md
    bench/peers.py --work decode --json decode.json       another; what was measured goes to a file too
    bench/peers.py --shape 1,8,2,1024,1024,128 --causal --peers torch
    bench/peers.py --work observe --shape 1,4,4,2048,2048,64 --levels none,distance,key_mass
    bench/peers.py --fast --peers torch,torch-bf16        Precision::fast beside PyTorch on bf16

Every output is compared with fp64 before anything is timed, that of long problems in 64 rows of each head. One thread
and process CPU time (with more threads, and for the work "threads": wall time); contenders take turns, each one's
minimum counts. The share of the peak is of what 12 independent multiply-add chains in registers reached in the same
run, in the SIMD target that Sightline uses (SIGHTLINE_TARGET forces one, and AVX2 those peers too that can be forced).
What observations cost is the median of paired ratios. Needs numpy; peers that are not installed are left out.
"""

import argparse
import json
import os
import pathlib
import sys

import engines
import harness
import rivals
import sightline_c
import tables
import work
from shapes import Shape

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", choices=work.WORKS, default="prefill")
    parser.add_argument("--fast", action="store_const", const="fast", dest="work", help="the same as --work fast")
    parser.add_argument("--shape", action="append", metavar="B,Hq,Hkv,Nq,Nk,D[,Dv]", help="may be given repeatedly")
    parser.add_argument("--causal", action="store_true", help="shapes are causal: key j <= query i")
    parser.add_argument("--peers", help="a list, or none; without it those that the work knows")
    parser.add_argument("--levels", help="of observations, a list of " + ", ".join(engines.LEVELS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--budget", type=float, default=8, help="seconds of turns for each case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="where to write what was measured")
    parser.add_argument("--build", default=str(ROOT / "build"), help="where libsightline.so was built")
    chosen = parser.parse_args()
    for name, known in (("peers", rivals.PEERS), ("levels", engines.LEVELS)):
        asked = getattr(chosen, name)
        names = tuple(asked.split(",")) if asked and asked != "none" else ()
        for unknown in set(names) - set(known):
            parser.error(f"--{name} takes {', '.join(known)}, not '{unknown}'")
        setattr(chosen, name, names if asked else None)
    return parser, chosen


def cases(parser, chosen):
    asked = work.WORKS[chosen.work]
    if not chosen.shape:
        return asked.cases()
    if asked.of_shape is None:
        parser.error(f"--work {chosen.work} has its own shapes")
    try:
        return [asked.of_shape(Shape.parse(text, chosen.causal)) for text in chosen.shape]
    except ValueError as error:
        parser.error(str(error))


def versions(peers):
    found = {}
    for peer in peers:
        try:
            found[peer] = rivals.version(peer)
        except engines.Unsupported as reason:
            found[peer] = str(reason)
    return found


def introduction(chosen, session, unforced):
    """What is measured, and on what."""
    about = {
        "work": chosen.work,
        "target": session.library.simd_target(),
        "arithmetic": session.library.arithmetic_version(),
        "threads": session.threads,
        "peers": versions(session.peers),
    }
    print(f"{chosen.work}: target {about['target']}, arithmetic {about['arithmetic']}, {about['threads']} thread(s)")
    print("peers: " + (", ".join(f"{peer} {version}" for peer, version in about["peers"].items()) or "none"))
    for peer, reason in unforced.items():
        print(f"not forced to AVX2: {peer} {reason}")
    return about


def measured(session, chosen, shapes, unforced):
    """Rows, each shown as it comes."""
    rows = []
    print("\n" + tables.header(chosen.work), flush=True)
    for case in shapes:
        row = {**work.WORKS[chosen.work].measure(session, case), "not_forced": list(unforced)}
        rows.append(json.loads(json.dumps(row)))  # as tables.py reads it
        print(tables.line(chosen.work, rows[-1]), flush=True)
    reasons = {f"{name}: {reason}" for row in rows for name, reason in row.get("left_out", {}).items()}
    print("".join(f"\nleft out: {reason}" for reason in sorted(reasons)))
    return rows


def main():
    parser, chosen = arguments()
    if chosen.work == "avx2":
        os.environ["SIGHTLINE_TARGET"] = "AVX2"
    forced = os.environ.get("SIGHTLINE_TARGET") == "AVX2"
    not_forced = rivals.force_avx2() if forced else {}
    peers = work.WORKS[chosen.work].peers if chosen.peers is None else chosen.peers
    session = work.Session(
        library=sightline_c.built_library(chosen.build),
        limits=harness.Limits(chosen.build),
        peers=peers,
        budget=chosen.budget,
        threads=chosen.threads,
        seed=chosen.seed,
        levels=chosen.levels or (),
    )
    unforced = {peer: reason for peer, reason in not_forced.items() if peer in peers}
    about = introduction(chosen, session, unforced)
    about["rows"] = measured(session, chosen, cases(parser, chosen), unforced)
    if chosen.json:
        chosen.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
