#!/usr/bin/env python3
"""Packed rows byte by byte, and how far they may be from what was packed. Skipped without numpy."""

import struct
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(0)

import packing


class Bytes(unittest.TestCase):
    def test_i8_row(self):
        rows, numbers = packing.i8_rows(np.array([[[[127, -254, 1.9]]]], np.float32))
        self.assertEqual(rows.tobytes(), struct.pack("<fbbb", 2, 64, -127, 1))
        self.assertEqual(numbers.ravel().tolist(), [128, -254, 2])

    def test_q4_1(self):
        first = np.arange(32, dtype=np.float32) % 16  # 0 to 15 twice: scale 1, minimum 0
        second = -4 + 0.5 * (np.arange(32) % 16)  # scale 1/2, minimum -4
        second[16:] = -4
        rows, numbers = packing.q4_1_rows(np.concatenate([first, second]).astype(np.float32).reshape(1, 1, 1, 64))
        expected = struct.pack("<ee", 1, 0) + bytes(17 * i for i in range(16))
        expected += struct.pack("<ee", 0.5, -4) + bytes(range(16))
        self.assertEqual(rows.tobytes(), expected)
        self.assertEqual(numbers.ravel().tolist(), [*first, *second])

    def test_bf16_ties_to_even(self):
        given = np.array([1 + 2**-8, 1 + 3 * 2**-8, -1.5], np.float32)
        self.assertEqual(packing.to_bf16(given).tolist(), [0x3F80, 0x3F82, 0xBFC0])
        self.assertEqual(packing.from_bf16(packing.to_bf16(given)).tolist(), [1, 1 + 2**-6, -1.5])


class Bounds(unittest.TestCase):
    def test_half_a_step(self):
        given = np.random.default_rng(0).standard_normal((1, 2, 50, 64)).astype(np.float32)
        largest = np.abs(given).max(axis=-1, keepdims=True)
        packed = packing.pack(given, "i8_row")
        self.assertTrue((np.abs(packed.numbers - given) <= 0.501 * largest / 127).all())
        groups = given.reshape(1, 2, 50, 2, 32)
        spread = (groups.max(axis=-1) - groups.min(axis=-1)).max()
        # Half a step, and what fp16 rounds of the scale and the minimum.
        packed = packing.pack(given, "q4_1")
        self.assertTrue((np.abs(packed.numbers - given) <= spread / 30 + 2**-10 * (spread + np.abs(given).max())).all())

    def test_strides_are_in_bytes(self):
        given = np.zeros((1, 2, 3, 64), np.float32)
        for name, row in (("i8_row", 4 + 64), ("q4_1", 2 * 20)):
            tensor = packing.pack(given, name).tensor
            self.assertEqual((list(tensor.shape), list(tensor.strides[:3])), ([1, 2, 3, 64], [6 * row, 3 * row, row]))


if __name__ == "__main__":
    unittest.main()
