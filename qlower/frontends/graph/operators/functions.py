"""Functions of one real number, by the libraries that ONNX Runtime calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from qlower.emit.inline_rule import call_function
from qlower.model.nests import Nest, row_major_index

from ...entry import Entry, takes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..orders import identity
from .real import elementwise, number, real_operand
from .sums import LANES

Parameters = Sequence[tuple[str, float]]
"""Attributes that a function takes after its argument, and their defaults."""


def _parameters(node: NodeContext, nest: Nest, named: Parameters) -> list[SSAValue]:
    return [number(nest, node.number(name, default)) for name, default in named]


def _import(
    node: NodeContext, library: str, function: str, parameters: Parameters = ()
) -> None:
    """A function that is the same for all elements."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        given = _parameters(node, nest, parameters)
        return call_function(nest, library, function, *elements, *given)

    node.define(elementwise(node, [real_operand(node, 0)], body))


def _import_packets(
    node: NodeContext,
    function: str,
    alone: str | None,
    parameters: Parameters = (),
    of_softplus: bool = False,
) -> None:
    """A function of Eigen's, which computes the last elements of a tensor that fill no
    packet by another one, `alone`."""
    value = real_operand(node, 0)
    count = math.prod(value.shape)
    tail = count % LANES
    if tail and alone is None:
        raise node.error(
            f"ONNX Runtime computes the last {tail} of {count} elements by the C"
            " library's log1pf, which is not supported; expected a multiple of"
            f" {LANES} elements"
        )
    if tail:
        whole = identity(len(value.order))
        value = node.builder.in_order(value, whole, node.place())

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        given = _parameters(node, nest, parameters)
        result = call_function(nest, "_eigen", function, *elements, *given)
        if of_softplus:
            bounded = call_function(nest, "_mlas", "tanh", result)
            return nest.add(arith.MulfOp(elements[0], bounded)).result
        if not tail or alone is None:
            return result
        last = call_function(nest, "_eigen", alone, *elements, *given)
        first = nest.constant(np.array(count - tail), i32)
        position = row_major_index(nest)
        is_last = nest.add(arith.CmpiOp(position, first, "sge")).result
        return nest.add(arith.SelectOp(is_last, last, result)).result

    node.define(elementwise(node, [value], body))


def import_gelu(node: NodeContext) -> None:
    """By the error function, or by the hyperbolic tangent."""
    is_bent = node.text("approximate", "none", ["none", "tanh"]) == "tanh"
    _import(node, "_mlas", "gelu_by_tanh" if is_bent else "gelu")


