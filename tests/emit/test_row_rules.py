"""Rules on rows as loop nests against the same rules on arrays, however rows lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.layers.built import built
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.contracts.rows import evaluate_rows
from qlower.emit.row_rules import Read, RowNests
from qlower.model.nests import Emitter
from qlower.text.parsing import parse_module

SUMS = """
func.func private @term(%input: f32) -> f32 attributes {{contract.rows = "{order}"}} {{
  %factor = arith.constant 1.7 : f32
  %result = arith.mulf %input, %factor : f32
  return %result : f32
}}
func.func private @rule(%input: f32) -> f32 {{
  %sum = func.call @term(%input) : (f32) -> f32
  return %sum : f32
}}
"""
HELPERS = """
func.func private @ends(%low: f32, %high: f32, %input: f32) -> (f32, f32)
    attributes {contract.rows = "fold"} {
  %least = arith.minimumf %low, %input : f32
  %most = arith.maximumf %high, %input : f32
  return %least, %most : f32, f32
}
func.func private @middle(%input: f32) -> f32 attributes {contract.rows = "row"} {
  %start = arith.constant 0.25 : f32
  %low, %high = func.call @ends(%start, %start, %input) : (f32, f32, f32) -> (f32, f32)
  %sum = arith.addf %low, %high : f32
  return %sum : f32
}
func.func private @distance(%input: f32, %scale: f32) -> f32
    attributes {contract.rows = "each"} {
  %middle = func.call @middle(%input) : (f32) -> f32
  %far = arith.subf %input, %middle : f32
  %result = arith.mulf %far, %scale : f32
  return %result : f32
}
func.func private @total(%input: f32, %scale: f32) -> f32
    attributes {contract.rows = "sequential"} {
  %distance = func.call @distance(%input, %scale) : (f32, f32) -> f32
  return %distance : f32
}
func.func private @rule(%input: f32, %scale: f32, %beta: f32) -> f32 {
  %distance = func.call @distance(%input, %scale) : (f32, f32) -> f32
  %total = func.call @total(%input, %scale) : (f32, f32) -> f32
  %share = arith.divf %distance, %total : f32
  %result = arith.addf %share, %beta : f32
  return %result : f32
}
"""


def rule(text: str) -> FuncOp:
    functions = (op for op in parse_module(text).walk() if isinstance(op, FuncOp))
    (function,) = (op for op in functions if op.sym_name.data == "rule")
    return function


D = [AffineDimExpr(at) for at in range(5)]
LAYOUTS: dict[str, tuple[Any, Any, Any, Any]] = {
    # loops over rows and over elements, and the index of an element in a tensor
    "rows": ((3,), (7,), (3, 7), D[:2]),
    "one row": ((1,), (9,), (1, 9), D[:2]),
    "a row without loops": ((), (9,), (9,), D[:1]),
    "two loops over rows": ((2, 3), (7,), (2, 3, 7), D[:3]),
    "elements first": ((2, 3), (7,), (7, 2, 3), [D[2], D[0], D[1]]),
    "elements between": ((2, 3), (7,), (2, 7, 3), [D[0], D[2], D[1]]),
    "two loops over elements": ((3,), (2, 5), (3, 2, 5), D[:3]),
    "whose elements are first": ((3,), (2, 5), (2, 5, 3), [D[1], D[2], D[0]]),
    "whose rows lie between": ((3,), (2, 5), (2, 3, 5), [D[1], D[0], D[2]]),
    "two of each": ((2, 3), (2, 5), (2, 3, 2, 5), D[:4]),
    "long rows": ((2,), (37,), (2, 37), D[:2]),
    "many rows": ((9,), (12,), (9, 12), D[:2]),
    "many columns": ((40,), (11,), (11, 40), [D[1], D[0]]),
    "windows": ((4,), (3, 1), (6, 1), [D[0] + D[1], D[2]]),
    "windows of two loops": ((2, 3), (2, 2), (3, 4), [D[0] + D[2], D[1] + D[3]]),
}


ORDERS = ("sequential", "packets", "squares_in_fused_lanes", "cascaded_columns")
"""A chain, and orders that ask for all that rows are asked."""


def numbers(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.random.default_rng(23).standard_normal(shape).astype(np.float32)


def seen(name: str) -> tuple[RowNests, Any, Any]:
    """Rows without an emitter, the tensor, and its elements by row."""
    outer, depth, shape, index = LAYOUTS[name]
    x = numbers(shape)
    places = np.indices((*outer, *depth))
    elements = x[tuple(one.eval(list(places), []) for one in index)]
    nothing: Any = None
    rows = RowNests(nothing, outer, depth, {}, {}, slides=name.startswith("windows"))
    return rows, x, elements.reshape(*outer, -1)


def with_reads(rows: RowNests, emit: Emitter, x: SSAValue, name: str) -> RowNests:
    reads = {"input": Read(x, LAYOUTS[name][3])}
    return RowNests(
        *(emit, rows.outer, rows.depth, reads, {"kernel_width": np.array(2)}),
        slides=rows.slides,
    )


@pytest.mark.parts(3)
@pytest.mark.parametrize("name", LAYOUTS)
def test_sums_of_rows(name: str) -> None:
    """Bit by bit."""
    rows, x, elements = seen(name)
    values = {"input": elements, "kernel_width": np.array(2)}

    def build(emit: Emitter, value: SSAValue) -> list[SSAValue]:
        return [
            with_reads(rows, emit, value, name).row(rule(SUMS.format(order=order)))
            for order in ORDERS
        ]

    found, _ = built(build, x)
    for order, sums in zip(ORDERS, found, strict=True):
        function = rule(SUMS.format(order=order))
        ((expected,), _) = evaluate_rows(function, ["input"], values)
        assert sums.tolist() == expected.reshape(rows.outer).tolist(), order


@pytest.mark.parts(6)
@pytest.mark.parametrize("name", LAYOUTS)
def test_folds_rows_and_elements(name: str) -> None:
    """What helpers make is made once for each row, or each element."""
    rows, x, elements = seen(name)
    function = rule(HELPERS)
    scale, beta = np.float32(3), np.float32(0.5)
    constants = {"scale": np.asarray(scale), "beta": np.asarray(beta)}

    def build(emit: Emitter, value: SSAValue) -> SSAValue:
        nests = with_reads(rows, emit, value, name)
        return RowNests(
            *(emit, rows.outer, rows.depth, nests.reads, constants), slides=rows.slides
        ).element(function)

    (found,), names = built(build, x)
    values = {"input": elements, **constants}
    (expected,), _ = evaluate_rows(function, ["input", "scale", "beta"], values)
    assert found.tolist() == expected.reshape(*rows.outer, *rows.depth).tolist()
    # ends, middle, distance, total, and the rule
    assert names.count("linalg.generic") == 5
