#!/usr/bin/env python3
"""Writes tests/data/contrasts.safetensors: what transformers gives for pairs of texts that differ in a word, through the
tiny models tiny-bert and tiny-decoder, in eager attention.

For each model and pair "MODEL.PAIR.a" and "MODEL.PAIR.b", attentions [layers, heads, n, n] in fp32; where both texts
have as many tokens also "MODEL.PAIR.divergence" [layers, heads, n] in fp64, the Jensen-Shannon divergence (base e) of
row i of the one and row i of the other. The texts are in the metadata, "PAIR.a" and "PAIR.b".

Needs torch, transformers, tokenizers and safetensors: tools/make_contrasts.py DATA OUTPUT
"""
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import AutoModel

PAIRS = {
    "middle": ("the cat sat on the mat", "the cat was on the mat"),
    "adjective": ("the animal didn't cross the street because it was too tired.",
                  "the animal didn't cross the street because it was so very wide."),
}


def attentions(model, ids):
    with torch.no_grad():
        return torch.cat(model(torch.tensor([ids]), output_attentions=True).attentions).contiguous()


def divergence(p, q):
    """Entropy of the mean less the mean of the entropies, [..., n] of rows [..., n, n]."""
    def entropy(rows):
        return -torch.special.xlogy(rows, rows).sum(-1)

    p, q = p.double(), q.double()
    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2


def main():
    data, output = sys.argv[1:]
    tensors, texts = {}, {}
    for name in ("tiny-bert", "tiny-decoder"):
        directory = Path(data) / name
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        model = AutoModel.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager").eval()
        for title, pair in PAIRS.items():
            maps = []
            for side, text in zip("ab", pair):
                encoding = tokenizer.encode(text)
                print(name, title, side, encoding.tokens)
                texts[f"{title}.{side}"] = text
                maps.append(attentions(model, encoding.ids))
                tensors[f"{name}.{title}.{side}"] = maps[-1]
            if maps[0].shape == maps[1].shape:
                tensors[f"{name}.{title}.divergence"] = divergence(*maps)
    save_file(tensors, output, texts)


if __name__ == "__main__":
    main()
