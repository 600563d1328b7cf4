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

# Cases of features that are not built yet or that other tests run, and blocks that are refused by name; every other case
# is run.
SKIPPED_CASES = """
R10-01 R10-02 R10-03 R10-05 R10-08
""".split()
REASON = r"not supported yet|tested by "
REFUSED_BLOCKS = "IQ2_XXS IQ2_XS IQ3_XXS IQ1_S IQ3_S IQ2_S IQ1_M TQ1_0 TQ2_0 NVFP4".split()
LEAST_PASSED_CASES = 80


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


def change_first_element(path, tensor, value):
    """Overwrites the first number of a tensor of a safetensors file."""
    with open(path, "r+b") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        entry = json.loads(file.read(length))[tensor]
        file.seek(8 + length + entry["data_offsets"][0])
        file.write(struct.pack({"F64": "<d", "F32": "<f", "I64": "<q"}[entry["dtype"]], value))


def index_of(*folders):
    with open(os.path.join(DATA, "conformance", *folders)) as file:
        return json.load(file)


def expected_names():
    """Cases that the indexes of models list."""
    for entry in index_of("models", "index.json")["models"]:
        for case in [*entry["cases"], *(generation["case"] for generation in entry["generation"])]:
            yield f"models/{entry['name']}/{case}"
    for name in ("index.json", "index_more.json"):
        for entry in index_of("gguf", name)["files"]:
            yield from (f"gguf/{entry['name']}/{case}" for case in ("short", "long", "gen0", "tokenizer"))
    for entry in index_of("gguf", "index_more.json")["vocabularies"]:
        yield f"gguf/{entry['name']}"
    for entry in index_of("left_padding", "index.json")["batches"]:
        yield from (f"left_padding/{entry['name']}/{case}" for case in ("prompts", "tokens"))


class ConformTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)

    def small_set(self, name):
        """A set of one grid case."""
        index = index_of("attention", "index.json")
        index["grid"] = [case for case in index["grid"] if case["name"] == name]
        index["onnx"] = index["backward"] = []
        attention = os.path.join(self.directory, "attention")
        os.makedirs(os.path.join(attention, "grid"))
        with open(os.path.join(attention, "index.json"), "w") as file:
            json.dump(index, file)
        return shutil.copy(os.path.join(GRID, name + ".safetensors"), os.path.join(attention, "grid"))

    def model_set(self, name):
        """A set of one model; gives its folder."""
        index = index_of("models", "index.json")
        index["models"] = [entry for entry in index["models"] if entry["name"] == name]
        models = os.path.join(self.directory, "models")
        shutil.copytree(os.path.join(DATA, "conformance", "models", name), os.path.join(models, name))
        with open(os.path.join(models, "index.json"), "w") as file:
            json.dump(index, file)
        return os.path.join(models, name)

    def check_skipped(self, name, reason):
        if name.startswith("minilm/"):
            return self.assertRegex(reason, "^no model in ", name)
        if name.startswith("gguf/blocks/"):
            self.assertIn(name.removeprefix("gguf/blocks/"), REFUSED_BLOCKS)
            return self.assertEqual(reason, f"blocks of type {name.removeprefix('gguf/blocks/')} are refused")
        self.assertIn(name.removeprefix("cases/"), SKIPPED_CASES, reason)
        self.assertRegex(reason, REASON, name)

    def test_passes_on_the_data_and_skips_only_what_is_not_built(self):
        code, lines, _ = run(DATA, "-v")
        skipped = dict(line.removeprefix("skipped ").split(": ", 1) for line in lines if line.startswith("skipped "))
        passed = {line.split()[1] for line in lines if line.startswith("passed ")}
        for name, reason in skipped.items():
            self.check_skipped(name, reason)
        self.assertGreaterEqual(sum(name.startswith("cases/") for name in passed), LEAST_PASSED_CASES)
        for kind in ("grid", "onnx", "backward"):
            for entry in index_of("attention", "index.json")[kind]:
                self.assertIn(f"attention/{kind}/{entry['name']}", passed)
        self.assertEqual(set(expected_names()) - passed, set())
        self.assertRegex(lines[-1], r"^\d+ passed, 0 failed, %d skipped$" % len(skipped))
        self.assertGreater(int(lines[-1].split()[0]), 1000)
        self.assertEqual(code, 0)

    def test_a_changed_activation_or_token_of_a_model_is_a_failure(self):
        reference = os.path.join(self.model_set("mistral"), "reference.safetensors")
        self.assertEqual(run(self.directory)[1][-1], "6 passed, 0 failed, 0 skipped")
        with open(reference, "rb") as file:
            original = file.read()
        for tensor, value, shown in (
            ("len7.logits", 12345.0, r"len7: logits\[0,0\]: expected 12345, got "),
            ("len7.hidden_states.2", 12345.0, r"len7: hidden_states.2\[0,0\]: expected 12345, got "),
            ("len7.attentions.1", 0.5, r"len7: attentions.1 of sequence 0\[0,0,0\]: expected 0.5, got 1"),
            ("gen1.tokens", 319, r"gen1: tokens\[0,0\]: expected 319, got "),
        ):
            change_first_element(reference, tensor, value)
            code, lines, _ = run(self.directory)
            self.assertEqual((code, lines[-1]), (1, "5 passed, 1 failed, 0 skipped"))
            self.assertRegex(lines[0], "^FAILED  models/mistral/" + shown)
            with open(reference, "wb") as file:
                file.write(original)

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
