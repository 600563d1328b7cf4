#!/usr/bin/env python3
"""Writes tests/data/knock_outs.safetensors: what transformers gives for the conformance models bert and llama where
edges of their attention are taken out: scores of -inf before the softmax, in eager attention.

For each model "MODEL.ids", and for each case "MODEL.CASE." with "layers", "heads", "rows", "keys" (what is taken out;
empty = all), "attentions" [layers, heads, n, n] and "hidden" [n, width], the last hidden state.

Needs torch, transformers and safetensors: tools/make_knock_outs.py MODELS OUTPUT
"""
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModel
from transformers.models.bert import modeling_bert
from transformers.models.llama import modeling_llama

LENGTH = 14
CASES = {
    "edge": {"layers": [1], "heads": [2], "rows": [9], "keys": [3]},
    "many": {"layers": [0, 2], "heads": [], "rows": [5, 6, 7, 12], "keys": [2, 4]},
}


def attention_without(case):
    def forward(module, query, key, value, attention_mask, scaling, **_):
        groups = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        scores = query @ key.transpose(2, 3) * scaling
        if attention_mask is not None:
            scores = scores + attention_mask
        if module.layer_idx in case["layers"]:
            for head in case["heads"] or range(scores.shape[1]):
                for row in case["rows"]:
                    scores[0, head, row, case["keys"]] = -torch.inf
        weights = scores.softmax(-1)
        return (weights @ value).transpose(1, 2).contiguous(), weights

    return forward


def run(directory, ids, case):
    modeling_bert.eager_attention_forward = modeling_llama.eager_attention_forward = attention_without(case)
    model = AutoModel.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        out = model(ids[None], output_attentions=True)
    return {"attentions": torch.cat(out.attentions).clone(), "hidden": out.last_hidden_state[0].clone()}


def main():
    models, output = sys.argv[1:]
    tensors = {}
    for name in ("bert", "llama"):
        ids = torch.randint(0, 320, (LENGTH,), generator=torch.Generator().manual_seed(5))
        tensors[f"{name}.ids"] = ids.clone()
        for title, case in CASES.items():
            values = {key: torch.tensor(of, dtype=torch.int64) for key, of in case.items()}
            for key, value in (values | run(Path(models) / name, ids, case)).items():
                tensors[f"{name}.{title}.{key}"] = value
    save_file(tensors, output)


if __name__ == "__main__":
    main()
