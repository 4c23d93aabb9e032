"""How nests see tensors: strides, edges, borders, constants and addresses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I64, POINTER, Value, constant
from qlower.codegen.nests.edges import Edge, is_inside
from qlower.codegen.nests.operand import (
    Operand,
    constant_bytes,
    dense_bytes,
    first_byte,
    operand_of,
    packed_argument,
)
from qlower.dialects.kernel import BoxAttr
from qlower.text.parsing import parse_module


def values(body: str, arguments: str) -> dict[str, SSAValue]:
    """The named values of a function's body."""
    text = f"func.func @main({arguments}) {{\n{body}\nreturn\n}}"
    module: ModuleOp = parse_module(text)
    (function,) = module.body.ops
    block = function.regions[0].block
    results = [result for op in block.ops for result in op.results]
    found = [*block.args, *results]
    return {value.name_hint or "": value for value in found}


def dense(text: str) -> DenseIntOrFPElementsAttr:
    (value,) = values(f"%c = arith.constant {text}", "").values()
    owner = value.owner
    assert isinstance(owner, Operation)
    found = owner.properties["value"]
    assert isinstance(found, DenseIntOrFPElementsAttr)
    return found


def operand(scalar: str = "i8", data: bytes | None = None, **given: Any) -> Operand:
    return Operand(scalar, scalar, (), 0, data, **given)


@pytest.mark.parametrize(
    ("scalar", "numbers", "wanted"),
    [
        *(("i8", [-3, 2], 3), ("i8", [-3, 7], 7), ("i8", [-128], 128)),
        *(("i8", [4, 9], 9), ("i8", [-9, -4], 9), ("i8", None, 128), ("i1", None, 1)),
        *(
            ("i32", None, 1 << 31),
            ("float", [-2.5, 1], 2.5),
            ("double", None, math.inf),
        ),
        *(("float", [1, math.nan], math.inf), ("float", None, math.inf)),
    ],
)
def test_magnitudes(scalar: str, numbers: list[float] | None, wanted: float) -> None:
    type = {"float": "f4", "i32": "i4"}.get(scalar, "i1")
    data = None if numbers is None else np.array(numbers, type).tobytes()
    assert operand(scalar, data).magnitude == wanted


@pytest.mark.parametrize(
    ("scalar", "border", "wanted"),
    [
        *(("i8", -1, "ff"), ("i8", 7, "07"), ("i16", -2, "feff"), ("i4", -3, "fd")),
        *(("i32", 258, "02010000"),),
    ],
)
def test_borders(scalar: str, border: int, wanted: str) -> None:
    found = operand(scalar, border=border).border_bytes(3)
    assert found.hex() == wanted * 3


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dense<[1, -1]> : tensor<2xi8>", b"\1\xff"),
        ("dense<3> : tensor<2x2xi8>", b"\3\3\3\3"),
        ("dense<3> : tensor<1xi16>", b"\3\0"),
        ("dense<-2> : tensor<3xi16>", b"\xfe\xff" * 3),
        ("dense<[true, false, true]> : tensor<3xi1>", b"\1\0\1"),
        ("dense<true> : tensor<2xi1>", b"\1\1"),
        ("dense<1.0> : tensor<2xf32>", b"\0\0\x80\x3f" * 2),
    ],
)
def test_bytes_of_constants(text: str, wanted: bytes) -> None:
    assert dense_bytes(dense(text)) == wanted


SHAPES = """
%c = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
%flat = tensor.collapse_shape %c [[0, 1]] : tensor<2x2xi8> into tensor<4xi8>
%deep = tensor.expand_shape %flat [[0, 1]] output_shape [1, 4]
    : tensor<4xi8> into tensor<1x4xi8>
%n = arith.constant 5 : i32
%w = tensor.collapse_shape %given [[0, 1]] : tensor<2x3xi8> into tensor<6xi8>
%y = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xi8> into tensor<6xi8>
%e = tensor.empty() : tensor<2xi8>
"""
GIVEN = "%x: tensor<2x3xi8>, %given: tensor<2x3xi8> {kernel.packed}"


