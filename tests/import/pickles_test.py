#!/usr/bin/env python3
"""Tests how `sightline import` reads torch pickles.

    tests/import/pickles_test.py

Those of tests/data/pickles were written by torch itself; the values in them are known from how they were made. Needs NumPy.
"""

import io
import json
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import unittest
import zipfile

import importing
import numpy
from importing import IMPORT, ROOT

PICKLES = ROOT / "tests" / "data" / "pickles"


class Torch(importing.Importing):
    def model(self, content, **files):
        folder = self.put("model/config.json", b'{"model_type": "x"}').parent
        self.put("model/pytorch_model.bin", content)
        for name, text in files.items():
            self.put("model/" + name.replace("_json", ".json"), text)
        return folder

    def test_reads_what_torch_wrote(self):
        for layout in ["zip", "legacy"]:
            with self.subTest(layout):
                config, tensors = self.convert(self.model((PICKLES / f"{layout}.bin").read_bytes(), tokenizer_json=b"{}"))
                self.assertEqual(config, {"model_type": "x"})
                self.assertEqual((self.out / "tokenizer.json").read_text(), "{}")
                whole = numpy.arange(24, dtype="f4").reshape(4, 6)
                expected = {
                    "whole": whole, "turned": whole.T, "part": whole[1:3, 2:4], "half": numpy.array([0, 0.25, 0.5], "f2"),
                    "brain": numpy.array([0x3F80, 0xC000, 0x4049], "u2"), "double": numpy.array([0.1]),
                    "long": numpy.arange(-2, 3), "truth": numpy.array([True, False]), "bytes": numpy.array([0, 255], "u1"),
                    "scalar": numpy.array(2.5, "f4"), "empty": numpy.empty((0, 3), "f4"),
                    "parameter": numpy.array([[1, 2], [3, 4]], "f4"),
                }
                self.assertEqual(set(tensors), set(expected))
                for name, value in expected.items():
                    self.assertEqual(tensors[name].dtype, value.dtype, name)
                    numpy.testing.assert_array_equal(tensors[name], value, name)
            shutil.rmtree(self.out)

    def test_reads_a_file_beside_its_config(self):
        self.model((PICKLES / "zip.bin").read_bytes())
        self.assertIn("whole", self.convert(self.top / "model" / "pytorch_model.bin")[1])

    def test_reads_shards(self):
        folder = self.model(b"")
        (folder / "pytorch_model.bin").unlink()
        shutil.copy(PICKLES / "zip.bin", folder / "one.bin")
        (folder / "two.bin").write_bytes(zip_of(pickle_of({"more": tensor(2)}), {"0": b"abcdefgh"}))
        index = {"weight_map": {"whole": "one.bin", "more": "two.bin"}}
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
        self.assertLessEqual({"whole", "more"}, set(self.convert(folder)[1]))
        shutil.rmtree(self.out)
        index["weight_map"]["absent"] = "two.bin"
        (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
        self.assertIn("tensor absent is missing", self.refused(folder))
        for shard in ["../model/one.bin", "/etc/passwd", "..", ""]:
            (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
            self.assertIn("no file of the same directory", self.refused(folder))

    def test_needs_a_config(self):
        self.assertIn("config.json: no such file", self.refused(self.put("w.bin", (PICKLES / "zip.bin").read_bytes())))

    def test_refuses_objects_that_are_no_tensors_by_name(self):
        err = self.refused(self.model((PICKLES / "module.bin").read_bytes()))
        self.assertIn("its pickle asks for torch.nn.modules.linear.Linear, which a file of weights does not need", err)

    def test_runs_nothing_that_a_pickle_asks_for(self):
        touched = self.top / "touched"
        for program in [
            f"cos\nsystem\n(S'touch {touched}'\ntR.", f"cposix\nsystem\n(S'touch {touched}'\ntR.",
            f"(S'touch {touched}'\nios\nsystem\n.", f"c__builtin__\neval\n(S'open(\"{touched}\", \"w\")'\ntR.",
            f"cbuiltins\nexec\n(S'open(\"{touched}\", \"w\")'\ntR.", "ccollections\nOrderedDict.__class__\n.",
            "ctorch._utils\n_rebuild_tensor_v2.__globals__\n.", "ctorch.serialization\nload\n(S'x'\ntR.",
        ]:
            for content in [zip_of(program.encode(), {}), legacy_of(program.encode(), [])]:
                self.assertIn("its pickle asks for ", self.refused(self.model(content)), program)
            self.assertFalse(touched.exists(), program)

    def test_refuses_pickles_that_take_what_they_are_given_apart(self):
        # BUILD on a storage, and calls of what is allowed with what is not.
        for program in [
            b"(S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nI2\ntQ(dS'key'\nS'1'\nsb.", b"ctorch\nFloatStorage\n(S'x'\ntR.",
            b"ctorch._utils\n_rebuild_tensor_v2\n(I1\nI0\n(I2\nt(I1\nttR.", b"(S'module'\nS'x'\ntQ.", b"(S'storage'\nI1\nI2\nI3\nI4\ntQ.",
            b"ctorch._utils\n_rebuild_parameter\n(I1\ntR.", b"\x80\x04\x8d" + struct.pack("<Q", 1 << 40) + b"x.",
            b"\x80\x05\x96" + struct.pack("<Q", 1 << 45) + b"x.", b"I1\n.", b"N.", b"}.", b"(l.", b"", b"(" * 100000,
            b"\x80\x02" + b"\x8b" + struct.pack("<I", 0x7FFFFFFF) + b"x.",
        ]:
            self.refused(self.model(zip_of(program, {"0": bytes(8)})))

    def test_refuses_sizes_that_lie(self):
        good = pickle_of({"t": tensor(2)})
        self.assertIn("t", self.convert(self.model(zip_of(good, {"0": bytes(8)})))[1])
        shutil.rmtree(self.out)
        for data in [{}, {"0": bytes(7)}, {"0": bytes(9)}, {"1": bytes(8)}]:
            self.assertIn("data/0", self.refused(self.model(zip_of(good, data))))
        for reaching in [
            tensor(2, shape=(3,)), tensor(2, offset=1), tensor(2, shape=(2, 2), strides=(0, 0)), tensor(2, strides=(2,)),
            tensor(2, shape=(-1,)), tensor(2, shape=(1 << 63,)), tensor(2, offset=-1), tensor(2, shape=(2, 2)),
            tensor(2, shape=("2",)), tensor(2, shape=(1 << 40, 1 << 40), strides=(0, 0)),
        ]:
            self.refused(self.model(zip_of(pickle_of({"t": reaching}), {"0": bytes(8)})))
            self.refused(self.model(legacy_of(pickle_of({"t": reaching}), [("0", 2, bytes(8))])))
        huge = pickle_of({"t": tensor(1 << 50)})
        self.refused(self.model(zip_of(huge, {"0": bytes(8)})))
        self.assertIn("cut short", self.refused(self.model(legacy_of(huge, [("0", 1 << 50, bytes(8))]))))
        self.assertIn("cut short", self.refused(self.model(legacy_of(good, [("0", 2, bytes(7))]))))
        self.assertIn("cut short", self.refused(self.model(legacy_of(good, [("0", 3, bytes(8))]))))

    def test_refuses_files_that_grow(self):
        bomb = zip_of(pickle_of({"t": tensor(1 << 24)}), {"0": bytes(4 << 24)}, zipfile.ZIP_DEFLATED)
        self.assertLess(len(bomb), 1 << 20)
        self.assertIn("compressed", self.refused(self.model(bomb)))
        many = {f"t{i}": tensor(1000) for i in range(1000)}  # a storage of 4 kB a thousand times
        self.assertIn("too short", self.refused(self.model(zip_of(pickle_of(many), {"0": bytes(4000)}))))
        level = {"t": tensor(2)}
        for _ in range(40):
            level = {"a": level, "b": level, "c": level}
        self.refused(self.model(zip_of(pickle_of(level), {"0": bytes(8)})))

    def test_refuses_programs_that_take_longer_or_more_than_they_say(self):
        bomb = b"N\x85q\x00" + b"".join(b"h%ch%c\x86q%c" % (i, i, i + 1) for i in range(60))  # a tuple of 2**60 values
        called = b"ctorch\nSize\nq\x000)q\x01" + b"".join(b"h\x00h%ch%c\x86\x85Rq%c" % (i, i, i + 1) for i in range(1, 60))
        for program in [
            b"\x80\x02}" + called + b"Ns.", b"\x80\x02}" + bomb + b"Ns.", b"\x80\x02}(" + bomb + b"Nu.", b"\x80\x04(" + bomb + b"\x91.",
            b"\x80\x04\x8f(" + bomb + b"\x90.", b"\x80\x02}ctorch\nSize\n(" + bomb + b"tRNs.",
            b"\x80\x02}r" + struct.pack("<I", 1 << 31) + b".", b"}p%d\n." % (1 << 31), b"(dp%d\n." % (1 << 40),
        ]:
            for content in [zip_of(program, {}), legacy_of(program, [])]:
                self.assertIn("its pickle", self.refused(self.model(content)), program)
        keys = b"\x80\x02]q\x00" + b"".join(b"]q%c(h%ch%ce" % (i + 1, i, i) for i in range(60)) + b"."
        whole = legacy_of(pickle_of({}), [])
        self.assertIn("list of storages", self.refused(self.model(whole.removesuffix(pickle.dumps([], 2)) + keys)))

    def test_asks_an_object_for_nothing_that_its_pickle_gave_it(self):
        for name in ["items", "get", "__class__", "keys"]:
            program = b"ccollections\nOrderedDict\n)R}X%c\x00\x00\x00%bK\x01sb." % (len(name), name.encode())
            self.assertIn("no tensor is in it", self.refused(self.model(zip_of(program, {}))), name)
        number = pickle.dumps({1 << 20000: None}, 2)  # more digits than Python spells
        self.assertIn("no tensor is in it", self.refused(self.model(zip_of(number, {}))))

    def test_refuses_broken_files(self):
        for layout in ["zip", "legacy"]:
            whole = (PICKLES / f"{layout}.bin").read_bytes()
            for size in list(range(0, 64, 7)) + list(range(64, len(whole), 211)) + [len(whole) - 1]:
                self.refused(self.model(whole[:size]))
        self.assertIn("big-endian", self.refused(self.model(zip_of(pickle_of({"t": tensor(2)}), {"0": bytes(8)}, order=b"big"))))
        twice = io.BytesIO(zip_of(pickle_of({"t": tensor(2)}), {"0": bytes(8)}))
        with zipfile.ZipFile(twice, "a") as archive, self.assertWarns(UserWarning):
            archive.writestr("archive/data/0", bytes(8))
        self.assertIn("a name twice", self.refused(self.model(twice.getvalue())))
        self.assertIn("without data.pkl", self.refused(self.model(empty_zip())))

    def test_leaves_what_is_there(self):
        folder = self.model((PICKLES / "zip.bin").read_bytes())
        self.put("out/mine", b"x")
        code, err = self.run_import(folder, self.out)
        self.assertEqual(code, 1)
        self.assertIn("is there already", err)
        self.assertEqual([path.name for path in self.out.iterdir()], ["mine"])

    def test_leaves_nothing_when_interrupted(self):
        folder = self.put("model/config.json", b"{}").parent
        (folder / "pytorch_model.bin").write_bytes(zip_of(pickle_of({"t": tensor(32 << 20)}), {"0": bytes(128 << 20)}))
        process = subprocess.Popen([sys.executable, IMPORT, folder, self.out], stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not list(self.top.glob(".sightline-import-*")):
            pass
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertFalse(self.out.exists())
        self.assertEqual(list(self.top.glob(".sightline-import-*")), [])


def tensor(count, offset=0, shape=None, strides=None):
    return ("tensor", count, offset, (count,) if shape is None else shape, strides or (1,) * (1 if shape is None else len(shape)))


def pickle_of(value):
    """A pickle of protocol 2 as torch writes it, opcode by opcode: tensors are tuples made by tensor(), of the storage "0"."""

    def text(string):
        return b"X" + struct.pack("<I", len(string.encode())) + string.encode()

    def number(item):
        if isinstance(item, str):
            return text(item)
        size = item.bit_length() // 8 + 1
        return b"\x8a" + bytes([size]) + item.to_bytes(size, "little", signed=True)

    seen = {}

    def write(item):
        if isinstance(item, dict):
            if id(item) in seen:
                return b"j" + struct.pack("<I", seen[id(item)])
            body = b"".join(text(key) + write(entry) for key, entry in item.items())
            seen[id(item)] = len(seen)
            return b"}(" + body + b"ur" + struct.pack("<I", seen[id(item)])
        _, count, offset, shape, strides = item
        storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(count) + b"tQ"
        tuples = [b"(" + b"".join(map(number, numbers)) + b"t" for numbers in (shape, strides)]
        return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + b"".join(tuples) + b"\x89}tR"

    return b"\x80\x02" + write(value) + b"."


def zip_of(program, storages, method=zipfile.ZIP_STORED, order=b"little"):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in {"data.pkl": program, "byteorder": order, "version": b"3\n"}.items():
            archive.writestr("archive/" + name, content)
        for key, content in storages.items():
            archive.writestr(f"archive/data/{key}", content)
    return file.getvalue()


def empty_zip():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", "b")
    return file.getvalue()


def legacy_of(program, storages):
    machine = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    head = b"".join(pickle.dumps(value, 2) for value in (0x1950A86A20F9469CFC6C, 1001, machine))
    tail = pickle.dumps([key for key, _, _ in storages], 2)
    return head + program + tail + b"".join(struct.pack("<q", count) + data for _, count, data in storages)

if __name__ == "__main__":
    unittest.main()
