#!/usr/bin/env python3
"""Writes a decoder with random weights in the sizes of a published one, in the layouts that bench/models.py compares.

    bench/make_model.py DIRECTORY                        270m: hf-f32, hf-bf16, f16.gguf, q8_0.gguf, q4_k_m.gguf
    bench/make_model.py DIRECTORY --sizes 1b --layouts q8_0       a file of 1 GB

The sizes are those of Gemma 3 270M and 1B: everything of the architecture, the vocabulary of 262,144 pieces included.
All layouts hold the same numbers, of three digits (bfloat16), drawn so that activations stay near 1. Each has a
tokenizer (byte-fallback BPE over made-up pieces, in GGUF the same as SentencePiece scores), so that it opens like any
other model. The same options give the same bytes. Needs numpy and gguf; quantised layouts also llama-cpp-python, whose
llama_model_quantize makes them of f16.gguf.
"""

import argparse
import ctypes
import dataclasses
import itertools
import json
import pathlib
import string
import struct

import numpy as np

SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>"]
CONTROL, UNKNOWN, BYTE, NORMAL = 3, 2, 6, 1  # token types of GGUF
SPACE = "\u2581"
SCALE = 0.2  # deviation of norms from 1


@dataclasses.dataclass(frozen=True)
class Sizes:
    width: int
    inner: int
    layers: int
    query_heads: int
    kv_heads: int
    head_width: int
    window: int
    every: int = 6  # layers every-1, 2*every-1, ... see all keys
    vocabulary: int = 262144
    positions: int = 32768
    base: float = 1e6
    window_base: float = 1e4
    epsilon: float = 1e-6


