"""Elements that a loop nest reaches: linear forms of indices, and which maps are
legal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineExpr,
    AffineMap,
)
from xdsl.utils.exceptions import VerifyException

from qlower.dialects import kernel
from qlower.dialects.kernel.maps import linear_form, verify_maps
from qlower.text.parsing import parse_module

A, B = (AffineExpr.dimension(n) for n in range(2))


def number(value: int) -> AffineExpr:
    return AffineExpr.constant(value)


def times(one: AffineExpr, other: AffineExpr) -> AffineExpr:
    """A product as it is written, also of loops."""
    return AffineBinaryOpExpr(AffineBinaryOpKind.Mul, one, other)


@pytest.mark.parametrize(
    ("expression", "form"),
    [
        (number(7), ((0, 0), 7)),
        (A, ((1, 0), 0)),
        (B, ((0, 1), 0)),
        (A + B * 3 + 5, ((1, 3), 5)),
        (A * 2 + A, ((3, 0), 0)),
        ((A + 1) * 4, ((4, 0), 4)),
        (times(number(4), B + 2), ((0, 4), 8)),
        (times(number(3), number(5)), ((0, 0), 15)),
        (A - B, ((1, -1), 0)),
        (times(A + 2, times(B, number(0)) + 3), ((3, 0), 6)),
    ],
)
def test_linear_forms(expression: AffineExpr, form: object) -> None:
    assert linear_form(expression, 2) == form


@pytest.mark.parametrize("expression", [times(A, B), A // 2, A % 2, times(A, B + 1)])
def test_forms_that_are_not_linear(expression: AffineExpr) -> None:
    with pytest.raises(ValueError, match="is not linear in its dimensions"):
        linear_form(expression, 2)


Maps = Sequence[Sequence[AffineExpr]]


def said(
    shapes: Sequence[Sequence[int]],
    maps: Maps,
    bounds: Sequence[int] = (4, 3),
    parallel: int = 1,
    *,
    symbols: int = 0,
    dims: int | None = None,
) -> str:
    """Why a nest with a result, the last tensor, is refused; nothing if it isn't."""
    count = len(bounds) if dims is None else dims
    made = [AffineMap(count, symbols, tuple(results)) for results in maps]
    try:
        verify_maps(shapes, made, bounds, parallel, 1)
    except VerifyException as error:
        return str(error)
    return ""


def reach(low: int, high: int, last: int, axis: int = 0, tensor: int = 0) -> str:
    return (
        f"map #{tensor} reaches indices {low} to {high} of axis {axis}, "
        f"legal are 0 to {last}"
    )


@pytest.mark.parametrize(
    ("shape", "indices", "message"),
    [
        ((4,), [A], ""),
        ((3,), [A], reach(0, 3, 2)),
        ((3, 4), [B, A], ""),
        ((4, 2), [A, B], reach(0, 2, 1, 1)),
        ((6,), [A + B], ""),
        ((5,), [A + B], reach(0, 5, 4)),
        ((12,), [A * 3 + B], ""),
        ((11,), [A * 3 + B], reach(0, 11, 10)),
        ((4,), [number(3) - A], ""),
        ((4,), [number(2) - A], reach(-1, 2, 3)),
        ((6,), [A - B + 2], ""),
        ((6,), [A - B + 1], reach(-1, 4, 5)),
        ((2,), [number(1)], ""),
        ((2,), [number(2)], reach(2, 2, 1)),
        ((2,), [number(-1)], reach(-1, -1, 1)),
        ((4,), [times(A, B)], "map #0: (d0 * d1) is not linear in its dimensions"),
        ((4,), [A, B], "map #0 gives 2 indices for a tensor of rank 1"),
        ((4, 4), [A], "map #0 gives 1 indices for a tensor of rank 2"),
    ],
)
def test_indices_stay_inside(
    shape: Sequence[int], indices: Sequence[AffineExpr], message: str
) -> None:
    assert said([shape, (4,)], [indices, [A]]) == message


def test_loops_of_two_steps() -> None:
    for size in (1, 2, 3):
        expected = reach(0, 2, size - 1) if size < 3 else ""
        assert said([(size,), (2,)], [[A + B], [A]], (2, 2)) == expected
    assert said([(2,), (2,)], [[A - B], [A]], (2, 2)) == reach(-1, 1, 1)
    assert said([(3,), (2,)], [[A - B + 1], [A]], (2, 2)) == ""


def test_a_map_for_each_tensor_over_all_loops() -> None:
    assert said([(4,), (4,)], [[A]]) == "1 maps for 2 inputs and results"
    for dims, symbols in ((1, 0), (3, 0), (2, 1)):
        assert said([(4,)], [[A]], dims=dims, symbols=symbols) == (
            f"map #0 is over {dims} dimensions and {symbols} symbols, the nest has "
            "2 loops"
        )


@pytest.mark.parametrize(
    ("shape", "indices", "bounds", "parallel", "is_legal"),
    [
        ((4,), [A], (4, 3), 1, True),
        ((4, 3), [A, B], (4, 3), 2, True),
        ((3, 4), [B, A], (4, 3), 2, True),
        ((4,), [A], (4, 3), 2, False),  # a parallel loop is missing
        ((4,), [A], (4, 2), 2, False),
        ((4,), [A], (4, 1), 2, True),  # one of one step may be
        ((4, 1), [A, number(0)], (4, 3), 1, True),
        ((4, 2), [A, number(0)], (4, 3), 1, False),  # not all is written
        ((5,), [A], (4, 3), 1, False),
        ((4, 3), [A, B], (4, 3), 1, False),  # a reduction is named
        ((4, 4), [A, A], (4, 3), 1, False),
        ((4,), [A + times(B, number(0))], (4, 3), 1, False),
        ((8,), [A * 2], (4, 3), 1, False),
        ((1,), [number(0)], (1, 3), 1, True),
        ((), [], (1, 3), 1, True),
        ((), [], (4, 3), 1, False),
    ],
)
def test_results_are_written_once(
    shape: Sequence[int],
    indices: Sequence[AffineExpr],
    bounds: Sequence[int],
    parallel: int,
    is_legal: bool,
) -> None:
    message = said([(9,), shape], [[number(0)], indices], bounds, parallel)
    assert (message == "") == is_legal
    if not is_legal:
        assert message.startswith("the map of result #0, ")
        assert message.endswith(
            f", must name each parallel loop once and cover the shape {list(shape)}"
        )


NEST = """func.func @f(%x: tensor<4xi8>) -> tensor<4xi8> {
  %y = kernel.nest map parallel [4]
    maps [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]
    ins(%x : tensor<4xi8>) epilogue {
    ^bb0(%v: i8):
      kernel.yield %v : i8
    } -> tensor<4xi8>
  return %y : tensor<4xi8>
}"""


def test_a_nest_writes_something() -> None:
    """Text always has a type behind the arrow."""
    module = parse_module(NEST)
    (nest,) = (op for op in module.walk() if isinstance(op, kernel.NestOp))
    nest.verify_()
    nest.results = type(nest.results)(())
    with pytest.raises(VerifyException, match="a nest has at least one result"):
        nest.verify_()
