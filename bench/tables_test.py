#!/usr/bin/env python3
"""Numbers of tables from rows made by hand."""

import unittest

import tables


def row(**fields):
    shape = {"query_heads": 8, "kv_heads": 8, "queries": 2048, "keys": 2048, "width": 64, "causal": False, "lengths": 0}
    shape |= fields.pop("shape", {})
    return {"case": "here", "dtype": "f32", "shape": shape, **fields}


def found(work, **fields):
    """Targets of a row: what -> (value, bound)."""
    return {what: (value, bound) for what, value, bound, _ in tables.TABLES[work][1](row(**fields))}


class Targets(unittest.TestCase):
    def test_prefill(self):
        times = {"sightline": 2.0, "torch": 3.0, "openvino": 2.5}
        measured = {"peak": 100.0, "operations": 160.0, "seconds": times}
        self.assertEqual(found("prefill", **measured), {"share of peak": (0.8, 0.74), "x best peer": (1.25, 1.4)})
        causal = found("prefill", shape={"causal": True, "width": 128}, **measured)
        self.assertEqual(causal, {"share of peak": (0.8, 0.8), "x best peer": (1.25, 1.5)})
        short = found("prefill", shape={"causal": True, "queries": 512}, **measured)
        self.assertEqual(short["share of peak"], (0.8, 0.64))

    def test_peers_that_were_not_forced_do_not_count(self):
        times = {"sightline": 2.0, "torch": 3.0, "ort-mha": 2.0}
        measured = {"peak": 100.0, "operations": 160.0, "seconds": times, "not_forced": ["ort-mha"]}
        self.assertEqual(found("avx2", **measured), {"x best peer": (1.5, 1.3)})
        self.assertIn("ort-mha* 80 %", tables.line("avx2", row(**measured)))

    def test_time_per_pair(self):
        measured = {"operations": 10.0, "full_operations": 40.0, "seconds": {"sightline": 3.0, "full": 10.0}}
        self.assertEqual(found("window", **measured)["time per pair"], (1.2, 1.15))
        causal = found("varlen", shape={"causal": True, "lengths": 64}, **measured)
        self.assertEqual(causal["time per pair"], (1.2, 1.4))

    def test_decode(self):
        times = {"sightline": 4.0, "sum": 3.0, "torch": 12.0, "ort-mha": 2.0}
        self.assertEqual(found("decode", seconds=times), {"of plain sum": (0.75, 0.9)})
        self.assertEqual(found("decode", shape={"kv_heads": 2}, seconds=times)["x PyTorch"], (3.0, 2.5))
        self.assertEqual(found("decode-cache", seconds=times), {"x best peer": (0.5, 1.0)})

    def test_observations(self):
        costs = {"basic": [0.01, 0.02, 0.03], "top4": [0, 0.06, 1], "distance": [0, 9, 9]}
        self.assertEqual(found("observe", costs=costs), {"basic costs": (0.02, 0.03), "top4 costs": (0.06, 0.08)})
        self.assertEqual(found("observe", shape={"queries": 1}, costs=costs)["top4 costs"], (0.06, 0.03))

    def test_threads(self):
        measured = {"seconds": {"1": 9.0, "2": 5.0}, "peaks": {"1": 100.0, "2": 200.0}}
        self.assertEqual(found("threads", **measured)["of peaks' ratio"], (0.9, 0.95))
        busy = {**measured, "peaks": {"1": 100.0, "2": 110.0}}
        self.assertIn("busy machine: 1.1, not 1.8", tables.line("threads", row(kind="forward", **busy)))

    def test_models(self):
        times = {"sightline": 2.0, "sightline-fast": 1.0, "transformers": 1.5}
        measured = row(layout="hf-bf16", tokens=512, seconds=times, peak=100.0, operations=50.0)
        self.assertEqual(found("models", layout="hf-bf16", seconds=times),
                         {"sightline x best rival": (0.75, 0.6), "sightline-fast x best rival": (1.5, 1.0)})
        self.assertEqual(tables.line("models", measured),
                         "| here | sightline 256 (0.75 ×), sightline-fast 512 (1.50 ×) | transformers 341 | 3.00 × |  |")
        self.assertEqual(found("models", layout="q8_0", seconds={"llama.cpp": 1.0}), {})
        both = {"sightline": 2.0, "llama.cpp": 5.0, "llama.cpp-flash": 3.0}
        self.assertEqual(found("models", layout="q8_0", seconds=both), {"sightline x best rival": (1.5, 2.0)})

    def test_model_decode(self):
        times = {"sightline": 4.0, "sightline-f16": 3.0, "watched": 5.0, "sum": 3.0, "llama.cpp": 7.0, "llama.cpp-flash": 6.0}
        costs = {"watching": [0.01, 0.04, 0.05]}
        self.assertEqual(found("model-decode", layout="q8_0", seconds=times, costs=costs),
                         {"x best rival": (1.5, 1.6), "of reading the weights": (0.75, 0.6), "watching costs": (0.04, 0.03)})
        self.assertEqual(found("model-decode", layout="hf-f32", seconds={"sightline": 4.0, "transformers": 8.0}, costs=costs),
                         {"x best rival": (2.0, 1.5), "watching costs": (0.04, 0.03)})
        measured = row(layout="q8_0", context=10, tokens=1, weights=8e9, seconds=times, costs=costs)
        self.assertEqual(tables.line("model-decode", measured),
                         "| here, after 10 tokens | 4000.00 | 2.0 | 75 % | sightline 0 (1.50 ×), sightline-f16 0 (2.00 ×) "
                         "| llama.cpp-flash 0, llama.cpp 0 | +4.0 % (+1.0 to +5.0) "
                         "| x best rival: 1.5, not 1.6; watching costs: 0.04, not 0.03 |")
        threads = {"seconds": {"1": 9.0, "2": 5.0}, "peaks": {"1": 1.0, "2": 2.0}}
        self.assertEqual(found("model-threads", **threads), {"of sums' ratio": (0.9, 0.9)})

    def test_first_logits(self):
        measured = {"file": 1e9, "cache": 5e7, "resident": 1.2e9, "seconds": 0.5, "wall": 0.6}
        self.assertEqual(found("first-logits", **measured), {"seconds": (0.5, 1.0), "MB beyond file and cache": (150.0, 100)})

    def test_growth(self):
        measured = {"lengths": [1, 2, 4], "seconds": {"1": 3.0, "2": 12.0, "4": 48.0}}
        self.assertAlmostEqual(tables.exponent(row(**measured)), 2)


