#!/usr/bin/env python3
"""Sizes, vocabulary and rounding of the models that make_model.py writes."""

import math
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(0)

import make_model


class MakeModel(unittest.TestCase):
    def test_parameters_are_as_many_as_the_published_models_have(self):
        for name, count in (("270m", 268_098_176), ("1b", 999_885_952)):
            parameters = make_model.parameters(make_model.SIZES[name])
            self.assertEqual(sum(math.prod(p.shape) for p in parameters), count, name)
            self.assertEqual(len({p.hf for p in parameters}), len({p.gguf for p in parameters}))

    def test_each_longer_piece_is_one_before_it_and_a_letter(self):
        pieces = make_model.pieces(20_000)
        self.assertEqual(len(set(pieces)), 20_000)
        number = {piece: n for n, piece in enumerate(pieces)}
        merged = pieces[number["~"] + 1 :]
        self.assertTrue(all(number[piece[:-1]] < number[piece] and piece[-1] in number for piece in merged))

    def test_tokenizers_of_both_layouts_hold_the_same_pieces(self):
        vocabulary = make_model.tokenizer_json(1000)["model"]["vocab"]
        self.assertEqual(list(vocabulary), make_model.pieces(1000))
        self.assertEqual(list(vocabulary.values()), list(range(1000)))

    def test_rounds_to_bfloat16_to_nearest_ties_to_even(self):
        given = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -3.14159265], np.float32)
        expected = np.array([1.0, 1.0, 1 + 2**-6, 1 + 2**-7, -3.140625], np.float32)
        np.testing.assert_array_equal(make_model.rounded_to_bf16(given), expected)

    def test_layers_that_see_all_keys_are_each_sixth(self):
        sizes = make_model.SIZES["270m"]
        self.assertEqual([n for n in range(sizes.layers) if make_model.sees_all(sizes, n)], [5, 11, 17])


if __name__ == "__main__":
    unittest.main()
