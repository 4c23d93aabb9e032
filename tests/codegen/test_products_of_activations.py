"""Sums of products of two activations, as in attention, over odd shapes."""

from __future__ import annotations

import numpy as np
import pytest
from support.native import compile_text, generic_levels, guarded_runs, levels

from qlower.model.signature import Array

LEVELS = sorted(set(levels()) - set(generic_levels()))
SHAPES = ((1, 5, 64, 70), (2, 9, 7, 64), (3, 4, 13, 5), (1, 1, 8, 133), (2, 17, 3, 1))
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


def check(text: str, factors: list[Array], want: Array, level: str) -> None:
    for (got,) in guarded_runs(compile_text(text, levels()[level]), factors):
        np.testing.assert_array_equal(got.reshape(want.shape), want)


@pytest.mark.parts(5)
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
