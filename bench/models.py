#!/usr/bin/env python3
"""Times prefill of a decoder, everything observed, and decoding, beside llama.cpp and transformers on the same file.

    bench/make_model.py /tmp/m270 && bench/make_model.py /tmp/m1b --sizes 1b --layouts q8_0
    bench/models.py /tmp/m270                             the table of docs/performance.md
    bench/models.py /tmp/m270 --layouts q8_0 --lengths 512 --json models.json
    bench/models.py /tmp/m270 --decode 16                 tokens one by one after 4096, watched and not, and two threads
    bench/models.py --first /tmp/m1b/q8_0.gguf            from the start to the first logits, and resident memory

The directory holds the layouts that bench/make_model.py writes, of which those that are there are measured. Contenders
are processes of their own (build/bench/model_bench, bench/model_rival.py), each with its model loaded and warm, which
take turns: one thread, process CPU time, each one's minimum counts. llama.cpp is llama_decode alone, with
swa_full=False, with flash attention and without; transformers runs with sdpa. All give the logits of the last token
only; those whose logits correlate too little with the others' are not timed. Rivals that are not installed for the
interpreter of --python are left out.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import harness
import make_model
import tables
from engines import Unsupported

ROOT = pathlib.Path(__file__).resolve().parent.parent
LENGTHS = (512, 4096)
FIRST_TOKENS, FIRST_RUNS = 8, 5
MOST_DECODED, WATCH_PAIRS = 512, 9
FIRST_TOKEN_ID = 356  # after the special, byte and single-character pieces
# The least correlation of two contenders' logits: weights and activations in 8 bits or bfloat16 cost some 0.002.
AGREEMENT = 0.98


class Process:
    """A contender: a program that answers lines `IDS LOGITS` by seconds."""

    def __init__(self, command, folder):
        self.folder, self.count = folder, 0
        self.errors = open(folder / "errors", "w+")  # a pipe that nobody reads would block
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        said = json.loads(self.answer())
        self.about, self.weights = said["about"], said.get("weights")

    def answer(self):
        line = self.child.stdout.readline()
        if not line:
            self.child.wait()
            self.errors.seek(0)
            said = self.errors.read().strip().splitlines()
            raise Unsupported(said[-1] if said else f"ended with {self.child.returncode}")
        return line

    def run(self, ids, logits="-"):
        self.child.stdin.write(f"{ids} {logits}\n")
        self.child.stdin.flush()
        return float(self.answer())

    def close(self):
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()
        self.errors.close()


class SelfTimed:
    """In place of harness.Clock: contenders that say themselves how long they took."""

    def seconds(self, run, number=1):
        return sum(run() for _ in range(number)) / number

    def first_turn(self, run, once=0.0):
        return 1, once or run()


def contenders(chosen, layout):
    """Name -> command."""
    ours = [str(chosen.build / "bench" / "model_bench")]
    rival = [chosen.python, str(ROOT / "bench" / "model_rival.py")]
    path = str(model_path(chosen.directory, layout))
    if layout == "hf-bf16":
        return {
            "sightline": [*ours, path],
            "sightline-fast": [*ours, path, "--fast"],
            "transformers": [*rival, "transformers", path, "--dtype", "bf16"],
        }
    if layout == "hf-f32":
        return {"sightline": [*ours, path], "transformers": [*rival, "transformers", path]}
    return {
        "sightline": [*ours, path],
        "sightline-fast": [*ours, path, "--fast"],  # bf16; llama.cpp rounds what it multiplies to 8 bits
        "llama.cpp": [*rival, "llama.cpp", path],
        "llama.cpp-flash": [*rival, "llama.cpp", path, "--flash"],
    }


def model_path(directory, layout):
    return directory / (layout if layout.startswith("hf-") else f"{layout}.gguf")


def write_ids(folder, count, vocabulary):
    path = folder / f"ids{count}"
    ids = np.random.default_rng(count).integers(FIRST_TOKEN_ID, vocabulary, count)
    ids.astype(np.int32).tofile(path)
    return path


def started(commands, folder, left_out):
    """The processes that run; of the others, why not."""
    running = {}
    for name, command in commands.items():
        place = folder / name
        place.mkdir()
        try:
            running[name] = Process(command, place)
            print(f"{name}: {running[name].about}", file=sys.stderr)  # the table goes to the other
        except (Unsupported, OSError) as reason:
            left_out[name] = str(reason)
    return running


def first_runs(running, ids, folder, left_out):
    """Name -> seconds and logits of a first run; what fails is left out."""
    seconds, logits = {}, {}
    for name in list(running):
        path = folder / f"{name}.logits"
        try:
            seconds[name] = running[name].run(ids, path)
            logits[name] = np.fromfile(path, np.float32)
        except Unsupported as reason:
            left_out[name] = str(reason)
            running.pop(name).close()
    return seconds, logits


def disagreeing(logits):
    """Name -> how its logits correlate with most of the others', where that is too little."""
    found = {}
    for name in logits:
        others = [np.corrcoef(logits[name], logits[other])[0, 1] for other in logits if other != name]
        if others and not np.median(others) > AGREEMENT:
            found[name] = float(np.median(others))
    return found