def test_constants_behind_other_shapes() -> None:
    found = values(SHAPES, GIVEN)
    for name in ("c", "flat", "deep"):
        assert constant_bytes(found[name]) == b"\1\2\3\4"
    for name in ("n", "x", "given", "w", "y", "e"):
        assert constant_bytes(found[name]) is None
    for name in ("given", "w"):
        assert packed_argument(found[name]) is found["given"]
    for name in ("x", "y", "c", "flat", "e"):
        assert packed_argument(found[name]) is None
    assert packed_argument(values("", "%x: tensor<2xi8>")["x"]) is None


def seen(value: SSAValue, map: Callable[..., Any], loops: int) -> Operand:
    return operand_of(value, AffineMap.from_callable(map), loops)


def test_strides() -> None:
    """In elements, from the first one that the loops read."""
    found = values(SHAPES, GIVEN)
    x = seen(found["x"], lambda i, j, k: (i + 1, j * 2 + k), 3)
    assert (x.scalar, x.loaded, x.strides, x.offset) == ("i8", "i8", (3, 2, 1), 3)
    assert (x.data, x.edges, x.border, x.packed) == (None, (), 0, None)
    c = seen(found["c"], lambda i, j: (j, 1), 2)
    assert (c.strides, c.offset, c.data) == ((0, 2), 1, b"\1\2\3\4")
    assert c.packed is None
    given = seen(found["given"], lambda i, j: (i, j), 2)
    assert (given.packed, given.data) == (1, b"\x80\x7f" * 3)
    assert given.strides == (3, 1)


@pytest.mark.parametrize(
    ("text", "scalar", "size"),
    [
        ("dense<[2147483647, -2147483647]> : tensor<2xi64>", "i32", 4),
        ("dense<[1, -2147483648]> : tensor<2xi64>", "i64", 8),
        ("dense<[2147483648, 0]> : tensor<2xi64>", "i64", 8),
        ("dense<[7, 1]> : tensor<2xi16>", "i16", 2),
    ],
)
def test_constants_of_wide_numbers(text: str, scalar: str, size: int) -> None:
    """Those that are small become narrow; they are loaded as they were."""
    (value,) = values(f"%c = arith.constant {text}", "").values()
    found = seen(value, lambda i: (i,), 1)
    wide = text.rpartition("x")[2].rstrip(">")
    assert (found.scalar, found.loaded) == (scalar, wide)
    assert found.data is not None
    assert len(found.data) == 2 * size
    first = int(text.partition("[")[2].partition(",")[0])
    assert int.from_bytes(found.data[:size], "little", signed=True) == first


PADDED = """
%p = kernel.copy %x[0, 0, 0] [4, 5, 2] [1, 1, 1] into fill(-7 : i8)[1, 2, 0] [1, 1, 1]
    : tensor<4x5x2xi8> into tensor<6x9x2xi8> in [#kernel.unstored]
"""


def test_padding_that_is_not_stored() -> None:
    """Strides are those of what is padded; the axes that are, from the last on."""
    found = values(PADDED, "%x: tensor<4x5x2xi8>")
    p = seen(found["p"], lambda i, j, c, k: (i + k, j * 2, c), 4)
    assert (p.strides, p.offset, p.border) == ((10, 4, 1, 10), -14, -7)
    assert p.edges == (
        Edge((0, 2, 0, 0), constant(I64, -2), 5),
        Edge((1, 0, 0, 1), constant(I64, -1), 4),
    )


def function() -> Function:
    return Function(Module("", ""), "f", [POINTER, I64, I64], [""] * 3)


def index(number: int) -> Value:
    return constant(I64, number)


def test_known_indices() -> None:
    edge = Edge((2, 0, 1), index(-3), 5)
    unknown = function().arguments[1]
    assert edge.known_index([index(4), unknown, index(1)]) == 6
    assert edge.known_index([unknown, index(4), index(1)]) is None
    assert Edge((0, 0, 0), index(4), 5).known_index([unknown] * 3) == 4
    assert Edge((0, 1), unknown, 5).known_index([index(1), index(1)]) is None


