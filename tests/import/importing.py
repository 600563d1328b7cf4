"""What tests of `sightline import` share: how it is run, and what comes out."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import struct
import sys
import tempfile
import unittest

try:
    import numpy
except ImportError:
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        print("NumPy is missing: apt-get install -y python3-numpy")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])  # Debian's has it

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMPORT = ROOT / "tools" / "import" / "import_model.py"
SHARED = ROOT.parent / "shared" / "data"
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "BOOL": "?", "U8": "u1"}

sys.path.insert(0, str(IMPORT.parent))
import import_model  # noqa: E402


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__")
    arrays = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        arrays[name] = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


class Importing(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sightline-import-test-"))
        self.addCleanup(shutil.rmtree, self.top)
        self.out = self.top / "out"

    def run_import(self, *arguments):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            try:
                code = import_model.main([str(argument) for argument in arguments])
            except SystemExit as usage:
                code = usage.code
        return code, err.getvalue()

    def convert(self, source, *more):
        """What is in the directory that comes out: config.json and the tensors."""
        code, err = self.run_import(source, self.out, *more)
        self.assertEqual((code, err), (0, f"sightline: wrote {self.out}\n"))
        self.assertEqual([path.name for path in self.top.glob(".sightline*")], [])
        return json.loads((self.out / "config.json").read_text()), read_safetensors(self.out / "model.safetensors")

    def refused(self, source, *more):
        """The line that says why, where nothing was left behind."""
        code, err = self.run_import(source, self.out, *more)
        self.assertEqual((code, err.count("\n")), (1, 1), err)
        self.assertTrue(err.startswith("sightline: "), err)
        self.assertFalse(self.out.exists())
        self.assertEqual([path.name for path in self.top.glob(".sightline*")], [])
        return err

    def put(self, name, content):
        path = self.top / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path
