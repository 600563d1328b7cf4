#!/usr/bin/env python3
"""Tests of the program sightline-conform itself: it must fail where values differ, and skip only what is not built yet."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["SIGHTLINE_CONFORM"]
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
GRID = os.path.join(DATA, "conformance", "attention", "grid")

# Cases of features that are not built yet, of models and tokenizers; every other case is run.
SKIPPED_CASES = """
R1-12 R4-03
R7-07/0 R7-07/1 R7-08 R7-10 R7-11 R7-14 R7-16/byte_level R7-18
R8-11/5 R8-11/6 R8-12/qwen3_0 R8-12/llama_1 R8-12/llama_2 R8-12/mistral_3 R8-12/llama_4 R8-12/llama_5 R8-12/llama_6
R8-12/gpt2_7 R8-14/gpt2 R8-15 R8-16 R8-18 R8-20 R9-01 R9-02 R9-05 R9-06 R9-10 R10-01 R10-02 R10-03 R10-05 R10-08
""".split()
REASON = r"not supported|not there yet|cannot be run \(supported: bert\)"
LEAST_PASSED_CASES = 50


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


def change_first_element(path, tensor, value):
    """Overwrites the first number of a safetensors file's F64 tensor."""
    with open(path, "r+b") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        begin = json.loads(file.read(length))[tensor]["data_offsets"][0]
        file.seek(8 + length + begin)
        file.write(struct.pack("<d", value))


class ConformTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)

    def small_set(self, name):
        """A set of one grid case."""
        with open(os.path.join(os.path.dirname(GRID), "index.json")) as file:
            index = json.load(file)
        index["grid"] = [case for case in index["grid"] if case["name"] == name]
        index["onnx"] = index["backward"] = []
        attention = os.path.join(self.directory, "attention")
        os.makedirs(os.path.join(attention, "grid"))
        with open(os.path.join(attention, "index.json"), "w") as file:
            json.dump(index, file)
        return shutil.copy(os.path.join(GRID, name + ".safetensors"), os.path.join(attention, "grid"))

    def test_passes_on_the_data_and_skips_only_what_is_not_built(self):
        code, lines, _ = run(DATA, "-v")
        skipped = dict(line.removeprefix("skipped ").split(": ", 1) for line in lines if line.startswith("skipped "))
        passed = [line.split()[1] for line in lines if line.startswith("passed ")]
        model = {name: reason for name, reason in skipped.items() if name.startswith("minilm/")}
        for name, reason in model.items():
            self.assertRegex(reason, "^no model in ", name)
        for name in skipped.keys() - model.keys():
            self.assertIn(name.removeprefix("cases/"), SKIPPED_CASES, skipped[name])
            self.assertRegex(skipped[name], REASON, name)
        self.assertGreaterEqual(sum(name.startswith("cases/") for name in passed), LEAST_PASSED_CASES)
        with open(os.path.join(os.path.dirname(GRID), "index.json")) as file:
            index = json.load(file)
        for kind in ("grid", "onnx", "backward"):
            for entry in index[kind]:
                self.assertIn(f"attention/{kind}/{entry['name']}", passed)
        self.assertRegex(lines[-1], r"^\d+ passed, 0 failed, %d skipped$" % len(skipped))
        self.assertGreater(int(lines[-1].split()[0]), 1000)
        self.assertEqual(code, 0)

    def test_shows_what_differs_and_where(self):
        path = self.small_set("causal_top_left_7x5")
        self.assertEqual(run(self.directory)[1][-1], "1 passed, 0 failed, 0 skipped")
        for tensor in ("out", "lse", "row_max", "entropy", "column_mass", "topk_weight", "weights"):
            with open(path, "rb") as file:
                original = file.read()
            change_first_element(path, "expected." + tensor, 12345.0)
            code, lines, _ = run(self.directory)
            self.assertEqual(code, 1)
            self.assertRegex(lines[0], r"^FAILED  attention/grid/causal_top_left_7x5: \w+: %s\[0,[0,]*\]: expected 12345, got " % tensor)
            self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")
            with open(path, "wb") as file:
                file.write(original)

    def test_a_missing_or_cut_file_is_a_failure(self):
        path = self.small_set("causal_top_left_7x5")
        with open(path, "r+b") as file:
            file.truncate(500)
        self.assertEqual(run(self.directory)[0], 1)
        os.remove(path)
        code, lines, _ = run(self.directory)
        self.assertEqual((code, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_a_changed_encoding_is_a_failure(self):
        source = os.path.join(DATA, "conformance", "tokenizers")
        target = os.path.join(self.directory, "tokenizers")
        shutil.copytree(source, target)
        cases = os.path.join(target, "wordpiece_cased", "cases.jsonl")
        with open(cases) as file:
            rows = [json.loads(line) for line in file]
        rows[40]["ids"][0] += 1
        with open(cases, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        code, lines, _ = run(target)
        self.assertEqual(code, 1)
        self.assertRegex(lines[0], r"^FAILED  tokenizers/wordpiece_cased/cases.jsonl:41: ids\[0\]: expected 3, got 2 ")

    def test_lists_and_filters(self):
        code, lines, _ = run(DATA, "--list", "--filter", "attention/grid/causal_")
        self.assertEqual(code, 0)
        self.assertEqual(lines[-1], "12 cases")
        self.assertTrue(all(line.startswith("attention/grid/causal_") for line in lines[:-1]))
        self.assertEqual(run(DATA, "--filter", "attention/grid/causal_")[1][-1], "12 passed, 0 failed, 0 skipped")
        self.assertEqual(run(os.path.join(DATA, "conformance", "models", "bert"))[1][-1], "3 passed, 0 failed, 0 skipped")

    def test_usage(self):
        self.assertEqual(run("--help")[0], 0)
        self.assertEqual(run()[0], 2)
        self.assertEqual(run(os.path.join(self.directory, "missing"))[0], 2)
        code, _, error = run(self.directory)
        self.assertEqual(code, 1)
        self.assertRegex(error, r"^sightline-conform: .*no cases here")


if __name__ == "__main__":
    sys.exit(unittest.main())
