"""minGPT models as JSON: "config" and tensors as base64 of fp32. Their blocks are GPT-2's.

minGPT keeps matrices [out, in]; GPT-2 in Hugging Face layout [in, out]. The causal masks that it keeps as tensors are left out.
"""

import base64
import json
import pathlib
import re

import numpy

from layout import ImportFailure, Tensor, new_directory, write_json, write_safetensors

MAX_FILE = 4 << 30
TRANSPOSED = re.compile(r"transformer\.h\.\d+\.(attn\.c_attn|attn\.c_proj|mlp\.c_fc|mlp\.c_proj)\.weight")
MASK = re.compile(r"transformer\.h\.\d+\.attn\.bias")


def is_mingpt(path):
    with open(path, "rb") as file:
        begin = file.read(4096)
    return b'"config"' in begin and b'"n_layer"' in begin and b'"block_size"' in begin


def number(config, name, path):
    value = config.get(name)
    if type(value) is not int or not 1 <= value < 1 << 31:
        raise ImportFailure(f"{path}: config.{name} must be a positive whole number, not {value!r}")
    return value


def array_of(entry, name, path):
    try:
        shape, data = [int(size) for size in entry["shape"]], base64.b64decode(entry["data"], validate=True)
        if entry["dtype"] != "torch.float32":
            raise ImportFailure(f"{path}: {name} is of type {entry['dtype']}, not torch.float32")
        return numpy.frombuffer(data, "<f4").reshape(shape)
    except (KeyError, TypeError, ValueError) as error:
        raise ImportFailure(f"{path}: {name} is no tensor: {error}") from None


def config_of(config, tied, path):
    width, layers, heads, vocabulary, positions = (
        number(config, name, path) for name in ("n_embd", "n_layer", "n_head", "vocab_size", "block_size"))
    return {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": width, "n_layer": layers, "n_head": heads,
            "vocab_size": vocabulary, "n_positions": positions, "n_ctx": positions, "n_inner": None,
            "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "tie_word_embeddings": tied, "torch_dtype": "float32"}


def letters_of(vocabulary):
    """A tokenizer of single letters, A for 0, as the models of this kind that sort letters have; nothing for larger vocabularies."""
    if vocabulary > 26:
        return None
    pieces = {chr(ord("A") + number): number for number in range(vocabulary)}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": {"type": "Fuse"},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": pieces, "merges": []}}


def convert(source, target):
    if pathlib.Path(source).stat().st_size > MAX_FILE:
        raise ImportFailure(f"{source}: too large for a JSON model")
    try:
        root = json.loads(pathlib.Path(source).read_text(encoding="utf-8"))
        config = root.pop("config")
        entries = dict(root)
        read_number = config.get
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise ImportFailure(f"{source}: not a minGPT model: {error}") from None
    tensors = {}
    for name, entry in entries.items():
        if MASK.fullmatch(name):
            continue
        array = array_of(entry, name, source)
        tensors[name] = array.T if TRANSPOSED.fullmatch(name) else array
    head, embedding = tensors.get("lm_head.weight"), tensors.get("transformer.wte.weight")
    tied = head is None or (embedding is not None and numpy.array_equal(head, embedding))
    tokenizer = letters_of(number(config, "vocab_size", source)) if read_number("vocab_size") else None
    with new_directory(target) as folder:
        write_json(folder / "config.json", config_of(config, tied, source))
        if tokenizer:
            write_json(folder / "tokenizer.json", tokenizer)
        write_safetensors(folder / "model.safetensors",
                          {name: Tensor("F32", array.shape, lambda array=array: array) for name, array in tensors.items()})
