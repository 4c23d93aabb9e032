"""Texts and bytes that parsers and constants refuse, each in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from xdsl.dialects.builtin import (
    IntegerType,
    TensorType,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from qlower.diagnostics import QlowerError
from qlower.text.constants import dense_of_bytes
from qlower.text.parsing import LocatingParser, parse_module


@pytest.mark.parametrize(
    ("type", "size", "values"),
    [
        (TensorType(i8, [2]), 2, (1, 1)),
        (TensorType(i16, [2, 1]), 4, (257, 257)),
        (TensorType(i32, [1]), 4, (0x01010101,)),
        (TensorType(i64, [1]), 8, (0x0101010101010101,)),
        (TensorType(f32, []), 4, None),
        (TensorType(f64, [1]), 8, None),
        (TensorType(f16, [1]), 2, None),
        (TensorType(i8, [0]), 0, ()),
    ],
)
def test_bytes_are_elements(type: Any, size: int, values: Sequence[int] | None) -> None:
    found = dense_of_bytes(type, bytes([1] * size))
    assert found.type == type
    assert len(found.data.data) == size
    if values is not None:
        assert tuple(found.get_values()) == tuple(values)


@pytest.mark.parametrize(
    ("type", "size", "message"),
    [
        (i8, 1, "resources of i8 are not supported"),
        (VectorType(i8, [2]), 2, "resources of vector<2xi8> are not supported"),
        (TensorType(IntegerType(4), [2]), 2, "resources of i4 are not supported"),
        (TensorType(IntegerType(1), [8]), 8, "resources of i1 are not supported"),
        (TensorType(IntegerType(48), [1]), 6, "resources of i48 are not supported"),
        (
            TensorType(i16, [3]),
            5,
            "a resource of 5 bytes, tensor<3xi16> has 6",
        ),
        (TensorType(bf16, [1]), 3, "a resource of 3 bytes, tensor<1xbf16> has 2"),
    ],
)
def test_bytes_that_are_no_elements(type: Attribute, size: int, message: str) -> None:
    with pytest.raises(ValueError, match="resource") as caught:
        dense_of_bytes(type, bytes(size))
    assert str(caught.value) == message


def test_a_parser_that_fails_by_itself() -> None:
    """Before it has read anything, and at some place."""

    def none(*_: object) -> LocatingParser:
        raise ValueError("no parser\nat all")

    failing: Any = none
    with pytest.raises(QlowerError) as caught:
        parse_module("module {}", "m.mlir", parser=failing)
    assert str(caught.value).startswith("m.mlir:1:1: error: no parser")

    class Odd(LocatingParser):
        def parse_module(self, allow_implicit_module: bool = True) -> Any:
            self.parse_keyword("module")
            raise ValueError("odd\nmore")

    with pytest.raises(QlowerError) as caught:
        parse_module("\nmodule {}", "m.mlir", parser=Odd)
    assert str(caught.value).startswith("m.mlir:2:")
    assert caught.value.message == "odd"

    class Deep(LocatingParser):
        def parse_module(self, allow_implicit_module: bool = True) -> Any:
            raise RecursionError

    with pytest.raises(QlowerError) as caught:
        parse_module("module {}", "m.mlir", parser=Deep)
    assert caught.value.message == "the text is nested too deeply to be parsed"

    def deep(*_: object) -> LocatingParser:
        raise RecursionError

    failing = deep
    with pytest.raises(QlowerError) as caught:
        parse_module("module {}", "m.mlir", parser=failing)
    assert str(caught.value).startswith("m.mlir:1:1: error: the text is nested")


@pytest.mark.parametrize("text", ["", " \n\t", b"\n"])
def test_no_text(text: str | bytes) -> None:
    with pytest.raises(QlowerError) as caught:
        parse_module(text, "m.mlir")
    assert str(caught.value) == "m.mlir:1:1: error: there is no MLIR text"
