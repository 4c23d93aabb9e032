"""Which loop of a nest has lanes and how many, and which one has columns."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from qlower.codegen.nests.nest import analyse
from qlower.codegen.skeletons.loops import plan_loops
from qlower.codegen.targets.resolve import resolve_target
from qlower.dialects.kernel import NestOp
from qlower.text.parsing import parse_module

AVX2 = resolve_target("x86_64-linux-gnu", "x86-64-v3")
"""16 registers of 256 bits."""

SSE = resolve_target("x86_64-linux-gnu", "x86-64-v2")
"""16 registers of 128 bits."""

PART = {"d0": 64, "d1": 24, "d2": 5, "d3": 3, "d4": 4}
"""Steps of loops that nests may have."""

Operand = tuple[str, str]
"""The loops that index a tensor, and its elements' type."""


def nest(loops: str, inputs: Sequence[Operand], result: Operand) -> NestOp:
    """A nest over the loops; those that the result has no index of are reductions."""
    names = loops.split()
    indices, scalar = result
    parallel = [PART[one] for one in names if one in indices]
    reduction = [PART[one] for one in names if one not in indices]

    def tensor(operand: Operand) -> str:
        sizes = [str(PART[one]) for one in operand[0].split()]
        return f"tensor<{'x'.join(sizes)}x{operand[1]}>"

    maps = ", ".join(
        f"affine_map<({', '.join(names)}) -> ({', '.join(own.split())})>"
        for own, _ in (*inputs, result)
    )
    types = [tensor(one) for one in inputs]
    given = ", ".join(f"%x{n}: {type}" for n, type in enumerate(types))
    read = ", ".join(f"%a{n}: {one[1]}" for n, one in enumerate(inputs))
    number = f"""%start = arith.constant 0 : {scalar}
      kernel.yield %start : {scalar}"""
    regions = f"epilogue {{ ^bb0({read}): {number} }}"
    if reduction:
        both = f"{read}, %sum: {scalar}"
        regions = f"""init {{ ^bb0({read}): {number} }}
      body {{ ^bb0({both}):
        %next = arith.addi %sum, %sum : {scalar}
        kernel.yield %next : {scalar} }}
      epilogue {{ ^bb0({both}): kernel.yield %sum : {scalar} }}"""
    text = f"""func.func @main({given}) -> {tensor(result)} {{
      %y = kernel.nest {"loop" if reduction else "map"} parallel {parallel}
        {f"reduction {reduction}" if reduction else ""} maps [{maps}]
        ins({", ".join(f"%x{n}" for n in range(len(inputs)))} : {", ".join(types)})
        {regions} -> {tensor(result)} in [#kernel.output<0>]
      return %y : {tensor(result)}
    }}"""
    module = parse_module(text, "test.mlir")
    (found,) = (op for op in module.walk() if isinstance(op, NestOp))
    return found


@pytest.mark.parametrize(
    ("inputs", "lanes"),
    [
        # four registers of sums where all lanes are read together
        ([("d2 d0", "i8")], (32, 16)),
        ([("d2", "i8")], (32, 16)),
        ([("d2 d0", "i8"), ("d2 d0", "i32")], (32, 16)),
        # one where some are read one by one
        ([("d0 d2", "i8")], (8, 4)),
        ([("d2 d0", "i8"), ("d0 d2", "i8")], (8, 4)),
        ([("d0 d2", "i8"), ("d2 d0", "i8")], (8, 4)),
        # two where squares are read
        ([("d0 d2", "i32")], (16, 8)),
        ([("d0 d2", "i32"), ("d2 d0", "i8")], (16, 8)),
        ([("d0 d2", "i32"), ("d0 d2", "i8")], (8, 4)),
    ],
)
def test_lanes_of_sums(inputs: list[Operand], lanes: tuple[int, int]) -> None:
    own = analyse(nest("d0 d2", inputs, ("d0", "i32")))
    plans = [plan_loops(target, own) for target in (AVX2, SSE)]
    assert [plan.lane_loop for plan in plans] == [0, 0]
    assert tuple(plan.lanes[0].width for plan in plans) == lanes
    assert [(plan.column_loop, plan.woven_loop) for plan in plans] == [(None, None)] * 2


@pytest.mark.parametrize(("scalar", "lanes"), [("i8", 16), ("i32", 16), ("i64", 8)])
def test_sums_of_columns(scalar: str, lanes: int) -> None:
    """Two registers of sums for each of four columns, but for wide numbers."""
    inputs = [("d0 d2", "i8"), ("d2 d1", "i8")]
    plan = plan_loops(AVX2, analyse(nest("d0 d1 d2", inputs, ("d0 d1", scalar))))
    assert (plan.lane_loop, plan.column_loop) == (1, 0)
    assert plan.lanes[0].width == lanes
    assert [(one.width, one.repeat) for one in plan.columns] == [(4, 16)]


@pytest.mark.parametrize(
    ("loops", "source", "scalar", "lane_loop", "lanes", "column_loop", "woven"),
    [
        ("d0 d1", "d0 d1", "i8", 0, 32, None, None),
        ("d0 d1", "d0", "i8", 1, 16, None, None),
        ("d0 d1", "d0 d1", "i64", 0, 8, None, None),
        # squares of four bytes are read along the other loop
        ("d0 d1", "d1 d0", "i32", 1, 8, 0, None),
        ("d0 d1", "d1 d0", "i8", 1, 16, None, None),
        ("d0 d1", "d1 d0", "i64", 1, 8, None, None),
        # a short loop is interleaved, where the one outside of it is read in order
        ("d0 d3", "d3 d0", "i8", 0, 32, None, 1),
        ("d1 d0 d3", "d1 d3 d0", "i32", 1, 8, None, 2),
        ("d0 d3", "d0", "i8", 0, 32, None, 1),
        ("d0 d3", "d3", "i8", 0, 32, None, 1),
        ("d0 d4", "d4 d0", "i8", 0, 32, None, 1),
        ("d0 d2", "d2 d0", "i8", 1, 4, None, None),
        ("d1 d0 d3", "d3 d0 d1", "i8", 2, 2, None, None),
    ],
)
def test_lanes_of_elements(
    loops: str,
    source: str,
    scalar: str,
    lane_loop: int,
    lanes: int,
    column_loop: int | None,
    woven: int | None,
) -> None:
    own = analyse(nest(loops, [(source, scalar)], (loops, scalar)))
    plan = plan_loops(AVX2, own)
    assert (plan.lane_loop, plan.lanes[0].width) == (lane_loop, lanes)
    assert (plan.column_loop, plan.woven_loop) == (column_loop, woven)
    assert sum(one.repeat * one.width for one in plan.lanes) == own.bounds[lane_loop]
