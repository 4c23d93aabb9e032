"""Types that operands and results may have: each constraint on types that it takes, at
the ends of what it takes, and on those next to them."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint
from xdsl.irdl.constraints import VerificationContext
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from qlower.dialects.qnn.constraints import (
    Bias,
    Integral,
    Quantized,
    QuantizedOrPlain,
    QuantizedOrSums,
    Real,
    Stored,
    Weight,
)
from qlower.text.context import make_context

ALIASES = {
    "!byte": "!quant.uniform<i8:f32, 0.5:-3>",
    "!words": "!quant.uniform<i16:f32, 0.5>",
    "!unsigned": "!quant.uniform<u16:f32, 0.5>",
    "!narrow": "!quant.uniform<i4:f32, 0.5>",
    "!nibbles": "!quant.uniform<u4:f32, 0.5>",
    "!double": "!quant.uniform<i8:f64, 0.5>",
    "!rows": "!quant.uniform<i8:f32:0, {0.5, 0.25}>",
    "!columns": "!quant.uniform<i8:f32:1, {0.5, 0.25}>",
    "!blocks": "!quant.uniform<i8:f32:{0:1, 1:3}, {{0.5, 0.25}, {0.5, 0.25}}>",
}


def parsed(text: str) -> Attribute:
    for alias, type in ALIASES.items():
        text = text.replace(alias, type)
    return Parser(make_context(), text).parse_type()


def said(constraint: AttrConstraint, type: str) -> str:
    """Why a type is refused, nothing if it isn't; with short names of types."""
    try:
        constraint.verify(parsed(type), VerificationContext())
    except VerifyException as error:
        message = str(error)
        for alias, text in ALIASES.items():
            message = message.replace(str(parsed(text)), alias)
        return message
    return ""


def zero(point: int, storage: str = "i8") -> str:
    return f"tensor<2x!quant.uniform<{storage}:f32, 0.5:{point}>>"


