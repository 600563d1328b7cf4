"""sightline/sightline.h for ctypes. Needs nothing but the standard library and a built libsightline.so."""

import ctypes
import pathlib

OK = 0
F32, BOOL = 0, 1
BOTTOM_RIGHT, TOP_LEFT = 0, 1

_FLOATS = ctypes.c_void_p  # addresses: arrays of any library give theirs


class Tensor(ctypes.Structure):
    """sightline_tensor, and sightline_output."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int64),
        ("shape", ctypes.c_int64 * 4),
        ("strides", ctypes.c_int64 * 4),
    ]

    @classmethod
    def dense(cls, address, shape, dtype=F32):
        """A row-major tensor of four axes."""
        strides = [1, 1, 1, 1]
        for axis in (2, 1, 0):
            strides[axis] = strides[axis + 1] * shape[axis + 1]
        return cls(address, dtype, (ctypes.c_int64 * 4)(*shape), (ctypes.c_int64 * 4)(*strides))


class AttentionArgs(ctypes.Structure):
    """sightline_attention_args."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("q", Tensor),
        ("k", Tensor),
        ("v", Tensor),
        ("out", Tensor),
        ("threads", ctypes.c_int32),
        ("has_scale", ctypes.c_int32),
        ("scale", ctypes.c_float),
        ("causal", ctypes.c_int32),
        ("alignment", ctypes.c_int64),
        ("mask", Tensor),
        ("bias", Tensor),
        ("sequences", ctypes.c_void_p),
        ("sequence_count", ctypes.c_int64),
        ("row_max", _FLOATS),
        ("row_sum", _FLOATS),
        ("lse", _FLOATS),
        ("entropy", _FLOATS),
        ("position", _FLOATS),
        ("distance", _FLOATS),
        ("top_k", ctypes.c_int64),
        ("topk_index", ctypes.c_void_p),
        ("topk_weight", _FLOATS),
        ("offsets", ctypes.c_void_p),
        ("offset_count", ctypes.c_int64),
        ("offset_mass", _FLOATS),
        ("key_mass", _FLOATS),
        ("mass_row_begin", ctypes.c_int64),
        ("mass_row_end", ctypes.c_int64),
        ("segment_of_key", ctypes.c_void_p),
        ("segment_key_count", ctypes.c_int64),
        ("segments", ctypes.c_int64),
        ("segment_mass", _FLOATS),
        ("overview_rows", ctypes.c_int64),
        ("overview_cols", ctypes.c_int64),
        ("overview", _FLOATS),
        ("rows", ctypes.c_void_p),
        ("row_count", ctypes.c_int64),
        ("row_weights", _FLOATS),
    ]

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(AttentionArgs), **fields)


class SightlineError(Exception):
    """A call failed; the text is the library's message."""


class Library:
    """A loaded libsightline.so."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._attention = self._library.sightline_attention
        self._attention.argtypes = [ctypes.POINTER(AttentionArgs), ctypes.c_char_p, ctypes.c_size_t]
        self._library.sightline_simd_target.restype = ctypes.c_char_p

    def attention(self, args):
        """Runs one problem; args and what it points at stay the caller's."""
        message = ctypes.create_string_buffer(512)
        if self._attention(ctypes.byref(args), message, len(message)) != OK:
            raise SightlineError(message.value.decode(errors="replace"))

    def arithmetic_version(self):
        return self._library.sightline_arithmetic_version()

    def simd_target(self):
        """Raises SightlineError where SIGHTLINE_TARGET names a target that cannot be used."""
        name = self._library.sightline_simd_target()
        if name is None:
            raise SightlineError("SIGHTLINE_TARGET names a SIMD target that this machine cannot run")
        return name.decode()


def built_library(build):
    """libsightline.so of a build directory."""
    return Library(pathlib.Path(build) / "libsightline.so")
