"""Planes and joined staircases, by hand: their columns, operations and groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block

from qlower.dialects.kernel import NestOp
from qlower.text.parsing import parse_module
from qlower.transforms.prove_epilogues.byte_functions import (
    ByteFunction,
    byte_functions,
)
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.planes import Plane, prove_plane
from qlower.transforms.prove_epilogues.staircase import (
    Staircase,
    find_staircase,
)
from qlower.transforms.prove_epilogues.steps import find_steps
from qlower.transforms.prove_epilogues.together import (
    in_groups,
    slices,
    steps_of_each,
)

CASES = [(0, 0), (1, 2), (127, 255), (128, 3), (255, 128)]
"""The bits of two bytes."""


def block_of(arguments: str, lines: str, result: str) -> Block:
    text = f"func.func @f({arguments}) {{\n{lines}\nfunc.return {result}\n}}"
    (function,) = parse_module(text, "test.mlir").ops
    assert isinstance(function, FuncOp)
    return function.body.block


def between_bytes(lines: str, extended: str = "extsi extsi") -> str:
    """Lines that make %y of %a and %b, which are extended to %x and %z."""
    first, second = extended.split()
    return f"""
      %x = arith.{first} %a : i8 to i32
      %z = arith.{second} %b : i8 to i32
      {lines}
      %y = fixed.saturate %s : i32 to i8"""


def of_bytes(lines: str) -> ByteFunction:
    (found,) = byte_functions(block_of("%a: i8, %b: i8", lines, "%y : i8"))
    return found


SUM = between_bytes("%s = arith.addi %x, %z : i32")
HALF = between_bytes("""
  %one = arith.constant 1 : i32
  %s = arith.shrsi %x, %one : i32""")
PRODUCT = """
  %p = arith.constant 5 : i32
  %q = arith.constant -3 : i32
  %m = arith.subi %x, %p : i32
  %n = arith.addi %z, %q : i32
  %product = arith.muli %m, %n : i32
  %c6 = arith.constant 6 : i32
  %r = fixed.shift_right %product, %c6 {rounding = ROUNDING} : i32
  %zero = arith.constant ZERO : i32
  %s = arith.addi %r, %zero : i32"""


def product(rounding: str, zero: int, extended: str = "extsi extui") -> str:
    text = PRODUCT.replace("ROUNDING", rounding).replace("ZERO", str(zero))
    return between_bytes(text, extended)


@pytest.mark.parametrize(
    ("zero_points", "odd", "want"),
    [
        ((), False, [(0, 0, 1), (1, 2, 1), (127, 255, 1), (-128, 3, 1), (-1, 128, 1)]),
        ((5, 3), False, [(15, 1), (4, 1), (122 * 252, 1), (0, 1), (-6 * 125, 1)]),
        ((5, 3), True, [(15, 1), (4, 1), (122 * 252, 1), (0, 1), (-6 * 125, -1)]),
    ],
)
def test_columns_of_planes(
    zero_points: tuple[int, ...], odd: bool, want: list[tuple[int, ...]]
) -> None:
    """The first source has a sign, the second none."""
    order = (0,) if zero_points else (0, 1)
    function = of_bytes(product("half_even", 0))
    columns = Plane(function, True, order, zero_points, odd).columns
    assert columns.shape == (256 * 256, len(order) + 1)
    assert [tuple(columns[256 * x + y]) for x, y in CASES] == want


@pytest.mark.parametrize(
    ("lines", "fused", "form"),
    [
        (HALF, True, "fma"),
        (SUM, True, "2 x fma"),
        (SUM, False, "2 x mul, add"),
        (product("half_away", 0), True, "fma of product"),
        (product("floor", 6), False, "mul, add of product"),
        (product("half_even", 0), False, "odd mul, add of product"),
        (product("half_even", 7), True, "odd fma of product"),
        (product("half_up", -9, "extui extsi"), True, "fma of product"),
    ],
)
def test_forms_of_planes(lines: str, fused: bool, form: str) -> None:
    """What is written has the function's bits in all cases, and the stated cost."""
    function = of_bytes(lines)
    plane = prove_plane(function, fused=fused, limit=1000)
    assert plane is not None
    assert str(plane) == form
    assert len(plane.coefficients) == len(plane.order) + 1
    written = plane.write()
    values: Values = dict(zip(function.sources, function.grid, strict=True))
    run_scalars(written, values)
    result = written[-1].results[0]
    assert result.type == i8
    np.testing.assert_array_equal(function.flat(values[result]), function.bits)
    found = plane.bits(np.array(plane.coefficients, np.float32))
    np.testing.assert_array_equal(found, function.bits)
    cost = plane.form.cost
    others = prove_plane(function, fused=fused, limit=cost)
    assert others is None or others.form.cost < cost


