"""The skeletons of nests, and the ways to cut them, without code for any."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.layers.windows import Window, analysed

from qlower.codegen.skeletons.choose import Skeletons, scratch_bytes
from qlower.codegen.skeletons.contraction.tiling import VectorPlan
from qlower.codegen.skeletons.contraction.widened import WidenedPlan
from qlower.codegen.skeletons.depthwise.emit import WindowPlan
from qlower.codegen.skeletons.depthwise.routine import RoutinePlan
from qlower.codegen.skeletons.tile_registers.plan import TiledContraction
from qlower.codegen.targets.resolve import resolve_target
from qlower.dialects.kernel import ScratchAttr, TileAttr, TileRegistersAttr

VECTORS = resolve_target("x86_64-linux-gnu", "x86-64-v3")
TILES = resolve_target("x86_64-linux-gnu", "sapphirerapids")
SMALL = resolve_target("thumbv7em-none-eabi", "cortex-m4")

POINTS = Window(8, 8, 64, 32)
WINDOW = Window(9, 9, 8, 8, (3, 3), groups=8, depthwise=True)


def test_a_depthwise_window() -> None:
    """It isn't cut; a routine needs memory."""
    for target, kind in ((VECTORS, WindowPlan), (SMALL, RoutinePlan)):
        one = analysed(WINDOW)
        skeletons = Skeletons(target, one)
        assert skeletons.weights is None
        assert skeletons.estimated_schedule() is None
        assert skeletons.schedules() == []
        assert isinstance(skeletons.of(one, None), kind)
    for bytes_, kind in ((0, WindowPlan), (8, RoutinePlan)):
        one = analysed(WINDOW)
        one.op.scratch = ScratchAttr(0, bytes_)
        assert isinstance(Skeletons(SMALL, one).of(one, None), kind)


def test_vectors() -> None:
    """The best tile by estimate comes first, and no other twice."""
    one = analysed(POINTS)
    skeletons = Skeletons(VECTORS, one)
    best = skeletons.estimated_schedule()
    assert isinstance(best, TileAttr)
    found = skeletons.schedules()
    assert found[0] == best
    assert len(found) == len(set(found)) > 3
    assert TileRegistersAttr() not in found
    plan = skeletons.of(one, None)
    assert isinstance(plan, VectorPlan)
    assert (plan.tiling.height, plan.tiling.width) == (
        best.rows.data,
        best.vectors.data,
    )
    cut = skeletons.of(one, TileAttr(2, 1))
    assert isinstance(cut, VectorPlan)
    assert cut.tiling.width == 1
    assert skeletons.channels_of_tile() == plan.channels
    assert scratch_bytes(plan) == 0


def test_tile_registers() -> None:
    one = analysed(replace(POINTS, height=32, width=32, channels=128, outputs=128))
    skeletons = Skeletons(TILES, one)
    assert skeletons.estimated_schedule() == TileRegistersAttr()
    assert skeletons.schedules()[0] == TileRegistersAttr()
    assert skeletons.schedules().count(TileRegistersAttr()) == 1
    assert isinstance(skeletons.of(one, None), TiledContraction)
    few = Skeletons(TILES, analysed(Window(2, 2, 64, 16)))
    best, registers, *_ = few.schedules()
    assert isinstance(best, TileAttr)
    assert registers == TileRegistersAttr()


@pytest.mark.parametrize(("bytes_", "kind"), [(0, VectorPlan), (8, WidenedPlan)])
def test_a_routine_where_there_is_memory(bytes_: int, kind: type) -> None:
    """It takes all rows and channels, so that there is nothing to estimate."""
    one = analysed(POINTS)
    one.op.scratch = ScratchAttr(0, bytes_)
    skeletons = Skeletons(SMALL, one)
    plan = skeletons.of(one, None)
    assert isinstance(plan, kind)
    assert (scratch_bytes(plan) > 0) is (kind is WidenedPlan)
    assert (skeletons.estimated_schedule() is None) is (kind is WidenedPlan)
    assert isinstance(skeletons.of(one, TileAttr(1, 1)), VectorPlan)
    assert len(skeletons.schedules()) > 1
