"""Operators on float32 between quantized ones, as PyTorch's kernels compute them.

Functions of one number are written in operations of IEEE 754 in the order of ATen
(aten/src/ATen/native/cpu/Activation.cpp, Loops.h), which takes SLEEF's exponential in
vectors and the C library's for what is left over.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ...entry import Entry, takes
from ...graph.bounds import bounds
from ...graph.context import NodeContext
from ...graph.operators.real import (
    LEAKY_RELU,
    body_of,
    elementwise,
    function,
    import_bounded,
    real_operand,
)
from ...graph.real_constants import real_constant
from ...graph.values import real_value
from ...scalars import Scalars, Steps, by_packets, text
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


def _inverse(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.divide(steps.constant(1.0, f32), x)


def _inverse_root(steps: Scalars, x: SSAValue) -> SSAValue:
    return _inverse(steps, steps.sqrt(x))


tanh = text("_sleef", "tanhf_u10")
"""SLEEF's function, as Inductor calls it. Where PyTorch runs operators one by one it is
MKL's, whose steps are not published."""


def in_vectors(name: str, *, of_rows: bool = False) -> Steps:
    """A function of `_sleef`, and its form for the last elements, which fill no two
    vectors: those of the whole tensor, or of each row."""
    alone = text("_sleef", f"{name}_alone")
    return by_packets(text("_sleef", name), alone, STEP, of_rows=of_rows)


def import_bounds(node: NodeContext) -> None:
    """A Relu or Clip that is no part of the operator before it."""
    limits = bounds(node.graph, node.node)
    if limits is None or not limits[0] <= limits[1]:
        raise node.error(f"bounds {limits} are not supported")
    import_bounded(node, *limits)


def _elu(alpha: float, scale: float, inner: float) -> Steps:
    """A curve below 0, in constants of float32."""
    one, below = np.float32(scale), np.float32(alpha) * np.float32(scale)

    def compute(steps: Scalars, x: SSAValue) -> SSAValue:
        given = [steps.constant(float(number), f32) for number in (one, below, inner)]
        return ELU(steps, x, *given)

    return compute


def _of_alpha(name: str) -> Entry[NodeContext]:
    def build(node: NodeContext) -> None:
        alpha = np.float32(node.number("alpha", 1.0))
        inner = np.float32(1) / alpha if name == "celu" else np.float32(1)
        body = body_of(_elu(float(alpha), 1.0, float(inner)))
        node.define(elementwise(node, [real_operand(node, 0)], body))

    return takes("x", build)


def import_prelu(node: NodeContext) -> None:
    """Slopes for each channel, or one for all."""
    value = real_operand(node, 0)
    slopes = real_constant(node, 1).reshape(-1)
    rank = len(value.shape)
    shape = [len(slopes) if at == 1 else 1 for at in range(max(rank, 1))]
    constant = node.builder.constant(slopes.reshape(shape), f32, node.place())
    slope = real_value(constant)
    node.define(elementwise(node, [value, slope], body_of(LEAKY_RELU)))


ELU = text("_sleef", "elu_of_vectors")
SELU = _elu(1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)

IMPORTERS = {
    (TORCH, "Celu"): _of_alpha("celu"),
    (TORCH, "Elu"): _of_alpha("elu"),
    (TORCH, "Exp"): function("x", text("_sleef", "expf_u10")),
    (TORCH, "Selu"): function("x", SELU),
    (TORCH, "Gelu"): function("x", text("_sleef", "gelu_of_vectors")),
    (TORCH, "GeluByTanh"): function("x", text("_sleef", "gelu_by_tanh_of_vectors")),
    (TORCH, "HardShrink"): function("x", text("_sleef", "hard_shrink"), lambd=0.5),
    (TORCH, "Inverse"): function("x", _inverse),
    (TORCH, "InverseRoot"): function("x", _inverse_root),
    (TORCH, "LogSigmoid"): function("x", text("_sleef", "log_sigmoid")),
    (TORCH, "Mish"): function("x", text("_sleef", "mish")),
    (TORCH, "PRelu"): takes("x, slopes", import_prelu),
    (TORCH, "Softplus"): function(
        "x", text("_sleef", "softplus_of_vectors"), beta=1.0, threshold=20.0
    ),
    (TORCH, "TanhShrink"): function("x", text("_sleef", "tanh_shrink")),
    ("", "Relu"): takes("x", import_bounds),
    ("", "Clip"): takes("x", import_bounds),
    (TORCH, "HardSigmoid"): function("x", hard_sigmoid),
    (TORCH, "HardSwish"): function("x", hard_swish),
    (TORCH, "Sigmoid"): function("x", in_vectors("sigmoid")),
    (TORCH, "SiLU"): function("x", in_vectors("silu")),
    (TORCH, "Sqrt"): function("x", Scalars.sqrt),
    (TORCH, "Tanh"): function("x", tanh),
}
