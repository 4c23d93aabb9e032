"""The tensors of an ONNX file: their bytes, in the file or in files next to it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qlower.kept.journal import read_file

from ..graph.schema import MAX_ELEMENTS, MAX_RANK, Array, Constant

if TYPE_CHECKING:
    from onnx import TensorProto

DTYPES: Mapping[str, str] = {
    "FLOAT": "<f4",
    "UINT8": "u1",
    "INT8": "i1",
    "UINT16": "<u2",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "BOOL": "?",
    "FLOAT16": "<f2",
    "DOUBLE": "<f8",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "FLOAT8E4M3FN": "float8_e4m3fn",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz",
    "FLOAT8E5M2": "float8_e5m2",
    "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
}
"""Element types of the schema that numpy has, or `ml_dtypes` which `onnx` imports, with
the layout of `raw_data`."""

FLOAT4 = "FLOAT4E2M1"

PACKED: Mapping[str, tuple[int, bool]] = {
    "INT4": (4, True),
    "UINT4": (4, False),
    "INT2": (2, True),
    "UINT2": (2, False),
    FLOAT4: (4, False),
}
"""Several elements a byte, the first one lowest, held as bytes: their bits, and whether
they are signed."""

EXTERNAL = 1
"""The schema's `TensorProto.DataLocation` of data in a file of its own."""


class BadTensor(Exception):
    """A tensor can't be what the file says; the message names value and range."""


def read_constant(tensor: TensorProto, type: str, folder: Path | None) -> Constant:
    """The tensor's elements; external data lies in or below `folder`.

    Raises BadTensor where shape and data disagree.
    """
    shape = tuple(int(size) for size in tensor.dims)
    count = _checked_count(shape)
    if type not in DTYPES and type not in PACKED:
        return Constant(type, shape, None, f"elements of type {type}")
    try:
        if int(tensor.data_location) == EXTERNAL:
            raw = _external_bytes(tensor, folder)
        elif tensor.HasField("raw_data"):
            raw = bytes(tensor.raw_data)
        else:
            return Constant(type, shape, _typed(tensor, type, count).reshape(shape))
    except FileNotFoundError as error:
        return Constant(type, shape, None, f"external data ({error.strerror})")
    if type in PACKED:
        return Constant(type, shape, _unpacked(raw, type, count).reshape(shape))
    dtype = np.dtype(DTYPES[type])
    if len(raw) != count * dtype.itemsize:
        raise BadTensor(
            f"{len(raw)} bytes of data, expected {count * dtype.itemsize} for shape"
            f" {list(shape)} of {type}"
        )
    return Constant(type, shape, np.frombuffer(raw, dtype).reshape(shape))


def _checked_count(shape: tuple[int, ...]) -> int:
    if len(shape) > MAX_RANK:
        raise BadTensor(f"rank {len(shape)} is out of range [0, {MAX_RANK}]")
    for size in shape:
        if not 0 <= size <= MAX_ELEMENTS:
            raise BadTensor(f"dimension {size} is out of range [0, {MAX_ELEMENTS}]")
    count = math.prod(shape)
    if count > MAX_ELEMENTS:
        raise BadTensor(f"{count} elements are out of range [0, {MAX_ELEMENTS}]")
    return count


def _typed(tensor: TensorProto, type: str, count: int) -> Array:
    """The elements of the list that the schema has for the type."""
    match type:
        case "FLOAT":
            values = np.array(tensor.float_data, np.float32)
        case "DOUBLE":
            values = np.array(tensor.double_data, np.float64)
        case "INT64":
            values = np.array(tensor.int64_data, np.int64)
        case "UINT32" | "UINT64":
            wide = np.array(tensor.uint64_data, np.uint64)
            values = wide.astype(np.dtype(DTYPES[type]))
        case "FLOAT16":
            bits = np.array(tensor.int32_data, np.int32)
            values = bits.astype(np.uint16).view(np.float16)
        case _ if type in PACKED:
            packed = np.array(tensor.int32_data, np.int32).astype(np.uint8).tobytes()
            return _unpacked(packed, type, count)
        case _ if type.startswith("FLOAT8"):
            codes = np.array(tensor.int32_data, np.int32).astype(np.uint8)
            values = codes.view(DTYPES[type])
        case _:
            narrow = np.array(tensor.int32_data, np.int32)
            values = narrow.astype(np.dtype(DTYPES[type]))
    if len(values) != count:
        raise BadTensor(f"{len(values)} elements of data, expected {count}")
    return values


def _unpacked(raw: bytes, type: str, count: int) -> Array:
    bits, signed = PACKED[type]
    size = -(-count * bits // 8)
    if len(raw) != size:
        raise BadTensor(f"{len(raw)} bytes of data, expected {size}")
    packed = np.frombuffer(raw, np.uint8)[:, np.newaxis]
    # Each element is moved to the top of its byte, and down again by its sign.
    up = 8 - bits - np.arange(0, 8, bits, dtype=np.uint8)
    tops = (packed << up).astype(np.uint8).reshape(-1)[:count]
    if type == FLOAT4:
        return (tops >> 4).view("float4_e2m1fn")
    return (tops.view(np.int8) if signed else tops) >> (8 - bits)


def _external_bytes(tensor: TensorProto, folder: Path | None) -> bytes:
    """A part of a regular file in the model's folder, which links don't lead out of."""
    entries = {_text(entry.key): _text(entry.value) for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise BadTensor(f"external data {location!r} of a model that is no file")
    if "\0" in location or not location:
        raise BadTensor(f"external data has no file name: {location!r}")
    path = folder / location
    if os.path.isabs(location) or not path.resolve().is_relative_to(folder.resolve()):
        raise BadTensor(
            f"external data {location!r} lies outside of the model's folder"
        )
    if os.path.exists(path) and not os.path.isfile(path):
        raise BadTensor(f"external data {location!r} is no regular file")
    offset = _number(entries, "offset", 0)
    try:
        data = read_file(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BadTensor(f"external data {location!r}: {error.strerror}") from None
    length = _number(entries, "length", max(len(data) - offset, 0))
    if offset + length > len(data):
        raise BadTensor(
            f"external data {location!r}: bytes {offset} to {offset + length} are out"
            f" of range [0, {len(data)}]"
        )
    return data[offset : offset + length]


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _number(entries: Mapping[str, str], key: str, default: int) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise BadTensor(f"external data: {key} {text!r} is no number of bytes")
    return int(text)