@pytest.mark.parametrize(
    "lines", [between_bytes("%s = arith.xori %x, %z : i32"), product("toward_zero", 0)]
)
def test_what_no_plane_is(lines: str) -> None:
    assert prove_plane(of_bytes(lines), fused=True, limit=1000) is None


SHIFTED = """
  %sum = arith.addi %acc, %c : i32
  %two = arith.constant 2 : i32
  %y = arith.shrsi %sum, %two : i32"""
BOTH = "%low, %high = arith.mulsi_extended %acc, %c : i32"


def staircase(
    lines: str,
    added: Sequence[int] | int,
    result: str = "%y",
    channels: int = 2,
) -> Staircase:
    """A function of -40 ... 40 and of what is added in each channel."""
    block = block_of("%acc: i32, %c: i32", lines, f"{result} : i32")
    last = block.last_op
    assert isinstance(last, ReturnOp)
    accumulator, constant = block.args
    return Staircase(
        last.operands[0],
        (channels,),
        tuple(block.ops)[:-1],
        accumulator,
        {constant: np.array(added, np.int32)},
        np.full(channels, -40),
        np.full(channels, 40),
    )


@pytest.mark.parametrize(
    ("lines", "result", "is_joined"),
    [
        (SHIFTED, "%y", True),
        (SHIFTED.replace("constant 2", "constant 3"), "%y", False),
        (SHIFTED.replace("%acc, %c", "%c, %acc"), "%y", False),
        (SHIFTED.replace("%sum, %two", "%two, %sum"), "%y", False),
        (SHIFTED.replace("shrsi", "shrui"), "%y", False),
        (SHIFTED + "\n%z = arith.addi %y, %c : i32", "%z", False),
        (SHIFTED, "%sum", False),
    ],
)
def test_which_staircases_are_joined(lines: str, result: str, is_joined: bool) -> None:
    pair = [staircase(SHIFTED, [1, 2]), staircase(lines, [3, 4], result)]
    assert [*in_groups(pair)] == ([[0, 1]] if is_joined else [[0], [1]])


def test_results_of_one_operation_are_apart() -> None:
    halves = [staircase(BOTH, [1, 2], result) for result in ("%low", "%high", "%low")]
    assert [*in_groups(halves)] == [[0, 2], [1]]


def test_results_of_other_types_are_apart() -> None:
    lines = """
      %w = arith.extsi %acc : i32 to i64
      %y = arith.trunci %w : i64 to i32"""
    pair = [staircase(one, 1) for one in (lines, lines.replace("i64", "i48"), lines)]
    assert [*in_groups(pair)] == [[0, 2], [1]]


@pytest.mark.parametrize(
    ("counts", "want"),
    [
        ([], []),
        ([3000], [[0]]),
        ([1000, 24], [[0, 1]]),
        ([1000, 25], [[0], [1]]),
        ([500, 524, 1, 1023, 1], [[0, 1], [2, 3], [4]]),
        ([1, 3000, 2], [[0], [1], [2]]),
    ],
)
def test_groups_have_1024_channels(counts: list[int], want: list[list[int]]) -> None:
    group = [staircase(SHIFTED, 1, channels=count) for count in counts]
    assert [*in_groups(group)] == want


