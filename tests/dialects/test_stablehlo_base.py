"""Types of values that operations of StableHLO have, and what is asked about them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from xdsl.dialects.builtin import (
    DenseIntElementsAttr,
    IntegerType,
    TensorType,
    f32,
    i8,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from qlower.dialects.stablehlo.base import (
    paddings,
    parse_types,
    plain_integer,
    quantization,
)
from qlower.text.context import make_context

check: Any = vars(import_module("qlower.dialects.stablehlo.base"))["_check_type"]


def parsed(text: str) -> Attribute:
    return Parser(make_context(), text).parse_type()


def quantized(parameters: str, shape: str = "2x3") -> str:
    return f"tensor<{shape}x!quant.uniform<{parameters}>>"


ROWS = "{0.5, 0.25}"
WIDTHS = "isn't supported: storage has 8, 16 or 32 bits, values are f32"
TYPES: dict[str, str | None] = {
    **dict.fromkeys(("tensor<2xf32>", "tensor<i1>", "tensor<2xui8>", "tensor<0xi64>")),
    **{
        "f32": "f32 is not a tensor of fixed shape",
        "tensor<*xf32>": "tensor<*xf32> is not a tensor of fixed shape",
        "tensor<2x?xf32>": "tensor<2x?xf32> is not a tensor of fixed shape",
        "tensor<2xf64>": "elements of f64 aren't supported",
        "tensor<2xindex>": "elements of index aren't supported",
    },
    **{quantized(f"{name}:f32, 0.5"): "" for name in ("i8", "u8", "i16", "u16", "i32")},
    quantized("u32:f32, 0.5"): "storage of 32 bits is signed",
    **{quantized(f"i{width}:f32, 0.5"): WIDTHS for width in (4, 7, 9, 31)},
    quantized("i8:f64, 0.5"): WIDTHS,
    **{quantized(f"i8:f32, 0.5:{zero}"): "" for zero in (-128, 127)},
    **{quantized(f"i8<-7:9>:f32, 0.5:{zero}"): "" for zero in (-7, 9)},
    **{
        quantized(f"i8<-7:9>:f32, 0.5:{zero}"): (
            f"zero point {zero} is outside of [-7, 9]"
        )
        for zero in (-8, 10)
    },
    quantized(f"i8:f32:0, {ROWS}"): "",
    quantized(f"i8:f32:1, {ROWS}", "3x2"): "",
    quantized(f"i8:f32:1, {ROWS}"): "2 scales along axis 1 don't fit tensor<2x3x",
    quantized(f"i8:f32:0, {ROWS}", "1"): "2 scales along axis 0 don't fit tensor<1x",
    quantized(f"i8:f32:1, {ROWS}", "2"): "2 scales along axis 1 don't fit tensor<2x",
    quantized(
        "i8:f32:{0:1, 1:3}, {{0.5}, {0.5}}"
    ): "has blocks, which aren't supported",
}


@pytest.mark.parametrize("text", TYPES)
def test_types(text: str) -> None:
    message = TYPES[text]
    if not message:
        check(parsed(text))
        return
    with pytest.raises(VerifyException) as refused:
        check(parsed(text))
    assert message in str(refused.value)


def test_what_is_asked_about_types() -> None:
    scaled = parsed(quantized("i8:f32, 0.5"))
    assert plain_integer(TensorType(i8, (2,))) == i8
    assert plain_integer(i8) == i8
    unsigned = TensorType(parsed("ui8"), (2,))
    for type in (TensorType(f32, (2,)), unsigned, scaled):
        assert plain_integer(type) is None
    assert isinstance(plain_integer(parsed("tensor<i1>")), IntegerType)
    assert str(quantization(scaled)) == "!quant.uniform<i8:f32, 5.000000e-01>"
    assert quantization(TensorType(i8, (2,))) is None


def test_padding_before_and_after_each_axis() -> None:
    def numbers(*values: int) -> DenseIntElementsAttr:
        return DenseIntElementsAttr.from_list(TensorType(i64, (len(values),)), values)

    assert paddings(None, 2) == [(0, 0), (0, 0)]
    assert paddings(numbers(3), 2) == [(3, 3), (3, 3)]
    assert paddings(numbers(1, 2, 3, 4), 2) == [(1, 2), (3, 4)]
    assert paddings(numbers(1, 2), 1) == [(1, 2)]
    for given in (numbers(1, 2), numbers(1, 2, 3, 4, 5, 6)):
        with pytest.raises(VerifyException, match="padding"):
            paddings(given, 2)


@pytest.mark.parametrize(
    ("text", "operands", "results"),
    [
        (": i8", ["i8", "i8"], ["i8"]),
        (": (i8, f32) -> f32", ["i8", "f32"], ["f32"]),
        (": (i8, i8) -> (f32, i8)", ["i8", "i8"], ["f32", "i8"]),
    ],
)
def test_types_in_text(text: str, operands: list[str], results: list[str]) -> None:
    found = parse_types(Parser(make_context(), text), 2)
    assert [[str(type) for type in types] for types in found] == [operands, results]
    with pytest.raises(ParseError, match="1 types for 2 operands"):
        parse_types(Parser(make_context(), ": (i8) -> i8"), 2)