def import_biased_gelu(node: NodeContext, function: str) -> None:
    """A function of the sum of a tensor and a vector along its last dimension."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        x, *bias = elements
        for term in bias:
            x = nest.add(arith.AddfOp(x, term)).result
        return call_function(nest, "_mlas", function, x)

    operands = [real_operand(node, at) for at in range(len(node.node.inputs))]
    node.define(elementwise(node, operands, body))


def import_swish(node: NodeContext, alpha: float, *, is_quick: bool) -> None:
    """`F(x logistic(F(alpha x)))`; the share of QuickGelu is at most 1 if alpha is."""
    factor = node.number("alpha", alpha)

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        (x,) = elements
        if is_quick and factor == 1:
            share = call_function(nest, "onnxruntime", "logistic", x)
            return nest.add(arith.MulfOp(x, share)).result
        return call_function(nest, "onnxruntime", "swish", x, number(nest, factor))

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_softsign(node: NodeContext) -> None:
    """`F(x F(1 / F(1 + |x|)))`"""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        (x,) = elements
        opposite = nest.add(arith.NegfOp(x)).result
        size = nest.add(arith.MaximumfOp(x, opposite)).result
        more = nest.add(arith.AddfOp(number(nest, 1.0), size)).result
        share = nest.add(arith.DivfOp(number(nest, 1.0), more)).result
        return nest.add(arith.MulfOp(x, share)).result

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_reciprocal(node: NodeContext) -> None:
    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        (x,) = elements
        return nest.add(arith.DivfOp(number(nest, 1.0), x)).result

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_thresholded_relu(node: NodeContext) -> None:
    """x above alpha, elsewhere 0."""
    alpha = node.number("alpha", 1.0)

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        (x,) = elements
        is_above = nest.add(arith.CmpfOp(x, number(nest, alpha), "ogt")).result
        return nest.add(arith.SelectOp(is_above, x, number(nest, 0.0))).result

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_shrink(node: NodeContext) -> None:
    """`x + bias` below -lambd, `x - bias` above lambd, elsewhere 0."""
    bias, lambd = node.number("bias", 0.0), node.number("lambd", 0.5)

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        (x,) = elements
        is_low = nest.add(arith.CmpfOp(x, number(nest, -lambd), "olt")).result
        is_high = nest.add(arith.CmpfOp(x, number(nest, lambd), "ogt")).result
        raised = nest.add(arith.AddfOp(x, number(nest, bias))).result
        lowered = nest.add(arith.SubfOp(x, number(nest, bias))).result
        high = nest.add(arith.SelectOp(is_high, lowered, number(nest, 0.0))).result
        return nest.add(arith.SelectOp(is_low, raised, high)).result

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_sign(node: NodeContext) -> None:
    """1, 0 or -1; NaN stays."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        (x,) = elements
        zero = number(nest, 0.0)
        is_high = nest.add(arith.CmpfOp(x, zero, "ogt")).result
        is_low = nest.add(arith.CmpfOp(x, zero, "olt")).result
        result = nest.add(arith.SelectOp(is_low, number(nest, -1.0), zero)).result
        return nest.add(arith.SelectOp(is_high, number(nest, 1.0), result)).result

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_power(node: NodeContext) -> None:
    """By a constant 2 or 3, products; else the C library's powf
    (core/providers/cpu/math/element_wise_ops.cc)."""
    exponent = None
    if node.is_constant(1):
        given = node.array(1, "exponent")
        exponent = float(given.reshape(-1)[0]) if given.size == 1 else None
    operands = [real_operand(node, 0)]
    if exponent is None:
        operands.append(real_operand(node, 1))
        if math.prod(operands[1].shape) == 1:
            raise node.error(
                "one exponent for all that only run time knows is not supported;"
                " expected a constant"
            )

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        x, *powers = elements
        if exponent in (2.0, 3.0):
            square = nest.add(arith.MulfOp(x, x)).result
            if exponent == 2.0:
                return square
            return nest.add(arith.MulfOp(square, x)).result
        power = powers[0] if powers else number(nest, exponent or 0.0)
        return call_function(nest, "_glibc", "powf", x, power)

    node.define(elementwise(node, operands, body))


def _packets(
    function: str, alone: str | None, *parameters: tuple[str, float]
) -> Entry[NodeContext]:
    build = partial(
        _import_packets, function=function, alone=alone, parameters=parameters
    )
    return takes("x", build)


def _same(function: str) -> Entry[NodeContext]:
    return takes("x", partial(_import, library="_mlas", function=function))


IMPORTERS = {
    ("", "Celu"): _packets(
        "continuous_linear", "continuous_linear_alone", ("alpha", 1.0)
    ),
    ("", "Elu"): _packets(
        "exponential_linear", "exponential_linear_alone", ("alpha", 1.0)
    ),
    ("", "Selu"): _packets(
        "scaled_linear",
        "scaled_linear_alone",
        ("alpha", 1.67326319217681884765625),
        ("gamma", 1.05070102214813232421875),
    ),
    ("", "Log"): _packets("plog", "logf"),
    ("", "Softplus"): _packets("softplus", None),
    ("", "Mish"): takes(
        "x",
        partial(_import_packets, function="softplus", alone=None, of_softplus=True),
    ),
    ("", "Erf"): _same("erf"),
    ("", "Exp"): _same("exp"),
    ("", "Tanh"): _same("tanh"),
    ("", "Gelu"): takes("x", import_gelu),
    (MICROSOFT, "Gelu"): _same("gelu"),
    (MICROSOFT, "BiasGelu"): takes(
        "x, bias", partial(import_biased_gelu, function="gelu")
    ),
    (MICROSOFT, "FastGelu"): takes(
        "x, bias?", partial(import_biased_gelu, function="gelu_by_tanh")
    ),
    ("", "Swish"): takes("x", partial(import_swish, alpha=1.0, is_quick=False)),
    (MICROSOFT, "QuickGelu"): takes(
        "x", partial(import_swish, alpha=1.702, is_quick=True)
    ),
    ("", "Softsign"): takes("x", import_softsign),
    ("", "Reciprocal"): takes("x", import_reciprocal),
    ("", "ThresholdedRelu"): takes("x", import_thresholded_relu),
    ("", "Shrink"): takes("x", import_shrink),
    ("", "Sign"): takes("x", import_sign),
    ("", "Pow"): takes("x, exponent", import_power),
}
