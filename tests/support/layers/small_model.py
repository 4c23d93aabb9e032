"""A network of three layers as text, for tests of everything around a model."""

from __future__ import annotations

SMALL_MODEL = """\
!in = !quant.uniform<i8:f32, 7.812500e-03:-128>
!w = !quant.uniform<i8<-127:127>:f32:0, {3.906250e-03,7.812500e-03}>
!mid = !quant.uniform<i8:f32, 1.562500e-02:-128>
!v = !quant.uniform<i8:f32, 1.562500e-02>
!out = !quant.uniform<u8:f32, 6.250000e-02:128>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%image: tensor<1x2x2x1x!in> {qnn.name = "image"})
      -> (tensor<1x3x!out> {qnn.name = "scores"}) {
    %w = qnn.constant dense<[[[[64]]], [[[-32]]]]> : tensor<2x1x1x1xi8>
      -> tensor<2x1x1x1x!w>
    %b = arith.constant dense<[100, -200]> : tensor<2xi32>
    %conv = qnn.conv2d %image, %w, %b
      {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
      : (tensor<1x2x2x1x!in>, tensor<2x1x1x1x!w>, tensor<2xi32>)
      -> tensor<1x2x2x2x!mid>
    %flat = qnn.reshape %conv : (tensor<1x2x2x2x!mid>) -> tensor<1x8x!mid>
    %v = qnn.constant dense<[
      [1, 2, 3, 4, 5, 6, 7, 8], [-1, 9, -2, 8, -3, 7, -4, 6], [0, 0, 50, 0, 0, 0, 0, 1]
    ]> : tensor<3x8xi8> -> tensor<3x8x!v>
    %c = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
    %scores = qnn.linear %flat, %v, %c
      : (tensor<1x8x!mid>, tensor<3x8x!v>, tensor<3xi32>) -> tensor<1x3x!out>
    return %scores : tensor<1x3x!out>
  }
}
"""
"""Input `image` (1x2x2x1 int8), layers `conv`, `flat`, `scores`, the output (uint8)."""

SIGNED_MODEL = SMALL_MODEL.replace(
    "<u8:f32, 6.250000e-02:128>", "<i8:f32, 6.250000e-02:0>"
)
"""The same for systems that have no unsigned codes."""
