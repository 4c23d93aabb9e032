"""How pixels and channels are cut into tiles, and what a tile is estimated to take."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from support.layers.windows import Window, build
from support.machines.product_steps import STEPS
from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.point import Segment
from qlower.codegen.nests.recognise import Contraction, recognise
from qlower.codegen.skeletons.contraction.tiling import (
    Sizes,
    Tiling,
    choose_step,
    choose_tile,
    even_tiles,
    possible_tilings,
    tile_candidates,
    whole_tiles,
)
from qlower.codegen.skeletons.products.packing import Weights
from qlower.codegen.targets.resolve import resolve_target
from qlower.dialects.kernel import NestOp, TileAttr
from qlower.text.parsing import parse_module

inner: Any = vars(import_module("qlower.codegen.skeletons.contraction.tiling"))

SINGLES, MATRICES = STEPS["singles"][0], STEPS["matrices"][0]


@pytest.mark.parametrize(
    ("rows", "height", "whole", "even"),
    [
        (8, 4, [(0, 2, 4)], [(0, 2, 4)]),
        (11, 4, [(0, 2, 4), (8, 1, 3)], [(0, 2, 4), (8, 1, 3)]),
        (9, 4, [(0, 2, 4), (8, 1, 1)], [(0, 3, 3)]),
        (10, 4, [(0, 2, 4), (8, 1, 2)], [(0, 1, 4), (4, 2, 3)]),
        (3, 8, [(0, 1, 3)], [(0, 1, 3)]),
        (1, 1, [(0, 1, 1)], [(0, 1, 1)]),
    ],
)
def test_rows_in_tiles(
    rows: int,
    height: int,
    whole: list[tuple[int, int, int]],
    even: list[tuple[int, int, int]],
) -> None:
    assert whole_tiles(rows, height) == tuple(Segment(*one) for one in whole)
    assert even_tiles(rows, height) == tuple(Segment(*one) for one in even)


@pytest.mark.parametrize(
    ("width", "segments", "vectors", "kinds"),
    [(2, 1, 4, 1), (2, 1, 5, 2), (2, 2, 5, 4), (3, 2, 2, 2), (1, 3, 4, 3)],
)
def test_kinds_of_tiles(width: int, segments: int, vectors: int, kinds: int) -> None:
    """Each height by the whole columns, and by what is left."""
    tiling = Tiling(4, width, (Segment(0, 1, 4),) * segments, 0.0)
    assert tiling.kinds(vectors) == kinds


SIZES = Sizes(rows=9, length=10, vectors=5, chunks=6, has_row_factor=False)


def test_tilings_that_registers_hold() -> None:
    """Four are left aside; one pixel by one vector is always possible."""
    found = possible_tilings(16, SINGLES, SIZES)
    shapes = {(one.height, one.width) for one in found}
    assert shapes == {
        (height, width)
        for height in range(1, 10)
        for width in range(1, 6)
        if (height + 1) * width <= 12
    }
    assert len(found) == 2 * len(shapes)
    few = possible_tilings(4, SINGLES, SIZES)
    assert {(one.height, one.width) for one in few} == {(1, 1)}
    factor = replace(SIZES, vectors=2, has_row_factor=True)
    found = possible_tilings(16, SINGLES, factor)
    assert {one.height for one in found if one.width == 2} == {1, 2, 3}
    pairs = possible_tilings(16, MATRICES, replace(SIZES, vectors=1))
    assert max(one.height for one in pairs) == 6


@pytest.mark.parametrize(
    ("length", "height", "width", "cycles"),
    [
        # products, or as many loads, or the latency; a quarter of the loads on top
        (4, 4, 3, 12 + 0.25 * (4 + 3)),
        (4, 1, 1, 10 + 0.25 * 2),
        (4, 2, 6, 12 + 0.25 * 8),
        (4, 11, 1, 12 + 0.25 * 12),
        (10, 4, 3, 12 + 0.25 * (4 + 3)),
    ],
)
def test_cycles_of_a_chunk(length: int, height: int, width: int, cycles: float) -> None:
    assert inner["_cycles"](SINGLES, length, height, width) == cycles


def test_cycles_of_pairs_of_rows() -> None:
    """An odd one takes as long as two; weights of both halves are loaded."""
    cost = MATRICES.cost
    for height in (3, 4):
        found = inner["_cycles"](MATRICES, 16, height, 2)
        assert found == cost.of_chunk(4 * 1 / 2, 4, 4, 2)


@pytest.mark.parametrize(
    ("height", "width", "cycles"),
    [
        (1, 1, 30 + 4),
        (3, 4, 30 + 3 * 4),
        (3, 5, 30 + 3 * 4 * 2),
        (2, 7, 30 + 2 * 4 * 3),
    ],
)
def test_cycles_of_results(height: int, width: int, cycles: float) -> None:
    """Once a tile, and for each pixel and vector of bytes."""
    assert inner["_epilogue_cycles"](SINGLES, height, width) == cycles


@pytest.mark.parametrize("has_factor", [False, True])
@pytest.mark.parametrize(("height", "width"), [(4, 2), (3, 5), (9, 1)])
def test_cycles_of_a_tiling(height: int, width: int, has_factor: bool) -> None:
    """All tiles of whole columns and of the rest, with the sums of activations."""
    sizes = replace(SIZES, has_row_factor=has_factor)
    summed = width + (has_factor and width == 5)
    columns = [(summed, 5 // width), (5 % width, 1)]
    columns += [(1, 1)] * (has_factor and width < 5)
    for tiling, cut in zip(
        inner["_tilings"](SINGLES, sizes, height, width),
        (even_tiles, whole_tiles),
        strict=True,
    ):
        total = sum(
            count
            * segment.repeat
            * (
                6 * inner["_cycles"](SINGLES, 10, segment.width, w)
                + inner["_epilogue_cycles"](SINGLES, segment.width, w)
            )
            for w, count in columns
            for segment in cut(9, height)
            if w
        )
        assert tiling == Tiling(height, width, cut(9, height), total)


@pytest.mark.parametrize(("registers", "factor"), [(31, 1.02), (32, 1.04), (16, 1.02)])
def test_the_tile_that_is_chosen(registers: int, factor: float) -> None:
    """Of those that take hardly longer than the least, the one of the fewest kinds."""
    assert inner["_hardly_longer"](registers) == factor
    found = choose_tile(registers, SINGLES, SIZES)
    every = possible_tilings(registers, SINGLES, SIZES)
    least = min(one.cycles for one in every)
    assert found.cycles <= factor * least
    for one in every:
        if one.cycles <= factor * least:
            assert (found.kinds(5), found.cycles) <= (one.kinds(5), one.cycles)


@pytest.mark.parametrize(
    ("schedule", "height", "width"), [((4, 2), 4, 2), ((99, 99), 9, 5), ((1, 1), 1, 1)]
)
def test_a_schedules_tile(schedule: tuple[int, int], height: int, width: int) -> None:
    """No greater than there are pixels and channels."""
    found = choose_tile(16, SINGLES, SIZES, TileAttr(*schedule))
    assert (found.height, found.width) == (height, width)


def contraction(case: Window) -> Contraction:
    text, _, _ = build(case, 0)
    module: ModuleOp = parse_module(text)
    (op,) = (op for op in module.walk() if isinstance(op, NestOp))
    found = recognise(analyse(op))
    assert isinstance(found, Contraction)
    return found


ARM = resolve_target("aarch64-linux-gnu", "neoverse-v1")
SMALL = resolve_target("thumbv7em-none-eabi", "cortex-m4")
VECTORS = resolve_target("thumbv8.1m.main-none-eabi", "cortex-m55")
OLD = resolve_target("x86_64-linux-gnu", "x86-64-v3")


@pytest.mark.parametrize(
    ("target", "case", "name"),
    [
        (ARM, Window(4, 4, 16, 8), "MatrixStep"),
        (ARM, Window(4, 4, 8, 8), "MatrixStep"),
        (ARM, Window(4, 4, 7, 8), "SelectedBytes"),
        (ARM, Window(1, 1, 16, 8), "SelectedBytes"),
        (ARM, Window(4, 4, 16, 8, unsigned_w=True), "SelectedBytes"),
        (ARM, Window(4, 4, 16, 8, words=True), "SelectedSingles"),
        (SMALL, Window(4, 4, 16, 8), "HalvesOfBytes"),
        (SMALL, Window(4, 4, 16, 8, words=True), "StoredHalves"),
        (VECTORS, Window(4, 4, 16, 8), "WholeBytes"),
        (VECTORS, Window(4, 4, 16, 8, words=True), "WholeWords"),
        (OLD, Window(4, 4, 16, 8), "Pairs"),
        (OLD, Window(1, 1, 256, 64, nibbles=True), "SummedNibbles"),
        (OLD, Window(1, 1, 255, 64, nibbles=True), "Pairs"),
        (OLD, Window(1, 1, 256, 64), "Pairs"),
    ],
)
def test_steps_of_targets(target: Any, case: Window, name: str) -> None:
    found = contraction(case)
    weights = Weights(found)
    step, factors = choose_step(target, found, weights)
    assert type(step).__name__ == name
    assert factors.weights.shape[-1] == step.depth
    tilings = tile_candidates(target, found, weights)
    assert [one.cycles for one in tilings] == sorted(one.cycles for one in tilings)
    sizes = Sizes.of(found, factors)
    pixels = case.width if case.height > 1 else 1
    assert sizes.rows in (pixels, pixels * case.height)
    assert sizes.vectors == -(-case.outputs // step.lanes)
    assert sizes.length == case.channels
    assert sizes.chunks == -(-case.channels // step.depth)
