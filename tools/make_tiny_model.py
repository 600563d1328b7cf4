#!/usr/bin/env python3
"""Writes a tiny BERT with random weights and a WordPiece tokenizer, tests/data/tiny-bert, or with --causal a tiny decoder
(Mistral's kind: grouped heads, windows, rotary positions) with byte-level BPE, tests/data/tiny-decoder.

    tools/make_tiny_model.py tests/data/tiny-bert
    tools/make_tiny_model.py tests/data/tiny-decoder --causal --heads 4 --positions 256
    tools/make_tiny_model.py DIRECTORY --positions 100002 --heads 1 --head-width 8
    tools/make_tiny_model.py DIRECTORY --causal --layers 36 --heads 32 --head-width 4 --positions 8192 --window 512

It is there for what needs text to go in and a report to come out (engine, command line) on a clone that has no real
model. Weights are drawn so that heads differ: the deviation of queries and keys grows with the layer. The same options
give the same bytes. Only Python's standard library is needed. The third command makes a model that reads 100,000
tokens in some 20 s of a core; its file has 3 MB, nearly all of them random positions. The fourth has the heads of a
large model.
"""

import argparse
import json
import pathlib
import random
import string
import struct

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = """the animal didn cross street because it was too tired wide a cat sat on mat and hello world un
##happi ##ness ##ing ##ed ##s""".split()
IDEOGRAPHS = list("動物很累")
END = "<|end|>"


def vocabulary():
    letters = list(string.ascii_lowercase) + list(string.digits)
    pieces = SPECIAL + list(string.punctuation) + letters + ["##" + c for c in letters] + WORDS + IDEOGRAPHS
    return {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}


def tokenizer(vocab):
    def special(piece):
        return {"SpecialToken": {"id": piece, "type_id": 0}}

    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": vocab[piece], "content": piece, **flags} for piece in SPECIAL],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]")],
            "pair": [special("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]"),
                     {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
            "special_tokens": {piece: {"id": piece, "ids": [vocab[piece]], "tokens": [piece]}
                               for piece in ("[CLS]", "[SEP]")},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab},
    }


