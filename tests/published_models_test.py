#!/usr/bin/env python3
"""Small published models against values that other programs gave: stories260K (llama2.c) and a GPT that sorts (minGPT).

    SIGHTLINE_CONFORM=build/sightline-conform SIGHTLINE=build/sightline tests/published_models_test.py

Reads ../shared/data and is skipped where that is not there, or NumPy, which tools/import needs. Each model is imported
and becomes a set for sightline-conform: stories260K with the 200 tokens of its stored text, each the likeliest after
those before; the sorting GPT with what its file of intermediate values holds of the stages that can be seen.
"""

import base64
import importlib.util
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
CONFORM = os.environ["SIGHTLINE_CONFORM"]
SIGHTLINE = os.environ["SIGHTLINE"]
IMPORT = ROOT / "tools" / "import" / "import_model.py"
BOS = 1


def write_safetensors(path, tensors):
    """tensors: name -> (dtype, shape, bytes)."""
    header, begin = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + len(data)]}
        begin += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def integers(shape, values):
    return "I64", shape, struct.pack(f"<{len(values)}q", *values)


def write_index(directory, **entry):
    entry = {"kind": "decoder", "cases": [], "generation": [], **entry, "dir": entry["name"]}
    (directory / "index.json").write_text(json.dumps({"models": [entry]}))


class LlamaPieces:
    """The vocabulary of a llama2.c model, and its rule: join the neighbours whose piece has the best score."""

    def __init__(self, path):
        data, at = path.read_bytes(), 4
        self.pieces, self.scores = [], []
        while at < len(data):
            score, length = struct.unpack_from("<fi", data, at)
            self.pieces.append(data[at + 8 : at + 8 + length])
            self.scores.append(score)
            at += 8 + length
        self.ids = {piece: n for n, piece in enumerate(self.pieces)}

    def encode(self, text):
        found = []
        for character in " " + text:
            piece = character.encode()
            found += [self.ids[piece]] if piece in self.ids else [byte + 3 for byte in piece]
        while True:
            joined = [self.ids.get(self.pieces[a] + self.pieces[b]) for a, b in zip(found, found[1:])]
            if not any(joined):
                return found
            at = max((n for n, piece in enumerate(joined) if piece), key=lambda n: self.scores[joined[n]])
            found[at : at + 2] = [joined[at]]


def numbers(entry):
    """shape, and fp32 bytes."""
    return entry["shape"], base64.b64decode(entry["data"])


class PublishedModels(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sightline-published-"))
        self.addCleanup(shutil.rmtree, self.directory)

    def imported(self, source, name, *options):
        model = self.directory / name
        subprocess.run([sys.executable, IMPORT, source, model, *options], check=True, capture_output=True)
        return model

    def check(self, cases):
        done = subprocess.run([CONFORM, self.directory], capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines()[-1], f"{cases} passed, 0 failed, 0 skipped", done.stdout + done.stderr)

    def test_stories260k_gives_its_stored_text(self):
        source = DATA / "stories260K"
        model = self.imported(source / "stories260K.bin", "stories260K", "--tokenizer", source / "tok512.bin")
        text = (DATA / "reference" / "stories260K_greedy_200.txt").read_text().removesuffix("\n")
        tokens = LlamaPieces(source / "tok512.bin").encode(text)
        self.assertEqual(len(tokens), 200)
        reference = {"gen0.prompt": integers([1, 1], [BOS]), "gen0.tokens": integers([1, len(tokens)], tokens)}
        write_safetensors(model / "reference.safetensors", reference)
        write_index(self.directory, name="stories260K", generation=[{"case": "gen0"}],
                    tolerance={"values_rel": 0, "attentions_abs": 0})  # fmt: skip
        self.check(cases=1)
        self.assertEqual(self.generated(model, "-n", "200"), text)

    def generated(self, model, *options):
        """What `sightline generate` writes on from nothing but the token that begins a text."""
        done = subprocess.run([SIGHTLINE, "generate", "-m", model, "-p", "", *options], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_sorting_gpt_gives_its_stored_stages(self):
        model = self.imported(DATA / "nanogpt-sort" / "gpt-nano-sort-model.json", "nano")
        partials = json.loads((DATA / "nanogpt-sort" / "gpt-nano-sort-t0-partials.json").read_text())
        self.write_stages(model, partials)
        # The stored values differ from fp64 by up to 2e-6 (logits) and 2.4e-7 (attention).
        write_index(self.directory, name="nano", cases=["t0"], tolerance={"values_rel": 1e-5, "attentions_abs": 1e-6})
        self.check(cases=1)

    def write_stages(self, model, partials):
        shape, data = numbers(partials["idx"])
        ids = [int(x) for x in struct.unpack(f"<{len(data) // 4}f", data)]
        reference = {"t0.input_ids": integers(shape, ids)}
        stages = {"x": "hidden_states.0", "q": "queries.0", "k": "keys.0", "v": "values.0", "attSm": "attentions.0",
                  "block0": "hidden_states.1", "block1": "hidden_states.2", "ln_f": "hidden_states.3",
                  "lm_head": "logits"}  # fmt: skip
        for stage, name in stages.items():
            reference["t0." + name] = ("F32", *numbers(partials[stage]))
        write_safetensors(model / "reference.safetensors", reference)


if __name__ == "__main__":
    if not DATA.is_dir() or importlib.util.find_spec("numpy") is None:
        print("skipped: no ../shared/data" if not DATA.is_dir() else "skipped: no NumPy")
        sys.exit(77)
    sys.exit(unittest.main())
