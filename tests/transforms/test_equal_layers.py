"""Equal layers are made and checked once: the others get copies of what was made."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest
from xdsl.ir import Operation, SSAValue

from qlower.codegen.nests.content import classes_of_equal
from qlower.compilation.passes import apply_passes
from qlower.compilation.to_arith import lower_to_arith
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import NestOp
from qlower.model.entry import main_function
from qlower.model.printing import exact_module
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module
from qlower.transforms.drop_channels.spans import find_spans
from qlower.transforms.form_kernels import FormKernelsPass
from qlower.transforms.lower_qnn import lowering

LAYERS = """
!a = !quant.uniform<i8:f32, 5.0e-01>
!b = !quant.uniform<i8:f32, 2.5e-01>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<1x2x!a>, %y: tensor<1x2x!a>) -> tensor<1x2x!a> {
    %w = qnn.constant dense<1> : tensor<2x2xi8> -> tensor<2x2x!a>
    %same = qnn.constant dense<1> : tensor<2x2xi8> -> tensor<2x2x!a>
    %other = qnn.constant dense<2> : tensor<2x2xi8> -> tensor<2x2x!a>
    %0 = qnn.linear %x, %w : (tensor<1x2x!a>, tensor<2x2x!a>) -> tensor<1x2x!a>
    %1 = qnn.linear %0, %same : (tensor<1x2x!a>, tensor<2x2x!a>) -> tensor<1x2x!a>
    %2 = qnn.linear %1, %other : (tensor<1x2x!a>, tensor<2x2x!a>) -> tensor<1x2x!a>
    %3 = qnn.linear %2, %w {contract = "tflite-xnnpack"}
       : (tensor<1x2x!a>, tensor<2x2x!a>) -> tensor<1x2x!a>
    %4 = qnn.add %3, %y : (tensor<1x2x!a>, tensor<1x2x!a>) -> tensor<1x2x!a>
    %5 = qnn.add %4, %4 : (tensor<1x2x!a>, tensor<1x2x!a>) -> tensor<1x2x!a>
    %6 = qnn.add %x, %5 : (tensor<1x2x!a>, tensor<1x2x!a>) -> tensor<1x2x!b>
    %7 = qnn.requantize %6 : (tensor<1x2x!b>) -> tensor<1x2x!a>
    %8 = qnn.add %7, %x : (tensor<1x2x!a>, tensor<1x2x!a>) -> tensor<1x2x!a>
    func.return %8 : tensor<1x2x!a>
  }
}
"""
"""Layers that are equal, and others by a weight, a contract, a type, and by what they
read twice."""


def _lowered() -> str:
    return exact_module(lower_to_arith(parse_module(LAYERS, "layers.mlir")))


@pytest.mark.parts(3)
def test_equal_layers_are_lowered_as_each_alone(monkeypatch: pytest.MonkeyPatch):
    seen: list[Hashable] = []
    parts = lowering._parts  # pyright: ignore[reportPrivateUsage]

    def noted(op: Operation, operands: Sequence[SSAValue]) -> Hashable:
        seen.append(parts(op, operands))
        return seen[-1]

    monkeypatch.setattr(lowering, "_parts", noted)
    together = _lowered()
    known = [found for found in seen if found is not None]
    assert len(known) - len(set(known)) == 2  # %1 is as %0, and %8 as %4
    monkeypatch.setattr(lowering, "_parts", lambda *_: None)
    assert together == _lowered()


@pytest.mark.parametrize(
    "wrong",
    [
        '"arith.addi"(%x, %y) : (i32, i64) -> i32',
        '"arith.trunci"(%x) : (i32) -> i32',
        '"arith.trunci"(%y) : (i64) -> i64',
        '"arith.cmpi"(%x, %x) : (i32, i32) -> i32',
    ],
)
def test_operations_are_checked_after_others_of_their_kind(wrong: str):
    text = f"""
func.func @main(%x: i32, %y: i64) -> i32 {{
  %0 = arith.addi %x, %x : i32
  %1 = arith.trunci %y : i64 to i32
  %2 = {wrong}
  func.return %0 : i32
}}
"""
    module = parse_module(text, "wrong.mlir")
    with pytest.raises(QlowerError, match="arith"):
        verify_module(module)


HALVES = """
!a = !quant.uniform<i8:f32, 5.0e-01>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<1x2x!a>) -> tensor<1x2x!a> {
    %w = qnn.constant dense<[[1, 0], [0, 0]]> : tensor<2x2xi8> -> tensor<2x2x!a>
    %0 = qnn.linear %x, %w : (tensor<1x2x!a>, tensor<2x2x!a>) -> tensor<1x2x!a>
    %1 = qnn.linear %0, %w : (tensor<1x2x!a>, tensor<2x2x!a>) -> tensor<1x2x!a>
    %2 = qnn.linear %1, %w : (tensor<1x2x!a>, tensor<2x2x!a>) -> tensor<1x2x!a>
    func.return %2 : tensor<1x2x!a>
  }
}
"""


def test_spans_of_equal_layers_are_those_of_their_inputs():
    arith = lower_to_arith(parse_module(HALVES, "halves.mlir"))
    block = main_function(apply_passes(arith, [FormKernelsPass()])).body.block
    nests = [op for op in block.ops if isinstance(op, NestOp)]
    equal = classes_of_equal(nests)
    assert list(equal.values()) == [0, 0, 0]
    spans = find_spans(block, equal)
    ends = [[end.tolist() for end in spans[nest.res[0]]] for nest in nests]
    assert ends == [[[-end, 0], [end, 0]] for end in (64, 32, 16)]
