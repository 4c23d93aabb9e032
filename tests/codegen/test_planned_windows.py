"""How loops and windows are cut, and pixels joined, before code is written for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.layers.windows import Window, analysed

from qlower.codegen.nests.point import Segment, overlapping, split, split_lanes
from qlower.codegen.nests.recognise import Contraction, DepthwiseProducts, recognise
from qlower.codegen.skeletons.depthwise.emit import plan_window
from qlower.codegen.skeletons.depthwise.taps import cut_at_edges, tap_offset
from qlower.codegen.skeletons.tile_registers.joined_pixels import join_pixels
from qlower.codegen.targets.resolve import resolve_target

VECTORS = resolve_target("x86_64-linux-gnu", "x86-64-v3")
MASKS = resolve_target("x86_64-linux-gnu", "x86-64-v4")
WIDENS = resolve_target("thumbv8.1m.main-none-eabi", "cortex-m55")


def covered(segments: Sequence[Segment]) -> list[int]:
    """Each step's places, in order."""
    return [
        place
        for segment in segments
        for step in range(segment.repeat)
        for place in range(
            min(segment.start + step * segment.width, segment.last or 1 << 30),
            min(segment.start + step * segment.width, segment.last or 1 << 30)
            + segment.width,
        )
    ]


SPLITS: list[tuple[int, int, list[tuple[int, int, int]]]] = [
    (0, 4, []),
    (8, 4, [(0, 2, 4)]),
    (11, 4, [(0, 2, 4), (8, 1, 2), (10, 1, 1)]),
    (3, 8, [(0, 1, 2), (2, 1, 1)]),
    (13, 6, [(0, 2, 6), (12, 1, 1)]),
]


@pytest.mark.parametrize(("bound", "width", "wanted"), SPLITS)
def test_smaller_powers_of_two(
    bound: int, width: int, wanted: list[tuple[int, int, int]]
) -> None:
    found = split(bound, width)
    assert found == tuple(Segment(*one) for one in wanted)
    assert covered(found) == [*range(bound)]


@pytest.mark.parametrize("may_repeat", [False, True])
@pytest.mark.parametrize(
    ("bound", "width", "apart", "repeated"),
    [
        (8, 4, [(0, 2, 4)], [(0, 2, 4)]),
        (3, 4, [(0, 1, 3)], [(0, 1, 3)]),
        (11, 4, [(0, 2, 4), (8, 1, 3)], [(0, 3, 4, 7)]),
        (5, 4, [(0, 1, 4), (4, 1, 1)], [(0, 2, 4, 1)]),
    ],
)
def test_the_last_step_may_repeat(
    bound: int,
    width: int,
    apart: list[tuple[int, ...]],
    repeated: list[tuple[int, ...]],
    may_repeat: bool,
) -> None:
    found = overlapping(bound, width, may_repeat=may_repeat)
    wanted = repeated if may_repeat else apart
    assert found == tuple(Segment(*one) for one in wanted)
    assert sorted(set(covered(found))) == [*range(bound)]


@pytest.mark.parametrize(
    ("target", "bound", "width", "wanted"),
    [
        (VECTORS, 27, 16, [(0, 1, 16), (16, 1, 8), (24, 1, 2), (26, 1, 1)]),
        (MASKS, 59, 32, [(0, 1, 32), (32, 1, 16), (48, 1, 11)]),
        (MASKS, 52, 32, [(0, 1, 32), (32, 1, 16), (48, 1, 4)]),
        (MASKS, 3, 16, [(0, 1, 3)]),
        (WIDENS, 27, 8, [(0, 3, 8), (24, 3, 1)]),
        (WIDENS, 30, 8, [(0, 3, 8), (24, 1, 4), (28, 2, 1)]),
        (WIDENS, 28, 8, [(0, 3, 8), (24, 1, 4)]),
    ],
)
def test_lanes(
    target: Any, bound: int, width: int, wanted: list[tuple[int, ...]]
) -> None:
    """A rest is one vector where others are masked, and single lanes where there are
    no smaller vectors."""
    found = split_lanes(target, bound, width)
    assert found == tuple(Segment(*one) for one in wanted)
    assert covered(found) == [*range(bound)]


def depthwise(**given: Any) -> DepthwiseProducts:
    window = Window(10, 12, 8, 8, (3, 3), groups=8, depthwise=True)
    found = recognise(analysed(replace(window, **given)))
    assert isinstance(found, DepthwiseProducts)
    return found


def test_offsets_of_taps() -> None:
    products = depthwise(stride=(1, 2), dilation=(2, 1))
    assert tap_offset(products, (0, 0), 0, 1) == 0
    assert tap_offset(products, (1, 2), 3, 1) == 8 * (12 * 2 + 2 + 3 * 2)
    assert tap_offset(products, (2, 1), 3, None) == 8 * (12 * 4 + 1)


