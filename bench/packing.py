"""Keys and values as caches keep them: rows of each type of sightline.h, and the numbers that they stand for."""

import dataclasses

import numpy as np

import sightline_c

GROUP = 32  # elements that share a scale and a minimum in q4_1


@dataclasses.dataclass
class Packed:
    data: np.ndarray  # what the engine reads
    tensor: sightline_c.Tensor
    numbers: np.ndarray  # float32, [B, H, N, D]: what it stands for


def to_bf16(array):
    """The bits of the nearest bf16, ties to even."""
    bits = array.view(np.uint32)
    return ((bits + (0x7FFF + (bits >> 16 & 1))) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def i8_rows(array):
    """Bytes [.., 4 + D]: the scale max|x| / 127, then D integers."""
    scale = np.abs(array).max(axis=-1, keepdims=True) / np.float32(127)
    quotients = np.rint(array / np.where(scale > 0, scale, 1)).astype(np.int8)
    numbers = quotients.astype(np.float32) * scale
    return np.concatenate([scale.view(np.uint8), quotients.view(np.uint8)], axis=-1), numbers


def q4_1_rows(array):
    """Bytes [.., 20 D / 32]: for each 32 elements a scale, a minimum, and 16 bytes with two elements each."""
    groups = array.reshape(*array.shape[:-1], -1, GROUP)
    low, high = groups.min(axis=-1, keepdims=True), groups.max(axis=-1, keepdims=True)
    minimum, scale = low.astype(np.float16), ((high - low) / 15).astype(np.float16)
    step, base = scale.astype(np.float32), minimum.astype(np.float32)
    steps = np.clip(np.rint((groups - base) / np.where(step > 0, step, 1)), 0, 15).astype(np.uint8)
    halves = steps[..., : GROUP // 2] | steps[..., GROUP // 2 :] << 4
    rows = np.concatenate([scale.view(np.uint8), minimum.view(np.uint8), halves], axis=-1)
    numbers = (steps * step + base).reshape(array.shape)
    return rows.reshape(*array.shape[:-1], -1), numbers


def dense(array):
    """A float32 array as a tensor; the array must outlive it."""
    return sightline_c.Tensor.dense(array.ctypes.data, array.shape)


def _packed_bytes(rows, numbers, dtype):
    tensor = sightline_c.Tensor.dense(rows.ctypes.data, rows.shape, dtype)  # strides in bytes
    tensor.shape[3] = numbers.shape[3]
    return Packed(rows, tensor, numbers)


def pack(array, name):
    """`array` [B, H, N, D] in one of the types of TYPES."""
    if name == "f32":
        return Packed(array, dense(array), array)
    if name == "i8_row":
        return _packed_bytes(*i8_rows(array), sightline_c.I8_ROW)
    if name == "q4_1":
        return _packed_bytes(*q4_1_rows(array), sightline_c.Q4_1)
    if name == "f16":
        data, dtype = array.astype(np.float16), sightline_c.F16
        numbers = data.astype(np.float32)
    else:
        data, dtype = to_bf16(array), sightline_c.BF16
        numbers = from_bf16(data)
    return Packed(data, sightline_c.Tensor.dense(data.ctypes.data, data.shape, dtype), numbers)


TYPES = ("f32", "bf16", "f16", "i8_row", "q4_1")
