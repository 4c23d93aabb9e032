"""Parts of how nests are interpreted: blocks of points, accesses, counters, bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineMap

from qlower.interp import make_interpreter, nest
from qlower.interp.nest import (
    Access,
    Loops,
    evaluate_nest,
    infer_bounds,
    loop_counter,
)
from qlower.interp.values import Poison

Map = Callable[..., Any]


def seen(map: Map) -> AffineMap:
    return AffineMap.from_callable(map)


@pytest.mark.parametrize(
    ("bounds", "lanes", "steps"),
    [
        ((2, 3, 5), 30, (2, 3, 5)),
        ((2, 3, 5), 15, (1, 3, 5)),
        ((2, 3, 5), 29, (1, 3, 5)),
        ((2, 3, 5), 14, (1, 2, 5)),
        ((4, 3, 5), 31, (2, 3, 5)),
        ((2, 3, 5), 4, (1, 1, 4)),
        ((2, 3, 5), 1, (1, 1, 1)),
    ],
)
def test_blocks(
    bounds: tuple[int, ...],
    lanes: int,
    steps: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of as many points as fit, the last loop's first; loops that reduce are whole."""
    monkeypatch.setattr(nest, "BLOCK_LANES", lanes)
    found = [*Loops((*bounds, 7), (False, False, False, True)).blocks()]
    wanted = [
        (
            *(
                slice(a, min(a + s, n))
                for a, s, n in zip(at, steps, bounds, strict=True)
            ),
            slice(0, 7),
        )
        for at in np.ndindex(*(-(-n // s) for n, s in zip(bounds, steps, strict=True)))
        for at in [tuple(i * s for i, s in zip(at, steps, strict=True))]
    ]
    assert found == wanted


def test_points_of_reductions() -> None:
    loops = Loops((2, 3, 2), (True, False, True))
    assert [*loops.reduction_points()] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [*Loops((2,), (False,)).reduction_points()] == [()]


X = np.arange(24, dtype=np.int32).reshape(4, 6)


def test_lanes_of_an_access() -> None:
    """Elements of a box at each reduction point; what doesn't vary has one."""
    loops = Loops((3, 2, 2), (False, True, False))
    access = Access(X, seen(lambda i, k, j: (i + k, j * 3 + 1)), loops)
    assert access.depends_on_reduction
    assert not access.repeats
    lanes = access.block((slice(1, 3), slice(0, 2), slice(0, 2)))
    assert lanes((1,)).tolist() == X[2:4, [1, 4]].tolist()
    still = Access(X, seen(lambda i, k, j: (i, 5)), loops)
    assert not still.depends_on_reduction
    lanes = still.block((slice(0, 3), slice(0, 2), slice(1, 2)))
    assert lanes((1,)).tolist() == X[:3, 5:6].tolist()


@pytest.mark.parametrize(
    ("bounds", "map", "repeats"),
    [
        ((3, 6), lambda i, j: (i, j), False),
        ((3, 6), lambda i, j: (j - j, i), True),
        ((3, 2), lambda i, j: (i, j * 2), False),
        ((2, 3), lambda i, j: (0, i * 2 + j), True),
        ((2, 2), lambda i, j: (0, i * 2 + j), False),
        ((1, 6), lambda i, j: (0, j), False),
        ((2, 6), lambda i, j: (0, j), True),
    ],
)
def test_elements_of_several_points(
    bounds: tuple[int, ...], map: Map, repeats: bool
) -> None:
    loops = Loops(bounds, (False, False))
    assert Access(X, seen(map), loops).repeats is repeats


@pytest.mark.parametrize(
    ("bound", "map", "message"),
    [
        (5, lambda i: (i, 0), "indexes 4 in an axis of 4 elements"),
        (2, lambda i: (i - 1, 0), "indexes -1 in an axis of 4 elements"),
        (3, lambda i: (i * -2 + 3, 0), "indexes -1 in an axis of 4 elements"),
        (3, lambda i: (i, i * 3), "indexes 6 in an axis of 6 elements"),
        (
            3,
            lambda i: (i // 2, 0),
            "has the indexing (d0 floordiv 2), which is not linear",
        ),
    ],
)
def test_places_outside(bound: int, map: Map, message: str) -> None:
    with pytest.raises(Poison) as caught:
        Access(X, seen(map), Loops((bound,), (False,)))
    assert str(caught.value) == message


@pytest.mark.parametrize("reduces", [False, True])
def test_loops_without_points(reduces: bool) -> None:
    """Nothing is read; but what a reduction without points leaves alone is."""
    outside = seen(lambda i, j: (i + 9, 0))
    Access(X, outside, Loops((0, 3), (False, False)))
    far = seen(lambda i, j: (j + 9, 0))
    if not reduces:
        Access(X, far, Loops((0, 3), (False, False)))
        return
    with pytest.raises(Poison):
        Access(X, far, Loops((0, 3), (True, False)))


def test_bounds_from_tensors() -> None:
    maps = [seen(lambda a, b, c: (b, a + c)), seen(lambda a, b, c: (c, a))]
    assert infer_bounds(maps, [(2, 9), (4, 5)]) == (5, 2, 4)
    assert infer_bounds([seen(lambda: ())], [()]) == ()


@pytest.mark.parametrize(
    ("maps", "shapes", "message"),
    [
        (
            [lambda a, b, c: (b,)],
            [(3,)],
            "has a loop d0 whose bound no operand tells",
        ),
        (
            [lambda a, b, c: (a, b + c)],
            [(3, 4)],
            "has a loop d1 whose bound no operand tells",
        ),
        ([lambda a: (a,)] * 2, [(3,), (4,)], "has a loop d0 of both 3 and 4 steps"),
    ],
)
def test_bounds_that_no_tensor_gives(
    maps: Sequence[Map], shapes: Sequence[tuple[int, ...]], message: str
) -> None:
    """The first of these loops is named."""
    with pytest.raises(Poison) as caught:
        infer_bounds([*map(seen, maps)], shapes)
    assert str(caught.value) == message


def test_counters_of_each_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of parallel loops in all three, of those that reduce in the body alone."""
    monkeypatch.setattr(nest, "BLOCK_LANES", 2)
    interpreter = make_interpreter(ModuleOp([]))
    loops = Loops((3, 2, 2), (False, True, False))
    out = np.zeros((3, 2), np.int64)
    refused: list[str] = []
    points: list[int] = []

    def ask() -> None:
        with pytest.raises(Poison) as caught:
            loop_counter(interpreter, 1)
        refused.append(str(caught.value))

    def init(lanes: Any) -> Any:
        ask()
        return (loop_counter(interpreter, 0) * 100 + loop_counter(interpreter, 2),)

    def body(lanes: Any, totals: Any) -> Any:
        points.append(loop_counter(interpreter, 1).item())
        return (totals[0] + 10 * loop_counter(interpreter, 1),)

    def epilogue(lanes: Any, totals: Any) -> Any:
        ask()
        return totals

    outputs = [(out, seen(lambda i, k, j: (i, j)))]
    evaluate_nest(
        interpreter, loops, [], outputs, init=init, body=body, epilogue=epilogue
    )
    assert out.tolist() == [[10, 11], [110, 111], [210, 211]]
    assert points == [0, 1] * 3
    assert refused == ["asks for reduction loop 1 outside the reduction"] * 6
    with pytest.raises(Poison, match="stands outside a loop nest"):
        loop_counter(make_interpreter(ModuleOp([])), 0)


@pytest.mark.parametrize(
    ("map", "message"),
    [
        (lambda i, k: (k, 0), "writes at a place that depends on a reduction loop"),
        (
            lambda i, k: (0, 0),
            "writes an element at more than one point of its parallel loops",
        ),
    ],
)
def test_outputs_that_are_not_defined(map: Map, message: str) -> None:
    def none(*_: Any) -> Any:
        raise AssertionError("no region runs")

    with pytest.raises(Poison) as caught:
        evaluate_nest(
            make_interpreter(ModuleOp([])),
            Loops((3, 2), (False, True)),
            [],
            [(X.copy(), seen(map))],
            init=none,
            body=none,
            epilogue=none,
        )
    assert str(caught.value) == message