def measure(chosen, layout, lengths):
    """A row for each length."""
    left_out = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        running = started(contenders(chosen, layout), folder, left_out)
        try:
            for length in lengths:
                ids = write_ids(folder, length, chosen.sizes.vocabulary)
                firsts, logits = first_runs(running, ids, folder, left_out)
                for wrong, correlation in disagreeing(logits).items():
                    left_out[wrong] = f"its logits correlate with the others' by {correlation:.3f}"
                    running.pop(wrong).close()
                runs = {name: lambda process=process: process.run(ids) for name, process in running.items()}
                best, peak = {}, 0.0
                if runs:
                    limits = harness.Limits(chosen.build)
                    best, peak = harness.interleaved_minima(runs, SelfTimed(), limits.peak, chosen.budget, tables.OURS, firsts)
                yield {"case": f"{layout}, {length} tokens", "dtype": "f32", "layout": layout, "tokens": length,
                       "operations": operations(chosen.sizes, length), "seconds": best, "peak": peak, "left_out": left_out}  # fmt: skip
        finally:
            for process in running.values():
                process.close()


def decoders(chosen, layout):
    """Name -> command, of one thread."""
    more = ["--context", str(chosen.context), "--decode", str(chosen.decode)]
    commands = {name: [*command, *more] for name, command in contenders(chosen, layout).items() if name != "sightline-fast"}
    if not layout.startswith("hf-"):  # llama.cpp's cache keeps f16
        commands["sightline-f16"] = [*commands["sightline"], "--halves"]
    commands["watched"] = [*commands["sightline"], "--watch"]
    return commands


class PlainSum:
    """Reads files as they lie mapped, as one stream or as halves at once."""

    def __init__(self, limits, files):
        self.limits = limits
        self.whole = [np.memmap(file, np.uint8, "r") for file in files]
        self.halves = list(zip(*(np.array_split(data, 2) for data in self.whole)))
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        limits.sum(self.whole)  # pages of the mapping come with the first touch

    def seconds(self, threads=1, clock=time.process_time):
        start = clock()
        if threads == 1:
            self.limits.sum(self.whole)
        else:
            list(self.pool.map(self.limits.sum, self.halves))
        return clock() - start


def measure_decode(chosen, layout):
    """Tokens that are given one by one after a context: each contender's least, and what watching costs in pairs."""
    left_out, files = {}, weight_files(model_path(chosen.directory, layout))
    limits = harness.Limits(chosen.build)
    plain = PlainSum(limits, files)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        running = started(decoders(chosen, layout), folder, left_out)
        try:
            ids = write_ids(folder, chosen.context + MOST_DECODED, chosen.sizes.vocabulary)
            firsts, logits = first_runs(running, ids, folder, left_out)
            for wrong, correlation in disagreeing(logits).items():
                left_out[wrong] = f"its logits correlate with the others' by {correlation:.3f}"
                running.pop(wrong).close()
            runs = {name: lambda process=process: process.run(ids) for name, process in running.items()}
            runs["sum"] = plain.seconds
            best, _ = harness.interleaved_minima(runs, SelfTimed(), limits.peak, chosen.budget, runs)
            pairs = {"off": (runs["sightline"], None), "watching": (runs["watched"], "off")}
            costs = harness.paired_costs(pairs, SelfTimed(), WATCH_PAIRS, 1)
            weights = running["sightline"].weights
        finally:
            for process in running.values():
                process.close()
    best["sum"] *= weights / sum(file.stat().st_size for file in files)
    return {"case": layout, "dtype": "f32", "layout": layout, "tokens": 1, "context": chosen.context, "weights": weights,
            "seconds": best, "costs": costs, "left_out": left_out}  # fmt: skip


