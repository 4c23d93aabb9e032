"""Elements of a tensor that points of a loop nest access: linear maps, checked."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)
from xdsl.utils.exceptions import VerifyException


def linear_form(expression: AffineExpr, dims: int) -> tuple[tuple[int, ...], int]:
    """The coefficient of each of `dims` dimensions, and the constant term.

    Raises ValueError when the expression is not linear in the dimensions.
    """
    match expression:
        case AffineConstantExpr(value):
            return (0,) * dims, value
        case AffineDimExpr(position):
            return tuple(int(d == position) for d in range(dims)), 0
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
            a, a0 = linear_form(lhs, dims)
            b, b0 = linear_form(rhs, dims)
            return tuple(x + y for x, y in zip(a, b, strict=True)), a0 + b0
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, lhs, rhs):
            a, a0 = linear_form(lhs, dims)
            b, b0 = linear_form(rhs, dims)
            if not any(b):
                return tuple(x * b0 for x in a), a0 * b0
            if not any(a):
                return tuple(a0 * x for x in b), a0 * b0
        case _:
            pass
    raise ValueError(f"{expression} is not linear in its dimensions")


def verify_maps(
    shapes: Sequence[Sequence[int]],
    maps: Sequence[AffineMap],
    bounds: Sequence[int],
    parallel: int,
    results: int,
) -> None:
    """Check one map a tensor: inside of its shape for every point of the nest.

    `bounds` are the trip counts, the `parallel` loops first. The last `results` tensors
    are written: each element once.
    """
    if len(maps) != len(shapes):
        raise VerifyException(f"{len(maps)} maps for {len(shapes)} inputs and results")
    for index, (shape, map) in enumerate(zip(shapes, maps, strict=True)):
        if map.num_dims != len(bounds) or map.num_symbols:
            raise VerifyException(
                f"map #{index} is over {map.num_dims} dimensions and "
                f"{map.num_symbols} symbols, the nest has {len(bounds)} loops"
            )
        if len(map.results) != len(shape):
            raise VerifyException(
                f"map #{index} gives {len(map.results)} indices for a tensor of "
                f"rank {len(shape)}"
            )
        for axis, (expression, size) in enumerate(zip(map.results, shape, strict=True)):
            low, high = _range(expression, index, bounds)
            if low < 0 or high >= size:
                raise VerifyException(
                    f"map #{index} reaches indices {low} to {high} of axis {axis}, "
                    f"legal are 0 to {size - 1}"
                )
    inputs = len(shapes) - results
    for index, (shape, map) in enumerate(
        zip(shapes[inputs:], maps[inputs:], strict=True)
    ):
        _verify_written_once(index, shape, map, bounds, parallel)


def _range(
    expression: AffineExpr, index: int, bounds: Sequence[int]
) -> tuple[int, int]:
    """The least and the greatest value of an index over the whole nest."""
    match expression:
        case AffineDimExpr(position):
            return 0, bounds[position] - 1
        case AffineConstantExpr(value):
            return value, value
        case _:
            pass
    try:
        coefficients, constant = linear_form(expression, len(bounds))
    except ValueError as error:
        raise VerifyException(f"map #{index}: {error}") from error
    ends = [
        coefficient * (bound - 1)
        for coefficient, bound in zip(coefficients, bounds, strict=True)
    ]
    return (
        constant + sum(min(end, 0) for end in ends),
        constant + sum(max(end, 0) for end in ends),
    )


def _verify_written_once(
    index: int,
    shape: Sequence[int],
    map: AffineMap,
    bounds: Sequence[int],
    parallel: int,
) -> None:
    loops = [e.position for e in map.results if isinstance(e, AffineDimExpr)]
    needed = {d for d, bound in enumerate(bounds[:parallel]) if bound > 1}
    sizes = [
        bounds[e.position] if isinstance(e, AffineDimExpr) else 1 for e in map.results
    ]
    if (
        not needed <= set(loops) <= set(range(parallel))
        or len(loops) != len(set(loops))
        or sizes != list(shape)
    ):
        raise VerifyException(
            f"the map of result #{index}, {map}, must name each parallel loop "
            f"once and cover the shape {list(shape)}"
        )
