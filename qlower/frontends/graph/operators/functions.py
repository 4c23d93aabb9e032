"""Functions of one real number, by the libraries that ONNX Runtime calls."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qlower.emit.inline_rule import call_function

from ...entry import Entry, takes
from ...scalars import PACKET, Scalars, Steps, by_packets, in_turn, text
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..real_constants import is_real_constant, real_constant
from .real import (
    SIGMOID,
    body_of,
    eigen,
    elementwise,
    function,
    real_operand,
)

SWISH, TANH = text("_mlas", "swish"), text("_mlas", "tanh")


def _packets(whole: Steps, alone: Steps, **defaults: float) -> Entry[NodeContext]:
    """A function of Eigen's, which computes the last elements of a tensor that fill no
    packet by another one, `alone`."""

    def build(node: NodeContext) -> None:
        value = real_operand(node, 0)
        if math.prod(value.shape) % PACKET:
            value = node.in_order(value)
        given = [node.number(name, default) for name, default in defaults.items()]
        node.define(
            elementwise(node, [value], body_of(by_packets(whole, alone), *given))
        )

    return takes("x", build)


def _mish(softplus: str) -> Steps:
    """`x tanh(softplus(x))`"""

    def compute(steps: Scalars, x: SSAValue) -> SSAValue:
        return steps.multiply(x, TANH(steps, steps.eigen(softplus, x)))

    return compute


def _c(name: str) -> Entry[NodeContext]:
    """A function of the C library, whose elements Eigen computes one by one."""
    return function("x", text("_glibc", name))


def import_gelu(node: NodeContext) -> None:
    """Import a Gelu, by the error function or by the hyperbolic tangent."""
    is_bent = node.text("approximate", "none", ["none", "tanh"]) == "tanh"
    compute = text("_mlas", "gelu_by_tanh" if is_bent else "gelu")
    node.define(elementwise(node, [real_operand(node, 0)], body_of(compute)))


def _of_sum(name: str) -> Steps:
    """A function of the sum of a tensor and a vector along its last dimension."""

    def compute(steps: Scalars, *terms: SSAValue) -> SSAValue:
        total = in_turn(Scalars.add)(steps, *terms)
        return call_function(steps.nest, "_mlas", name, total)

    return compute


def import_quick_gelu(node: NodeContext) -> None:
    """`F(x logistic(F(alpha x)))`; the share is at most 1 if alpha is."""
    factor = node.number("alpha", 1.702)
    body = body_of(SWISH, factor)
    if factor == 1:
        body = body_of(lambda steps, x: steps.multiply(x, SIGMOID(steps, x)))
    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_power(node: NodeContext) -> None:
    """Import a Pow: for a constant 2 or 3 products, otherwise the C library's powf
    (core/providers/cpu/math/element_wise_ops.cc)."""
    exponent = None
    if is_real_constant(node, 1):
        given = real_constant(node, 1)
        exponent = float(given.reshape(-1)[0]) if given.size == 1 else None
    operands = [real_operand(node, 0)]
    if exponent is None:
        operands.append(real_operand(node, 1))
        if math.prod(operands[1].shape) == 1:
            raise node.error(
                "one exponent for all that only run time knows is not supported;"
                " expected a constant"
            )

    def compute(steps: Scalars, x: SSAValue, *powers: SSAValue) -> SSAValue:
        if exponent in (2.0, 3.0):
            square = steps.multiply(x, x)
            return square if exponent == 2.0 else steps.multiply(square, x)
        power = powers[0] if powers else steps.constant(exponent or 0.0, f32)
        return steps.c("powf", x, power)

    node.define(elementwise(node, operands, body_of(compute)))


def _mlas(name: str) -> Entry[NodeContext]:
    return function("x", text("_mlas", name))


IMPORTERS = {
    ("", "Celu"): _packets(
        eigen("continuous_linear"), eigen("continuous_linear_alone"), alpha=1.0
    ),
    ("", "Elu"): _packets(
        eigen("exponential_linear"), eigen("exponential_linear_alone"), alpha=1.0
    ),
    ("", "Selu"): _packets(
        eigen("scaled_linear"),
        eigen("scaled_linear_alone"),
        alpha=1.67326319217681884765625,
        gamma=1.05070102214813232421875,
    ),
    ("", "Cos"): _packets(eigen("pcos"), eigen("cosf")),
    ("", "Log"): _packets(eigen("plog"), eigen("logf")),
    ("", "Softplus"): _packets(eigen("softplus"), eigen("softplus_alone")),
    ("", "Mish"): _packets(_mish("softplus"), _mish("softplus_alone")),
    ("", "Acos"): _packets(eigen("pacos"), eigen("acosf")),
    ("", "Acosh"): _c("acoshf"),
    ("", "Asin"): _packets(eigen("pasin"), eigen("asinf")),
    ("", "Asinh"): _c("asinhf"),
    ("", "Atan"): _packets(eigen("patan"), eigen("atanf")),
    ("", "Atanh"): _c("atanhf"),
    ("", "Cosh"): _c("coshf"),
    ("", "Sinh"): _c("sinhf"),
    ("", "Tan"): _c("tanf"),
    ("", "Erf"): _mlas("erf"),
    ("", "Exp"): _mlas("exp"),
    ("", "Tanh"): function("x", TANH),
    ("", "Gelu"): takes("x", import_gelu),
    (MICROSOFT, "Gelu"): _mlas("gelu"),
    (MICROSOFT, "BiasGelu"): function("x, bias", _of_sum("gelu")),
    (MICROSOFT, "FastGelu"): function("x, bias?", _of_sum("gelu_by_tanh")),
    ("", "Swish"): function("x", SWISH, alpha=1.0),
    (MICROSOFT, "QuickGelu"): takes("x", import_quick_gelu),
    ("", "Sin"): _packets(eigen("psin"), eigen("sinf")),
    ("", "Softsign"): function("x", eigen("softsign")),
    ("", "Reciprocal"): function("x", eigen("one_over")),
    ("", "ThresholdedRelu"): function("x", eigen("thresholded_relu"), alpha=1.0),
    ("", "Shrink"): function("x", eigen("shrink"), bias=0.0, lambd=0.5),
    ("", "Sign"): function("x", eigen("sign")),
    ("", "Pow"): takes("x, exponent", import_power),
}
