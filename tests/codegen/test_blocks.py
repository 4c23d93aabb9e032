"""The loop of a nest that threads share, and the sizes of its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I64, POINTER, constant
from qlower.codegen.nests.blocks import (
    Blocks,
    block_of,
    moves_constant,
    plan_blocks,
    plan_channel_blocks,
    plan_copy_blocks,
    starting_at,
)
from qlower.codegen.nests.edges import Edge
from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.operand import Operand


def operand(strides: Sequence[int], data: bytes | None = None, **given: Any) -> Operand:
    return Operand("i16", "i16", tuple(strides), 0, data, **given)


def nest(
    bounds: Sequence[int], results: Sequence[int], *inputs: Operand, **given: Any
) -> Any:
    """A nest without regions that ask for an index."""
    fields = {
        **{"parallel": tuple(bounds), "bounds": tuple(bounds), "inputs": inputs},
        **{"results": [operand(results)], "index_loops": range(len(bounds))},
        **{"op": SimpleNamespace(regions=())},
    }
    return SimpleNamespace(**fields | given)


MICRO = 1000.0


@pytest.mark.parametrize(
    ("bounds", "strides", "nanoseconds", "threads", "wanted"),
    [
        # many blocks a thread where there is time enough for each
        ((100, 64), (64, 1), 800 * MICRO, 2, Blocks(0, 8, 13, 9, 4)),
        ((100, 64), (64, 1), 60 * MICRO, 2, Blocks(0, 6, 17, 15, 3)),
        ((100, 64), (64, 1), 39 * MICRO, 2, Blocks(0, 2, 50, 50, 1)),
        ((100, 64), (64, 1), 5 * MICRO, 4, Blocks(0, 4, 25, 25, 1)),
        # an inner loop where the outer one is short, by whole vectors
        ((3, 1024), (1024, 1), 20 * MICRO, 4, Blocks(1, 4, 256, 256, 1)),
        ((3, 1000), (1000, 1), 20 * MICRO, 4, Blocks(1, 4, 256, 232, 1)),
        ((1, 100), (100, 1), 20 * MICRO, 4, Blocks(1, 2, 64, 36, 1)),
        ((1, 60), (60, 1), 20 * MICRO, 4, None),
        ((1, 1), (1, 1), 20 * MICRO, 2, None),
        # too little work, or one thread
        ((100, 64), (64, 1), 2.4 * MICRO, 2, None),
        ((100, 64), (64, 1), 2.5 * MICRO, 2, Blocks(0, 2, 50, 50, 1)),
        ((100, 64), (64, 1), 800 * MICRO, 1, None),
    ],
)
def test_blocks(
    bounds: Sequence[int],
    strides: Sequence[int],
    nanoseconds: float,
    threads: int,
    wanted: Blocks | None,
) -> None:
    assert plan_blocks(nest(bounds, strides), nanoseconds, 0, threads) == wanted


def test_bytes_count_as_work() -> None:
    """Those that one thread would fetch from the caches of others."""
    one = nest((100, 64), (64, 1))
    assert plan_blocks(one, 500.0, 49_999, 2) is None
    assert plan_blocks(one, 500.0, 50_000, 2) == Blocks(0, 2, 50, 50, 1)


def test_loops_that_move_constants_stay_whole() -> None:
    weights = operand((1, 0), b"\0" * 200)
    one = nest((100, 128), (128, 1), operand((128, 1)), weights)
    assert (moves_constant(one, 0), moves_constant(one, 1)) == (True, False)
    assert plan_blocks(one, 20 * MICRO, 0, 2) == Blocks(1, 2, 64, 64, 1)
    fixed = nest((100,), (1,), weights)
    assert plan_blocks(fixed, 20 * MICRO, 0, 2) is None


def test_blocks_of_channels_and_copies() -> None:
    products: Any = SimpleNamespace(lane=1, nest=nest((1, 100), (100, 1)))
    found = plan_channel_blocks(products, 16, 20 * MICRO, 0, 3)
    assert found == Blocks(1, 3, 48, 4, 1)
    assert plan_channel_blocks(products, 100, 20 * MICRO, 0, 3) is None
    assert plan_channel_blocks(products, 16, 20 * MICRO, 0, 1) is None
    assert plan_copy_blocks(10, 20 * MICRO, 0, 3) == Blocks(0, 3, 4, 2, 1)
    assert plan_copy_blocks(1, 20 * MICRO, 0, 3) is None
    assert plan_copy_blocks(None, 20 * MICRO, 0, 3) is None
    assert plan_copy_blocks(10, 1 * MICRO, 0, 3) is None


def test_iterations() -> None:
    blocks = Blocks(0, 3, 48, 4, 1)
    assert blocks.bounds() == [48, 48, 4]
    assert blocks.ranges() == [range(48), range(48, 96), range(96, 100)]


def whole(*inputs: Operand) -> LoopNest:
    op: Any = SimpleNamespace(regions=())
    result = operand((5, 1), pointer=None)
    return LoopNest(op, (6, 5), (), inputs, (result,), (0, 1), None, {}, None)


def test_a_block_by_itself() -> None:
    """Its operands begin where its first iteration reads and writes."""
    f = Function(Module("", ""), "f", [POINTER, I64], [""] * 2)
    pointer, first = f.arguments
    edge = Edge((2, 0), constant(I64, -1), 9)
    given = whole(
        operand((3, 1), pointer=pointer, edges=(edge,)), operand((0, 1), b"\0" * 10)
    )
    block = block_of(given, 0, 2)
    assert block.parallel == (2, 5)
    moved = starting_at(f, block, 0, constant(I64, 4))
    assert moved.inputs[1] is given.inputs[1]
    assert moved.inputs[0].edges == (Edge((2, 0), constant(I64, 7), 9),)
    assert f"i8, ptr %a0, i64 {4 * 3 * 2}" in str(f)
    assert moved.results[0].pointer is None
    same = starting_at(f, block_of(given, 1, 3), 1, first)
    assert same.channels is not None
    assert (same.channels.first, same.channels.count) == (first, 3)
    assert same.parallel == (6, 5)
    assert same.inputs == given.inputs
