"""Loop nests on stored integers and plain numbers, for operators that need no contract.

Operations on integers, on bits, or in float32 step by step are the same by every
contract, and are `linalg` operations in the module.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import NameLoc, StringAttr, f32
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from qlower.dialects.quant import QuantizedType, StorageCastOp
from qlower.dialects.types import element_type, shape_of
from qlower.emit.movement import taken
from qlower.emit.sums import Accumulate, Factor, from_zero, sum_products
from qlower.model.nests import (
    Emitter,
    Index,
    Nest,
    broadcast_indices,
)
from qlower.operators.sums import Sums

from .context import OperatorContext


def emitter(op: OperatorContext, output: int = 0) -> Emitter:
    """An emitter of operations named like a result."""
    location = NameLoc(StringAttr(op.graph.name(op.output(output))), op.location)
    return Emitter(op.graph.append, location)


def start(
    op: OperatorContext, bounds: Sequence[int], reductions: int = 0, output: int = 0
) -> Nest:
    """A nest over `bounds`; the last ones are `reductions`."""
    return Nest(emitter(op, output), bounds, reductions)


def read(
    op: OperatorContext,
    nest: Nest,
    number: int,
    indices: Sequence[Index] | None = None,
) -> SSAValue:
    """An element of an operand as it is stored; by default it broadcasts as numpy's."""
    value = op.stored(op.value(number))
    if indices is None:
        indices = broadcast_indices(shape_of(value), nest.output_shape)
    return nest.input(value, indices)


def finish(op: OperatorContext, value: SSAValue, number: int = 0) -> None:
    """Make a tensor of stored elements the operator's result."""
    type = op.result_type(shape_of(value), number)
    tensor = op.output(number)
    if isinstance(type.element_type, QuantizedType):
        if tensor.quantization is not None:
            op.per_tensor(tensor)
        op.finish_part(number, StorageCastOp(value, type))
    elif element_type(value.type) != type.element_type:
        raise op.error(
            f"{tensor}: type {tensor.type}, {op.operator.name} gives"
            f" {element_type(value.type)} here"
        )
    else:
        op.graph.define(tensor, value, op)


def finish_map(op: OperatorContext, nest: Nest, element: SSAValue) -> None:
    """Finish a nest that yields the elements of the operator's result."""
    finish(op, nest.build([element])[0])


def sums_of(
    op: OperatorContext,
    sums: Sums,
    first: SSAValue,
    second: SSAValue,
    step: Accumulate | None = None,
) -> SSAValue:
    """The sums of products of float32 that an operator states, one term after the
    other from 0."""
    emit, factors = emitter(op), (Factor(first), Factor(second))
    try:
        return sum_products(emit, sums, factors, from_zero(emit, f32), step=step)
    except VerifyException as error:
        raise op.error(str(error)) from error


def take(
    op: OperatorContext, value: SSAValue, places: Sequence[Sequence[int]]
) -> SSAValue:
    """The elements of a tensor at all combinations of places along its dimensions."""
    return taken(emitter(op), value, places)
