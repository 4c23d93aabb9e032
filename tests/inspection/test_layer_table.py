"""The work of layers: how many products each one sums."""

from __future__ import annotations

from qlower.inspection.layer_table import multiply_accumulates
from qlower.text.parsing import parse_module

DEPTHWISE = """
func.func @main(%x: tensor<1x4x4x4xi8>, %w: tensor<3x3x4x2xi8>, %b: tensor<8xi32>,
    %z: tensor<1xi8>) -> tensor<1x2x2x8xi32> {
  %y = tosa.depthwise_conv2d %x, %w, %b, %z, %z {acc_type = i32,
    pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>}
    : (tensor<1x4x4x4xi8>, tensor<3x3x4x2xi8>, tensor<8xi32>, tensor<1xi8>,
       tensor<1xi8>) -> tensor<1x2x2x8xi32>
  return %y : tensor<1x2x2x8xi32>
}
"""

GROUPED = """
func.func @main(%x: tensor<1x4x4x4xf32>, %w: tensor<6x3x3x2xf32>)
    -> tensor<1x2x2x6xf32> {
  %y = qnn.real_conv2d %x, %w {stride = [1, 1], pad = [0, 0, 0, 0],
    dilation = [1, 1], groups = 2 : i64}
    : (tensor<1x4x4x4xf32>, tensor<6x3x3x2xf32>) -> tensor<1x2x2x6xf32>
  return %y : tensor<1x2x2x6xf32>
}
"""


def products(text: str) -> int:
    return sum(map(multiply_accumulates, parse_module(text).walk()))


def test_products_of_a_layer() -> None:
    assert products(DEPTHWISE) == 2 * 2 * 8 * 3 * 3
    assert products(GROUPED) == 2 * 2 * 6 * 3 * 3 * 2