def glyphs():
    """A visible character for each byte, as GPT-2 spells bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + i) for i, byte in enumerate(hidden)}


def byte_level():
    """(vocabulary, merges) of byte-level BPE: every byte, and the words of WORDS with and without a space before them."""
    space = glyphs()[ord(" ")]
    merges = []
    for word in [word.removeprefix("##") for word in WORDS]:
        for spelled in (space + word, word):
            for length in range(1, len(spelled)):
                merges.append((spelled[:length], spelled[length]))
    merges = list(dict.fromkeys(merges))
    pieces = list(glyphs().values()) + ["".join(pair) for pair in merges] + [END]
    return {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}, merges


def byte_level_tokenizer(vocab, merges):
    stage = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": vocab[END], "content": END, **flags}],
        "normalizer": None, "pre_tokenizer": stage, "post_processor": stage, "decoder": stage,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {piece: index for piece, index in vocab.items() if piece != END},
                  "merges": [" ".join(pair) for pair in merges]},
    }


def causal_config(vocab, sizes):
    return {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "hidden_size": width_of(sizes),
            "num_hidden_layers": sizes.layers, "num_attention_heads": sizes.heads, "num_key_value_heads": sizes.heads // 2,
            "head_dim": sizes.head_width, "intermediate_size": 2 * width_of(sizes),
            "max_position_embeddings": sizes.positions, "sliding_window": sizes.window, "vocab_size": len(vocab),
            "hidden_act": "silu", "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": True}


def causal_shapes(vocab, sizes):
    """As shapes()."""
    width, inner, kv = width_of(sizes), 2 * width_of(sizes), sizes.heads // 2 * sizes.head_width
    tensors = {"model.embed_tokens.weight": ((len(vocab), width), 0, 1), "model.norm.weight": ((width,), 1, 0.1)}
    for layer in range(sizes.layers):
        at = f"model.layers.{layer}."
        for name, rows, cols, deviation in (
                ("self_attn.q_proj", width, width, 0.3 + 0.1 * layer), ("self_attn.k_proj", kv, width, 0.3 + 0.1 * layer),
                ("self_attn.v_proj", kv, width, 0.2), ("self_attn.o_proj", width, width, 0.2),
                ("mlp.gate_proj", inner, width, 0.2), ("mlp.up_proj", inner, width, 0.2),
                ("mlp.down_proj", width, inner, 0.2)):
            tensors[at + name + ".weight"] = ((rows, cols), 0, deviation)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[at + name + ".weight"] = ((width,), 1, 0.1)
    return tensors


def config(vocab, sizes):
    return {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": width_of(sizes),
            "num_hidden_layers": sizes.layers, "num_attention_heads": sizes.heads, "intermediate_size": 2 * width_of(sizes),
            "max_position_embeddings": sizes.positions,
            "vocab_size": len(vocab), "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
            "position_embedding_type": "absolute", "pad_token_id": 0}


def width_of(sizes):
    return sizes.heads * sizes.head_width


def shapes(vocab, sizes):
    """Name -> (shape, mean, deviation)."""
    width, inner = width_of(sizes), 2 * width_of(sizes)

    def norm(name):
        return {name + ".weight": ((width,), 1, 0.1), name + ".bias": ((width,), 0, 0.1)}

    def linear(name, rows, cols, deviation):
        return {name + ".weight": ((rows, cols), 0, deviation), name + ".bias": ((rows,), 0, 0.05)}

    tensors = {"embeddings.word_embeddings.weight": ((len(vocab), width), 0, 1),
               "embeddings.position_embeddings.weight": ((sizes.positions, width), 0, 0.5),
               "embeddings.token_type_embeddings.weight": ((2, width), 0, 0.1), **norm("embeddings.LayerNorm")}
    for layer in range(sizes.layers):
        at = f"encoder.layer.{layer}."
        for name in ("query", "key"):
            tensors |= linear(at + "attention.self." + name, width, width, 0.3 + 0.1 * layer)
        tensors |= linear(at + "attention.self.value", width, width, 0.2)
        tensors |= linear(at + "attention.output.dense", width, width, 0.2) | norm(at + "attention.output.LayerNorm")
        tensors |= linear(at + "intermediate.dense", inner, width, 0.2)
        tensors |= linear(at + "output.dense", width, inner, 0.2) | norm(at + "output.LayerNorm")
    return tensors | linear("pooler.dense", width, width, 0.2)


def safetensors(tensors):
    draw = random.Random(3)
    header, data = {}, bytearray()
    for name, (shape, mean, deviation) in sorted(tensors.items()):
        count = 1
        for size in shape:
            count *= size
        values = struct.pack(f"<{count}f", *(draw.gauss(mean, deviation) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def main():
    parser = argparse.ArgumentParser(description="Write a tiny BERT or decoder with random weights.")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--positions", type=int, default=48, help="the longest text, in tokens")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=3)
    parser.add_argument("--head-width", type=int, default=8)
    parser.add_argument("--causal", action="store_true", help="a decoder; it has an even number of heads")
    parser.add_argument("--window", type=int, default=16, help="tokens that a decoder's row sees")
    sizes = parser.parse_args()
    if sizes.heads < 1 or sizes.heads % (2 if sizes.causal else 1):
        parser.error(f"--heads {sizes.heads}: a decoder has an even number of them, a BERT at least one")
    directory = sizes.directory
    directory.mkdir(parents=True, exist_ok=True)
    if sizes.causal:
        vocab, merges = byte_level()
        files = causal_config(vocab, sizes), byte_level_tokenizer(vocab, merges), causal_shapes(vocab, sizes)
    else:
        vocab = vocabulary()
        files = config(vocab, sizes), tokenizer(vocab), shapes(vocab, sizes)
    (directory / "config.json").write_text(json.dumps(files[0], indent=1) + "\n")
    (directory / "tokenizer.json").write_text(json.dumps(files[1], indent=1) + "\n")
    (directory / "model.safetensors").write_bytes(safetensors(files[2]))


if __name__ == "__main__":
    main()
