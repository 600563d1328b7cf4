"""Writes a model's directory in Hugging Face layout: config.json, model.safetensors and what belongs to the tokenizer."""

import contextlib
import json
import os
import pathlib
import shutil
import struct
import tempfile

import numpy

MAX_COPIED = 256 << 20  # bytes of a file that is copied
# Names of the safetensors format, and the NumPy type that holds their bits; NumPy has no bfloat16.
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
          "U8": "<u1", "BOOL": "<u1"}
# Files beside the weights that are taken over as they are.
COMPANIONS = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
              "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt", "tokenizer.model"]


class ImportFailure(Exception):
    """One line that says what is wrong."""


class Tensor:
    """A tensor of which the bytes are made when they are written: `read` gives an array of DTYPES[dtype]."""

    def __init__(self, dtype, shape, read):
        self.dtype, self.shape, self.read = dtype, tuple(shape), read

    @property
    def size(self):
        count = numpy.dtype(DTYPES[self.dtype]).itemsize
        for size in self.shape:
            count *= size
        return count


def write_safetensors(path, tensors):
    """Tensors by name, one after the other; none is held longer than it is written."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + tensor.size]}
        offset += tensor.size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, tensor in tensors.items():
            array = numpy.ascontiguousarray(tensor.read(), DTYPES[tensor.dtype])
            if array.nbytes != tensor.size:
                raise ImportFailure(f"tensor {name} has {array.nbytes} bytes, not {tensor.size}")
            file.write(array.data if array.size else b"")


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def copy_companions(source, target):
    for name in COMPANIONS:
        path = source / name
        if not path.is_file():
            continue
        if path.stat().st_size > MAX_COPIED:
            raise ImportFailure(f"{path} has {path.stat().st_size} bytes: no such file is so large")
        shutil.copyfile(path, target / name)


@contextlib.contextmanager
def new_directory(target):
    """A directory to write into, beside `target`, which it becomes in the end; left early, nothing of it stays."""
    target = pathlib.Path(os.path.abspath(target))
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ImportFailure(f"{target} is there already: name a directory that is to be made")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sightline-import-", dir=target.parent) as temporary:
        made = pathlib.Path(temporary) / "model"
        made.mkdir()
        yield made
        made.rename(target)
