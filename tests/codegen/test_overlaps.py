"""How far before an input a nest's result must begin to overwrite nothing unread."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.codegen.nests.operand import Operand
from qlower.codegen.nests.point import Segment
from qlower.codegen.skeletons import memory

inner: Any = vars(import_module("qlower.codegen.skeletons.memory"))

Steps = Sequence[tuple[int | None, Sequence[Segment]]]


def operand(strides: Sequence[int], offset: int = 0, scalar: str = "i8") -> Operand:
    return Operand(scalar, scalar, tuple(strides), offset, None)


def nest(read: Operand, written: Operand, bounds: Sequence[int], reduction: int) -> Any:
    parallel = bounds[: len(bounds) - reduction]
    return SimpleNamespace(
        inputs=[read], results=[written], bounds=bounds, parallel=parallel
    )


def starts_of(segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """First place and width of each step."""
    return [
        (min(one.start + n * one.width, one.last or 1 << 30), one.width)
        for one in segments
        for n in range(one.repeat)
    ]


def bytes_in_turn(one: Operand, bounds: Sequence[int], steps: Steps) -> list[set[int]]:
    """The bytes that each step touches, all of the other loops in it."""
    size = {"i8": 1, "i16": 2}[one.scalar]
    walked = [(loop, starts_of(s)) for loop, s in steps if loop is not None]
    found: list[set[int]] = []
    for places in itertools.product(*(s for _, s in walked)):
        ranges = [range(bound) for bound in bounds]
        for (loop, _), (start, width) in zip(walked, places, strict=True):
            ranges[loop] = range(start, start + width)
        touched: set[int] = set()
        for index in itertools.product(*ranges):
            at = one.offset + sum(map(int.__mul__, index, one.strides))
            touched |= {at * size + n for n in range(size)}
        found.append(touched)
    return found


def least(code: Any, steps: Steps, *, reads_first: bool) -> float:
    """The distance by trying all."""
    read = bytes_in_turn(code.nest.inputs[0], code.nest.bounds, steps)
    written = bytes_in_turn(code.nest.results[0], code.nest.bounds, steps)
    span = 1 + max(map(max, read)) + max(map(max, written)) + code.begins

    def clobbers(distance: int) -> bool:
        for step, places in enumerate(written):
            later = set[int]().union(*read[step + reads_first :])
            if any(code.begins + place - distance in later for place in places):
                return True
        return False

    # a result that begins behind the input by so much meets nothing of it
    fits = [
        d for d in range(-span, span + 1) if not any(map(clobbers, range(d, span + 1)))
    ]
    return min(fits)


ROWS = [Segment(0, 4, 1)]
CASES: dict[str, tuple[Operand, Operand, Sequence[int], int, Steps, int]] = {
    # input, result, bounds, loops that reduce, steps, and where a box begins
    "map": (operand((6, 1)), operand((6, 1)), (4, 6), 0, [(0, ROWS)], 0),
    "narrower": (operand((6, 1)), operand((3, 1)), (4, 3), 0, [(0, ROWS)], 0),
    "wider": (operand((3, 1)), operand((6, 1)), (4, 3), 0, [(0, ROWS)], 0),
    "words": (
        *(operand((6, 1)), operand((6, 1), 0, "i16"), (4, 6), 0),
        *([(0, ROWS)], 0),
    ),
    "a box": (operand((6, 1)), operand((8, 1)), (4, 6), 0, [(0, ROWS)], 9),
    "windows": (
        *(operand((12, 2, 6, 1), 3), operand((4, 1, 0, 0)), (4, 3, 2, 2), 2),
        *([(0, ROWS)], 0),
    ),
    "pairs of rows": (
        *(operand((6, 1)), operand((6, 1)), (5, 6), 0),
        *([(0, [Segment(0, 3, 2, 3)])], 0),
    ),
    "two loops": (
        *(operand((12, 4, 1)), operand((12, 4, 1)), (3, 3, 4), 0),
        *([(0, [Segment(0, 3, 1)]), (1, [Segment(0, 1, 2), Segment(2, 1, 1)])], 0),
    ),
    "columns first": (
        *(operand((1, 4)), operand((6, 1)), (4, 6), 0),
        *([(0, ROWS)], 0),
    ),
    "at once": (operand((6, 1)), operand((6, 1)), (4, 6), 0, [(None, ROWS)], 0),
}


@pytest.mark.parametrize("reads_first", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_distances(
    name: str, reads_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least that is safe, or a little more where reads leave gaps."""
    read, written, bounds, reduction, steps, begins = CASES[name]
    code = SimpleNamespace(
        nest=nest(read, written, bounds, reduction), skeleton=None, begins=begins
    )
    monkeypatch.setattr(memory, "_order", lambda *_: (steps, reads_first))
    found = inner["_distance"](code, 0)
    if name == "at once" and reads_first:
        assert found == -math.inf
        return
    wanted = least(code, steps, reads_first=reads_first)
    assert found >= wanted
    if name not in ("windows", "columns first"):
        assert found == wanted


def test_results_that_have_memory_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the order isn't known, there are several, or something goes back."""
    one = nest(operand((6, 1)), operand((6, 1)), (4, 6), 0)
    code = SimpleNamespace(nest=one, skeleton=None, begins=0)
    assert inner["_distance"](code, 0) is None
    monkeypatch.setattr(memory, "_order", lambda *_: ([(0, ROWS)], False))
    assert inner["_distance"](code, 0) == 6
    one.results.append(operand((6, 1)))
    assert inner["_distance"](code, 0) is None
    for read, written in (((6, -1), (6, 1)), ((6, 1), (-6, 1))):
        back = nest(operand(read, 30), operand(written, 30), (4, 6), 0)
        code = SimpleNamespace(nest=back, skeleton=None, begins=0)
        assert inner["_distance"](code, 0) is None
