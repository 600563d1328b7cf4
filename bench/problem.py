"""Attention problems for the comparisons: inputs of a shape, and what they give in fp64."""

import numpy as np

import packing

CHECKED_ROWS = 64
BAND = 512  # rows whose map is held at a time


def visible(shape, rows):
    """Bool [rows, keys]."""
    begin, end = np.array([shape.visible_keys(int(row)) for row in rows]).T[..., None]
    keys = np.arange(shape.keys)
    return (keys >= begin) & (keys < end)


class Problem:
    """A shape with normally distributed inputs. Scores have the standard deviation magnitude**2. k and v are the
    numbers that keys and values of `dtype` stand for."""

    def __init__(self, shape, seed=0, magnitude=1.0, dtype="f32"):
        random = np.random.default_rng(seed)
        self.shape, self.dtype = shape, dtype
        self.q = (magnitude * random.standard_normal(shape.query_shape())).astype(np.float32)
        k = (magnitude * random.standard_normal(shape.key_shape())).astype(np.float32)
        v = random.standard_normal(shape.value_shape()).astype(np.float32)
        self.packed_k, self.packed_v = packing.pack(k, dtype), packing.pack(v, dtype)
        self.k, self.v = self.packed_k.numbers, self.packed_v.numbers

    def gradient_of_output(self):
        """What a backward pass begins with."""
        return np.random.default_rng(1).standard_normal(self.shape.output_shape()).astype(np.float32)

    def kv_bytes(self):
        return self.packed_k.data.nbytes + self.packed_v.data.nbytes

    def checked_rows(self):
        """All rows of small problems, otherwise as many as CHECKED_ROWS from first to last."""
        n = self.shape.queries
        if n <= BAND:
            return np.arange(n)
        inner = np.random.default_rng(2).choice(np.arange(1, n - 1), CHECKED_ROWS - 2, replace=False)
        return np.sort(np.concatenate([[0, n - 1], inner]))

    def reference(self, rows=None):
        """Output, lse and entropy of rows (None: all) in fp64; BAND rows at a time, so that no whole map is held."""
        rows = np.arange(self.shape.queries) if rows is None else rows
        s = self.shape
        out = np.empty((s.batch, s.query_heads, len(rows), s.value_width))
        lse = np.empty(out.shape[:3])
        entropy = np.empty_like(lse)
        for b, h, k, v in self._heads():
            for begin in range(0, len(rows), BAND):
                band = slice(begin, begin + BAND)
                out[b, h, band], lse[b, h, band], entropy[b, h, band] = self._band(self.q[b, h], k, v, rows[band])
        return {"out": out, "lse": lse, "entropy": entropy, "rows": rows}

    def reference_gradients(self):
        """dq, dk and dv in fp64."""
        s, dout = self.shape, self.gradient_of_output().astype(np.float64)
        dq, dk, dv = (np.zeros(shape) for shape in (s.query_shape(), s.key_shape(), s.value_shape()))
        for b, h, k, v in self._heads():
            kv_head = h // (s.query_heads // s.kv_heads)
            for begin in range(0, s.queries, BAND):
                rows = np.arange(begin, min(begin + BAND, s.queries))
                q, d = self.q[b, h, rows].astype(np.float64), dout[b, h, rows]
                weights, row_sum, _, _ = self._weights(q, k, rows)
                weights /= row_sum
                of_weights = d @ v.T
                delta = (weights * of_weights).sum(axis=1, keepdims=True)
                of_scores = weights * (of_weights - delta) / np.sqrt(s.width)
                dq[b, h, rows] = of_scores @ k
                dk[b, kv_head] += of_scores.T @ q
                dv[b, kv_head] += weights.T @ d
        return {"q": dq, "k": dk, "v": dv}

    def _heads(self):
        """Each sequence and query head, with its keys and values."""
        group = self.shape.query_heads // self.shape.kv_heads
        for b in range(self.shape.batch):
            for kv_head in range(self.shape.kv_heads):
                k, v = self.k[b, kv_head].astype(np.float64), self.v[b, kv_head].astype(np.float64)
                for h in range(kv_head * group, (kv_head + 1) * group):
                    yield b, h, k, v

    def _weights(self, q, k, rows):
        """exp(score - row maximum), its row sums, the differences, and the maxima."""
        scores = (q @ k.T) / np.sqrt(self.shape.width)
        scores[~visible(self.shape, rows)] = -np.inf
        row_max = scores.max(axis=1, keepdims=True)
        scores -= row_max
        weights = np.exp(scores)
        return weights, weights.sum(axis=1, keepdims=True), scores, row_max

    def _band(self, q, k, v, rows):
        weights, row_sum, scores, row_max = self._weights(q[rows].astype(np.float64), k, rows)
        # Where a weight is 0 its term is too, though the score may be -inf.
        mean_score = np.sum(weights * np.where(weights > 0, scores, 0), axis=1, keepdims=True)
        log_sum = np.log(row_sum)
        entropy = log_sum - mean_score / row_sum
        return (weights @ v) / row_sum, (row_max + log_sum)[:, 0], entropy[:, 0]
