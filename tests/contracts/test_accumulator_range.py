"""Accumulator ranges: reached exactly, found by trying the extreme inputs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from qlower.contracts.accumulator_range import (
    AccumulatorRange,
    accumulator_range,
    sum_bounds,
)
from qlower.dialects import qnn
from qlower.inspection.layer_table import layer_statistics
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

LINEAR = """
!x = !quant.uniform<i8<-3:4>:f32, 5.000000e-01:1>
!w = !quant.uniform<u8:f32, 5.000000e-01:5>
!y = !quant.uniform<i8:f32, 5.000000e-01>
func.func @main(%x: tensor<1x3x!x>) -> tensor<1x2x!y> {
  %w = qnn.constant dense<[[0, 9, 255], [5, 5, 4]]> : tensor<2x3xi8> -> tensor<2x3x!w>
  %b = arith.constant dense<[10, -2000]> : tensor<2xi32>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x3x!x>, tensor<2x3x!w>, tensor<2xi32>) -> tensor<1x2x!y>
  return %y : tensor<1x2x!y>
}
"""

CONV = """
!x = !quant.uniform<u8:f32, 5.000000e-01:PADDING>
!w = !quant.uniform<i8:f32, 5.000000e-01>
func.func @main(%x: tensor<1x2x2x1x!x>) -> tensor<1x2x2x1x!x> {
  %w = qnn.constant dense<[[[[1], [2]]]]> : tensor<1x1x2x1xi8> -> tensor<1x1x2x1x!w>
  %y = qnn.conv2d %x, %w {stride = [1, 1], pad = [0, 0, 0, 1], dilation = [1, 1]}
    : (tensor<1x2x2x1x!x>, tensor<1x1x2x1x!w>) -> tensor<1x2x2x1x!x>
  return %y : tensor<1x2x2x1x!x>
}
"""


def test_linear_against_all_extreme_inputs():
    module = parse_module(LINEAR)
    verify_module(module)
    (op,) = (op for op in module.walk() if isinstance(op, qnn.LinearOp))
    weights = np.array([[0, 9, 255], [5, 5, 4]]) - 5
    sums = [
        weights @ (np.array(x) - 1) + [10, -2000] for x in product((-3, 4), repeat=3)
    ]
    expected = AccumulatorRange(int(np.min(sums)), int(np.max(sums)))
    assert accumulator_range(op) == expected
    (row,) = layer_statistics(module)
    assert (row.work, row.constant_bytes, row.result_bytes) == (6, 14, 2)


@pytest.mark.parametrize(
    ("zero_point", "expected"), [(0, (0, 765)), (255, (-765, 0)), (100, (-300, 465))]
)
def test_padding_adds_nothing(zero_point: int, expected: tuple[int, int]):
    module = parse_module(CONV.replace("PADDING", str(zero_point)))
    (op,) = (op for op in module.walk() if isinstance(op, qnn.Conv2DOp))
    assert accumulator_range(op) == AccumulatorRange(*expected)


@pytest.mark.parametrize(
    ("low", "high", "bits"),
    [(0, 0, 1), (-1, 0, 1), (0, 1, 2), (-128, 127, 8), (-129, 0, 9), (0, 128, 9)],
)
def test_bits(low: int, high: int, bits: int):
    assert AccumulatorRange(low, high).bits == bits


COMPUTED = """
!x = !quant.uniform<i8<-3:4>:f32, 5.000000e-01:1>
!w = !quant.uniform<i8<-2:3>:f32:0, {5.000000e-01:-5,5.000000e-01:7}>
!y = !quant.uniform<i8:f32, 5.000000e-01>
func.func @main(%x: tensor<1x2x!x>, %w: tensor<2x2x!w>) -> tensor<1x2x!y> {
  %y = qnn.linear %x, %w : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!y>
  return %y : tensor<1x2x!y>
}
"""


def test_computed_weights_with_a_zero_point_for_each_channel():
    """The bounds hold every sum of both channels, and the farthest one is reached."""
    module = parse_module(COMPUTED)
    verify_module(module)
    (op,) = (op for op in module.walk() if isinstance(op, qnn.LinearOp))
    x, w = np.arange(-3, 5) - 1, np.arange(-2, 4)
    sums = 2 * np.concatenate([np.outer(x, w - zero).ravel() for zero in (-5, 7)])
    low, high = sum_bounds(op, saturates=False)
    assert (low.max(), high.min()) == (sums.min(), sums.max())
    low, high = sum_bounds(op, saturates=True)
    assert low.max() < sums.min()
    assert high.min() > sums.max()


def test_a_real_bias_counts_as_the_contract_quantizes_it() -> None:
    real = LINEAR.replace(
        "dense<[10, -2000]> : tensor<2xi32>", "dense<[2.5, -500.0]> : tensor<2xf32>"
    )
    real = real.replace("tensor<2xi32>", "tensor<2xf32>")
    module = parse_module(real)
    verify_module(module)
    ranges = [
        layer_statistics(module, contract=contract)[0].accumulator
        for contract in ("tflite", "pytorch-fbgemm", None)
    ]
    (op,) = (op for op in parse_module(LINEAR).walk() if isinstance(op, qnn.LinearOp))
    assert ranges[0] == accumulator_range(op)
    assert ranges[1] == accumulator_range(op, np.zeros((), np.int64))
    assert ranges[2] is None
