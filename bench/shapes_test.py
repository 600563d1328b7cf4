#!/usr/bin/env python3
"""Counts of visible pairs against closed forms, and against each pair asked one by one."""

import unittest

from shapes import Shape


def counted(shape):
    """Visible pairs by the definition of each mask."""
    ends = shape.cu_seqlens()[1:]

    def sequence(index):
        return sum(index >= end for end in ends)

    return sum(
        (not shape.causal or key <= row)
        and (not shape.window or row - key < shape.window)
        and sequence(row) == sequence(key)
        for row in range(shape.queries)
        for key in range(shape.keys)
    )


class Pairs(unittest.TestCase):
    def test_closed_forms(self):
        self.assertEqual(Shape.square(8, 2, 100, 64).visible_pairs(), 100 * 100)
        self.assertEqual(Shape.square(8, 2, 100, 64, causal=True).visible_pairs(), 100 * 101 // 2)
        # Rows see w keys, but for the first w - 1.
        self.assertEqual(Shape.square(1, 1, 100, 64, True, window=10).visible_pairs(), 100 * 10 - 9 * 10 // 2)
        lengths = [3, 1, 5]
        self.assertEqual(Shape.packed(2, lengths, 64).visible_pairs(), 9 + 1 + 25)
        self.assertEqual(Shape.packed(2, lengths, 64, causal=True).visible_pairs(), 6 + 1 + 15)

    def test_pair_by_pair(self):
        shapes = [Shape.square(1, 1, 23, 64)]
        shapes += [Shape.square(1, 1, 23, 64, True, window) for window in (0, 1, 7, 40)]
        shapes += [Shape.packed(1, [4, 9, 1, 6], 64, causal) for causal in (False, True)]
        shapes.append(Shape(1, 1, 1, 5, 12, 64, 64, causal=True))
        for shape in shapes:
            self.assertEqual(shape.visible_pairs(), counted(shape), str(shape))

    def test_operations(self):
        shape = Shape(2, 4, 1, 3, 5, 64, 32)
        self.assertEqual(shape.operations(), 2 * 4 * 3 * 5 * 2 * (64 + 32))
        self.assertEqual(Shape.square(1, 1, 10, 64).backward_operations(), 5 * 2 * 64 * 100)


class Texts(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(Shape.parse("1,8,2,7,9,64", True), Shape(1, 8, 2, 7, 9, 64, 64, True))
        self.assertEqual(Shape.parse("1,8,2,7,9,64,32").value_width, 32)
        for wrong in ("1,8,3,7,9,64", "1,8,2,7,9", "1,8,2,0,9,64", "1,8,2,x,9,64"):
            with self.assertRaises(ValueError):
                Shape.parse(wrong)


if __name__ == "__main__":
    unittest.main()