@pytest.mark.parametrize(
    ("counters", "inside"),
    [((2, 0), True), ((0, 0), False), ((3, 0), True), ((4, 0), False), ((2, 9), False)],
)
def test_indices_inside(counters: Sequence[int], inside: bool) -> None:
    """From 0 up to the size of each axis."""
    edges = [Edge((1, 0), index(-2), 2), Edge((0, 1), index(0), 9)]
    assert is_inside(function(), edges, [*map(index, counters)]) is inside
    assert is_inside(function(), [], []) is True


def test_indices_that_code_asks_for() -> None:
    """One comparison an axis whose index isn't known, and one that is outside decides
    without any."""
    f = function()
    _, i, j = f.arguments
    edges = [Edge((1, 0), index(-2), 6), Edge((0, 3), index(0), 9)]
    inside = is_inside(f, edges, [i, j])
    assert isinstance(inside, Value)
    text = str(f)
    assert text.count("icmp ult i64") == 2
    assert text.count(" = and i1") == 1
    assert "add nsw i64 %a1, -2" in text or "add i64 %a1, -2" in text
    assert is_inside(f, edges, [index(0), j]) is False
    assert isinstance(is_inside(f, edges, [index(2), j]), Value)
    assert str(f).count(" = and i1") == 1


def test_addresses() -> None:
    f = function()
    pointer, i, _ = f.arguments
    x = Operand("i16", "i16", (5, 3, 0), 7, None, pointer=pointer)
    at = x.address(f, [index(2), index(1), i])
    assert f"i8, ptr %a0, i64 {2 * (7 + 10 + 3)}" in str(f)
    assert at.type == POINTER
    before = len(str(f))
    x.address(f, [index(0), i, i])
    added = str(f)[before - 2 :]
    assert "6" in added
    assert "i64 14" in added
    c = Operand("i8", "i8", (1,), 0, b"abc")
    assert c.address(f, [index(0)]).text.startswith("@constant_")


@pytest.mark.parametrize(
    ("offsets", "place"), [("0, 0, 0", 0), ("1, 2, 3", 1 * 24 + 2 * 4 + 3)]
)
def test_results_in_boxes(offsets: str, place: int) -> None:
    """Their strides are those of the larger tensor; others start at no byte of one."""
    text = f"""
%x = kernel.copy %s[0, 0, 0] [1, 3, 1] [1, 1, 1] into fill(0 : i16)[0, 0, 0] [1, 1, 1]
    : tensor<1x3x1xi16> into tensor<1x3x1xi16> in [#kernel.unstored]
%z = kernel.copy %s[0, 0, 0] [1, 3, 1] [1, 1, 1] into fill(1 : i16)[0, 0, 0] [1, 1, 1]
    : tensor<1x3x1xi16> into tensor<1x3x1xi16> in [#kernel.unstored]
%y = kernel.copy %x[0, 0, 0] [1, 3, 1] [1, 1, 1] into fill(0 : i16)[{offsets}] [1, 1, 1]
    : tensor<1x3x1xi16> into tensor<2x6x4xi16> in [#kernel.output<0>]
"""
    found = values(text, "%s: tensor<1x3x1xi16>")
    assert first_byte(found["x"]) is None
    for name in ("x", "z"):
        owner = found[name].owner
        assert isinstance(owner, Operation)
        owner.properties["buffers"] = ArrayAttr([BoxAttr()])
    assert first_byte(found["x"]) == 2 * place
    assert first_byte(found["y"]) is None
    assert first_byte(found["z"]) is None
    dense_place = vars(import_module("qlower.codegen.nests.operand"))["_dense_place"]
    indices = [((0, 0), 0), ((1, 0), 1), ((0, 2), 0)]
    assert dense_place(found["x"], indices, 2) == ((4, 2), 4)
    assert dense_place(found["s"], indices, 2) == ((1, 2), 1)
