"""llama2.c checkpoints (versions 0 and 1, fp32) and the tokenizers that belong to them.

A checkpoint is a header of 7 int32 (dim, hidden, layers, heads, kv heads, vocabulary, positions), then fp32 tensors; version 1 has
256 bytes of header that begin with "ak42" backwards. Its RoPE turns neighbouring pairs (2i, 2i+1) of a head; Hugging Face's Llama turns
(i, i + width/2), so that rows of the query and key matrices move.
"""

import math
import pathlib
import struct

import numpy

from layout import ImportFailure, Tensor, new_directory, write_json, write_safetensors

MAGIC = 0x616B3432
HEADER_V1 = 256
NAMES = ["dim", "hidden", "layers", "heads", "kv_heads", "vocabulary", "positions"]
MAX_PIECE = 1 << 16  # bytes


class Sizes:
    def __init__(self, numbers, tied, path):
        values = dict(zip(NAMES, numbers))
        for name, value in values.items():
            if value < 1:
                raise ImportFailure(f"{path}: no llama2.c checkpoint: its {name} is {value}")
        self.__dict__ |= values
        self.tied = tied
        if self.dim % self.heads or self.heads % self.kv_heads or self.dim // self.heads % 2:
            raise ImportFailure(f"{path}: no llama2.c checkpoint: width {self.dim}, {self.heads} heads, {self.kv_heads} for keys")
        self.head_width = self.dim // self.heads

    def shapes(self):
        """Of each kind of tensor, all layers together."""
        kv, layers = self.kv_heads * self.head_width, self.layers
        return {"embedding": (self.vocabulary, self.dim), "attention_norm": (layers, self.dim), "q": (layers, self.dim, self.dim),
                "k": (layers, kv, self.dim), "v": (layers, kv, self.dim), "o": (layers, self.dim, self.dim),
                "mlp_norm": (layers, self.dim), "gate": (layers, self.hidden, self.dim), "down": (layers, self.dim, self.hidden),
                "up": (layers, self.hidden, self.dim), "norm": (self.dim,), "cos": (self.positions, self.head_width // 2),
                "sin": (self.positions, self.head_width // 2), "classifier": (self.vocabulary, self.dim)}


ORDER = {
    0: "embedding attention_norm q k v o mlp_norm gate down up norm cos sin classifier".split(),
    1: "attention_norm mlp_norm norm embedding q k v o gate down up classifier".split(),
}


def read_header(path):
    """Version, sizes, and where the tensors begin."""
    with open(path, "rb") as file:
        header = file.read(HEADER_V1)
    if len(header) < 28:
        raise ImportFailure(f"{path}: no llama2.c checkpoint: too short")
    if struct.unpack_from("<I", header)[0] != MAGIC:
        numbers = list(struct.unpack_from("<7i", header))
        tied = numbers[5] > 0
        numbers[5] = abs(numbers[5])
        return 0, Sizes(numbers, tied, path), 28
    version = struct.unpack_from("<i", header, 4)[0]
    if version != 1 or len(header) < HEADER_V1:
        raise ImportFailure(f"{path}: a llama2.c checkpoint of version {version}, which is not read: export it as version 0 or 1")
    return 1, Sizes(struct.unpack_from("<7i", header, 8), header[36] != 0, path), HEADER_V1


def read_arrays(path):
    """The sizes, and the tensors by kind, mapped from the file, which must end with the last."""
    version, sizes, begin = read_header(path)
    order = [kind for kind in ORDER[version] if kind != "classifier" or not sizes.tied]
    shapes = sizes.shapes()
    length = pathlib.Path(path).stat().st_size
    counts = {kind: numpy.prod([int(size) for size in shapes[kind]], dtype=object) for kind in order}
    if begin + 4 * sum(counts.values()) != length:
        raise ImportFailure(f"{path}: {length} bytes, not the {begin + 4 * sum(counts.values())} of a llama2.c checkpoint of its sizes")
    data = numpy.memmap(path, "<f4", "r", offset=begin)
    arrays, at = {}, 0
    for kind in order:
        arrays[kind] = data[at : at + counts[kind]].reshape(shapes[kind])
        at += counts[kind]
    return sizes, arrays


def halves_apart(rows, heads):
    """Rows of pairs (2i, 2i+1) as rows of pairs (i, i + width/2), head by head."""
    width = rows.shape[0] // heads
    return rows.reshape(heads, width // 2, 2, rows.shape[1]).transpose(0, 2, 1, 3).reshape(rows.shape)


LAYER_NAMES = {"attention_norm": "input_layernorm", "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
               "o": "self_attn.o_proj", "mlp_norm": "post_attention_layernorm", "gate": "mlp.gate_proj", "down": "mlp.down_proj",
               "up": "mlp.up_proj"}


def tensors_of(sizes, arrays):
    tensors = {"model.embed_tokens.weight": arrays["embedding"], "model.norm.weight": arrays["norm"]}
    for layer in range(sizes.layers):
        for kind, name in LAYER_NAMES.items():
            tensors[f"model.layers.{layer}.{name}.weight"] = arrays[kind][layer]
    if not sizes.tied:
        tensors["lm_head.weight"] = arrays["classifier"]
    heads = {"q_proj": sizes.heads, "k_proj": sizes.kv_heads}

    def reader(name, array):
        count = heads.get(name.split(".")[-2])
        return (lambda: halves_apart(array, count)) if count else (lambda: array)

    return {name: Tensor("F32", array.shape, reader(name, array)) for name, array in tensors.items()}


def config_of(sizes):
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": sizes.dim, "intermediate_size": sizes.hidden,
        "num_hidden_layers": sizes.layers, "num_attention_heads": sizes.heads, "num_key_value_heads": sizes.kv_heads,
        "head_dim": sizes.head_width, "vocab_size": sizes.vocabulary, "max_position_embeddings": sizes.positions,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
        "tie_word_embeddings": sizes.tied, "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32",
    }


def read_pieces(path, count):
    """(piece, score) by id. An int32 of the longest piece, then an fp32 score, an int32 length and the bytes of each."""
    data = pathlib.Path(path).read_bytes()
    at, pieces = 4, []
    while len(pieces) < count and at + 8 <= len(data):
        score, length = struct.unpack_from("<fi", data, at)
        at += 8
        if not 0 <= length <= min(MAX_PIECE, len(data) - at):
            break
        pieces.append((data[at : at + length], score))
        at += length
    if len(pieces) != count or at != len(data):
        rest = max(len(data) - at, 0)
        raise ImportFailure(f"{path}: not a tokenizer of {count} pieces: it holds {len(pieces)}, and {rest} bytes more")
    if not all(math.isfinite(score) for _, score in pieces):
        raise ImportFailure(f"{path}: a piece whose score is no number")
    try:
        return [(piece.decode("utf-8"), score) for piece, score in pieces]
    except UnicodeDecodeError as error:
        raise ImportFailure(f"{path}: a piece is not UTF-8: {error.reason}") from None


def spelling(number, piece):
    """As SentencePiece spells it: the exporter put spaces in place of U+2581, and lines around BOS and EOS."""
    return {0: "<unk>", 1: "<s>", 2: "</s>"}.get(number, piece.replace(" ", "\u2581"))


def merges_of(scores, vocabulary):
    """Pairs that make a piece, the best score first: the order in which SentencePiece merges them."""
    merges = []
    for piece, score in scores.items():
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in vocabulary and right in vocabulary:
                merges.append((-score, vocabulary[piece], vocabulary[left], vocabulary[right], [left, right]))
    return [merge[-1] for merge in sorted(merges)]


def tokenizer_of(path, count):
    """SentencePiece's BPE with byte fallback as tokenizer.json."""
    pieces = [(spelling(number, piece), score) for number, (piece, score) in enumerate(read_pieces(path, count))]
    vocabulary = {}
    for number, (piece, _) in enumerate(pieces):
        if vocabulary.setdefault(piece, number) != number:
            raise ImportFailure(f"{path}: pieces {vocabulary[piece]} and {number} are spelt alike")
    # Those of ids 0 to 2 are controls, the next 256 stand for bytes: neither is made by merging.
    bytes_begin, bytes_end = 3, 3 + 256
    if [piece for piece, _ in pieces[bytes_begin:bytes_end]] != [f"<0x{byte:02X}>" for byte in range(256)]:
        raise ImportFailure(f"{path}: pieces 3 to 258 are not those of bytes")
    merges = merges_of(dict(pieces[bytes_end:]), vocabulary)
    special = [{"id": number, "content": pieces[number][0], "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for number in range(3)]
    begin, text = {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
        "pre_tokenizer": None,
        "post_processor": {"type": "TemplateProcessing", "single": [begin, text],
                           "pair": [begin, text, {"SpecialToken": {"id": "<s>", "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}],
                           "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
                  "vocab": vocabulary, "merges": merges},
    }


def convert(source, target, tokenizer):
    if tokenizer is None:
        raise ImportFailure(f"{source}: a llama2.c checkpoint needs its tokenizer: --tokenizer FILE (tokenizer.bin, tok512.bin)")
    sizes, arrays = read_arrays(source)
    encoding = tokenizer_of(tokenizer, sizes.vocabulary)
    with new_directory(target) as folder:
        write_json(folder / "config.json", config_of(sizes))
        write_json(folder / "tokenizer.json", encoding)
        write_safetensors(folder / "model.safetensors", tensors_of(sizes, arrays))
