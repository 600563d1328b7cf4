#!/usr/bin/env python3
"""Writes tests/data/dynamic_rope.safetensors: what transformers gives for the conformance model llama_llama3 with its
rope settings replaced by dynamic ones (factor 4 beyond 16 positions).

The frequencies follow the running length, so each length is a pass of its own over all tokens, by a model that has
seen nothing else: "ids" [length of the longest], and for each length "logits.LENGTH" [vocabulary] of the last row;
then "prompt" and "tokens", greedy, each from a pass over all tokens before it.

Needs torch, transformers and safetensors: tools/make_dynamic_rope.py MODEL OUTPUT
"""
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM

LENGTHS = (12, 16, 17, 18, 40, 64)


def load(directory):
    config = AutoConfig.from_pretrained(directory)
    config.max_position_embeddings = 16
    config.rope_parameters = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0}
    return AutoModelForCausalLM.from_pretrained(directory, config=config, dtype=torch.float32).eval()


def last_logits(directory, ids):
    with torch.no_grad():
        return load(directory)(ids[None], use_cache=False).logits[0, -1].clone()


def main():
    directory, output = sys.argv[1:]
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(0, 320, (max(LENGTHS),), generator=generator)
    tensors = {"ids": ids}
    for length in LENGTHS:
        tensors[f"logits.{length}"] = last_logits(directory, ids[:length])
    tensors["prompt"] = text = ids[:12].clone()
    for _ in range(12):
        logits = last_logits(directory, text)
        best = logits.topk(2).values
        print(f"margin {best[0] - best[1]:.4f}")
        text = torch.cat([text, logits.argmax()[None]])
    tensors["tokens"] = text[12:].clone()
    save_file(tensors, output)


if __name__ == "__main__":
    main()
