"""Attention problems for the comparisons: shapes, inputs, and what they give in fp64."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes as in sightline/attention.h. Causal problems are aligned at the top left: key j <= query i, the one
    alignment that every engine here has."""

    batch: int
    query_heads: int
    kv_heads: int
    queries: int
    keys: int
    width: int
    value_width: int
    causal: bool = False

    @classmethod
    def parse(cls, text, causal=False):
        """From "B,Hq,Hkv,Nq,Nk,D[,Dv]"."""
        sizes = [int(size) for size in text.split(",")]
        if len(sizes) == 6:
            sizes.append(sizes[5])
        if len(sizes) != 7 or min(sizes) < 1 or sizes[1] % sizes[2] != 0:
            raise ValueError(f"a shape is B,Hq,Hkv,Nq,Nk,D[,Dv] with Hq a multiple of Hkv, not '{text}'")
        return cls(*sizes, causal)

    def __str__(self):
        text = f"B={self.batch} H={self.query_heads}"
        if self.kv_heads != self.query_heads:
            text += f"/{self.kv_heads}"
        text += f" n={self.queries}"
        if self.keys != self.queries:
            text += f"x{self.keys}"
        text += f" D={self.width}"
        if self.value_width != self.width:
            text += f"/{self.value_width}"
        return text + (" causal" if self.causal else "")

    def visible_pairs(self):
        """Of one head."""
        if not self.causal:
            return self.queries * self.keys
        return sum(min(row + 1, self.keys) for row in range(self.queries))

    def operations(self):
        """Of a forward pass: 2 (D + Dv) for each visible pair."""
        return 2 * (self.width + self.value_width) * self.batch * self.query_heads * self.visible_pairs()

    def query_shape(self):
        return (self.batch, self.query_heads, self.queries, self.width)

    def key_shape(self):
        return (self.batch, self.kv_heads, self.keys, self.width)

    def value_shape(self):
        return (self.batch, self.kv_heads, self.keys, self.value_width)

    def output_shape(self):
        return (self.batch, self.query_heads, self.queries, self.value_width)


class Problem:
    """A shape with normally distributed inputs. Scores have the standard deviation magnitude**2."""

    def __init__(self, shape, seed=0, magnitude=1.0):
        random = np.random.default_rng(seed)
        self.shape = shape
        self.q = (magnitude * random.standard_normal(shape.query_shape())).astype(np.float32)
        self.k = (magnitude * random.standard_normal(shape.key_shape())).astype(np.float32)
        self.v = random.standard_normal(shape.value_shape()).astype(np.float32)

    def reference(self, band=512):
        """Output, lse and entropy in fp64; `band` rows at a time, so that no whole map is held."""
        s = self.shape
        out = np.empty(s.output_shape())
        lse = np.empty(s.output_shape()[:3])
        entropy = np.empty_like(lse)
        for b in range(s.batch):
            for h in range(s.query_heads):
                kv_head = h // (s.query_heads // s.kv_heads)
                k, v = self.k[b, kv_head].astype(np.float64), self.v[b, kv_head].astype(np.float64)
                for begin in range(0, s.queries, band):
                    rows = slice(begin, min(begin + band, s.queries))
                    q = self.q[b, h, rows].astype(np.float64)
                    out[b, h, rows], lse[b, h, rows], entropy[b, h, rows] = self._band(q, k, v, begin)
        return {"out": out, "lse": lse, "entropy": entropy}

    def _band(self, q, k, v, first_row):
        scores = (q @ k.T) / np.sqrt(self.shape.width)
        if self.shape.causal:
            scores[np.arange(len(k)) > first_row + np.arange(len(q))[:, None]] = -np.inf
        scores -= (row_max := scores.max(axis=1, keepdims=True))
        weights = np.exp(scores)
        row_sum = weights.sum(axis=1, keepdims=True)
        # Where a weight is 0 its term is too, though the score may be -inf.
        mean_score = np.sum(weights * np.where(weights > 0, scores, 0), axis=1, keepdims=True)
        log_sum = np.log(row_sum)
        entropy = log_sum - mean_score / row_sum
        return (weights @ v) / row_sum, (row_max + log_sum)[:, 0], entropy[:, 0]
