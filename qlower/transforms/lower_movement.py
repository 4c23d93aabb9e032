"""Lowering of what moves elements, alike for all dialects."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from qlower.dialects.types import element_type, shape_of
from qlower.emit.movement import concatenated, folded, moved, padded
from qlower.emit.tensors import constant_of, storage_type
from qlower.transforms.lowered_function import LoweredFunction

if TYPE_CHECKING:
    # a model has one of the dialects, and the others needn't be imported for it
    from qlower.dialects import qnn, stablehlo, tosa

    ConstantOp: TypeAlias = qnn.ConstantOp | stablehlo.ConstantOp | tosa.ConstOp
    MovementOp: TypeAlias = qnn.MovementOp | stablehlo.MovementOp | tosa.MovementOp
    PadOp: TypeAlias = stablehlo.PadOp | stablehlo.ReduceWindowOp | tosa.PadOp
    ConcatOp: TypeAlias = stablehlo.ConcatenateOp | tosa.ConcatOp


def lower_constant(lowering: LoweredFunction, op: ConstantOp) -> SSAValue:
    """The elements, as they are stored."""
    return lowering.emit.add(arith.ConstantOp(op.value)).result


def lower_movement(lowering: LoweredFunction, op: MovementOp) -> SSAValue:
    """The operation's movement of its first operand."""
    move = folded if lowering.folds_movements else moved
    return move(lowering.emit, op.movement, lowering.value(op.operands[0]))


def lower_concat(lowering: LoweredFunction, op: ConcatOp) -> SSAValue:
    """The operands side by side."""
    values = map(lowering.value, op.operands)
    element = storage_type(element_type(op.output.type))
    shape = shape_of(op.output)
    return concatenated(lowering.emit, op.movement, shape, element, values)


def lower_pad(lowering: LoweredFunction, op: PadOp) -> SSAValue:
    """The input surrounded by an element, which is a constant or known later."""
    movement, value = op.movement, lowering.value(op.operands[0])
    around = lowering.value(op.filler)
    known = constant_of(around)
    if known is None or movement.spreads:
        return padded(lowering.emit, movement, value, around)
    number = known.reshape(-1)[0].item()
    return moved(lowering.emit, replace(movement, value=number), value)
