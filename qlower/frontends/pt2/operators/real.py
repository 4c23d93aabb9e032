"""Operators on float32 between quantized ones, as PyTorch's kernels compute them.

Functions of one number are written in operations of IEEE 754 in the order of ATen
(aten/src/ATen/native/cpu/Activation.cpp, Loops.h), which takes SLEEF's exponential in
vectors and the C library's for what is left over.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.dialects.math import TanhOp
from xdsl.ir import SSAValue

from ...entry import takes
from ...graph.bounds import bounds
from ...graph.context import NodeContext
from ...graph.operators.real import function, import_bounded
from ...scalars import Scalars, by_packets, text
from ..translating import TORCH

STEP = 32
"""Elements of a step of ATen's loops: two vectors of AVX-512."""


def _gate(steps: Scalars, x: SSAValue) -> SSAValue:
    """min(max(F(x + 3), 0), 6)"""
    moved = steps.add(x, steps.constant(3.0, f32))
    return steps.clamp(moved, 0.0, 6.0)


def hard_sigmoid(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.divide(_gate(steps, x), steps.constant(6.0, f32))


def hard_swish(steps: Scalars, x: SSAValue) -> SSAValue:
    product = steps.multiply(x, _gate(steps, x))
    return steps.divide(product, steps.constant(6.0, f32))


EXP = by_packets(text("_sleef", "expf_u10"), text("_glibc", "expf"), STEP)
"""By the C library where elements fill no two vectors any more."""


def _one_and_exp(steps: Scalars, x: SSAValue) -> SSAValue:
    """F(1 + e^-x)"""
    return steps.add(steps.constant(1.0, f32), EXP(steps, steps.negate(x)))


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
    ("", "Relu"): takes("x", import_bounds),
    ("", "Clip"): takes("x", import_bounds),
    (TORCH, "HardSigmoid"): function("x", hard_sigmoid),
    (TORCH, "HardSwish"): function("x", hard_swish),
    (TORCH, "Sigmoid"): function("x", sigmoid),
    (TORCH, "SiLU"): function("x", silu),
    (TORCH, "Sqrt"): function("x", Scalars.sqrt),
    (TORCH, "Tanh"): function("x", lambda steps, x: steps.step(TanhOp(x))),
}
