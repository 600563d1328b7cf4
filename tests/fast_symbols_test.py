#!/usr/bin/env python3
"""The units that are compiled for bf16 instructions must leave nothing that the linker could take for another unit's.

    tests/fast_symbols_test.py libsightline_attention.a libsightline_model.a

A function that several objects define (weak in nm's letters) is kept once, whichever object it comes from; one that was
compiled for AVX-512 would then run on machines without it. So these objects define one function each, which hands out a
table, and need nothing but copying and filling of memory.
"""

import subprocess
import sys
import unittest

# One symbol an object, in the spelling of nm -C.
DEFINED = {
    "fast_avx512.cc.o": {"sightline::avx512_products()"},
    "fast_amx.cc.o": {"sightline::amx_products()"},
    "fast_linear_avx512.cc.o": {"sightline::ops::avx512_linear()"},
    "fast_linear_amx.cc.o": {"sightline::ops::amx_linear()"},
}
NEEDED = {"memcpy", "memset", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
# Also an object of a kind that does have weak symbols, so that a test that sees none is known to look.
ORDINARY = "fast.cc.o", "attention.cc.o"

archives = []


def symbols():
    """By object: (letter, name) of all that is not local to it."""
    found, member = {}, None
    listing = subprocess.run(["nm", "-C", *archives], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        if line.endswith(":"):
            member = found.setdefault(line[:-1], [])
        elif line:
            letter, name = line[17:].split(" ", 1)
            if letter.isupper() or letter in "uvw":
                member.append((letter, name))
    return found


class Symbols(unittest.TestCase):
    def test_nothing_is_shared_with_other_units(self):
        found = symbols()
        for member, defined in DEFINED.items():
            with self.subTest(member):
                self.assertEqual({name for letter, name in found[member] if letter == "T"}, defined)
                self.assertLessEqual({name for letter, name in found[member] if letter == "U"}, NEEDED)
                self.assertEqual([(l, n) for l, n in found[member] if l not in "TU"], [])

    def test_weak_symbols_would_be_seen(self):
        found = symbols()
        self.assertTrue(any(letter in "WVu" for member in ORDINARY for letter, _ in found.get(member, [])))


if __name__ == "__main__":
    archives, sys.argv[1:] = sys.argv[1:], []
    unittest.main()
