#!/usr/bin/env python3
"""Turns other files into a model's directory in Hugging Face layout: sightline import SOURCE OUTDIR.

    tools/import/import_model.py SOURCE OUTDIR [--tokenizer FILE]

SOURCE is a llama2.c checkpoint (.bin, with --tokenizer), a directory with config.json and torch pickles (pytorch_model.bin, alone or in shards),
one such pickle beside its config.json, or a minGPT model (.json). OUTDIR appears whole or not at all. Exits with 0, 1, 2 for usage, or 128 +
the signal that ended it.
"""

import argparse
import json
import pathlib
import signal
import sys

try:
    import numpy  # noqa: F401  everything here stands on it
except ImportError:
    sys.exit("sightline: import needs NumPy: apt-get install -y python3-numpy")

sys.dont_write_bytecode = True  # the tools may lie where others write nothing

import llama2c
import mingpt
import torch_pickle
from layout import ImportFailure, copy_companions, new_directory, write_safetensors

INDEX, SINGLE = "pytorch_model.bin.index.json", "pytorch_model.bin"
MAX_INDEX = 64 << 20


class Stopped(BaseException):
    """A signal asks to end; its number."""


def say(text):
    print("sightline: " + "".join(c if c.isprintable() else "?" for c in str(text)), file=sys.stderr, flush=True)


def is_pickle(path):
    """How torch.save begins: a zip, or a pickle of protocol 2 to 5 that begins with its magic number."""
    with open(path, "rb") as file:
        begin = file.read(14)
    return begin.startswith(b"PK\x03\x04") or (begin[:1] == b"\x80" and begin[2:3] == b"\x8a")


def shards_of(directory):
    """The files of pickles of a directory, and which tensors the index says that each holds."""
    index = directory / INDEX
    if not index.is_file():
        return {SINGLE: None}
    if index.stat().st_size > MAX_INDEX:
        raise ImportFailure(f"{index}: too long for an index")
    try:
        names = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        shards = {}
        for name, shard in names.items():
            if pathlib.PurePath(shard).name != shard or shard in ("", ".", ".."):
                raise ImportFailure(f"{index}: {shard} is no file of the same directory")
            shards.setdefault(shard, set()).add(name)
        return shards
    except (UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ImportFailure(f"{index}: no index of shards: {error}") from None


def convert_pickles(directory, shards, target):
    if not (directory / "config.json").is_file():
        raise ImportFailure(f"{directory / 'config.json'}: no such file: a torch pickle needs its config.json beside it")
    tensors = {}
    for shard, names in shards.items():
        found = torch_pickle.read_tensors(directory / shard)
        missing = (names or set()) - set(found)
        if missing:
            raise ImportFailure(f"{directory / shard}: tensor {min(missing)} is missing, which the index says is there")
        for name, tensor in found.items():
            if name in tensors:
                raise ImportFailure(f"{directory / shard}: tensor {name} is in another shard, too")
            tensors[name] = tensor
    with new_directory(target) as folder:
        copy_companions(directory, folder)
        write_safetensors(folder / "model.safetensors", tensors)


def convert(source, target, tokenizer):
    if not source.exists():
        raise ImportFailure(f"{source}: no such file or directory")
    if tokenizer is not None and not tokenizer.is_file():
        raise ImportFailure(f"{tokenizer}: no such file")
    if source.is_dir():
        shards = shards_of(source)
        absent = next((shard for shard in shards if not (source / shard).is_file()), None)
        if absent:
            raise ImportFailure(f"{source}: no {absent} there: nothing to import")
        return convert_pickles(source, shards, target)
    if not source.is_file():
        raise ImportFailure(f"{source}: not a regular file")
    if is_pickle(source):
        return convert_pickles(source.parent, {source.name: None}, target)
    if source.suffix == ".json":
        if not mingpt.is_mingpt(source):
            raise ImportFailure(f"{source}: not a minGPT model")
        return mingpt.convert(source, target)
    return llama2c.convert(source, target, tokenizer)


def stop(number, _):
    raise Stopped(number)


def main(arguments):
    parser = argparse.ArgumentParser(prog="sightline import", usage="sightline import SOURCE OUTDIR [--tokenizer FILE]")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path)
    parser.add_argument("--tokenizer", type=pathlib.Path)
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        convert(options.source, options.target, options.tokenizer)
        say(f"wrote {options.target}")
    except ImportFailure as failure:
        say(failure)
        return 1
    except OSError as error:
        say(f"{error.filename or options.target}: {error.strerror or error}")
        return 1
    except MemoryError:
        say(f"{options.source}: out of memory")
        return 1
    except Stopped as stopped:
        return 128 + stopped.args[0]
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