BYTES = "i8 or u8 or i16 or u16"
PER_AXIS = "per-axis quantization is only supported for weights: use per tensor"
SUB_CHANNEL = "sub-channel quantization is not supported: use per tensor or per axis"
CASES: list[tuple[AttrConstraint, str, str]] = [
    (Quantized(), "tensor<2x!byte>", ""),
    (Quantized(), "tensor<!byte>", ""),
    (Quantized(), "tensor<2x!words>", ""),
    (Quantized(), "tensor<2x!unsigned>", ""),
    (Quantized(), "i8", "i8 is not a ranked tensor"),
    (Quantized(), "tensor<*x!byte>", "tensor<*x!byte> is not a ranked tensor"),
    (Quantized(rank=1), "tensor<2x!byte>", ""),
    (
        Quantized(rank=1),
        "tensor<2x1x!byte>",
        "tensor<2x1x!byte> has rank 2, expected 1",
    ),
    (Quantized(rank=0), "tensor<2x!byte>", "tensor<2x!byte> has rank 1, expected 0"),
    (Quantized(), "tensor<1x1x!byte>", ""),
    *[
        (
            Quantized(),
            f"tensor<2x{size}x!byte>",
            f"dimension 1 of tensor<2x{size}x!byte> is not a fixed size of at least 1",
        )
        for size in ("0", "?")
    ],
    (Quantized(), "tensor<2147483647x!byte>", ""),
    (Quantized(), "tensor<46340x46341x!byte>", ""),
    *[
        (
            Quantized(),
            f"tensor<{sizes}x!byte>",
            f"tensor<{sizes}x!byte> has 2147483648 elements, more than the 2147483647 "
            "supported",
        )
        for sizes in ("2147483648", "65536x32768")
    ],
    (Quantized(), "tensor<2xf32>", "element type f32 is not !quant.uniform"),
    (Quantized(), "tensor<2x!narrow>", f"storage i4 is not supported yet: {BYTES}"),
    (Quantized(widths=(4, 8)), "tensor<2x!narrow>", ""),
    *[
        (
            Quantized(widths=(4, 8)),
            f"tensor<2x!{name}>",
            f"storage {storage} is not supported yet: i4 or i8 or u8",
        )
        for name, storage in (("nibbles", "u4"), ("words", "i16"))
    ],
    (Quantized(), "tensor<2x!double>", "expressed type f64 is not supported yet: f32"),
    (
        Quantized(expressed=(f32, bf16)),
        "tensor<2x!double>",
        "expressed type f64 is not supported yet: f32 or bf16",
    ),
    *[(Quantized(), zero(point), "") for point in (-128, 127)],
    *[(Quantized(), zero(point, "u8"), "") for point in (0, 255)],
    *[
        (
            Quantized(),
            zero(point, storage),
            f"zero point {point} is outside {ends} of its storage type {storage}",
        )
        for storage, ends, points in (
            ("i8", "[-128, 127]", (-129, 128)),
            ("u8", "[0, 255]", (-1, 256)),
        )
        for point in points
    ],
    (Quantized(), "tensor<2x!rows>", PER_AXIS),
    (Quantized(), "tensor<2x6x!blocks>", SUB_CHANNEL),
    (Weight(), "tensor<2x6x!blocks>", SUB_CHANNEL),
    (Weight(), "tensor<2x!byte>", ""),
    (Weight(), "tensor<2x!narrow>", ""),
    (Weight(), "tensor<2x!words>", "storage i16 is not supported yet: i4 or i8 or u8"),
    (Weight(), "tensor<2x!rows>", ""),
    (Weight(), "tensor<3x2x!columns>", ""),
    (Weight(axis=1), "tensor<3x2x!columns>", ""),
    (
        Weight(axis=0),
        "tensor<3x2x!columns>",
        "weights are quantized along dimension 1, expected 0",
    ),
    (
        Weight(axis=1),
        "tensor<2x2x!rows>",
        "weights are quantized along dimension 0, expected 1",
    ),
    (Weight(), "tensor<2x!columns>", "quantized dimension 1 is outside the rank 1"),
    *[
        (
            Weight(),
            f"tensor<{size}x2x!rows>",
            f"2 scales do not match the size {size} of quantized dimension 0",
        )
        for size in (1, 3)
    ],
    (Weight(rank=2), "tensor<2x!rows>", "tensor<2x!rows> has rank 1, expected 2"),
    (Stored(), "tensor<9x!byte>", ""),
    (Stored(), "tensor<2x9x!rows>", ""),
    (Stored(), "tensor<9x2x!columns>", ""),
    (Stored(), "tensor<9x!columns>", "quantized dimension 1 is outside the rank 1"),
    (Stored(), "tensor<9x!narrow>", f"storage i4 is not supported yet: {BYTES}"),
    *[(Stored(), f"tensor<2x{size}x!blocks>", "") for size in (4, 5, 6)],
    *[
        (
            Stored(),
            f"tensor<2x{size}x!blocks>",
            f"4 scales do not match the {count} blocks of [2, {size}]",
        )
        for size, count in ((3, 2), (7, 6))
    ],
    (Stored(), "tensor<2x6x1x!blocks>", ""),
    (Stored(), "tensor<2x!blocks>", "quantized dimension 1 is outside the rank 1"),
    (Stored(), "tensor<3x9x!rows>", "2 scales do not match the 3 blocks of [3, 9]"),
    *[(QuantizedOrPlain(), f"tensor<2x{type}>", "") for type in ("f32", "i8", "!byte")],
    (QuantizedOrPlain(), "tensor<2x!rows>", PER_AXIS),
    (QuantizedOrPlain(), "tensor<2xf64>", "element type f64 is not !quant.uniform"),
    (QuantizedOrSums(), "tensor<2xi32>", ""),
    (QuantizedOrSums(), "tensor<2x!byte>", ""),
    (QuantizedOrSums(), "tensor<2x!rows>", PER_AXIS),
    (QuantizedOrSums(), "tensor<2xi8>", "element type i8 is not !quant.uniform"),
    (QuantizedOrSums(rank=2), "tensor<2xi32>", "tensor<2xi32> has rank 1, expected 2"),
    (Real(), "tensor<2xf32>", ""),
    (Real(), "tensor<2xf64>", "element type f64 is not f32"),
    (Real(rank=1), "tensor<f32>", "tensor<f32> has rank 0, expected 1"),
    *[(Integral((8, 32)), f"tensor<2xi{width}>", "") for width in (8, 32)],
    (Integral((8, 32)), "tensor<2xi16>", "element type i16 is not i8 or i32"),
    (Integral((8,)), "tensor<2xui8>", "element type ui8 is not i8"),
    *[(Bias(), f"tensor<2x{type}>", "") for type in ("i32", "i64", "f32")],
    (Bias(), "tensor<2xi16>", "element type i16 is not i32, i64 or f32"),
    (Bias(), "tensor<2x1xi32>", "tensor<2x1xi32> has rank 2, expected 1"),
]


@pytest.mark.parametrize(
    ("constraint", "type", "message"),
    CASES,
    ids=[f"{type(one).__name__} {text}" for one, text, _ in CASES],
)
def test_types(constraint: AttrConstraint, type: str, message: str) -> None:
    assert said(constraint, type) == message