def measure_decode_threads(chosen, layout):
    """One thread and two, and plain sums over the same weights by one and by two, all by the clock of the wall."""
    limits = harness.Limits(chosen.build)
    plain = PlainSum(limits, weight_files(model_path(chosen.directory, layout)))
    command = [*decoders(chosen, layout)["sightline"], "--wall", "--threads"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        running = started({str(threads): [*command, str(threads)] for threads in (1, 2)}, folder, {})
        try:
            ids = write_ids(folder, chosen.context + MOST_DECODED, chosen.sizes.vocabulary)
            runs = {name: lambda process=process: process.run(ids) for name, process in running.items()}
            for threads in (1, 2):
                runs[f"sum{threads}"] = lambda threads=threads: plain.seconds(threads, time.perf_counter)
            best, _ = harness.interleaved_minima(runs, SelfTimed(), limits.peak, chosen.budget, runs)
        finally:
            for process in running.values():
                process.close()
    return {"case": layout, "dtype": "f32", "kind": f"after {chosen.context} tokens",
            "seconds": {threads: best[threads] for threads in "12"},
            "peaks": {threads: 1 / best[f"sum{threads}"] for threads in "12"}}  # fmt: skip


def operations(sizes, tokens):
    """What the sums of a prefill take: products with the layers' matrices for every token, with the output matrix for the
    last one, and attention's visible pairs."""
    matrices = [p.shape for p in make_model.parameters(sizes) if not p.is_norm]
    vocabulary, layers = matrices[0], matrices[1:]
    visible = 0
    for layer in range(sizes.layers):
        window = tokens if make_model.sees_all(sizes, layer) else min(sizes.window, tokens)
        visible += window * (window + 1) // 2 + (tokens - window) * window
    products = tokens * sum(rows * columns for rows, columns in layers) + vocabulary[0] * vocabulary[1]
    return 2 * products + 4 * sizes.head_width * sizes.query_heads * visible


def weight_files(model):
    return [model] if model.is_file() else sorted(model.glob("*.safetensors"))


def file_bytes(model):
    return sum(file.stat().st_size for file in weight_files(model))


def measure_first(chosen, model):
    """The least of several runs, each of a new process; the file is in the page cache from the first on."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ids = write_ids(folder, FIRST_TOKENS, chosen.sizes.vocabulary)
        command = [str(chosen.build / "bench" / "model_bench"), str(model), "--first", str(ids), str(folder / "logits")]
        runs = []
        for _ in range(FIRST_RUNS + 1):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(done.stderr.strip())
            runs.append(json.loads(done.stdout))
    least = {key: min(run[key] for run in runs[1:]) for key in ("seconds", "tokenizer", "wall")}
    most = {key: max(run[key] for run in runs) for key in ("resident", "cache")}
    return {"case": f"{model.parent.name}/{model.name}", "dtype": "f32", "file": file_bytes(model), **least, **most}


def shown(work, rows, json_file):
    """Prints rows and writes them as they come: a run of all takes its time."""
    result = {"work": work, "rows": []}
    print("\n" + tables.header(work), flush=True)
    for row in rows:
        result["rows"].append(json.loads(json.dumps(row)))  # as tables.py reads it
        print(tables.line(work, result["rows"][-1]), flush=True)
        if json_file:
            json_file.write_text(json.dumps(result, indent=1) + "\n")
    reasons = {f"{name}: {reason}" for row in result["rows"] for name, reason in row.get("left_out", {}).items()}
    print("".join(f"\nleft out: {reason}" for reason in sorted(reasons)))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path, nargs="?", help="where bench/make_model.py wrote the layouts")
    parser.add_argument("--first", type=pathlib.Path, action="append", default=[], metavar="MODEL")
    parser.add_argument("--layouts", default="q8_0,q4_k_m,hf-f32,hf-bf16")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="tokens of the prompts")
    parser.add_argument("--decode", type=int, metavar="N", help="decode instead, N tokens a turn")
    parser.add_argument("--context", type=int, default=4096, help="tokens before those that are decoded")
    parser.add_argument("--sizes", choices=make_model.SIZES, default="270m", help="as given to bench/make_model.py")
    parser.add_argument("--budget", type=float, default=60, help="seconds of turns for each row")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has the rivals")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="where to write what was measured")
    chosen = parser.parse_args()
    if chosen.directory is None and not chosen.first:
        parser.error("a directory of layouts, or --first MODEL")
    chosen.sizes = make_model.SIZES[chosen.sizes]
    return chosen


def main():
    chosen = arguments()
    if chosen.first:
        shown("first-logits", (measure_first(chosen, model) for model in chosen.first), chosen.json)
        return
    layouts = [name for name in chosen.layouts.split(",") if model_path(chosen.directory, name).exists()]
    if chosen.decode:
        shown("model-decode", (measure_decode(chosen, layout) for layout in layouts), chosen.json)
        threads_file = chosen.json.with_stem(f"{chosen.json.stem}-threads") if chosen.json else None
        shown("model-threads", (measure_decode_threads(chosen, layout) for layout in layouts), threads_file)
    else:
        lengths = [int(length) for length in chosen.lengths.split(",")]
        shown("models", (row for layout in layouts for row in measure(chosen, layout, lengths)), chosen.json)


if __name__ == "__main__":
    main()
