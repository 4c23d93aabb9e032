"""Additions that are read as a part of the convolution before them."""

from __future__ import annotations

import pytest

from qlower import Model
from qlower.dialects import qnn
from qlower.frontends.fused_additions import as_run_by
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

HEAD = """
!a = !quant.uniform<i8:f32, 0.5:-3>
!r = !quant.uniform<i8:f32, 0.03:-128>
!w = !quant.uniform<i8<-127:127>:f32, 0.01>
!t = tensor<1x2x2x2x!a>
!u = tensor<1x2x2x2x!r>
func.func @main(%x: !t, %o: !t) -> (!t, !t) {
  %w = qnn.constant dense<"0x7FC0812A"> : tensor<2x1x1x2xi8> -> tensor<2x1x1x2x!w>
"""
WINDOW = "stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]"
TYPES = "(!t, tensor<2x1x1x2x!w>) -> !t"
CONV = f"%c = qnn.conv2d %x, %w {{{WINDOW}}} : {TYPES}"
OTHER = CONV.replace("%c", "%d")
RELU = CONV.replace("]}", '], activation = "relu"}')
CUT = RELU.replace("-> !t", "-> !u")
ADD = "%s = qnn.add %c, %o : (!t, !t) -> !t"
PLAIN, FUSED = ["conv2d", "add"], ["conv2d_add"]


@pytest.mark.parametrize(
    ("lines", "second", "kinds"),
    [
        ([CONV, ADD], "%x", FUSED),
        ([CONV, ADD.replace("%c, %o", "%o, %c")], "%x", FUSED),
        # of two convolutions the first adds the second
        ([CONV, OTHER, ADD.replace("%o", "%d")], "%x", ["conv2d", *FUSED]),
        # a ReLU that its codes make cuts no more than their range
        ([CUT, ADD.replace("(!t,", "(!u,")], "%x", FUSED),
        ([RELU, ADD], "%x", PLAIN),
        # the convolution is read again, reads what it adds, or that is read later
        ([CONV, ADD], "%c", PLAIN),
        ([CONV, ADD.replace("%o", "%x")], "%x", PLAIN),
        (
            [CONV, ADD, "%l = qnn.add %o, %s : (!t, !t) -> !t"],
            "%l",
            [*PLAIN, "add"],
        ),
    ],
)
def test_additions(lines: list[str], second: str, kinds: list[str]) -> None:
    text = HEAD + "\n".join([*lines, f"return %s, {second} : !t, !t", "}"])
    model = Model(parse_module(text, "model.mlir"))
    read = as_run_by(model, ["openvino", "openvino-avx2"])
    assert [op.kind for op in layers(read.module) if isinstance(op, qnn.QnnOp)] == kinds
    # nobody else adds so
    assert as_run_by(model, ["openvino", "tflite"]) is model
    assert as_run_by(model, []) is model
