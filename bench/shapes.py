"""Shapes of attention problems, and which pairs of query and key each sees."""

import bisect
import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes as in sightline/attention.h. Causal problems are aligned at the top left: key j <= query i, the one
    alignment that every engine here has. `window` > 0 (causal): keys that a query sees, its own included. `lengths`:
    packed sequences, of which queries and keys are the sum."""

    batch: int
    query_heads: int
    kv_heads: int
    queries: int
    keys: int
    width: int
    value_width: int
    causal: bool = False
    window: int = 0
    lengths: tuple = ()

    @classmethod
    def parse(cls, text, causal=False):
        """From "B,Hq,Hkv,Nq,Nk,D[,Dv]"."""
        sizes = [int(size) for size in text.split(",")]
        if len(sizes) == 6:
            sizes.append(sizes[5])
        if len(sizes) != 7 or min(sizes) < 1 or sizes[1] % sizes[2] != 0:
            raise ValueError(f"a shape is B,Hq,Hkv,Nq,Nk,D[,Dv] with Hq a multiple of Hkv, not '{text}'")
        return cls(*sizes, causal)

    @classmethod
    def square(cls, query_heads, kv_heads, n, width, causal=False, window=0):
        return cls(1, query_heads, kv_heads, n, n, width, width, causal, window)

    @classmethod
    def packed(cls, heads, lengths, width, causal=False):
        total = sum(lengths)
        return cls(1, heads, heads, total, total, width, width, causal, 0, tuple(lengths))

    def __str__(self):
        text = f"B={self.batch} H={self.query_heads}"
        if self.kv_heads != self.query_heads:
            text += f"/{self.kv_heads}"
        if self.lengths:
            text += f" {len(self.lengths)} sequences of {min(self.lengths)}-{max(self.lengths)}"
        else:
            text += f" n={self.queries}"
        if self.keys != self.queries:
            text += f"x{self.keys}"
        text += f" D={self.width}"
        if self.value_width != self.width:
            text += f"/{self.value_width}"
        return text + (" causal" if self.causal else "") + (f" window={self.window}" if self.window else "")

    def cu_seqlens(self):
        """Where packed sequences begin, and the last one's end."""
        return list(itertools.accumulate(self.lengths, initial=0))

    def visible_keys(self, row):
        """The first key that a row sees, and one past the last."""
        begin, end = 0, self.keys
        if self.lengths:
            bounds = self.cu_seqlens()
            sequence = bisect.bisect_right(bounds, row) - 1
            begin, end = bounds[sequence], bounds[sequence + 1]
        if self.causal:
            end = min(end, row + 1)
        if self.window:
            begin = max(begin, row + 1 - self.window)
        return begin, end

    def visible_pairs(self):
        """Of one head."""
        return sum(end - begin for begin, end in map(self.visible_keys, range(self.queries)))

    def operations(self):
        """Of a forward pass: 2 (D + Dv) for each visible pair."""
        return 2 * (self.width + self.value_width) * self.batch * self.query_heads * self.visible_pairs()

    def backward_operations(self):
        """Of a backward pass: five products of that size instead of two."""
        return 5 * self.operations() // 2

    def query_shape(self):
        return (self.batch, self.query_heads, self.queries, self.width)

    def key_shape(self):
        return (self.batch, self.kv_heads, self.keys, self.width)

    def value_shape(self):
        return (self.batch, self.kv_heads, self.keys, self.value_width)

    def output_shape(self):
        return (self.batch, self.query_heads, self.queries, self.value_width)
