"""Operators that stay real between quantized ones: float32, step by step.

Each is what ONNX Runtime's kernel on x86 computes, written in operations of IEEE 754 in
its order, so that the module shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.dialects.math import RoundEvenOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.model.nests import Index, Nest

from ...entry import Entry, takes
from ...scalars import Compute, Scalars, Steps, in_turn, text
from ...signature import signature_of
from ..context import NodeContext
from ..real_constants import real_constant
from ..schema import AttributeValue
from ..values import Value, real_value
from .elementwise import broadcast, common_order

Body: TypeAlias = Callable[[Nest, Sequence[SSAValue]], SSAValue]
"""From the elements of the operands to that of the result, inside of a loop nest."""


def real_operand(node: NodeContext, number: int) -> Value:
    """An operand as float32."""
    value = node.real(number)
    return node.builder.dequantized(value, node.place(node.name(number)))


def elementwise(node: NodeContext, operands: Sequence[Value], body: Body) -> Value:
    """Apply `body` to the elements of real operands that broadcast."""
    shape: tuple[int, ...] = ()
    for value in operands:
        shape = broadcast(node, shape, value.shape)
    full = [value for value in operands if len(value.order) == len(shape)]
    order = common_order(full, len(shape))
    nest = node.nest(tuple(shape[dimension] for dimension in order))
    elements: list[SSAValue] = []
    for value in operands:
        missing = len(shape) - len(value.order)
        indices: list[Index] = [
            AffineConstantExpr(0)
            if value.shape[dimension] == 1
            else order.index(dimension + missing)
            for dimension in value.order
        ]
        elements.append(nest.input(value.ssa, indices))
    (result,) = nest.build([body(nest, elements)])
    return Value(result, order, is_real=True)


def number(nest: Nest, value: float) -> SSAValue:
    """A constant, rounded to float32."""
    return nest.constant(np.array(value, np.float32), f32)


def eigen(name: str) -> Steps:
    """One of Eigen's, or what ONNX Runtime writes with it."""
    return text("_eigen", name)


def body_of(compute: Compute, *parameters: float) -> Body:
    """The steps of a function, with numbers after the elements of its operands."""

    call: Steps = compute

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        given = [number(nest, parameter) for parameter in parameters]
        return call(Scalars(nest), *elements, *given)

    return body


def function(signature: str, compute: Compute, **defaults: float) -> Entry[NodeContext]:
    """A function of real numbers, or of truth values where the signature has BOOL, and
    of attributes with defaults."""
    truths = [operand.types == ("BOOL",) for operand in signature_of(signature)]

    def build(node: NodeContext) -> None:
        operands = [
            node.value(at)
            if truths[min(at, len(truths) - 1)]
            else real_operand(node, at)
            for at in range(node.count)
        ]
        parameters = [node.number(name, default) for name, default in defaults.items()]
        result = elementwise(node, operands, body_of(compute, *parameters))
        node.define(replace(result, is_real=result.element == f32))

    return takes(signature, build)


HARD_SIGMOID, LEAKY_RELU = eigen("hard_sigmoid"), eigen("leaky_relu")

SIGMOID = text("_mlas", "logistic")
"""MLAS's quotient of polynomials, which QLinearSigmoid has, too."""


def import_add(node: NodeContext) -> None:
    """`F(a + b)`; not where it becomes a part of a normalization in blocks."""
    blocks, graph = node.importer.blocks, node.graph
    if blocks.holds(node, 0) and blocks.holds(node, 1):
        for name in node.node.inputs:
            producer = graph.producer(name)
            is_norm = producer is not None and producer.kind == "BatchNormalization"
            if is_norm and len(graph.uses(name)) == 1 and not graph.is_returned(name):
                raise node.error(
                    f"ONNX Runtime adds it to the normalization {name!r} in an order"
                    " that is not supported",
                    help="--qdq as-written reads the model so",
                )
    node.define(_of_two(node, Scalars.add))


def import_mul(node: NodeContext) -> None:
    """`F(a b)`; with a constant in blocks a convolution, whose sums start at 0."""
    compute = Scalars.multiply
    if node.importer.blocks.scales(node):
        compute = eigen("product_from_zero")
    node.define(_of_two(node, compute))


def _of_two(node: NodeContext, compute: Compute) -> Value:
    operands = [real_operand(node, at) for at in (0, 1)]
    return elementwise(node, operands, body_of(compute))