def test_slices_follow_each_other() -> None:
    assert [*slices([2, 0, 3])] == [slice(0, 2), slice(2, 2), slice(2, 5)]
    assert [*slices([])] == []


@pytest.mark.parametrize(
    "added",
    [
        [[1, 2]],
        [[1, 2], [3, 30]],
        [1, 1],
        [1, 2, 2],
        [1, [4, 5]],
        [[1, 2], [1, 2]],
    ],
)
def test_joined_staircases_step_as_each_does(added: list[list[int] | int]) -> None:
    """Whether the constants of a staircase are one number or one for each channel."""
    group = [staircase(SHIFTED, lanes) for lanes in added]
    found = steps_of_each(group)
    assert len(found) == len(group)
    for steps, own in zip(found, group, strict=True):
        alone = find_steps(own, own.low, own.high)
        assert steps is not None
        assert alone is not None
        for name in ("low", "high", "bottom", "top", "places"):
            one, other = getattr(steps, name), getattr(alone.trimmed(), name)
            np.testing.assert_array_equal(one, other)
        channels = np.arange(2)[:, np.newaxis]
        x, values = steps.points
        np.testing.assert_array_equal(own(channels, x), values)


def test_only_what_has_no_steps_has_none() -> None:
    """Levels that are far from a line are not found soon, alone or in a group."""
    lines = """
      %square = arith.muli %acc, %acc : i32
      %cube = arith.muli %square, %acc : i32
      %y = arith.shrsi %cube, %c : i32"""
    bent, even = staircase(lines, [7, 7]), staircase(lines, [16, 16])
    assert [steps is None for steps in steps_of_each([bent])] == [True]
    found = [steps is None for steps in steps_of_each([even, bent, even])]
    assert found == [False, True, False]


@pytest.mark.parametrize(("middle", "steps"), [(128, 2), (127, 1), (129, 1)])
def test_all_accumulators_are_looked_at_and_no_others(middle: int, steps: int) -> None:
    """The low byte falls beyond them, at the first one, or at the last one."""
    text = """
      func.func @main(%x: tensor<2x1xi8>) -> tensor<2xi32> {
        %w = arith.constant dense<1> : tensor<1xi8>
        %y = kernel.nest contraction parallel [2] reduction [1]
          maps [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (i)>,
                affine_map<(n, i) -> (n)>]
          ins(%x, %w : tensor<2x1xi8>, tensor<1xi8>) init {
        ^bb0(%a: i8, %f: i8):
          %zero = arith.constant 0 : i32
          kernel.yield %zero : i32
        } body {
        ^bb0(%a: i8, %f: i8, %sum: i32):
          %wide = arith.extsi %a : i8 to i32
          %weight = arith.extsi %f : i8 to i32
          %product = arith.muli %wide, %weight : i32
          %next = arith.addi %sum, %product : i32
          kernel.yield %next : i32
        } epilogue {
        ^bb0(%a: i8, %f: i8, %sum: i32):
          %middle = arith.constant MIDDLE : i32
          %mask = arith.constant 255 : i32
          %moved = arith.addi %sum, %middle : i32
          %low = arith.andi %moved, %mask : i32
          kernel.yield %low : i32
        } -> tensor<2xi32>
        return %y : tensor<2xi32>
      }"""
    module = parse_module(text.replace("MIDDLE", str(middle)))
    (nest,) = (op for op in module.walk() if isinstance(op, NestOp))
    found = find_staircase(nest)
    assert found is not None
    assert (found.low.tolist(), found.high.tolist()) == ([-128], [127])
    assert [op.name for op in found.ops] == ["arith.addi", "arith.andi"][:steps]
