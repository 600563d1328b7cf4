#!/usr/bin/env python3
"""Small published models against values that other programs gave: stories260K (llama2.c) and a GPT that sorts (minGPT).

    SIGHTLINE=build/sightline SIGHTLINE_CONFORM=build/sightline-conform tests/published_models_test.py

Reads ../shared/data and is skipped where that is not there. Each model becomes a set for sightline-conform: stories260K
through `sightline import`, with the 200 tokens of its stored text, each the likeliest after those before; the sorting
GPT, whose file is JSON, by this test, with what its file of intermediate values holds of the stages that can be seen.
"""

import base64
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
CONFORM, PROGRAM = os.environ["SIGHTLINE_CONFORM"], os.environ["SIGHTLINE"]
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


def transposed(shape, data):
    rows, columns = shape
    values = struct.unpack(f"<{rows * columns}f", data)
    turned = [values[r * columns + c] for c in range(columns) for r in range(rows)]
    return [columns, rows], struct.pack(f"<{rows * columns}f", *turned)


class PublishedModels(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sightline-published-"))
        self.addCleanup(shutil.rmtree, self.directory)

    def check(self, cases):
        done = subprocess.run([CONFORM, self.directory], capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines()[-1], f"{cases} passed, 0 failed, 0 skipped", done.stdout + done.stderr)

    def test_stories260k_gives_its_stored_text(self):
        source = DATA / "stories260K"
        model = self.directory / "stories260K"
        command = [PROGRAM, "import", source / "stories260K.bin", "--tokenizer", source / "tok512.bin", "-o", model]
        subprocess.run(command, check=True, capture_output=True)
        text = (DATA / "reference" / "stories260K_greedy_200.txt").read_text().removesuffix("\n")
        tokens = LlamaPieces(source / "tok512.bin").encode(text)
        self.assertEqual(len(tokens), 200)
        reference = {"gen0.prompt": integers([1, 1], [BOS]), "gen0.tokens": integers([1, len(tokens)], tokens)}
        write_safetensors(model / "reference.safetensors", reference)
        write_index(self.directory, name="stories260K", generation=[{"case": "gen0"}],
                    tolerance={"values_rel": 0, "attentions_abs": 0})  # fmt: skip
        self.check(cases=1)

    def test_sorting_gpt_gives_its_stored_stages(self):
        model = self.directory / "nano"
        model.mkdir()
        stored = json.loads((DATA / "nanogpt-sort" / "gpt-nano-sort-model.json").read_text())
        sizes = stored.pop("config")
        self.write_sorting_gpt(model, sizes, stored)
        partials = json.loads((DATA / "nanogpt-sort" / "gpt-nano-sort-t0-partials.json").read_text())
        self.write_stages(model, partials)
        # The stored values differ from fp64 by up to 2e-6 (logits) and 2.4e-7 (attention).
        write_index(self.directory, name="nano", cases=["t0"], tolerance={"values_rel": 1e-5, "attentions_abs": 1e-6})
        self.check(cases=1)

    def write_sorting_gpt(self, model, sizes, stored):
        """minGPT's matrices are [out, in], GPT-2's files have them the other way round."""
        config = {
            "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": sizes["vocab_size"],
            "n_positions": sizes["block_size"], "n_ctx": sizes["block_size"], "n_embd": sizes["n_embd"],
            "n_head": sizes["n_head"], "n_layer": sizes["n_layer"], "layer_norm_epsilon": 1e-5,
            "activation_function": "gelu_new", "tie_word_embeddings": False,
        }  # fmt: skip
        (model / "config.json").write_text(json.dumps(config))
        tensors = {}
        for name, entry in stored.items():
            shape, data = numbers(entry)
            if len(shape) == 2 and ".h." in name:
                shape, data = transposed(shape, data)
            tensors[name] = ("F32", shape, data)
        write_safetensors(model / "model.safetensors", tensors)

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
    if not DATA.is_dir():
        print("skipped: no ../shared/data")
        sys.exit(77)
    sys.exit(unittest.main())
