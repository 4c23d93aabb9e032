"""Ranges and bits of types, lists of integers, and parts of quantized types as text."""

from __future__ import annotations

import math
import struct

import pytest
from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
)
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.test_value import create_ssa_value

from qlower.dialects.integers import integers, segment_sizes, values_of
from qlower.dialects.quant.parameters import (
    Storage,
    check_scale,
    format_float,
    in_expressed_precision,
    parse_expressed_type,
    parse_float,
    to_float32,
)
from qlower.dialects.types import (
    element_type,
    has_spare_bits,
    integer_range,
    is_tensor_type,
    shape_of,
)
from qlower.text.context import make_context


@pytest.mark.parametrize(
    ("width", "signed", "ends"),
    [
        *[(1, True, (-1, 0)), (1, False, (0, 1)), (8, True, (-128, 127))],
        *[(8, False, (0, 255)), (32, True, (-(2**31), 2**31 - 1))],
    ],
)
def test_ends_of_integers(width: int, signed: bool, ends: tuple[int, int]) -> None:
    assert integer_range(width, signed) == ends
    if signed:
        assert integer_range(width) == ends


def test_types_whose_bytes_have_more_bits() -> None:
    """Of i1 each element has a byte of its own, which is read as one."""
    widths = [width for width in range(1, 66) if not has_spare_bits(IntegerType(width))]
    assert widths == [1, 8, 16, 32, 64]
    assert not has_spare_bits(f16)
    assert not has_spare_bits(IndexType())


def test_tensors_and_their_elements() -> None:
    tensor = TensorType(f32, (2, -1))
    assert element_type(tensor) == f32
    assert element_type(i8) == i8
    assert is_tensor_type(tensor)
    assert not is_tensor_type(f32)
    assert shape_of(create_ssa_value(tensor)) == (2, -1)


def test_lists_of_integers() -> None:
    numbers = (0, -1, 1 << 40, -(1 << 62))
    assert values_of(integers(numbers)) == numbers
    assert integers([]).elt_type == i64
    assert values_of(integers([])) == ()
    sizes = segment_sizes(1, 0, 2)
    assert (sizes.elt_type, sizes.get_values()) == (i32, (1, 0, 2))


SMALLEST: list[tuple[AnyFloat, float, float]] = [
    (f16, 2.0**-24, 65504.0),
    (bf16, 2.0**-133, 1.9921875 * 2.0**127),
    (f32, 2.0**-149, 3.4028234663852886e38),
    (f64, 5e-324, 1.7976931348623157e308),
]


@pytest.mark.parametrize(("expressed", "least", "most"), SMALLEST)
def test_ends_of_scales(expressed: AnyFloat, least: float, most: float) -> None:
    for scale in (least, 1.0, most):
        assert check_scale(scale, expressed) == scale
    for scale in (least / 2, 0.0, -1.0, math.nextafter(most, math.inf), math.nan):
        with pytest.raises(VerifyException, match="out of expressed type range"):
            check_scale(scale, expressed)


def test_scales_are_those_of_their_type() -> None:
    nearest = struct.unpack("<f", struct.pack("<f", 0.1))[0]
    assert to_float32(0.1) == nearest != 0.1
    for expressed in (f16, bf16, f32):
        assert in_expressed_precision((0.1, 0.5), expressed) == (nearest, 0.5)
    assert in_expressed_precision((0.1, 0.5), f64) == (0.1, 0.5)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "5.000000e-01"),
        (0.0, "0.000000e+00"),
        (1234567.0, "1.234567e+06"),
        (12345678.0, "0x41678C29C0000000"),
        (12345678.5, "12345678.5"),
        (0.1234567891, "0.12345678910000001"),
        (0.001234567891, "0.0012345678909999999"),
        (0.0001234567891, "1.234567891E-4"),
        (1e-5 + 1e-13, "1.0000000100000001E-5"),
        (-0.5, "-0.5"),
        (2.0**-149, "1.4012984643248171E-45"),
        (2.0**-24, "5.9604644775390625E-8"),
    ],
)
def test_scales_as_upstream_writes_them(value: float, text: str) -> None:
    """In six digits, else in 17, else, for whole numbers, as bits."""
    assert format_float(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("0.5", 0.5), ("1.5e-3", 0.0015), ("0x3FE0000000000000", 0.5)],
        *[("0x0", 0.0), ("0x7FF0000000000000", math.inf), ("5", None)],
        *[("0x10000000000000000", None), ("0xBFE0000000000000", -0.5)],
    ],
)
def test_scales_are_read(text: str, value: float | None) -> None:
    parser = Parser(make_context(), text)
    if value is None:
        with pytest.raises(ParseError, match="write a decimal point"):
            parse_float(parser)
    else:
        assert parse_float(parser) == value


def test_types_that_scales_stand_for() -> None:
    for name, type in {"f16": f16, "bf16": bf16, "f32": f32, "f64": f64}.items():
        assert parse_expressed_type(Parser(make_context(), name)) == type
    with pytest.raises(ParseError, match="illegal expressed type i8"):
        parse_expressed_type(Parser(make_context(), "i8"))


STORAGES = {
    "i8": Storage(8, True, -128, 127),
    "u8": Storage(8, False, 0, 255),
    "i8<-127:127>": Storage(8, True, -127, 127),
    "i8<-128:126>": Storage(8, True, -128, 126),
    "u4<1:15>": Storage(4, False, 1, 15),
    "i1": Storage(1, True, -1, 0),
    "u32": Storage(32, False, 0, (1 << 32) - 1),
    "i8<3:4>": Storage(8, True, 3, 4),
}


@pytest.mark.parametrize("text", STORAGES)
def test_storages(text: str) -> None:
    storage = STORAGES[text]
    assert Storage.parse(Parser(make_context(), text)) == storage
    assert str(storage) == text
    assert storage.name == text.partition("<")[0]
    storage.check()


SPELLED: dict[str, str] = {"si8": "i8", "ui8": "u8", "i8<-128:127>": "i8"}


@pytest.mark.parametrize("text", SPELLED)
def test_other_spellings(text: str) -> None:
    assert str(Storage.parse(Parser(make_context(), text))) == SPELLED[text]


REFUSED: dict[str, tuple[str, Storage | None]] = {
    "i0": ("illegal storage type size: 0", Storage(0, True, 0, 1)),
    "i33": ("illegal storage type size: 33", Storage(33, True, 0, 1)),
    "f8": ("illegal storage type f8: expected i or u and a width", None),
    "i": ("illegal storage type i: expected i or u and a width", None),
    "i8<-129:127>": (
        "illegal storage type minimum: -129, the range of i8 is [-128, 127]",
        Storage(8, True, -129, 127),
    ),
    "u8<0:256>": (
        "illegal storage type maximum: 256, the range of u8 is [0, 255]",
        Storage(8, False, 0, 256),
    ),
    "i8<3:3>": (
        "illegal storage range [3, 3]: the minimum must be below the maximum",
        Storage(8, True, 3, 3),
    ),
    "i8<4:3>": (
        "illegal storage range [4, 3]: the minimum must be below the maximum",
        Storage(8, True, 4, 3),
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_storages_that_are_none(text: str) -> None:
    """In text, and made otherwise."""
    message, storage = REFUSED[text]
    with pytest.raises(ParseError) as refused:
        Storage.parse(Parser(make_context(), text))
    assert refused.value.msg == message
    if storage is not None:
        with pytest.raises(VerifyException) as error:
            storage.check()
        assert str(error.value).startswith(message)
