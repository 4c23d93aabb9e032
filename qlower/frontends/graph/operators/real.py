"""Operators that stay real between quantized ones: float32, step by step.

Each is what ONNX Runtime's kernel on x86 computes, written in operations of IEEE 754 in
its order, so that the module shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.dialects.math import AbsFOp, CeilOp, FloorOp, RoundEvenOp, SqrtOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.emit.inline_rule import call_function
from qlower.model.nests import Index, Nest

from ...entry import Entry, takes
from ..context import NodeContext
from ..orders import identity
from ..real_constants import real_constant
from ..schema import AttributeValue
from ..values import Value
from .elementwise import broadcast, common_order

Body: TypeAlias = Callable[[Nest, Sequence[SSAValue]], SSAValue]
"""From the elements of the operands to that of the result, inside of a loop nest."""


def real_operand(node: NodeContext, number: int) -> Value:
    """An operand as float32."""
    value = node.real(number)
    return node.builder.dequantized(value, node.place(node.name(number)))


def elementwise(node: NodeContext, operands: Sequence[Value], body: Body) -> Value:
    """What `body` makes of the elements of operands that broadcast; real numbers."""
    shape: tuple[int, ...] = ()
    for value in operands:
        shape = broadcast(node, shape, value.shape)
    full = [value for value in operands if len(value.order) == len(shape)]
    order = common_order(full, len(shape))
    nest = Nest(
        node.builder.emitter(node.place()),
        tuple(shape[dimension] for dimension in order),
    )
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


def import_elementwise(node: NodeContext, operation: type[Operation]) -> None:
    """An operation of IEEE 754; a binary one on several operands in turn."""
    operands = [real_operand(node, index) for index in range(len(node.node.inputs))]

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        first, *others = elements
        for taken in [[other] for other in others] or [[]]:
            result = operation.create(operands=[first, *taken], result_types=[f32])
            first = nest.add(result).results[0]
        return first

    node.define(elementwise(node, operands, body))


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
    import_elementwise(node, arith.AddfOp)


def import_mul(node: NodeContext) -> None:
    """`F(a b)`; with a constant in blocks a convolution, whose sums start at 0."""
    if not node.importer.blocks.scales(node):
        import_elementwise(node, arith.MulfOp)
        return

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        one, other = elements
        product = nest.add(arith.MulfOp(one, other)).result
        return nest.add(arith.AddfOp(number(nest, 0.0), product)).result

    operands = [real_operand(node, index) for index in range(2)]
    node.define(elementwise(node, operands, body))


def _hard_sigmoid(nest: Nest, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    scaled = nest.add(arith.MulfOp(x, number(nest, alpha))).result
    moved = nest.add(arith.AddfOp(scaled, number(nest, beta))).result
    above = nest.add(arith.MaximumfOp(moved, number(nest, 0.0))).result
    return nest.add(arith.MinimumfOp(above, number(nest, 1.0))).result


def import_hard_sigmoid(node: NodeContext) -> None:
    """`min(max(F(F(alpha x) + beta), 0), 1)`."""
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        return _hard_sigmoid(nest, elements[0], alpha, beta)

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_hard_swish(node: NodeContext) -> None:
    """`F(x HardSigmoid(x))` with 1/6 and 1/2, which ONNX defines it as."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        (x,) = elements
        share = _hard_sigmoid(nest, x, 1 / 6, 0.5)
        return nest.add(arith.MulfOp(x, share)).result

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_sigmoid(node: NodeContext) -> None:
    node.define(elementwise(node, [real_operand(node, 0)], _logistic()))


def _logistic() -> Body:
    """MLAS's quotient of polynomials, which the contract has for QLinearSigmoid."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        return call_function(nest, "onnxruntime", "logistic", *elements)

    return body


def import_leaky_relu(node: NodeContext) -> None:
    """`F(alpha x)` where x is negative, alpha a constant or, of PRelu, an operand."""
    operands = [real_operand(node, index) for index in range(len(node.node.inputs))]
    node.define(elementwise(node, operands, _leaking(node.number("alpha", 0.01))))


def _leaking(alpha: float) -> Body:
    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        x, *slope = elements
        factor = slope[0] if slope else number(nest, alpha)
        leak = nest.add(arith.MulfOp(x, factor)).result
        is_positive = nest.add(arith.CmpfOp(x, number(nest, 0.0), "oge")).result
        return nest.add(arith.SelectOp(is_positive, x, leak)).result

    return body


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
        Value(
            node.builder.constant(array.reshape(channels), f32, node.place()),
            identity(len(channels)),
            is_real=True,
        )
        for array in (factors, offsets)
    ]

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        x, factor, offset = elements
        product = nest.add(arith.MulfOp(x, factor)).result
        return nest.add(arith.AddfOp(product, offset)).result

    node.define(elementwise(node, [value, *parameters], body))


def import_bounded(node: NodeContext, low: float, high: float) -> None:
    """A Relu or Clip of float32."""
    node.define(elementwise(node, [real_operand(node, 0)], _bounding(low, high)))


def _bounding(low: float, high: float) -> Body:
    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        (x,) = elements
        if low > -math.inf:
            x = nest.add(arith.MaximumfOp(x, number(nest, low))).result
        if high < math.inf:
            x = nest.add(arith.MinimumfOp(x, number(nest, high))).result
        return x

    return body


def sum_of(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
    """`F(a + b)`"""
    one, other = elements
    return nest.add(arith.AddfOp(one, other)).result


def activation(node: NodeContext, name: str, factors: AttributeValue) -> Body:
    """What a fused operator does to its result, with parameters in ONNX's order."""
    match name, factors:
        case "Relu", ():
            return _bounding(0.0, math.inf)
        case "Clip", (float(low), float(high)):
            return _bounding(low, high)
        case "LeakyRelu", (float(alpha),):
            return _leaking(alpha)
        case "HardSigmoid", (float(alpha), float(beta)):
            return lambda nest, elements: _hard_sigmoid(nest, elements[0], alpha, beta)
        case "Sigmoid", ():
            return _logistic()
        case _:
            raise node.error(
                f"activation {name!r} of {factors} is not supported; expected"
                " Relu, Clip, LeakyRelu, HardSigmoid or Sigmoid"
            )


