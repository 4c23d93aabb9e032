"""Floats and integers whose bits are given in text, and constants that only bytes can
hold."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    TensorType,
    f16,
    f32,
    f64,
    i32,
)
from xdsl.ir import Attribute

from qlower.diagnostics import QlowerError
from qlower.text.constants import dense_of_bytes
from qlower.text.floats import only_as_bytes
from qlower.text.parsing import parse_module


def constant(
    data: bytes, element: AnyDenseElement, size: int
) -> DenseIntOrFPElementsAttr:
    type = TensorType(element, (len(data) // size,))
    return DenseIntOrFPElementsAttr(type, BytesAttr(data))


ONES, ZEROS = struct.pack("<2f", 1, 2), struct.pack("<2f", 0.0, -0.0)
SIGNALING, QUIET = 0x7FA00000, 0x7FE00000


def bits(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


@pytest.mark.parametrize(
    ("data", "element", "size", "wanted"),
    [
        (ONES, f32, 4, False),
        (ZEROS, f32, 4, True),
        (ZEROS + ONES, f32, 4, False),
        (struct.pack("<2d", 0.0, -0.0), f64, 8, True),
        (struct.pack("<2d", 3, 3), f64, 8, False),
        (bits(SIGNALING, 0), f32, 4, True),
        (bits(QUIET, 0), f32, 4, False),
        (np.array([0, 0x8000], np.uint16).tobytes(), f16, 2, False),
        (bits(SIGNALING), i32, 4, False),
    ],
)
def test_constants_of_bytes(
    data: bytes, element: AnyDenseElement, size: int, wanted: bool
) -> None:
    given = constant(data, element, size)
    assert only_as_bytes(given) is (given if wanted else None)
    assert only_as_bytes(element) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0x7FE00000 : f32", ""),
        ("1.5 : f32", ""),
        ("0xFF : i8", ""),
        ("0x7C01 : f16", "0x7c01 is a signaling NaN of f16"),
        ("0x7FA00000 : f32", "0x7fa00000 is a signaling NaN of f32"),
        ('dense<"0xFF070010"> : tensor<2xi12>', "is outside of the range of i12"),
        ('dense<"0xFF07FF0F"> : tensor<2xi12>', ""),
        ("dense<1> : )", "dense attribute must be typed"),
        ("dense<1> : !test.type<1>", "(stored values have that of the storage"),
        ('dense<"0x0100"> : tensor<2xi4>', ""),
        ('dense<"0x1000"> : tensor<2xi4>', "element 16 is outside of the range of i4"),
    ],
)
def test_bits_of_numbers_in_text(value: str, message: str) -> None:
    text = f"module attributes {{a.b = {value}}} {{}}"
    if not message:
        parse_module(text)
        return
    with pytest.raises(QlowerError, match=re.escape(message)) as caught:
        parse_module(text)
    if "typed" in message:
        assert caught.value.message == message


@pytest.mark.parametrize(
    ("type", "data", "message"),
    [
        (TensorType(i32, (2,)), bits(1, 2), ""),
        (TensorType(f32, ()), bits(SIGNALING), ""),
        (TensorType(i32, (2,)), bits(1), "a resource of 4 bytes, tensor<2xi32> has 8"),
        (TensorType(IntegerType(4), (2,)), b"ab", "resources of i4 are not supported"),
        (i32, bits(1), "resources of i32 are not supported"),
        (
            TensorType(IndexType(), (1,)),
            bits(1, 0),
            "resources of tensor<1xindex> are not supported",
        ),
    ],
)
def test_resources(type: Attribute, data: bytes, message: str) -> None:
    if not message:
        assert dense_of_bytes(type, data).data.data == data
        return
    with pytest.raises(ValueError, match=re.escape(message)):
        dense_of_bytes(type, data)