@pytest.mark.parametrize(
    ("stride", "padding", "inner"),
    [
        # rows above and below, columns before and after; the columns wholly inside
        (1, (1, 1, 1, 1), range(1, 9)),
        (1, (1, 1, 0, 0), range(10)),
        (1, (0, 0, 2, 0), range(2, 10)),
        (2, (0, 0, 1, 2), range(1, 4)),
        (2, (1, 0, 2, 1), range(1, 5)),
    ],
)
def test_columns_inside(
    stride: int, padding: tuple[int, int, int, int], inner: range
) -> None:
    """Of single columns and pairs: a pair is inside where both are."""
    products = depthwise(stride=(1, stride), padding=padding)
    columns = products.nest.bounds[1]
    for width in (1, 2):
        found = cut_at_edges(products, 1, split(columns, width))
        assert covered([segment for segment, _ in found]) == [*range(columns)]
        for segment, is_inside in found:
            assert segment.repeat == 1 or is_inside
            for step in range(segment.repeat):
                start = segment.start + step * segment.width
                places = range(start, start + segment.width)
                assert is_inside is all(place in inner for place in places)
        assert sum(is_inside for _, is_inside in found) <= 1 + columns % 2
    whole = split(columns, 4)
    assert cut_at_edges(products, None, whole) == [(one, True) for one in whole]


@pytest.mark.parametrize("target", [VECTORS, MASKS, WIDENS])
@pytest.mark.parametrize("kernel", [(3, 3), (4, 5), (2, 2), (5, 5)])
def test_steps_of_a_window(target: Any, kernel: tuple[int, int]) -> None:
    """They have each tap once, as many together as a product takes; columns cover a
    row."""
    products = depthwise(kernel=kernel)
    plan = plan_window(target, products)
    taps = [tap for step in plan.steps for tap in step.taps]
    assert sorted(taps) == [*np.ndindex(kernel)]
    assert max(len(step.taps) for step in plan.steps) <= plan.dot.depth
    assert plan.column_loop == 1
    assert covered(plan.columns) == [*range(products.nest.bounds[1])]
    assert max(one.width for one in plan.columns) <= min(
        8, target.vector_registers // 4
    )


@pytest.mark.parametrize(
    ("kernel", "stride", "sizes", "first"),
    [
        ((3, 3), 1, [3, 3, 3], [(0, 0), (1, 0), (2, 0)]),
        ((3, 3), 2, [3, 3, 3], [(0, 0), (1, 0), (2, 0)]),
        ((2, 2), 1, [4], [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ((5, 5), 1, [4, 1] * 5, [(0, 0), (1, 0), (2, 0), (3, 0)]),
        ((5, 5), 3, [4] * 6 + [1], [(0, 0), (0, 1), (0, 2), (0, 3)]),
    ],
)
def test_taps_that_pixels_share(
    kernel: tuple[int, int],
    stride: int,
    sizes: list[int],
    first: list[tuple[int, int]],
) -> None:
    """Neighbours read the next column: taps of a column are together where that saves
    more loads than it takes steps."""
    plan = plan_window(VECTORS, depthwise(kernel=kernel, stride=(1, stride)))
    assert [len(step.taps) for step in plan.steps] == sizes
    assert [*plan.steps[0].taps] == first


def contraction(**given: Any) -> Contraction:
    found = recognise(analysed(replace(Window(4, 8, 16, 6), **given)))
    assert isinstance(found, Contraction)
    return found


@pytest.mark.parametrize(
    ("outputs", "count"),
    [(8, 2), (4, 4), (2, 8), (12, 4), (6, 8), (10, 8), (14, 8), (5, None)],
)
def test_pixels_that_fill_vectors(outputs: int, count: int | None) -> None:
    """As few as make whole vectors of 16 lanes, 8 at most."""
    products = contraction(outputs=outputs)
    found = join_pixels(products, 16)
    if count is None:
        assert found is None
        return
    assert found is not None
    assert found.count == count
    lane = products.lane
    assert found.nest.bounds[lane] == count * outputs
    others = [n for loop, n in enumerate(found.nest.bounds) if loop != lane]
    assert others == [n for loop, n in enumerate(products.nest.bounds) if loop != lane]
    bias, before = (
        next(one for one in of.inputs if one.data and one.scalar == "i32")
        for of in (found.nest, products.nest)
    )
    assert before.data is not None
    assert bias.data == before.data * count
    assert bias.strides[lane] == 1
    assert not any(s for loop, s in enumerate(bias.strides) if loop != lane)


@pytest.mark.parametrize(
    "given", [{"outputs": 16}, {"outputs": 24}, {"outputs": 12, "groups": 2}]
)
def test_pixels_that_stay_apart(given: dict[str, int]) -> None:
    """Where channels fill a vector, or are in groups."""
    assert join_pixels(contraction(**given), 16) is None
