"""ONNX's TensorProto, as ONNX Runtime dumps tensors: read with care.

Fields of the message: dims 1, data_type 2, float_data 4, int32_data 5, int64_data 7,
name 8, raw_data 9, double_data 10, uint64_data 11, external_data 13 (onnx/onnx.proto).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from qlower.files.arrays import Array

DTYPES = {
    1: "<f4",
    2: "u1",
    3: "i1",
    4: "<u2",
    5: "<i2",
    6: "<i4",
    7: "<i8",
    9: "?",
    10: "<f2",
    11: "<f8",
    12: "<u4",
    13: "<u8",
}
"""Element types by `data_type`."""

FLOATS, INTEGERS, RAW, DOUBLES, EXTERNAL = 4, (5, 7, 11), 9, 10, 13
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def read_tensor_proto(data: bytes) -> tuple[str, Array]:
    """The name and the elements; ValueError for what is damaged or stored elsewhere."""
    name, dims, kind = "", list[int](), 0
    content: dict[int, bytes] = {}
    integers: list[int] = []
    for field, value in _fields(memoryview(data)):
        if field == 1:
            dims += _integers(value)
        elif field == 2 and isinstance(value, int):
            kind = value
        elif field == 8 and not isinstance(value, int):
            name = bytes(value).decode("utf-8", "replace")
        elif field in INTEGERS:
            integers += _integers(value)
        elif field in (FLOATS, RAW, DOUBLES) and not isinstance(value, int):
            content[field] = bytes(value)
        elif field == EXTERNAL:
            raise ValueError("its elements are in another file")
    if kind not in DTYPES:
        raise ValueError(f"elements of ONNX type {kind} can't be read")
    if any(extent < 0 for extent in dims):
        raise ValueError(f"the shape {dims} is negative")
    elements = _elements(content, integers, np.dtype(DTYPES[kind]))
    if elements.size != math.prod(dims):
        raise ValueError(
            f"shape {dims} has {math.prod(dims)} elements, it has {elements.size}"
        )
    return name, elements.reshape(dims)


def _elements(
    content: dict[int, bytes], integers: list[int], dtype: np.dtype[np.generic]
) -> Array:
    for field, stored in (
        (RAW, dtype),
        (FLOATS, np.dtype("<f4")),
        (DOUBLES, np.dtype("<f8")),
    ):
        if field in content:
            return np.frombuffer(content[field], stored).astype(dtype)
    numbers = np.array(integers, np.int64)
    if dtype == np.float16:  # which are there as their bits
        return numbers.astype("<u2").view(dtype)
    return numbers.astype(dtype)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message in order: their numbers and values."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        field, wire = key >> 3, key & 7
        if wire == VARINT:
            value, place = _varint(data, place)
            yield field, value
            continue
        if wire == BYTES:
            size, place = _varint(data, place)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
        else:
            raise ValueError(f"it is no TensorProto: wire type {wire}")
        if place + size > len(data):
            raise ValueError(f"a field of {size} bytes goes past the end")
        yield field, data[place : place + size]
        place += size


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(data) and shift < 70:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value & ((1 << 64) - 1), place
    raise ValueError("a number goes past the end")


def _integers(value: int | memoryview) -> list[int]:
    """One number, or packed ones; signed, of 64 bits."""
    found: list[int] = []
    if isinstance(value, int):
        found.append(value)
    else:
        place = 0
        while place < len(value):
            number, place = _varint(value, place)
            found.append(number)
    return [number - (1 << 64) if number >> 63 else number for number in found]
