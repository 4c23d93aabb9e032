"""Operators on float32 between quantized ones, as PyTorch's kernels compute them.

Functions of one number are written in operations of IEEE 754 in the order of ATen
(aten/src/ATen/native/cpu/Activation.cpp); the exponential is the C library's, which
differs from ATen's in last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qlower.model.nests import Nest

from ...onnx.bounds import bounds
from ...onnx.context import NodeContext
from ...onnx.entry import Entry
from ...onnx.operators.real import elementwise, import_bounded, real_operand
from ...tflite.scalars import Scalars
from ..translating import TORCH

Function = Callable[[Scalars, SSAValue], SSAValue]


def _function(compute: Function) -> Entry:
    """A function of one number."""

    def build(node: NodeContext) -> None:
        def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
            return compute(Scalars(nest), elements[0])

        node.define(elementwise(node, [real_operand(node, 0)], body))

    return Entry(build, (1, 1))


def _gate(steps: Scalars, x: SSAValue) -> SSAValue:
    """min(max(F(x + 3), 0), 6)"""
    moved = steps.add(x, steps.constant(3.0, f32))
    return steps.clamp(moved, 0.0, 6.0)


def hard_sigmoid(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.divide(_gate(steps, x), steps.constant(6.0, f32))


def hard_swish(steps: Scalars, x: SSAValue) -> SSAValue:
    product = steps.multiply(x, _gate(steps, x))
    return steps.divide(product, steps.constant(6.0, f32))


def _one_and_exp(steps: Scalars, x: SSAValue) -> SSAValue:
    """F(1 + e^-x)"""
    exponential = steps.exp(steps.negate(x))
    return steps.add(steps.constant(1.0, f32), exponential)


def sigmoid(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.divide(steps.constant(1.0, f32), _one_and_exp(steps, x))


def silu(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.divide(x, _one_and_exp(steps, x))


def import_bounds(node: NodeContext) -> None:
    """A Relu or Clip that is no part of the operator before it."""
    limits = bounds(node.graph, node.node)
    if limits is None or not limits[0] <= limits[1]:
        raise node.error(f"bounds {limits} are not supported")
    import_bounded(node, *limits)


IMPORTERS = {
    ("", "Relu"): Entry(import_bounds, (1, 1)),
    ("", "Clip"): Entry(import_bounds, (1, 1)),
    (TORCH, "HardSigmoid"): _function(hard_sigmoid),
    (TORCH, "HardSwish"): _function(hard_swish),
    (TORCH, "Sigmoid"): _function(sigmoid),
    (TORCH, "SiLU"): _function(silu),
    (TORCH, "Sqrt"): _function(Scalars.sqrt),
    (TORCH, "Tanh"): _function(Scalars.tanh),
}
