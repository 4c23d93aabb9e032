"""Bands of rows by hand: what each needs, and that all make the whole result."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qlower.dialects.types import tensor_type
from qlower.interp import run_function
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module
from qlower.transforms.split_layers.bands import (
    Divisible,
    DivisibleCopy,
    DivisibleNest,
    Rows,
    bands_of,
    divisible,
    needed_by,
)

CHAIN = """
func.func @main(%x: tensor<1x9x4xi8>) -> tensor<1x6x6xi8> {
  %w = arith.constant dense<[3, -2, 1]> : tensor<3xi8>
  %p = kernel.copy %x[0, 0, 0] [1, 9, 4] [1, 1, 1] into fill(3 : i8)[0, 2, 1] [1, 1, 1]
    : tensor<1x9x4xi8> into tensor<1x12x6xi8>
  %c = kernel.nest window parallel [1, 5, 6] reduction [3]
    maps [affine_map<(d0, d1, d2, d3) -> (d0, READ, d2)>,
          affine_map<(d0, d1, d2, d3) -> (d3)>,
          affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
    ins(%p, %w : tensor<1x12x6xi8>, tensor<3xi8>) init {
    ^bb0(%v: i8, %f: i8):
      %zero = arith.constant 7 : i8
      kernel.yield %zero : i8
    } body {
    ^bb0(%v: i8, %f: i8, %s: i8):
      %t = arith.muli %v, %f : i8
      %n = arith.addi %t, %s : i8
      kernel.yield %n : i8
    } epilogue {
    ^bb0(%v: i8, %f: i8, %s: i8):
      kernel.yield %s : i8
    } -> tensor<1x5x6xi8>
  %m = kernel.nest map parallel [1, 5, 6]
    maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
          affine_map<(d0, d1, d2) -> (d0, d1 + 4, d2)>,
          affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
    ins(%c, %p : tensor<1x5x6xi8>, tensor<1x12x6xi8>) epilogue {
    ^bb0(%v: i8, %u: i8):
      %n = arith.subi %v, %u : i8
      kernel.yield %n : i8
    } -> tensor<1x5x6xi8>
  %q = kernel.copy %m[0, 1, 0] [1, 3, 6] [1, 1, 1] into fill(9 : i8)[0, 2, 0] [1, 1, 1]
    : tensor<1x5x6xi8> into tensor<1x6x6xi8>
  return %q : tensor<1x6x6xi8>
}
"""
READS = ["d1 * 2 + d3", "d1 * 2 - d3 + 2"]


def chain(read: str) -> tuple[ModuleOp, FuncOp, list[Divisible]]:
    module = parse_module(CHAIN.replace("READ", read), "test.mlir")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    found = [divisible(op) for op in function.body.block.ops]
    return module, function, [one for one in found if one is not None]


@pytest.mark.parametrize("read", READS)
def test_what_is_read_for_a_row(read: str) -> None:
    _, _, (padded, sums, mapped, placed) = chain(read)
    assert isinstance(padded, DivisibleCopy)
    assert isinstance(placed, DivisibleCopy)
    assert isinstance(sums, DivisibleNest)
    assert isinstance(mapped, DivisibleNest)
    assert [padded.work, sums.work, mapped.work, placed.work] == [0, 18, 6, 0]
    assert (sums.loop, [*sums.reads]) == (1, [(2, 0, 2), None])
    assert (mapped.loop, [*mapped.reads]) == (1, [(1, 0, 0), (1, 4, 4)])
    pad, weights = sums.op.inputs
    assert sums.reads_by_rows(pad)
    assert not sums.reads_by_rows(weights)
    assert placed.reads_by_rows(mapped.op.results[0])
    assert not placed.reads_by_rows(pad)


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ((0, 6), {"q": (0, 6), "m": (1, 4), "c": (1, 4), "p": (2, 9), "x": (0, 7)}),
        ((0, 3), {"q": (0, 3), "m": (1, 2), "c": (1, 2), "p": (2, 6), "x": (0, 4)}),
        ((3, 4), {"q": (3, 4), "m": (2, 3), "c": (2, 3), "p": (4, 7), "x": (2, 5)}),
        ((4, 6), {"q": (4, 6), "m": (3, 4), "c": (3, 4), "p": (6, 9), "x": (4, 7)}),
        ((0, 2), None),
        ((5, 6), None),
    ],
)
@pytest.mark.parametrize("read", READS)
def test_rows_that_a_band_needs(
    rows: tuple[int, int], wanted: dict[str, tuple[int, int]] | None, read: str
) -> None:
    _, function, ops = chain(read)
    found = needed_by(ops, Rows(*rows))
    if wanted is None:
        assert found is None
        return
    assert found is not None
    (x,) = function.body.block.args
    names = {value: value.name_hint for value in found} | {x: "x"}
    assert {names[v]: (r.start, r.stop) for v, r in found.items()} == wanted
    assert all(one.count == one.stop - one.start for one in found.values())


@pytest.mark.parts(4)
@pytest.mark.parametrize("cuts", [[0, 6], [0, 3, 6], [0, 3, 4, 6], [0, 4, 6]])
@pytest.mark.parametrize("begin", [0, 1])
@pytest.mark.parametrize("read", READS)
def test_bands_make_the_whole(cuts: list[int], begin: int, read: str) -> None:
    """Each value of a band has that band's rows alone; what comes before the layers
    that are cut is read where it is."""
    x = np.random.default_rng(0).integers(-128, 128, (1, 9, 4), np.int8)
    module, function, ops = chain(read)
    (wanted,) = run_function(module, "main", [x])
    cut = ops[begin:]
    heights = [
        needed[each.op.results[0]].count
        for start, stop in pairwise(cuts)
        if (needed := needed_by(cut, Rows(start, stop)))
        for each in cut
    ]
    new = bands_of(cut, cuts)
    block, last = function.body.block, cut[-1].op
    block.insert_ops_before(new, last)
    last.results[0].replace_all_uses_with(new[-1].results[0])
    for each in reversed(cut):
        block.erase_op(each.op)
    verify_module(module)
    size = len(cut) + 1
    assert len(new) == size * (len(cuts) - 1)
    made = [op for number, op in enumerate(new) if number % size < len(cut)]
    assert [tensor_type(op.results[0]).get_shape()[1] for op in made] == heights
    np.testing.assert_array_equal(run_function(module, "main", [x])[0], wanted)


def elements(
    reads: str = "d0, d1, d2",
    writes: str = "d0, d1, d2",
    source: str = "%x",
    more: str = "",
    results: int = 1,
) -> str:
    """A nest that copies elements, as they are indexed."""
    maps = ", ".join(
        f"affine_map<(d0, d1, d2) -> ({own})>" for own in (reads, *[writes] * results)
    )
    types = ", ".join(["tensor<4x4x4xi8>"] * results)
    values = ", ".join(["%v"] * results), ", ".join(["i8"] * results)
    names = "%r" if results == 1 else f"%r:{results}"
    return f"""{names} = kernel.nest map parallel [4, 4, 4] maps [{maps}]
      ins({source} : tensor<4x4x4xi8>) epilogue {{
      ^bb0(%v: i8):
        {more}
        kernel.yield {values[0]} : {values[1]}
      }} -> {types}"""


def moved(source: str, into: str, step: int = 1, rank: int = 3) -> str:
    """A copy of every element, or of each `step`-th row's."""
    sizes = [4] * rank
    sizes[rank > 1] //= step
    steps = [1] * rank
    steps[rank > 1] = step
    shape = "x".join(map(str, sizes))
    type = "x".join(["4"] * rank)
    return f"""%r = kernel.copy {source}{[0] * rank} {sizes} {steps}
      into {into}{[0] * rank} {[1] * rank}
      : tensor<{type}xi8> into tensor<{shape}xi8>"""


@pytest.mark.parametrize(
    ("line", "is_divisible"),
    [
        (elements(), True),
        (elements(writes="d1, d0, d2"), False),
        (elements(reads="d1, d0, d2", writes="d1, d0, d2"), True),
        (elements(reads="d0, d2, d1"), False),
        (elements(reads="d0, d0, d2"), True),
        (elements(source="%w"), False),
        (elements(reads="d0, d0, d2", source="%w"), True),
        (elements(more="%i = kernel.index 0 : index"), False),
        (elements(results=2), False),
        (moved("%x", "empty"), True),
        (moved("%x", "%y"), False),
        (moved("%w", "empty"), False),
        (moved("%x", "empty", step=2), False),
        (moved("%line", "empty", rank=1), False),
    ],
)
def test_what_is_cut_into_bands(line: str, is_divisible: bool) -> None:
    module = parse_module(f"""
      func.func @main(%x: tensor<4x4x4xi8>, %y: tensor<4x4x4xi8>,
                      %line: tensor<4xi8>) {{
        %w = arith.constant dense<1> : tensor<4x4x4xi8>
        {line}
        return
      }}""")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    *_, op, _ = function.body.block.ops
    assert (divisible(op) is not None) == is_divisible
