#!/usr/bin/env python3
"""Tests how `sightline import` reads llama2.c checkpoints and minGPT models: small ones, and real ones where ../shared is there.

    tests/import/models_test.py

Real ones that come out are run by a plain NumPy forward of the layout that they claim to have. Needs NumPy.
"""

import base64
import json
import os
import shutil
import struct
import unittest

import importing
import numpy
from importing import SHARED


def llama_arrays(rng, sizes, tied):
    dim, hidden, layers, heads, kv_heads, vocabulary, positions = sizes
    kv = dim // heads * kv_heads
    shapes = {"embedding": (vocabulary, dim), "attention_norm": (layers, dim), "q": (layers, dim, dim), "k": (layers, kv, dim),
              "v": (layers, kv, dim), "o": (layers, dim, dim), "mlp_norm": (layers, dim), "gate": (layers, hidden, dim),
              "down": (layers, dim, hidden), "up": (layers, hidden, dim), "norm": (dim,),
              "cos": (positions, dim // heads // 2), "sin": (positions, dim // heads // 2)}
    if not tied:
        shapes["classifier"] = (vocabulary, dim)
    return {name: rng.standard_normal(shape).astype("<f4") for name, shape in shapes.items()}


def tokenizer_bin(pieces):
    """Controls, bytes, and these pieces, each with a score."""
    all_pieces = [(b"<unk>", 0), (b"\n<s>\n", 0), (b"\n</s>\n", 0)] + [(f"<0x{byte:02X}>".encode(), 0) for byte in range(256)]
    all_pieces += [(piece.encode(), score) for piece, score in pieces]
    return struct.pack("<i", 10) + b"".join(struct.pack("<fi", score, len(piece)) + piece for piece, score in all_pieces)


PIECES = [(" a", 0), ("ab", -1), (" ab", -2), (" ", -3), ("a", -4), ("b", -5)]
SIZES = (8, 12, 2, 2, 1, 265, 16)
V0 = "embedding attention_norm q k v o mlp_norm gate down up norm cos sin classifier".split()
V1 = "attention_norm mlp_norm norm embedding q k v o gate down up classifier".split()


class Llama2c(importing.Importing):
    def setUp(self):
        super().setUp()
        self.tokenizer = self.put("tok.bin", tokenizer_bin(PIECES))

    def checkpoint(self, version=0, tied=True):
        arrays = llama_arrays(numpy.random.default_rng(1), SIZES, tied)
        numbers = list(SIZES)
        if version == 0:
            numbers[5] *= 1 if tied else -1
            head = struct.pack("<7i", *numbers)
        else:
            head = (struct.pack("<Ii7iB", 0x616B3432, version, *numbers, tied)).ljust(256, b"\0")
        order = V1 if version else V0
        return arrays, head + b"".join(arrays[name].tobytes() for name in order if name in arrays)

    def test_turns_checkpoints_into_llama(self):
        for version in [0, 1]:
            for tied in [True, False]:
                arrays, content = self.checkpoint(version, tied)
                config, tensors = self.convert(self.put("m.bin", content), "--tokenizer", self.tokenizer)
                self.assertEqual(config["model_type"], "llama")
                self.assertEqual(config["tie_word_embeddings"], tied)
                self.assertEqual((config["num_key_value_heads"], config["vocab_size"]), (1, 265))
                self.assertEqual("lm_head.weight" in tensors, not tied)
                self.assertEqual(len(tensors), 2 + 9 * 2 + (not tied))
                layer = "model.layers.1."
                numpy.testing.assert_array_equal(tensors[layer + "mlp.down_proj.weight"], arrays["down"][1])
                numpy.testing.assert_array_equal(tensors[layer + "self_attn.v_proj.weight"], arrays["v"][1])
                # Heads of width 4: pairs (0, 1) and (2, 3) become (0, 2) and (1, 3).
                rows = [0, 2, 1, 3]
                numpy.testing.assert_array_equal(tensors[layer + "self_attn.k_proj.weight"], arrays["k"][1][rows])
                rows += [4, 6, 5, 7]
                numpy.testing.assert_array_equal(tensors[layer + "self_attn.q_proj.weight"], arrays["q"][1][rows])
                shutil.rmtree(self.out)

    def test_refuses_broken_tokenizers(self):
        whole, checkpoint = tokenizer_bin(PIECES), self.put("m.bin", self.checkpoint()[1])
        for size in range(0, len(whole), 7):
            err = self.refused(checkpoint, "--tokenizer", self.put("cut.bin", whole[:size]))
            self.assertRegex(err, r"not a tokenizer of \d+ pieces: it holds \d+, and \d+ bytes more")
        for score in [float("nan"), float("inf"), -float("inf")]:
            content = whole[:4] + struct.pack("<f", score) + whole[8:]
            self.assertIn("no number", self.refused(checkpoint, "--tokenizer", self.put("scores.bin", content)))

    def test_writes_the_tokenizer(self):
        self.convert(self.put("m.bin", self.checkpoint()[1]), "--tokenizer", self.tokenizer)
        tokenizer = json.loads((self.out / "tokenizer.json").read_text())
        model = tokenizer["model"]
        self.assertEqual((model["type"], model["byte_fallback"], model["vocab"]["\u2581ab"]), ("BPE", True, 261))
        # By score, and those of one piece by the ids of their parts.
        self.assertEqual(model["merges"], [["\u2581", "a"], ["a", "b"], ["\u2581a", "b"], ["\u2581", "ab"]])
        self.assertEqual([token["content"] for token in tokenizer["added_tokens"]], ["<unk>", "<s>", "</s>"])

    def test_refuses_what_is_no_checkpoint(self):
        good = self.checkpoint()[1]
        for content in [good[:-1], good + b"x", good[:20], b"", struct.pack("<7i", 8, 12, 2, 3, 1, 265, 16) + good[28:],
                        struct.pack("<7i", *[0x7FFFFFFF - 1] * 7) + good[28:], struct.pack("<7i", *[0] * 7), b"\xff" * 300]:
            self.refused(self.put("m.bin", content), "--tokenizer", self.tokenizer)
        self.assertIn("version 2", self.refused(self.put("m.bin", self.checkpoint(2)[1]), "--tokenizer", self.tokenizer))
        self.assertIn("--tokenizer", self.refused(self.put("m.bin", good)))

    def test_refuses_tokenizers_that_do_not_fit(self):
        source = self.put("m.bin", self.checkpoint()[1])
        good = tokenizer_bin(PIECES)
        lying = bytearray(good)
        struct.pack_into("<i", lying, 8, 0x7FFFFFFF)
        for content in [good[:-1], good + b"x", tokenizer_bin(PIECES[1:]), b"", bytes(lying), good.replace(b"<0x41>", b"<0x40>"),
                        tokenizer_bin([("\u2581a", 0)] + PIECES[:1] + PIECES[2:])]:
            self.refused(source, "--tokenizer", self.put("tok.bin", content))
        self.assertIn("no such file", self.refused(source, "--tokenizer", self.top / "absent"))

    def test_stories_write_their_story(self):
        folder = SHARED / "stories260K"
        if not folder.exists():
            self.skipTest("../shared is not there")
        config, tensors = self.convert(folder / "stories260K.bin", "--tokenizer", folder / "tok512.bin")
        vocabulary = json.loads((self.out / "tokenizer.json").read_text())["model"]["vocab"]
        pieces = {number: piece for piece, number in vocabulary.items()}
        ids = [1]
        for _ in range(200):
            ids.append(int(llama_logits(config, tensors, ids)[-1].argmax()))
        text = "".join(pieces[number] for number in ids[1:]).replace("\u2581", " ").replace("<0x0A>", "\n").lstrip(" ")
        expected = (SHARED / "reference" / "stories260K_greedy_200.txt").read_text()
        self.assertEqual(text.rstrip(), expected.rstrip()[: len(text.rstrip())])
        self.assertGreater(len(text), 400)


def llama_logits(config, tensors, ids):
    """Llama as Hugging Face lays it out: RoPE turns (i, i + width/2)."""
    heads, kv_heads, width = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    count = len(ids)
    angles = numpy.arange(count)[:, None] * config["rope_theta"] ** (-numpy.arange(0, width, 2) / width)
    cos, sin = numpy.cos(angles), numpy.sin(angles)

    def norm(x, name):
        return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + config["rms_norm_eps"]) * tensors[name]

    def turned(x):
        a, b = x[..., : width // 2], x[..., width // 2 :]
        return numpy.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    x = tensors["model.embed_tokens.weight"][ids].astype(float)
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        h = norm(x, name + "input_layernorm.weight")
        q, k, v = (
            (h @ tensors[f"{name}self_attn.{kind}_proj.weight"].T).reshape(count, -1, width).transpose(1, 0, 2) for kind in "qkv")
        q, k = turned(q), turned(k)
        k, v = (numpy.repeat(part, heads // kv_heads, 0) for part in (k, v))
        scores = q @ k.transpose(0, 2, 1) / numpy.sqrt(width)
        scores = numpy.where(numpy.tri(count, dtype=bool), scores, -numpy.inf)
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ v
        x = x + mixed.transpose(1, 0, 2).reshape(count, -1) @ tensors[name + "self_attn.o_proj.weight"].T
        h = norm(x, name + "post_attention_layernorm.weight")
        gate = h @ tensors[name + "mlp.gate_proj.weight"].T
        inner = gate / (1 + numpy.exp(-gate)) * (h @ tensors[name + "mlp.up_proj.weight"].T)
        x = x + inner @ tensors[name + "mlp.down_proj.weight"].T
    head = "model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"
    return norm(x, "model.norm.weight") @ tensors[head].T


def json_array(array):
    return {"shape": list(array.shape), "dtype": "torch.float32", "data": base64.b64encode(array.astype("<f4").tobytes()).decode()}


def array_of(entry):
    return numpy.frombuffer(base64.b64decode(entry["data"]), "<f4").reshape(entry["shape"])


class MinGpt(importing.Importing):
    CONFIG = {"model_type": "gpt-nano", "n_layer": 1, "n_head": 1, "n_embd": 2, "vocab_size": 3, "block_size": 4}

    def test_turns_matrices(self):
        matrix = numpy.arange(12.0).reshape(6, 2)
        tensors = {"transformer.wte.weight": matrix[:3], "transformer.h.0.attn.c_attn.weight": matrix,
                   "transformer.h.0.attn.c_attn.bias": matrix[:, 0], "transformer.h.0.attn.bias": matrix, "lm_head.weight": matrix[3:]}
        root = {"config": self.CONFIG} | {name: json_array(array) for name, array in tensors.items()}
        config, got = self.convert(self.put("m.json", json.dumps(root).encode()))
        self.assertEqual((config["model_type"], config["n_positions"], config["tie_word_embeddings"]), ("gpt2", 4, False))
        self.assertEqual(set(got), set(tensors) - {"transformer.h.0.attn.bias"})
        numpy.testing.assert_array_equal(got["transformer.h.0.attn.c_attn.weight"], matrix.T)
        self.assertEqual(json.loads((self.out / "tokenizer.json").read_text())["model"]["vocab"], {"A": 0, "B": 1, "C": 2})

    def test_refuses_what_does_not_fit(self):
        good = {"config": self.CONFIG, "t": json_array(numpy.ones(3))}
        for change in [{"t": {"shape": [4], "dtype": "torch.float32", "data": good["t"]["data"]}}, {"t": 5}, {"t": {"shape": [3]}},
                       {"t": good["t"] | {"dtype": "torch.int8"}}, {"t": good["t"] | {"data": "!"}}, {"t": good["t"] | {"shape": [-1, 9]}},
                       {"config": self.CONFIG | {"n_layer": -1}}, {"config": self.CONFIG | {"vocab_size": "3"}}]:
            self.refused(self.put("m.json", json.dumps(good | change).encode()))
        for text in [b"{}", b"", b'{"config": {"n_layer": 1, "block_size": 1}', b'["config", "n_layer", "block_size"]']:
            self.refused(self.put("m.json", text))

    def test_sorts_as_its_authors_stored(self):
        folder = SHARED / "nanogpt-sort"
        if not folder.exists():
            self.skipTest("../shared is not there")
        config, tensors = self.convert(folder / "gpt-nano-sort-model.json")
        stored = json.loads((folder / "gpt-nano-sort-t0-partials.json").read_text())
        for ids, logits in zip(array_of(stored["idx"]).astype(int), array_of(stored["lm_head"])):
            numpy.testing.assert_allclose(gpt2_logits(config, tensors, ids), logits, atol=5e-6, rtol=0)


def gpt2_logits(config, tensors, ids):
    """GPT-2 as Hugging Face lays it out: matrices are [in, out]."""
    count, width = len(ids), config["n_embd"] // config["n_head"]

    def norm(x, name):
        y = x - x.mean(-1, keepdims=True)
        y = y / numpy.sqrt((y * y).mean(-1, keepdims=True) + config["layer_norm_epsilon"])
        return y * tensors[name + ".weight"] + tensors[name + ".bias"]

    def linear(x, name):
        return x @ tensors[name + ".weight"] + tensors[name + ".bias"]

    x = (tensors["transformer.wte.weight"][ids] + tensors["transformer.wpe.weight"][:count]).astype(float)
    for layer in range(config["n_layer"]):
        name = f"transformer.h.{layer}."
        qkv = linear(norm(x, name + "ln_1"), name + "attn.c_attn")
        q, k, v = (part.reshape(count, -1, width).transpose(1, 0, 2) for part in numpy.split(qkv, 3, -1))
        scores = numpy.where(numpy.tri(count, dtype=bool), q @ k.transpose(0, 2, 1) / numpy.sqrt(width), -numpy.inf)
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ v
        x = x + linear(mixed.transpose(1, 0, 2).reshape(count, -1), name + "attn.c_proj")
        inner = linear(norm(x, name + "ln_2"), name + "mlp.c_fc")
        inner = 0.5 * inner * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (inner + 0.044715 * inner**3)))
        x = x + linear(inner, name + "mlp.c_proj")
    return norm(x, "transformer.ln_f") @ tensors["lm_head.weight"].T


class Usage(importing.Importing):
    def test_says_what_is_missing(self):
        self.assertIn("no such file or directory", self.refused(self.top / "absent"))
        self.assertIn("no pytorch_model.bin there", self.refused(self.put("m/config.json", b"{}").parent))
        self.assertEqual(self.run_import("a")[0], 2)
        os.mkfifo(self.top / "pipe")
        self.assertIn("not a regular file", self.refused(self.top / "pipe"))

    def test_says_that_it_cannot_write(self):
        source = self.put("m.bin", Llama2c.checkpoint(self)[1])
        code, err = self.run_import(source, "/proc/none/out", "--tokenizer", self.put("t.bin", tokenizer_bin(PIECES)))
        self.assertEqual((code, err.count("\n")), (1, 1), err)

if __name__ == "__main__":
    unittest.main()
