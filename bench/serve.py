#!/usr/bin/env python3
"""Times the server: what a look at a sentence of 12 words takes from request to report, and tiles of it.

    bench/serve.py [-m MODEL] [--program build/sightline] [--repeats 200]

Each look is of another sentence, so that the model runs; the time is that of a client on the same machine.
"""

import argparse
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
# 12 words with the full stop, one of which changes.
SENTENCE = "The animal didn't cross street {} because it was too tired."
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model", default=CACHE / "sightline" / "all-MiniLM-L6-v2")
    parser.add_argument("--program", default=ROOT / "build" / "sightline")
    parser.add_argument("--repeats", type=int, default=200)
    return parser.parse_args()


def ask(client, method, path, body=None):
    """The answer's body, and the milliseconds that it took."""
    begin = time.perf_counter()
    client.request(method, path, body, {"Content-Type": "application/json"})
    response = client.getresponse()
    content = response.read()
    elapsed = (time.perf_counter() - begin) * 1000
    if response.status != 200:
        raise SystemExit(f"{method} {path}: {response.status} {content[:200]}")
    return content, elapsed


def say(what, times):
    ordered = sorted(times)
    print(f"{what}: median {statistics.median(ordered):.1f} ms, 95 % within {ordered[int(0.95 * len(ordered))]:.1f} ms")


def measure(client, repeats):
    sentences = [SENTENCE.format(a + b) for a in WORDS for b in WORDS + ["teen"]] * (repeats // 110 + 1)
    looks, tiles, again = [], [], []
    for i, sentence in enumerate(sentences[:repeats]):
        # White space makes another text of it, and no other tokens.
        body, elapsed = ask(client, "POST", "/api/look", json.dumps({"text": sentence + " " * (i // 110)}))
        looks.append(elapsed)
        look = json.loads(body)["look"]
        tiles.append(ask(client, "GET", f"/api/tile?look={look}&maps=all")[1])
        again.append(ask(client, "GET", f"/api/look?look={look}&explain=L4H2:5")[1])
    say(f"POST /api/look, 12 words, {len(body)} bytes", looks[5:])
    say("GET /api/tile, all maps of it", tiles[5:])
    say("GET /api/look with an explanation", again[5:])


def main():
    options = arguments()
    command = [str(options.program), "serve", "-m", str(options.model)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split()[-1].removeprefix("http://").rstrip("/")
        measure(http.client.HTTPConnection(address, timeout=60), options.repeats)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