def import_batch_normalization(node: NodeContext) -> None:
    """`F(F(x a) + b)` with `a = F(scale F(1 / F(sqrt(F(variance + epsilon)))))` and
    `b = F(bias - F(mean a))` for each channel; in blocks `a = F(scale / F(sqrt(...)))`.
    """
    value = real_operand(node, 0)
    scale, bias, mean, variance = (
        real_constant(node, index).reshape(-1) for index in range(1, 5)
    )
    epsilon = np.float32(node.number("epsilon", 1e-5))
    with np.errstate(all="ignore"):
        deviations = np.sqrt(variance + epsilon)
        factors = scale * (np.float32(1) / deviations)
        if node.importer.blocks.holds(node):
            factors = scale / deviations
        offsets = bias - mean * factors
    channels = (*value.shape[1:2], *[1] * (len(value.shape) - 2))
    if factors.size != channels[0] or offsets.size != channels[0]:
        raise node.error(f"{factors.size} parameters for {channels[0]} channels")
    parameters = [
        real_value(node.builder.constant(array.reshape(channels), f32, node.place()))
        for array in (factors, offsets)
    ]

    node.define(elementwise(node, [value, *parameters], body_of(_line)))


def _line(steps: Scalars, x: SSAValue, factor: SSAValue, offset: SSAValue) -> SSAValue:
    return steps.add(steps.multiply(x, factor), offset)


def import_bounded(node: NodeContext, low: float, high: float) -> None:
    """A Relu or Clip of float32."""
    node.define(elementwise(node, [real_operand(node, 0)], _bounding(low, high)))


def _bounding(low: float, high: float) -> Body:
    """The nearer bound of numbers beyond one; a zero keeps its sign."""
    least = low if low > -math.inf else None
    most = high if high < math.inf else None
    return body_of(lambda steps, x: steps.clamp(x, least, most))


def sum_of(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
    """`F(a + b)`"""
    return Scalars(nest).add(*elements)


def activation(node: NodeContext, name: str, factors: AttributeValue) -> Body:
    """The activation that a fused operator applies to its result, with parameters in
    ONNX's order."""
    match name, factors:
        case "Relu", ():
            return _bounding(0.0, math.inf)
        case "Clip", (float(low), float(high)):
            return _bounding(low, high)
        case "LeakyRelu", (float(alpha),):
            return body_of(LEAKY_RELU, alpha)
        case "HardSigmoid", (float(alpha), float(beta)):
            return body_of(HARD_SIGMOID, alpha, beta)
        case "Sigmoid", ():
            return body_of(SIGMOID)
        case _:
            raise node.error(
                f"activation {name!r} of {factors} is not supported; expected"
                " Relu, Clip, LeakyRelu, HardSigmoid or Sigmoid"
            )


def _mean(steps: Scalars, *elements: SSAValue) -> SSAValue:
    """The operands added in turn, times `F(1 / count)`."""
    share = np.float32(1) / np.float32(len(elements))
    total = in_turn(Scalars.add)(steps, *elements)
    return steps.multiply(total, steps.constant(float(share), f32))


IMPORTERS = {
    ("", "Add"): takes("x, y", import_add),
    ("", "Sub"): function("x, y", Scalars.subtract),
    ("", "Mul"): takes("x, y", import_mul),
    ("", "Div"): function("x, y", Scalars.divide),
    ("", "Max"): function("x, y, more*", in_turn(Scalars.maximum)),
    ("", "Min"): function("x, y, more*", in_turn(Scalars.minimum)),
    ("", "Abs"): function("x", Scalars.absolute),
    ("", "Ceil"): function("x", Scalars.ceil),
    ("", "Floor"): function("x", Scalars.floor),
    ("", "Neg"): function("x", Scalars.negate),
    ("", "Round"): function("x", lambda steps, x: steps.step(RoundEvenOp(x))),
    ("", "Sqrt"): function("x", Scalars.sqrt),
    ("", "Sum"): function("x, more*", in_turn(Scalars.add)),
    ("", "Mean"): function("x, more*", _mean),
    ("", "Mod"): function("x, y; fmod: 1", text("_glibc", "fmodf")),
    ("", "BatchNormalization"): takes(
        "x, scale, bias, mean, variance; training_mode: 0", import_batch_normalization
    ),
    ("", "HardSigmoid"): function("x", HARD_SIGMOID, alpha=0.2, beta=0.5),
    ("", "HardSwish"): function("x", eigen("hard_swish")),
    ("", "LeakyRelu"): function("x", LEAKY_RELU, alpha=0.01),
    ("", "PRelu"): function("x, slope", LEAKY_RELU),
    ("", "Sigmoid"): function("x", SIGMOID),
}
