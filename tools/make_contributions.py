#!/usr/bin/env python3
"""Writes tests/data/contributions.safetensors: what each part of the conformance models adds to an answer, in float64.

Every part's output (a head through its columns of the output projection, an MLP, the embeddings, biases) is carried
forward through all norms that follow it, whose divisors are those of the pass of transformers; what is left at the end
is multiplied by the answer's direction. So the order is the other way round than in the engine, which takes the
direction backwards.

For each model "MODEL.ids", and for each case "MODEL.CASE." with "rows" [begin, end], "tokens", "weights" (of logits) or
"direction", "minus_mean", "answer", "heads" [layers, heads], "feed_forward" [layers], "embeddings" and "rest".

Needs torch, transformers and safetensors: tools/make_contributions.py MODELS OUTPUT
"""
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM

LENGTH = 14
VOCABULARY = {"bert_mlm_legacy": 280}

# Where each family has its parts. `norms`: of a layer, by what they are applied to.
FAMILIES = {
    "bert": {"layers": "encoder.layer", "heads": "attention.output.dense", "mlp": "output.dense",
             "norms": {"attention sum": "attention.output.LayerNorm", "mlp sum": "output.LayerNorm"}},
    "bert_mlm_legacy": {"layers": "bert.encoder.layer", "heads": "attention.output.dense", "mlp": "output.dense",
                        "norms": {"attention sum": "attention.output.LayerNorm", "mlp sum": "output.LayerNorm"},
                        "transform": "cls.predictions.transform", "logits": True},
    "gpt2": {"layers": "transformer.h", "heads": "attn.c_proj", "mlp": "mlp", "norms": {}, "final": "transformer.ln_f",
             "logits": True},
    "llama": {"layers": "model.layers", "heads": "self_attn.o_proj", "mlp": "mlp", "norms": {}, "final": "model.norm",
              "logits": True},
    "gemma2": {"layers": "model.layers", "heads": "self_attn.o_proj", "mlp": "mlp", "final": "model.norm",
               "norms": {"attention": "post_attention_layernorm", "mlp": "post_feedforward_layernorm"},
               "logits": True},
    "gpt_neox": {"layers": "gpt_neox.layers", "heads": "attention.dense", "mlp": "mlp", "norms": {},
                 "final": "gpt_neox.final_layer_norm", "logits": True},
}


class Parts:
    """The terms that the rows of a residual sum consist of, [rows, width] each."""

    def __init__(self, embeddings):
        self.terms = {"embeddings": embeddings, "rest": torch.zeros_like(embeddings)}

    def add(self, terms):
        for name, term in terms.items():
            self.terms[name] = self.terms[name] + term if name in self.terms else term

    def total(self):
        return sum(self.terms.values())


