"""Elements whose lanes are apart in memory, read by squares, over odd shapes."""

from __future__ import annotations

import numpy as np
import pytest
from support.machines.native import compile_text, generic_levels, guarded_runs, levels

from qlower.model.signature import Array

LEVELS = sorted(set(levels()) - set(generic_levels()))
TYPES = {"i8": np.int8, "i32": np.int32, "f32": np.float32}


def drawn(type: str, *shape: int) -> Array:
    rng = np.random.default_rng(sum(shape))
    return rng.integers(-100, 100, shape).astype(TYPES[type])


def check(text: str, x: Array, want: Array, level: str) -> None:
    for (got,) in guarded_runs(compile_text(text, levels()[level]), [x]):
        np.testing.assert_array_equal(got.reshape(want.shape), want)


@pytest.mark.parts(48)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("type", ["i8", "f32"])
@pytest.mark.parametrize(
    ("rows", "length"), [(8, 16), (37, 41), (70, 5), (133, 32), (33, 1)]
)
def test_rows_are_reduced_in_order(level: str, type: str, rows: int, length: int):
    """By steps that don't commute; one of them knows where it is."""
    x = drawn(type, rows, length)
    want = np.ones(rows, np.int32)
    for k in range(length):
        want = want * np.int32(3) - x[:, k].astype(np.int32) + np.int32(k)
    widened = "fixed.convert" if type == "f32" else "arith.extsi"
    rounding = " {rounding = floor}" if type == "f32" else ""
    text = f"""
    func.func @main(%x: tensor<{rows}x{length}x{type}>) -> tensor<{rows}xi32> {{
      %y = kernel.nest row parallel [{rows}] reduction [{length}]
          maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]
          ins(%x : tensor<{rows}x{length}x{type}>) init {{
          ^bb0(%a: {type}):
            %one = arith.constant 1 : i32
            kernel.yield %one : i32
          }} body {{
          ^bb0(%a: {type}, %acc: i32):
            %three = arith.constant 3 : i32
            %w = {widened} %a{rounding} : {type} to i32
            %d = kernel.index 1 : index
            %k = arith.index_cast %d : index to i32
            %m = arith.muli %acc, %three : i32
            %s = arith.subi %m, %w : i32
            %r = arith.addi %s, %k : i32
            kernel.yield %r : i32
          }} epilogue {{
          ^bb0(%a: {type}, %acc: i32):
            kernel.yield %acc : i32
          }} -> tensor<{rows}xi32> in [#kernel.output<0>]
      return %y : tensor<{rows}xi32>
    }}"""
    check(text, x, want, level)


@pytest.mark.parts(12)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("type", ["i8", "i32"])
@pytest.mark.parametrize("shape", [(2, 16, 64), (3, 37, 70), (1, 130, 21), (2, 5, 8)])
def test_transposes(level: str, type: str, shape: tuple[int, int, int]):
    """Rows and columns of matrices that lie row by row."""
    count, rows, columns = shape
    x = drawn(type, rows, count, columns)
    source = f"tensor<{rows}x{count}x{columns}x{type}>"
    result = f"tensor<{count}x{columns}x{rows}x{type}>"
    text = f"""
    func.func @main(%x: {source}) -> {result} {{
      %y = kernel.nest map parallel [{count}, {columns}, {rows}]
          maps [affine_map<(d0, d1, d2) -> (d2, d0, d1)>,
                affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
          ins(%x : {source}) epilogue {{
          ^bb0(%a: {type}):
            kernel.yield %a : {type}
          }} -> {result} in [#kernel.output<0>]
      return %y : {result}
    }}"""
    check(text, x, x.transpose(1, 2, 0), level)