class Texts(unittest.TestCase):
    ROW = row(kind="forward", seconds={"1": 9.0, "2": 5.0}, peaks={"1": 1.0, "2": 2.0})
    RESULT = {"work": "threads", "rows": [ROW]}

    def test_miss_is_said(self):
        self.assertIn("of peaks' ratio: 0.9, not 0.95", tables.table(self.RESULT))
        ((margin, *rest),) = tables.misses([self.RESULT])
        self.assertAlmostEqual(margin, 0.9 / 0.95 - 1)
        self.assertEqual(rest, ["threads", "here", "of peaks' ratio 0.900, target 0.95"])

    def test_table_goes_into_its_place(self):
        text = "a\n<!-- threads -->\nold\n<!-- end -->\nb\n<!-- growth -->\nkept\n<!-- end -->\n"
        new = tables.replaced(text, self.RESULT)
        self.assertNotIn("old", new)
        self.assertIn("1.80 ×", new)
        self.assertTrue(new.endswith("<!-- end -->\nb\n<!-- growth -->\nkept\n<!-- end -->\n"))
        self.assertEqual(tables.replaced(new, self.RESULT), new)
        with self.assertRaises(SystemExit):
            tables.replaced("nothing here", self.RESULT)


if __name__ == "__main__":
    unittest.main()
