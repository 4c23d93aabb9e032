"""Every movement of elements: its results, and what it refuses in which words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from qlower.operators.movement import (
    Broadcast,
    Concatenate,
    Movement,
    Pad,
    Reshape,
    Reverse,
    Slice,
    Tile,
    Transpose,
    border,
)
from qlower.operators.shapes import (
    Shape,
    broadcast,
    check_axis,
    check_count,
    check_least,
    check_one_each,
    reduced,
)

SHAPES: list[tuple[Movement, tuple[Shape, ...], Shape]] = [
    (Reshape((6,)), ((2, 3),), (6,)),
    (Reshape((3, -1)), ((2, 3),), (3, 2)),
    (Reshape((-1,)), ((2, 3),), (6,)),
    (Reshape((-1, 4)), ((0, 4),), (0, 4)),
    (Reshape(()), ((1, 1),), ()),
    (Transpose((1, 0)), ((2, 3),), (3, 2)),
    (Transpose((2, 0, 1)), ((2, 3, 4),), (4, 2, 3)),
    (Transpose(()), ((),), ()),
    (Slice((0,), (4,), (1,)), ((4,),), (4,)),
    (Slice((3,), (2,), (-3,)), ((4,),), (2,)),
    (Slice((1,), (2,), (2,)), ((4,),), (2,)),
    (Slice((9,), (0,), (1,)), ((4,),), (0,)),
    (Pad((1, 0), (2, 3), value=7), ((2, 3),), (5, 6)),
    (Pad((1,), (0,), (2,), value=7), ((3,),), (8,)),
    (Pad((1,), (1,), (2,), value=7), ((1,),), (3,)),
    (Pad((1,), (1,), (2,), value=7), ((0,),), (2,)),
    (Concatenate(0), ((2, 3), (1, 3)), (3, 3)),
    (Concatenate(1), ((2, 3), (2, 1), (2, 0)), (2, 4)),
    (Reverse(0), ((2, 3),), (2, 3)),
    (Reverse(1), ((2, 3),), (2, 3)),
    (Tile((2, 1)), ((2, 3),), (4, 3)),
    (Tile((1, 3)), ((2, 3),), (2, 9)),
    (Broadcast((1,), (2, 3)), ((3,),), (2, 3)),
    (Broadcast((0,), (2, 3)), ((2,),), (2, 3)),
    (Broadcast((1, 0), (2, 3)), ((3, 2),), (2, 3)),
    (Broadcast((2, 0), (2, 4, 3)), ((1, 2),), (2, 4, 3)),
    (Broadcast((), (2,)), ((),), (2,)),
]


def source_of(
    movement: Movement, at: tuple[int, ...], shape: Shape
) -> tuple[int, ...] | None:
    """The place in the one operand of an element of the result; None for padding."""
    match movement:
        case Transpose(order):
            found = [0] * len(order)
            for axis, index in zip(order, at, strict=True):
                found[axis] = index
            return tuple(found)
        case Slice(start, _, stride):
            return tuple(s + i * d for s, i, d in zip(start, at, stride, strict=True))
        case Pad(low, _, between):
            found = []
            for axis, index in enumerate(at):
                step = 1 + (between[axis] if between else 0)
                place, rest = divmod(index - low[axis], step)
                if rest or not 0 <= place < shape[axis]:
                    return None
                found.append(place)
            return tuple(found)
        case Reverse(axis):
            last = shape[axis] - 1
            return tuple(last - i if n == axis else i for n, i in enumerate(at))
        case Tile():
            return tuple(i % size for i, size in zip(at, shape, strict=True))
        case Broadcast(axes, _):
            pairs = zip(axes, shape, strict=True)
            return tuple(at[axis] if size > 1 else 0 for axis, size in pairs)
        case _:
            raise NotImplementedError


@pytest.mark.parametrize(("movement", "shapes", "expected"), SHAPES)
def test_results(
    movement: Movement, shapes: tuple[Shape, ...], expected: Shape
) -> None:
    """The shape, and each element by its place; negative strides are in MLIR only."""
    assert movement.result_shape(*shapes) == expected
    if isinstance(movement, Slice) and min(movement.stride) < 0:
        return
    arrays = [
        np.arange(np.prod(shape, dtype=int)).reshape(shape) + 100 * n
        for n, shape in enumerate(shapes)
    ]
    found = movement.evaluate(*arrays)
    assert found.shape == expected
    if isinstance(movement, Reshape):
        assert found.reshape(-1).tolist() == arrays[0].reshape(-1).tolist()
        return
    if isinstance(movement, Concatenate):
        parts = np.split(
            found,
            np.cumsum([x.shape[movement.axis] for x in arrays])[:-1],
            movement.axis,
        )
        assert [x.tolist() for x in parts] == [x.tolist() for x in arrays]
        return
    for at in np.ndindex(*expected):
        place = source_of(movement, at, shapes[0])
        assert found[at] == (7 if place is None else arrays[0][place])


def test_padding_by_a_second_operand() -> None:
    found = Pad((1,), (0,), (1,)).evaluate(np.array([5, 6]), np.array([[9]]))
    assert found.tolist() == [9, 5, 9, 6]
    assert Pad((1,), (0,), (1,)).spreads
    assert not Pad((1,), (0,), (0,)).spreads
    assert not Pad((1,), (0,)).spreads
    assert Pad((1, 2), (0, 0)).steps == [1, 1]
    assert Pad((1, 2), (0, 0), (3, 0)).steps == [4, 1]


REFUSALS: list[tuple[Movement, tuple[Shape, ...], str]] = [
    (Reshape((4,)), ((2, 3),), "6 elements of [2, 3] don't have shape [4]"),
    (Reshape((4, -1)), ((2, 3),), "6 elements of [2, 3] don't have shape [4, -1]"),
    (Reshape((-1, -1)), ((2, 3),), "6 elements of [2, 3] don't have shape [-1, -1]"),
    (Reshape((-2, -3)), ((2, 3),), "6 elements of [2, 3] don't have shape [-2, -3]"),
    (Reshape((-2, 0)), ((0,),), "0 elements of [0] don't have shape [-2, 0]"),
    (Reshape((-2, -3, -1)), ((6,),), "6 elements of [6] don't have shape [-2, -3, 1]"),
    (Reshape((0, -1)), ((0,),), "0 elements of [0] don't have shape [0, -1]"),
    (Transpose((0, 0)), ((2, 3),), "[0, 0] is not an order of the axes of [2, 3]"),
    (Transpose((0,)), ((2, 3),), "[0] is not an order of the axes of [2, 3]"),
    (Transpose((1, 2)), ((2, 3),), "[1, 2] is not an order of the axes of [2, 3]"),
    (Slice((0,), (1,), (1,)), ((2, 3),), "start [0] has length 1, expected 2"),
    (Slice((0, 0), (1,), (1,)), ((2, 3),), "size [1] has length 1, expected 2"),
    (Slice((0, 0), (1, 1), (1,)), ((2, 3),), "stride [1] has length 1, expected 2"),
    (
        Slice((0,), (5,), (1,)),
        ((4,),),
        "slice of axis 0 reads element 4, outside [0, 3]",
    ),
    (
        Slice((0, 4), (1, 1), (1, 1)),
        ((4, 4),),
        "slice of axis 1 reads element 4, outside [0, 3]",
    ),
    (
        Slice((-1,), (2,), (1,)),
        ((4,),),
        "slice of axis 0 reads element -1, outside [0, 3]",
    ),
    (
        Slice((2,), (2,), (2,)),
        ((4,),),
        "slice of axis 0 reads element 4, outside [0, 3]",
    ),
    (
        Slice((1,), (2,), (-2,)),
        ((4,),),
        "slice of axis 0 reads element -1, outside [0, 3]",
    ),
    (Pad((1,), (0,)), ((2, 3),), "low [1] has length 1, expected 2"),
    (Pad((1, 0), (0,)), ((2, 3),), "high [0] has length 1, expected 2"),
    (Pad((1,), (0,), (0, 0)), ((2,),), "between [0, 0] has length 2, expected 1"),
    (Pad((-1,), (0,)), ((2,),), "low -1 is less than 0"),
    (Pad((0,), (-1,)), ((2,),), "high -1 is less than 0"),
    (Pad((0,), (0,), (-1,)), ((2,),), "between -1 is less than 0"),
    (Concatenate(0), (), "expected at least one operand"),
    (Concatenate(1), ((2,),), "axis 1 is outside [0, 1)"),
    (Concatenate(-1), ((2,),), "axis -1 is outside [0, 1)"),
    (
        Concatenate(0),
        ((2, 3), (2, 3), (2, 4)),
        "shape [2, 4] of operand 2 differs from [2, 3] beside axis 0",
    ),
    (
        Concatenate(1),
        ((2, 3), (4, 3)),
        "shape [4, 3] of operand 1 differs from [2, 3] beside axis 1",
    ),
    (
        Concatenate(0),
        ((2, 3), (2,)),
        "shape [2] of operand 1 differs from [2, 3] beside axis 0",
    ),
    (
        Concatenate(0),
        ((2,), (2, 3)),
        "shape [2, 3] of operand 1 differs from [2] beside axis 0",
    ),
    (Reverse(2), ((2, 3),), "axis 2 is outside [0, 2)"),
    (Reverse(-1), ((2, 3),), "axis -1 is outside [0, 2)"),
    (Tile((2,)), ((2, 3),), "multiples [2] has length 1, expected 2"),
    (Tile((2, 0)), ((2, 3),), "multiples 0 is less than 1"),
    (Broadcast((0, 1), (2,)), ((2,),), "axes [0, 1] don't bring [2] to [2]"),
    (Broadcast((0, 0), (2, 3)), ((2, 2),), "axes [0, 0] don't bring [2, 2] to [2, 3]"),
    (Broadcast((2,), (2, 3)), ((1,),), "axes [2] don't bring [1] to [2, 3]"),
    (Broadcast((-1,), (2, 3)), ((3,),), "axes [-1] don't bring [3] to [2, 3]"),
    (Broadcast((1,), (2, 3)), ((2,),), "axes [1] don't bring [2] to [2, 3]"),
]


@pytest.mark.parametrize(("movement", "shapes", "text"), REFUSALS)
def test_refusals(movement: Movement, shapes: tuple[Shape, ...], text: str) -> None:
    with pytest.raises(VerifyException) as caught:
        movement.result_shape(*shapes)
    assert str(caught.value) == text


def test_borders() -> None:
    """As numpy pads, by any number of elements."""
    for mode, size, low, high in product(
        ("edge", "reflect", "symmetric", "wrap"), range(1, 5), range(7), range(7)
    ):
        padded = np.pad(np.arange(size), (low, high), mode=mode)
        assert border(mode, size, low, high) == padded.tolist(), (mode, size, low, high)


BROADCASTS: list[tuple[tuple[Shape, ...], Shape | str]] = [
    (((2, 3), (3,)), (2, 3)),
    (((1,), (4,)), (4,)),
    (((4,), (1,)), (4,)),
    (((1, 1), (1,)), (1, 1)),
    (((2, 1), (1, 3), ()), (2, 3)),
    (((0,), (1,)), (0,)),
    (((2,), (3,)), "shapes [2] and [3] don't broadcast"),
    (((2, 3), (2,), (3,)), "shapes [2, 3] and [2] and [3] don't broadcast"),
    (((0,), (2,)), "shapes [0] and [2] don't broadcast"),
]


@pytest.mark.parametrize(("shapes", "expected"), BROADCASTS)
def test_broadcasts(shapes: tuple[Shape, ...], expected: Shape | str) -> None:
    if isinstance(expected, tuple):
        assert broadcast(*shapes) == expected
        return
    with pytest.raises(VerifyException) as caught:
        broadcast(*shapes)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("axes", "keep", "expected"),
    [
        ((1,), False, (2, 4)),
        ((1,), True, (2, 1, 4)),
        ((0, 2), False, (3,)),
        ((0, 2), True, (1, 3, 1)),
        ((), False, (2, 3, 4)),
        ((3,), False, "axis 3 is outside [0, 3)"),
        ((-1,), True, "axis -1 is outside [0, 3)"),
        ((1, 1), False, "axes [1, 1] repeat a dimension"),
    ],
)
def test_reductions(axes: Shape, keep: bool, expected: Shape | str) -> None:
    if isinstance(expected, tuple):
        assert reduced((2, 3, 4), axes, keep) == expected
        return
    with pytest.raises(VerifyException) as caught:
        reduced((2, 3, 4), axes, keep)
    assert str(caught.value) == expected


CHECKS: list[tuple[Callable[..., None], tuple[Any, ...], str]] = [
    (check_axis, (0, 1), ""),
    (check_axis, (0, 0), "axis 0 is outside [0, 0)"),
    (check_count, ("pad", [1] * 8, 8), ""),
    (check_count, ("pad", [1] * 8, 2), f"pad {[1] * 8} has length 8, expected 2"),
    (check_count, ("pad", [1] * 9, 2), "pad has length 9, expected 2"),
    (check_one_each, ("pad", [1, 2], (5, 6)), ""),
    (check_least, ("pad", [1, 0], 0), ""),
    (check_least, ("pad", [], 1), ""),
    (check_least, ("pad", [2, 0], 1), "pad 0 is less than 1"),
]


@pytest.mark.parametrize(("check", "given", "text"), CHECKS)
def test_checks(check: Callable[..., None], given: tuple[Any, ...], text: str) -> None:
    if not text:
        check(*given)
        return
    with pytest.raises(VerifyException) as caught:
        check(*given)
    assert str(caught.value) == text
