"""Small models, with questions about them whose verdicts have every kind of entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.targets.resolve import host_target
from qlower.interp import Array
from qlower.model import Model
from qlower.verification.check import Verdict
from qlower.verification.equal import equal
from qlower.verification.groups import groups
from qlower.verification.native.sweep import bind_code
from qlower.verification.native.verify import native
from qlower.verification.verify import verify

Questions: TypeAlias = Mapping[str, Callable[[Model], Verdict]]

TINY = """
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.3:0>
!y = !quant.uniform<i8:f32, 1.7:-3>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<1x2x!x>) -> tensor<2x!y> {
    %w = qnn.constant dense<"0x7F01"> : tensor<1x2xi8> -> tensor<1x2x!w>
    %y = qnn.linear %x, %w : (tensor<1x2x!x>, tensor<1x2x!w>) -> tensor<1x1x!y>
    %p = qnn.pad %y {low = [0, 0], high = [0, 1]} : (tensor<1x1x!y>) -> tensor<1x2x!y>
    %z = qnn.reshape %p : (tensor<1x2x!y>) -> tensor<2x!y>
    return %z : tensor<2x!y>
  }
}
"""

QUESTIONS: Questions = {
    "equal": lambda model: verify(model, equal=("tflite", "glow-cpu")),
    "fits": lambda model: verify(model, accumulator_bits=8),
    "groups": lambda model: groups(model, ["tflite", "glow-cpu", "tflm"]),
    "native": lambda model: verify(model, native=True, cpu="host"),
}

SOFTMAX = """
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32, 0.3:0>
!y = !quant.uniform<i8:f32, 1.7:-3>
!z = !quant.uniform<i8:f32, 0.00390625:-128>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2x!z> {
  %w = qnn.constant dense<"0x7F7F0102"> : tensor<2x2xi8> -> tensor<2x2x!w>
  %y = qnn.linear %x, %w : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!y>
  %z = qnn.softmax %y : (tensor<1x2x!y>) -> tensor<1x2x!z>
  return %z : tensor<1x2x!z>
}
"""

FILLED: Questions = {
    "equal": lambda model: equal(
        "tflite",
        "tflite-xnnpack",
        model,
        layer_contracts={"y": "tflm"},
        b_layer_contracts={"y": "pytorch-fbgemm-avx2"},
    ),
    "fits": lambda model: verify(
        model,
        accumulator_bits=16,
        contract="max78000",
        order="memory",
        layer_contracts={"z": "tflite-xnnpack"},
    ),
    "groups": lambda model: groups(
        model, ["tflite", "tflite-xnnpack", "pytorch-qnnpack"]
    ),
    "native": lambda model: verify(
        model,
        native=True,
        cpu="host",
        contract="tflite",
        layer_contracts={"z": "tflm"},
    ),
}
"""Verdicts on softmax whose files have all entries that may be empty: other contracts
of layers, refusals, pairs and layers that aren't decided, registers."""

LAYERS = """
!x = !quant.uniform<i8<-127:127>:f32, 0.5:-3>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.1,0.02}>
!y = !quant.uniform<i8:f32, 1.7:5>
!v = !quant.uniform<i8:f32, 0.3>
!i = !quant.uniform<i16:f32, 0.01>
!o = !quant.uniform<i16:f32, 0.7>
func.func @main(%x: tensor<1x2x2x1x!x>) -> (tensor<1x1x1x2xf32>, tensor<1x2x!o>) {
  %w = qnn.constant dense<[[[[64]]], [[[-32]]]]> : tensor<2x1x1x1xi8>
    -> tensor<2x1x1x1x!w>
  %b = arith.constant dense<[100, -200]> : tensor<2xi32>
  %c = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (tensor<1x2x2x1x!x>, tensor<2x1x1x1x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!y>
  %p = qnn.avg_pool2d %c {kernel = [2, 2], stride = [1, 1], pad = [0, 0, 0, 0]}
    : (tensor<1x2x2x2x!y>) -> tensor<1x1x1x2x!y>
  %s = qnn.add %p, %p : (tensor<1x1x1x2x!y>, tensor<1x1x1x2x!y>) -> tensor<1x1x1x2x!x>
  %r = qnn.dequantize %s : (tensor<1x1x1x2x!x>) -> tensor<1x1x1x2xf32>
  %q = qnn.requantize %p : (tensor<1x1x1x2x!y>) -> tensor<1x1x1x2x!i>
  %f = qnn.reshape %q : (tensor<1x1x1x2x!i>) -> tensor<1x2x!i>
  %u = qnn.constant dense<[[3, 4], [-1, 120]]> : tensor<2x2xi8> -> tensor<2x2x!v>
  %d = arith.constant dense<[7, -9]> : tensor<2xi64>
  %l = qnn.linear %f, %u, %d
    : (tensor<1x2x!i>, tensor<2x2x!v>, tensor<2xi64>) -> tensor<1x2x!o>
  return %r, %l : tensor<1x1x1x2xf32>, tensor<1x2x!o>
}
"""

SEVERAL: Questions = {
    "equal": lambda model: verify(model, equal=("tflite", "exact")),
    "fits": lambda model: verify(
        model,
        accumulator_bits=15,
        contract="tflite",
        layer_contracts={"c": "pytorch-fbgemm-avx2"},
    ),
    "groups": lambda model: groups(model, ["tflite", "tflm", "exact"]),
    "native": lambda model: verify(model, native=True, cpu="host", contract="tflite"),
}
"""Verdicts on channels with scales and biases of their own, words and real results."""


def bind_wrong(
    compiled: CompiledObject, inputs: Sequence[Array], outputs: Sequence[Array]
) -> Callable[[], object]:
    """Code, with a fault: one bit of the first result is the other way round."""
    call = bind_code(compiled, inputs, outputs)
    bits = outputs[0].reshape(-1).view("u1")

    def run() -> None:
        call()
        bits[0] ^= 1

    return run


WRONG: Questions = {
    "native": lambda model: native(model, {"host": host_target()}, bind=bind_wrong)
}

MODELS: Mapping[str, tuple[str, Questions]] = {
    "tiny": (TINY, QUESTIONS),
    "softmax": (SOFTMAX, FILLED),
    "layers": (LAYERS, SEVERAL),
    "wrong code": (TINY, WRONG),
}
