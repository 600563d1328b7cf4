"""sightline/sightline.h for ctypes, and the options of sightline_execution.h. Needs nothing but the standard library
and a built libsightline.so."""

import ctypes
import pathlib

OK = 0
F32, BOOL, F16, BF16, I8_ROW, Q4_1 = range(6)
BOTTOM_RIGHT, TOP_LEFT = 0, 1
WEIGHT, VALUE_WEIGHT = 0, 1
EXACT, FAST = 0, 1

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
        """A row-major tensor of four axes, of a type that is not packed."""
        strides = [1, 1, 1, 1]
        for axis in (2, 1, 0):
            strides[axis] = strides[axis + 1] * shape[axis + 1]
        return cls(address, dtype, (ctypes.c_int64 * 4)(*shape), (ctypes.c_int64 * 4)(*strides))


def _addresses_and_numbers(names):
    """Fields of a struct that holds addresses and 64-bit numbers alone; an address ends with a star."""
    return [(name.rstrip("*"), ctypes.c_void_p if name.endswith("*") else ctypes.c_int64) for name in names.split()]


class PageTable(ctypes.Structure):
    """sightline_page_table."""

    _fields_ = _addresses_and_numbers("table* table_stride page_size page_count k_page_stride v_page_stride")


class RelativeBias(ctypes.Structure):
    """sightline_relative_bias."""

    _fields_ = _addresses_and_numbers("table* buckets max_distance unidirectional")


class BlockMask(ctypes.Structure):
    """sightline_block_mask; blocks are pairs of 32-bit numbers, column and bits."""

    _fields_ = _addresses_and_numbers("batch heads row_begin* row_begin_count blocks* block_count bits* bits_count")


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
        ("has_window", ctypes.c_int32),
        ("softcap", ctypes.c_float),
        ("window_left", ctypes.c_int64),
        ("window_right", ctypes.c_int64),
        ("alibi_slopes", _FLOATS),
        ("sinks", _FLOATS),
        ("head_scale", _FLOATS),
        ("pages", PageTable),
        ("relative_bias", RelativeBias),
        *_addresses_and_numbers("cuts* cut_count"),
        ("block_mask", BlockMask),
        *_addresses_and_numbers("tree_parents* tree_parent_count cu_seqlens_q* cu_seqlens_k* cu_seqlen_count"),
        ("keep", Tensor),
        ("keep_scale", ctypes.c_float),
        ("mass_decay", ctypes.c_float),
        *_addresses_and_numbers("score_function* score_user* mask_summary* mask_hide* mask_user*"),
        ("measure", ctypes.c_int64),
        ("sink_weight", _FLOATS),
        ("entropy_with_sink", _FLOATS),
        ("mass_sums", _FLOATS),
        ("mass_sums_keys", ctypes.c_int64),
        ("overview_step", ctypes.c_int64),
    ]

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(AttentionArgs), **fields)


class Gradients(ctypes.Structure):
    """sightline_gradients."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("dout", Tensor),
        ("q", Tensor),
        ("k", Tensor),
        ("v", Tensor),
        ("bias", Tensor),
        ("sinks", _FLOATS),
        ("alibi_slopes", _FLOATS),
        ("relative_bias", _FLOATS),
    ]

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(Gradients), **fields)


class Options(ctypes.Structure):
    """sightline_options."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        *_addresses_and_numbers("executor* workspace* progress* resume* save* precision"),
    ]

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(Options), **fields)


class SightlineError(Exception):
    """A call failed; the text is the library's message."""


class Library:
    """A loaded libsightline.so."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._attention = self._library.sightline_attention
        self._attention.argtypes = [ctypes.POINTER(AttentionArgs), ctypes.c_char_p, ctypes.c_size_t]
        self._run = self._library.sightline_attention_run
        self._run.argtypes = [ctypes.POINTER(AttentionArgs), ctypes.POINTER(Options), *self._attention.argtypes[1:]]
        self._backward = self._library.sightline_attention_backward
        self._backward.argtypes = [ctypes.POINTER(AttentionArgs), ctypes.POINTER(Gradients), *self._attention.argtypes[1:]]
        self._library.sightline_simd_target.restype = ctypes.c_char_p
        self._library.sightline_version.restype = ctypes.c_char_p

    def attention(self, args):
        """Runs one problem; args and what it points at stay the caller's."""
        self._call(self._attention, ctypes.byref(args))

    def attention_run(self, args, options):
        """The same, as the options say."""
        self._call(self._run, ctypes.byref(args), ctypes.byref(options))

    def attention_backward(self, args, gradients):
        """Gradients of a problem that was run with row_max and row_sum."""
        self._call(self._backward, ctypes.byref(args), ctypes.byref(gradients))

    @staticmethod
    def _call(function, *arguments):
        message = ctypes.create_string_buffer(512)
        if function(*arguments, message, len(message)) != OK:
            raise SightlineError(message.value.decode(errors="replace"))

    def fast_available(self):
        return self._library.sightline_fast_available() != 0

    def version(self):
        return self._library.sightline_version().decode()

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
