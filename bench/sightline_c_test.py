#!/usr/bin/env python3
"""The ctypes mirror against the built library: every field must lie where the library reads it.

    bench/sightline_c_test.py LIBSIGHTLINE.SO

Keys that are logarithms of 1, 2 and 5 give the weights 1/8, 2/8 and 5/8.
"""

import ctypes
import math
import sys
import unittest

import sightline_c

LIBRARY = None


def floats(*values):
    return (ctypes.c_float * len(values))(*values)


class Example:
    def __init__(self, **fields):
        self.q = floats(1)
        self.k = floats(0, math.log(2), math.log(5))
        self.v = floats(8, 16, 0)
        self.out = floats(-1)
        self.args = sightline_c.AttentionArgs(
            q=self.tensor(self.q), k=self.tensor(self.k), v=self.tensor(self.v), out=self.tensor(self.out), **fields
        )

    @staticmethod
    def tensor(array, shape=None, dtype=sightline_c.F32):
        return sightline_c.Tensor.dense(ctypes.addressof(array), shape or (1, 1, len(array), 1), dtype)

    def run(self):
        LIBRARY.attention(self.args)
        return self.out[0]


class FieldsLieWhereTheLibraryReadsThem(unittest.TestCase):
    def near(self, array, *expected):
        self.assertEqual(len(array), len(expected))
        for got, wanted in zip(array, expected):
            self.assertAlmostEqual(got, wanted, places=5)

    def test_output(self):
        self.near([Example().run()], 5)

    def test_scale_of_zero_is_uniform(self):
        self.near([Example(has_scale=1, scale=0).run()], 8)

    def test_causal_and_alignment(self):
        self.near([Example(causal=1, alignment=sightline_c.TOP_LEFT).run()], 8)

    def test_mask_and_bias(self):
        visible = (ctypes.c_ubyte * 3)(1, 0, 1)
        bias = floats(0, 0, -math.inf)
        self.near([Example(mask=Example.tensor(visible, (1, 1, 1, 3), sightline_c.BOOL)).run()], 8 / 6)
        self.near([Example(bias=Example.tensor(bias, (1, 1, 1, 3))).run()], 40 / 3)

    def test_sequences(self):
        two_keys = (ctypes.c_int64 * 4)(2, 0, 0, 0)
        self.near([Example(sequences=ctypes.addressof(two_keys), sequence_count=1).run()], 40 / 3)

    def test_row_values(self):
        names = ["row_max", "row_sum", "lse", "entropy", "position", "distance"]
        arrays = {name: floats(-1) for name in names}
        Example(**{name: ctypes.addressof(array) for name, array in arrays.items()}).run()
        entropy = math.log(8) - (2 * math.log(2) + 5 * math.log(5)) / 8
        self.near([arrays[name][0] for name in names], math.log(5), 8 / 5, math.log(8), entropy, 12 / 8, 4 / 8)

    def test_top_keys_and_offsets(self):
        index, weight = (ctypes.c_int32 * 2)(), floats(-1, -1)
        offsets, mass = (ctypes.c_int64 * 1)(-1), floats(-1)
        Example(
            top_k=2,
            topk_index=ctypes.addressof(index),
            topk_weight=ctypes.addressof(weight),
            offsets=ctypes.addressof(offsets),
            offset_count=1,
            offset_mass=ctypes.addressof(mass),
        ).run()
        self.assertEqual(list(index), [2, 1])
        self.near(weight, 5 / 8, 2 / 8)
        self.near(mass, 2 / 8)

    def test_sums_over_rows(self):
        mass, none, overview = floats(-1, -1, -1), floats(-1, -1, -1), floats(-1, -1)
        Example(
            key_mass=ctypes.addressof(mass),
            overview_rows=1,
            overview_cols=2,
            overview=ctypes.addressof(overview),
        ).run()
        self.near(mass, 1 / 8, 2 / 8, 5 / 8)
        self.near(overview, 1 / 8, 7 / 8)
        Example(key_mass=ctypes.addressof(none), mass_row_begin=1, mass_row_end=1).run()
        self.near(none, 0, 0, 0)

    def test_segments_and_chosen_rows(self):
        segments, mass = (ctypes.c_int32 * 3)(1, -1, 0), floats(-1, -1)
        rows, weights = (ctypes.c_int64 * 1)(0), floats(-1, -1, -1)
        Example(
            segment_of_key=ctypes.addressof(segments),
            segment_key_count=3,
            segments=2,
            segment_mass=ctypes.addressof(mass),
            rows=ctypes.addressof(rows),
            row_count=1,
            row_weights=ctypes.addressof(weights),
        ).run()
        self.near(mass, 5 / 8, 1 / 8)
        self.near(weights, 1 / 8, 2 / 8, 5 / 8)

    def test_threads(self):
        self.near([Example(threads=2).run()], 5)

    def test_further_fields(self):
        ln_2, half, eighth = floats(math.log(2)), floats(0.5), floats(math.log(8))
        keep, table = (ctypes.c_ubyte * 3)(1, 0, 1), floats(0, math.log(3))
        self.near([Example(has_window=1, window_left=1, window_right=-1).run()], 32 / 7)
        self.near([Example(alibi_slopes=ctypes.addressof(ln_2)).run()], 18 / 6.25)
        self.near([Example(sinks=ctypes.addressof(eighth)).run()], 5 / 2)
        self.near([Example(head_scale=ctypes.addressof(half)).run()], 5 / 2)
        bias = sightline_c.RelativeBias(ctypes.addressof(table), 2, 2, 1)
        self.near([Example(relative_bias=bias).run()], 120 / 14)
        kept = Example.tensor(keep, (1, 1, 1, 3), sightline_c.BOOL)
        self.near([Example(keep=kept, keep_scale=2).run()], 2)

    def test_last_fields(self):
        sums, mass = floats(*[0] * 48), floats(-1, -1, -1)
        Example(mass_sums=ctypes.addressof(sums), mass_sums_keys=3, key_mass=ctypes.addressof(mass), mass_decay=0.5).run()
        self.near(mass, 1 / 8, 2 / 8, 5 / 8)
        overview = floats(-1, -1)
        Example(overview_rows=1, overview_cols=2, overview_step=2, overview=ctypes.addressof(overview)).run()
        self.near(overview, 3 / 8, 5 / 8)
        last = sightline_c.AttentionArgs.overview_step
        self.assertEqual(last.offset + last.size, ctypes.sizeof(sightline_c.AttentionArgs))


