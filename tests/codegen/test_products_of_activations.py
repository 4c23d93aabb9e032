"""Sums of products of two activations, as in attention, over odd shapes."""

from __future__ import annotations

import numpy as np
import pytest
from support.machines.native import compile_text, generic_levels, guarded_runs, levels

from qlower.codegen.nests.nest import analyse
from qlower.codegen.skeletons.choose import Skeletons
from qlower.codegen.skeletons.contraction.of_activations import PairPlan
from qlower.codegen.skeletons.loops import LoopPlan
from qlower.codegen.targets.resolve import resolve_target
from qlower.dialects.kernel import NestOp
from qlower.model.signature import Array
from qlower.text.parsing import parse_module

LEVELS = sorted(set(levels()) - set(generic_levels()))
SHAPES = (
    *((1, 5, 64, 70), (2, 9, 7, 64), (3, 4, 13, 5), (1, 1, 8, 133), (2, 17, 3, 1)),
    *((3, 8, 8, 8), (2, 21, 35, 37), (1, 11, 66, 133)),
)
"""Matrices, rows, the length of a sum, columns."""


def nest(shape: tuple[int, int, int, int], scalars: str, regions: str) -> str:
    """A function of both factors, whose elements and results are `scalars`."""
    count, rows, length, columns = shape
    element, result = scalars.split()
    x, w, y = (
        f"tensor<{count}x{size}x{scalar}>"
        for size, scalar in (
            (f"{rows}x{length}", element),
            (f"{length}x{columns}", element),
            (f"{rows}x{columns}", result),
        )
    )
    loops = "affine_map<(d0, d1, d2, d3) ->"
    return f"""
    func.func @main(%x: {x}, %w: {w}) -> {y} {{
      %y = kernel.nest loop parallel [{count}, {rows}, {columns}] reduction [{length}]
          maps [{loops} (d0, d1, d3)>, {loops} (d0, d3, d2)>, {loops} (d0, d1, d2)>]
          ins(%x, %w : {x}, {w}) {regions} -> {y} in [#kernel.output<0>]
      return %y : {y}
    }}"""


def of_bytes(x_type: str, x_zero: int, w_type: str, w_zero: int) -> str:
    """Regions that sum the products of bytes less their zero points, from 9 on."""
    return f"""init {{
      ^bb0(%a: i8, %b: i8):
        %nine = arith.constant 9 : i32
        kernel.yield %nine : i32
      }} body {{
      ^bb0(%a: i8, %b: i8, %acc: i32):
        %xe = arith.ext{x_type}i %a : i8 to i32
        %we = arith.ext{w_type}i %b : i8 to i32
        %x0 = arith.constant {x_zero} : i32
        %w0 = arith.constant {w_zero} : i32
        %xc = arith.subi %xe, %x0 : i32
        %wc = arith.subi %we, %w0 : i32
        %p = arith.muli %xc, %wc : i32
        %sum = arith.addi %acc, %p : i32
        kernel.yield %sum : i32
      }} epilogue {{
      ^bb0(%a: i8, %b: i8, %acc: i32):
        kernel.yield %acc : i32
      }}"""


def check(text: str, factors: list[Array], want: Array, level: str) -> None:
    for (got,) in guarded_runs(compile_text(text, levels()[level]), factors):
        np.testing.assert_array_equal(got.reshape(want.shape), want)


@pytest.mark.parts(48)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_floats_are_summed_in_order(level: str, shape: tuple[int, int, int, int]):
    """By one fused multiplication and addition after the other."""
    count, rows, length, columns = shape
    rng = np.random.default_rng(length)
    # 11 bits each: what is rounded is the sum alone
    x, w = (
        rng.integers(-1000, 1001, size).astype(np.float32) * np.float32(2.0**-7)
        for size in ((count, rows, length), (count, length, columns))
    )
    want = np.zeros((count, rows, columns), np.float32)
    for k in range(length):
        product = x[:, :, k, None].astype(np.float64) * w[:, None, k]
        want = (product + want).astype(np.float32)
    regions = """init {
      ^bb0(%a: f32, %b: f32):
        %zero = arith.constant 0.0 : f32
        kernel.yield %zero : f32
      } body {
      ^bb0(%a: f32, %b: f32, %acc: f32):
        %sum = math.fma %a, %b, %acc : f32
        kernel.yield %sum : f32
      } epilogue {
      ^bb0(%a: f32, %b: f32, %acc: f32):
        kernel.yield %acc : f32
      }"""
    check(nest(shape, "f32 f32", regions), [x, w], want, level)


@pytest.mark.parts(144)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "zeros",
    [("u", 131, "u", 124), ("s", -7, "s", 0), ("u", 0, "s", 3), ("s", 5, "u", 128)],
)
def test_bytes_of_any_sign(
    level: str, shape: tuple[int, int, int, int], zeros: tuple[str, int, str, int]
):
    """With zero points; sums modulo 2^32 are exact."""
    check_bytes(level, shape, *zeros)


@pytest.mark.parametrize("columns", [17, 18, 20, 31])
@pytest.mark.parametrize("level", [x for x in LEVELS if "vnni" in x or "dotp" in x])
def test_columns_beyond_the_last_whole_vector(level: str, columns: int):
    """From a single one on, where one factor is packed."""
    check_bytes(level, (2, 9, 9, columns), "s", 5, "us"[columns % 2], 3)


def check_bytes(
    level: str,
    shape: tuple[int, int, int, int],
    x_type: str,
    x_zero: int,
    w_type: str,
    w_zero: int,
) -> None:
    count, rows, length, columns = shape
    rng = np.random.default_rng(length)
    x = rng.integers(-128, 128, (count, rows, length)).astype(np.int8)
    w = rng.integers(-128, 128, (count, length, columns)).astype(np.int8)
    x[:, 0], w[:, :, 0] = -128, 127
    numbers = [
        (a.view(np.uint8) if type == "u" else a).astype(np.int64) - zero
        for a, type, zero in ((x, x_type, x_zero), (w, w_type, w_zero))
    ]
    want = (numbers[0] @ numbers[1] + 9).astype(np.int32)
    regions = of_bytes(x_type, x_zero, w_type, w_zero)
    check(nest(shape, "i8 i32", regions), [x, w], want, level)


def test_dot_products_multiply_two_activations():
    """Where the target has them, one factor is packed."""
    text = nest((1, 16, 64, 64), "i8 i32", of_bytes("u", 3, "s", 0))
    module = parse_module(text, "test.mlir")
    (op,) = (op for op in module.walk() if isinstance(op, NestOp))
    for cpu, kind in (("cascadelake", PairPlan), ("x86-64-v3", LoopPlan)):
        target = resolve_target("x86_64-unknown-linux-gnu", cpu)
        assert isinstance(Skeletons(target, analyse(op)).of(analyse(op), None), kind)