SIZES = {
    "270m": Sizes(width=640, inner=2048, layers=18, query_heads=4, kv_heads=1, head_width=256, window=512),
    "1b": Sizes(width=1152, inner=6912, layers=26, query_heads=4, kv_heads=1, head_width=256, window=512),
}
LAYOUTS = ("hf-f32", "hf-bf16", "f16", "q8_0", "q4_k_m")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A tensor, by its name in either layout."""

    hf: str
    gguf: str
    shape: tuple
    number: int  # of the random stream

    @property
    def is_norm(self):
        return len(self.shape) == 1

    def values(self):
        """float32 that are exact in bfloat16. Norms are what is added to 1."""
        random = np.random.default_rng([6, self.number])
        values = random.standard_normal(self.shape, np.float32)
        values *= SCALE if self.is_norm else self.shape[-1] ** -0.5
        return rounded_to_bf16(values)


def rounded_to_bf16(values):
    bits = values.view(np.uint32)
    bits += 0x7FFF + (bits >> 16 & 1)
    bits &= 0xFFFF0000
    return bits.view(np.float32)


def parameters(sizes):
    heads, kv = sizes.query_heads * sizes.head_width, sizes.kv_heads * sizes.head_width
    layer = [
        ("input_layernorm", "attn_norm", (sizes.width,)),
        ("self_attn.q_proj", "attn_q", (heads, sizes.width)),
        ("self_attn.k_proj", "attn_k", (kv, sizes.width)),
        ("self_attn.v_proj", "attn_v", (kv, sizes.width)),
        ("self_attn.q_norm", "attn_q_norm", (sizes.head_width,)),
        ("self_attn.k_norm", "attn_k_norm", (sizes.head_width,)),
        ("self_attn.o_proj", "attn_output", (sizes.width, heads)),
        ("post_attention_layernorm", "post_attention_norm", (sizes.width,)),
        ("pre_feedforward_layernorm", "ffn_norm", (sizes.width,)),
        ("mlp.gate_proj", "ffn_gate", (sizes.inner, sizes.width)),
        ("mlp.up_proj", "ffn_up", (sizes.inner, sizes.width)),
        ("mlp.down_proj", "ffn_down", (sizes.width, sizes.inner)),
        ("post_feedforward_layernorm", "post_ffw_norm", (sizes.width,)),
    ]
    rows = [("model.embed_tokens", "token_embd", (sizes.vocabulary, sizes.width))]
    rows += [(f"model.layers.{n}.{hf}", f"blk.{n}.{gguf}", shape) for n in range(sizes.layers) for hf, gguf, shape in layer]
    rows += [("model.norm", "output_norm", (sizes.width,))]
    return [Parameter(f"{hf}.weight", f"{gguf}.weight", shape, n) for n, (hf, gguf, shape) in enumerate(rows)]


def pieces(count):
    """Special, byte and single characters, then ever longer pieces: each one more letter than one before."""
    found = SPECIAL + [f"<0x{n:02X}>" for n in range(256)]
    found += [SPACE] + [chr(code) for code in range(0x21, 0x7F)]
    longest = [SPACE, *string.ascii_lowercase]
    while len(found) < count:
        longest = [piece + letter for piece in longest for letter in string.ascii_lowercase]
        found += itertools.islice(longest, count - len(found))
    return found


def tokenizer_json(vocabulary):
    names = pieces(vocabulary)
    merged = names[names.index("~") + 1 :]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    bos = {"SpecialToken": {"id": "<bos>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    other = [{"SpecialToken": {"id": "<bos>", "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": n, "content": piece, **flags} for n, piece in enumerate(SPECIAL)],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
        "pre_tokenizer": None,
        "post_processor": {"type": "TemplateProcessing", "single": [bos, text], "pair": [bos, text, *other],
                           "special_tokens": {"<bos>": {"id": "<bos>", "ids": [2], "tokens": ["<bos>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                  "vocab": {piece: n for n, piece in enumerate(names)},
                  "merges": [[piece[:-1], piece[-1]] for piece in merged]},
    }  # fmt: skip


def sees_all(sizes, layer):
    return layer % sizes.every == sizes.every - 1


def config_json(sizes, dtype):
    kinds = ["full_attention" if sees_all(sizes, n) else "sliding_attention" for n in range(sizes.layers)]
    return {
        "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "dtype": dtype,
        "vocab_size": sizes.vocabulary, "hidden_size": sizes.width, "intermediate_size": sizes.inner,
        "num_hidden_layers": sizes.layers, "num_attention_heads": sizes.query_heads,
        "num_key_value_heads": sizes.kv_heads, "head_dim": sizes.head_width, "query_pre_attn_scalar": sizes.head_width,
        "max_position_embeddings": sizes.positions, "hidden_activation": "gelu_pytorch_tanh",
        "rms_norm_eps": sizes.epsilon, "rope_theta": sizes.base, "rope_local_base_freq": sizes.window_base,
        "rope_scaling": None, "sliding_window": sizes.window, "layer_types": kinds, "attention_bias": False,
        "attention_dropout": 0.0, "attn_logit_softcapping": None, "final_logit_softcapping": None,
        "tie_word_embeddings": True, "use_cache": True, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2,
    }  # fmt: skip


def write_safetensors(path, wanted, dtype, encode):
    header, begin, size = {}, 0, {"F32": 4, "BF16": 2}[dtype]
    for parameter in wanted:
        end = begin + int(np.prod(parameter.shape)) * size
        header[parameter.hf] = {"dtype": dtype, "shape": parameter.shape, "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for parameter in wanted:
            encode(parameter.values()).tofile(file)


def write_hf(directory, sizes, dtype):
    directory.mkdir(parents=True, exist_ok=True)
    name, encode = {
        "f32": ("float32", lambda values: values),
        "bf16": ("bfloat16", lambda values: (values.view(np.uint32) >> 16).astype(np.uint16)),
    }[dtype]
    (directory / "config.json").write_text(json.dumps(config_json(sizes, name), indent=1) + "\n")
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer_json(sizes.vocabulary), ensure_ascii=False))
    write_safetensors(directory / "model.safetensors", parameters(sizes), dtype.upper(), encode)


def add_metadata(writer, sizes):
    writer.add_name("random weights")
    writer.add_context_length(sizes.positions)
    writer.add_embedding_length(sizes.width)
    writer.add_block_count(sizes.layers)
    writer.add_feed_forward_length(sizes.inner)
    writer.add_head_count(sizes.query_heads)
    writer.add_head_count_kv(sizes.kv_heads)
    writer.add_layer_norm_rms_eps(sizes.epsilon)
    writer.add_key_length(sizes.head_width)
    writer.add_value_length(sizes.head_width)
    writer.add_rope_freq_base(sizes.base)
    writer.add_sliding_window(sizes.window)
    writer.add_file_type(1)  # mostly F16
    writer.add_quantization_version(2)


def add_tokenizer(writer, sizes):
    names = pieces(sizes.vocabulary)
    kinds = [CONTROL] * 3 + [UNKNOWN] + [BYTE] * 256
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(names)
    writer.add_token_scores([0.0] * len(kinds) + [-float(n) for n in range(len(names) - len(kinds))])
    writer.add_token_types(kinds + [NORMAL] * (len(names) - len(kinds)))
    writer.add_pad_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_unk_token_id(3)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)


def write_f16(path, sizes):
    import gguf

    writer = gguf.GGUFWriter(path, "gemma3")
    add_metadata(writer, sizes)
    add_tokenizer(writer, sizes)
    wanted = parameters(sizes)
    for parameter in wanted:
        dtype = np.dtype(np.float32 if parameter.is_norm else np.float16)
        writer.add_tensor_info(parameter.gguf, parameter.shape, dtype, int(np.prod(parameter.shape)) * dtype.itemsize)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for parameter in wanted:
        values = parameter.values()
        writer.write_tensor_data(values + 1 if parameter.is_norm else values.astype(np.float16))
    writer.close()


def quantise(source, target, kind, threads):
    import llama_cpp

    options = llama_cpp.llama_model_quantize_default_params()
    options.nthread = threads
    options.ftype = {"q8_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0, "q4_k_m": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_K_M}[kind]
    if llama_cpp.llama_model_quantize(bytes(source), bytes(target), ctypes.byref(options)) != 0:
        raise SystemExit(f"llama.cpp could not quantise {source}")


def write_ggufs(directory, sizes, layouts, threads):
    source = directory / "f16.gguf"
    write_f16(source, sizes)
    for layout in layouts:
        if layout != "f16":
            quantise(source, directory / f"{layout}.gguf", layout, threads)
    if "f16" not in layouts:
        source.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--sizes", choices=SIZES, default="270m")
    parser.add_argument("--layouts", default=",".join(LAYOUTS), help="a list of " + ", ".join(LAYOUTS))
    parser.add_argument("--threads", type=int, default=1, help="of llama_model_quantize")
    chosen = parser.parse_args()
    layouts = chosen.layouts.split(",")
    for unknown in set(layouts) - set(LAYOUTS):
        parser.error(f"--layouts takes {', '.join(LAYOUTS)}, not '{unknown}'")
    sizes = SIZES[chosen.sizes]
    chosen.directory.mkdir(parents=True, exist_ok=True)
    for layout in layouts:
        if layout.startswith("hf-"):
            write_hf(chosen.directory / layout, sizes, layout.removeprefix("hf-"))
    ggufs = [layout for layout in layouts if not layout.startswith("hf-")]
    if ggufs:
        write_ggufs(chosen.directory, sizes, ggufs, chosen.threads)


if __name__ == "__main__":
    main()