def normed(norm, terms):
    """The terms behind a norm, its divisor that of their sum."""
    x = sum(terms.values())
    layer_norm = isinstance(norm, torch.nn.LayerNorm)
    epsilon = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
    scale = norm.weight + 1 if type(norm).__name__.startswith("Gemma") else norm.weight

    def centred(of):
        return of - of.mean(-1, keepdim=True) if layer_norm else of

    divisor = (centred(x).pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
    result = {name: centred(term) / divisor * scale for name, term in terms.items()}
    if layer_norm:
        result["rest"] = result.get("rest", 0) + norm.bias
    return result


def linear(module):
    weight = module.weight if isinstance(module, torch.nn.Linear) else module.weight.T  # GPT-2 has it the other way
    return weight, module.bias


def head_terms(layer, module, mixed, heads):
    weight, bias = linear(module)
    width = weight.shape[1] // heads
    terms = {}
    for head in range(heads):
        columns = slice(head * width, (head + 1) * width)
        terms[f"head {layer} {head}"] = mixed[:, columns] @ weight[:, columns].T
    if bias is not None:
        terms["rest"] = bias.expand(mixed.shape[0], -1)
    return terms


def watch(model, family, ids):
    """Runs the model; returns what went into the output projections, what MLPs gave, and what goes into layer 0."""
    layers = model.get_submodule(family["layers"])
    mixed, fed, first, hooks = [], [], [], []
    for layer in layers:
        heads, mlp = layer.get_submodule(family["heads"]), layer.get_submodule(family["mlp"])
        hooks.append(heads.register_forward_pre_hook(lambda _, args: mixed.append(args[0][0])))
        hooks.append(mlp.register_forward_hook(lambda *args: fed.append(args[2][0])))
    hooks.append(layers[0].register_forward_pre_hook(lambda _, args: first.append(args[0][0])))
    model(ids[None])
    for hook in hooks:
        hook.remove()
    return mixed, fed, first[0]


def last_state(model, family, ids):
    mixed, fed, first = watch(model, family, ids)
    parts = Parts(first)
    for number, layer in enumerate(model.get_submodule(family["layers"])):
        norms = {at: layer.get_submodule(name) for at, name in family["norms"].items()}
        module = layer.get_submodule(family["heads"])
        for at, terms in (("attention", head_terms(number, module, mixed[number], model.config.num_attention_heads)),
                          ("mlp", {f"mlp {number}": fed[number]})):
            parts.add(normed(norms[at], terms) if at in norms else terms)
            if f"{at} sum" in norms:
                parts.terms = normed(norms[f"{at} sum"], parts.terms)
    if "final" in family:
        parts.terms = normed(model.get_submodule(family["final"]), parts.terms)
    return parts


def transformed(model, family, parts):
    """Behind the dense layer, the activation (each value times the gate that it has) and the norm of BERT's head."""
    transform = model.get_submodule(family["transform"])
    weight, bias = linear(transform.dense)
    terms = {name: term @ weight.T for name, term in parts.terms.items()}
    terms["rest"] = terms["rest"] + bias
    total = sum(terms.values())
    gate = transform.transform_act_fn(total) / total
    parts.terms = normed(transform.LayerNorm, {name: term * gate for name, term in terms.items()})


def answer_of(parts, rows, direction, constant):
    kept = slice(*rows)
    values = {name: (term[kept] @ direction).mean() for name, term in parts.terms.items()}
    values["rest"] = values["rest"] + constant
    return values


def tensors_of(values, layers, heads):
    return {
        "answer": sum(values.values())[None],
        "heads": torch.stack([values[f"head {l} {h}"] for l in range(layers) for h in range(heads)]).view(layers, heads),
        "feed_forward": torch.stack([values[f"mlp {l}"] for l in range(layers)]),
        "embeddings": values["embeddings"][None],
        "rest": values["rest"][None],
    }


def logit_cases(model, family, ids):
    parts = last_state(model, family, ids)
    if "transform" in family:
        transformed(model, family, parts)
    weight, bias = linear(model.get_output_embeddings())
    for title, rows, tokens, weights, minus_mean in (("pair", [9, 10], [7, 211], [1.0, -1.0], False),
                                                     ("mean", [13, 14], [30], [1.0], True)):
        of_each = torch.zeros(weight.shape[0], dtype=torch.float64)
        of_each[tokens] = torch.tensor(weights, dtype=torch.float64)
        if minus_mean:
            of_each -= 1 / weight.shape[0]
        constant = of_each @ bias if bias is not None else 0.0
        values = answer_of(parts, rows, of_each @ weight, constant)
        yield title, {"rows": torch.tensor(rows), "tokens": torch.tensor(tokens), "weights": torch.tensor(weights),
                      "minus_mean": torch.tensor([int(minus_mean)])}, values


def direction_cases(model, family, ids):
    parts = last_state(model, family, ids)
    width = model.config.hidden_size
    direction = torch.randn(width, generator=torch.Generator().manual_seed(3))
    for title, rows in (("pooled", [0, LENGTH]), ("row", [4, 5])):
        values = answer_of(parts, rows, direction.double(), 0.0)
        yield title, {"rows": torch.tensor(rows), "direction": direction.clone()}, values


def main():
    models, output = sys.argv[1:]
    tensors = {}
    for name, family in FAMILIES.items():
        kind = AutoModel
        if "logits" in family:
            kind = AutoModelForMaskedLM if "transform" in family else AutoModelForCausalLM
        model = kind.from_pretrained(Path(models) / name, attn_implementation="eager", dtype=torch.float64).eval()
        ids = torch.randint(0, VOCABULARY.get(name, 320), (LENGTH,), generator=torch.Generator().manual_seed(5))
        tensors[f"{name}.ids"] = ids.clone()
        with torch.no_grad():
            for title, case, values in (logit_cases if "logits" in family else direction_cases)(model, family, ids):
                layers, heads = model.config.num_hidden_layers, model.config.num_attention_heads
                for key, value in (case | tensors_of(values, layers, heads)).items():
                    kept = value.float() if value.is_floating_point() else value
                    tensors[f"{name}.{title}.{key}"] = kept.clone().contiguous()
    save_file(tensors, output)


if __name__ == "__main__":
    main()