def import_mean(node: NodeContext) -> None:
    """The operands added in turn, times `F(1 / count)`."""
    operands = [real_operand(node, number) for number in range(node.count)]

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        total, *others = elements
        for other in others:
            total = nest.add(arith.AddfOp(total, other)).result
        share = np.float32(1) / np.float32(node.count)
        return nest.add(arith.MulfOp(total, number(nest, float(share)))).result

    node.define(elementwise(node, operands, body))


def import_remainder(node: NodeContext) -> None:
    """The C library's fmodf."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        return call_function(nest, "_glibc", "fmodf", *elements)

    operands = [real_operand(node, number) for number in (0, 1)]
    node.define(elementwise(node, operands, body))


def import_extreme(
    node: NodeContext, operation: type[arith.MinimumfOp | arith.MaximumfOp]
) -> None:
    """The smallest or largest element along some dimensions; the order doesn't show."""
    value = real_operand(node, 0)
    rank = len(value.order)
    axes = node.axes(1, rank) or range(rank)
    if node.node.kind == "GlobalMaxPool":
        axes = range(2, rank)
    kept = [dimension for dimension in value.order if dimension not in axes]
    loops = [*kept, *(dimension for dimension in value.order if dimension in axes)]
    emit = node.builder.emitter(node.place())
    nest = Nest(emit, [value.shape[d] for d in loops], reductions=rank - len(kept))
    element = nest.input(value.ssa, [loops.index(d) for d in value.order])

    def combine(before: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [nest.add(operation(before[0], element)).result]

    start = math.inf if operation is arith.MinimumfOp else -math.inf
    (found,) = nest.reduce([emit.filled(nest.output_shape, f32, start)], combine)
    order = tuple(sum(other < d for other in kept) for d in kept)
    result = Value(found, order, is_real=True)
    if node.integer("keepdims", 1, 0, 1):
        shape = [1 if d in axes else size for d, size in enumerate(value.shape)]
        ones = (*kept, *(d for d in range(rank) if d in axes))
        result = node.builder.reshape(result, shape, ones, node.place())
    node.define(result)


def _arithmetic(signature: str, operation: type[Operation]) -> Entry[NodeContext]:
    return takes(signature, partial(import_elementwise, operation=operation))


IMPORTERS = {
    ("", "Add"): takes("x, y", import_add),
    ("", "Sub"): _arithmetic("x, y", arith.SubfOp),
    ("", "Mul"): takes("x, y", import_mul),
    ("", "Div"): _arithmetic("x, y", arith.DivfOp),
    ("", "Max"): _arithmetic("x, y, more*", arith.MaximumfOp),
    ("", "Min"): _arithmetic("x, y, more*", arith.MinimumfOp),
    ("", "Abs"): _arithmetic("x", AbsFOp),
    ("", "Ceil"): _arithmetic("x", CeilOp),
    ("", "Floor"): _arithmetic("x", FloorOp),
    ("", "Neg"): _arithmetic("x", arith.NegfOp),
    ("", "Round"): _arithmetic("x", RoundEvenOp),
    ("", "Sqrt"): _arithmetic("x", SqrtOp),
    ("", "Sum"): _arithmetic("x, more*", arith.AddfOp),
    ("", "Mean"): takes("x, more*", import_mean),
    ("", "Mod"): takes("x, y; fmod: 1", import_remainder),
    ("", "BatchNormalization"): takes(
        "x, scale, bias, mean, variance; training_mode: 0", import_batch_normalization
    ),
    ("", "HardSigmoid"): takes("x", import_hard_sigmoid),
    ("", "HardSwish"): takes("x", import_hard_swish),
    ("", "LeakyRelu"): takes("x", import_leaky_relu),
    ("", "PRelu"): takes("x, slope", import_leaky_relu),
    ("", "Sigmoid"): takes("x", import_sigmoid),
    ("", "GlobalMaxPool"): takes(
        "x", partial(import_extreme, operation=arith.MaximumfOp)
    ),
    ("", "ReduceMax"): takes(
        "x, axes?", partial(import_extreme, operation=arith.MaximumfOp)
    ),
    ("", "ReduceMin"): takes(
        "x, axes?", partial(import_extreme, operation=arith.MinimumfOp)
    ),
}