class OptionsLieWhereTheLibraryReadsThem(unittest.TestCase):
    def test_precision(self):
        example = Example(threads=1)
        LIBRARY.attention_run(example.args, sightline_c.Options())
        self.assertAlmostEqual(example.out[0], 5, places=5)
        if LIBRARY.fast_available():
            LIBRARY.attention_run(example.args, sightline_c.Options(precision=sightline_c.FAST))
            self.assertAlmostEqual(example.out[0], 5, delta=0.1)
        with self.assertRaises(sightline_c.SightlineError):
            LIBRARY.attention_run(example.args, sightline_c.Options(precision=7))


class GradientsLieWhereTheLibraryReadsThem(unittest.TestCase):
    def test_gradients(self):
        arrays = {name: floats(-1, -1, -1) for name in ("row_max", "row_sum", "q", "k", "v", "bias", "slope", "one")}
        address = {name: ctypes.addressof(array) for name, array in arrays.items()}
        zeros, row = floats(0, 0, 0), (1, 1, 1, 3)
        arrays["one"][0] = 1
        example = Example(row_max=address["row_max"], row_sum=address["row_sum"], alibi_slopes=ctypes.addressof(zeros))
        example.args.bias = Example.tensor(zeros, row)
        example.run()
        gradients = sightline_c.Gradients(alibi_slopes=address["slope"], bias=Example.tensor(arrays["bias"], row))
        gradients.dout = sightline_c.Tensor.dense(address["one"], (1, 1, 1, 1))
        gradients.q = sightline_c.Tensor.dense(address["q"], (1, 1, 1, 1))
        gradients.k, gradients.v = Example.tensor(arrays["k"]), Example.tensor(arrays["v"])
        LIBRARY.attention_backward(example.args, gradients)
        scores = [3 / 8, 22 / 8, -25 / 8]  # w (v - o)
        for name, wanted in [("v", [1 / 8, 2 / 8, 5 / 8]), ("k", scores), ("bias", scores)]:
            for got, expected in zip(arrays[name], wanted):
                self.assertAlmostEqual(got, expected, places=5)
        self.assertAlmostEqual(arrays["q"][0], 22 / 8 * math.log(2) - 25 / 8 * math.log(5), places=5)
        self.assertAlmostEqual(arrays["slope"][0], -28 / 8, places=5)


class Refusals(unittest.TestCase):
    def test_message(self):
        with self.assertRaisesRegex(sightline_c.SightlineError, "top_k"):
            Example(top_k=65, topk_index=1).run()

    def test_names(self):
        self.assertIn(LIBRARY.simd_target(), ["AVX3", "AVX2", "NEON", "SCALAR"])
        self.assertGreaterEqual(LIBRARY.arithmetic_version(), 1)
        self.assertRegex(LIBRARY.version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    LIBRARY = sightline_c.Library(sys.argv.pop())
    unittest.main()
