"""The operations next to another one, as far as they decide the code for it."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.ir import Block, Operation, SSAValue

from qlower.codegen.values.bounds import constant_value


def is_zero_point(number: arith.ConstantOp) -> bool:
    """Whether a number may be a zero point: it is only added, and not next to another
    one, with which LLVM would combine it. Then the code needn't know it."""
    return all(
        isinstance(use.operation, arith.AddiOp)
        and not any(_adds_constant(other) for other in _neighbours(use.operation))
        for use in number.result.uses
    )


def is_limit(number: arith.ConstantOp) -> bool:
    """Whether a number only limits what zero points are added to next: then LLVM, which
    doesn't know these, learns nothing from it."""
    return all(_limits_code(use.operation) for use in number.result.uses)


def _limits_code(op: Operation) -> bool:
    return isinstance(op, arith.MaxSIOp | arith.MinSIOp) and all(
        _adds_zero_point(use.operation) or _limits_code(use.operation)
        for use in op.result.uses
    )


def _adds_zero_point(op: Operation) -> bool:
    numbers = (operand.owner for operand in op.operands)
    return isinstance(op, arith.AddiOp) and any(
        isinstance(number, arith.ConstantOp) and is_zero_point(number)
        for number in numbers
    )


def is_of_line(number: arith.ConstantOp) -> bool:
    """Whether a number is only used as slope or offset of a line of integers, as in a
    requantization, which LLVM can't simplify."""
    return all(_is_line(use.operation, use.index) for use in number.result.uses)


def _is_line(op: Operation, index: int) -> bool:
    if isinstance(op, arith.MulfOp):
        return isinstance(op.operands[1 - index].owner, arith.SIToFPOp)
    return isinstance(op, math.FmaOp) and isinstance(
        op.operands[0].owner, arith.SIToFPOp
    )


def _neighbours(op: Operation) -> list[Operation | Block]:
    """The operations that make an operation's operands, and those that read its
    results."""
    readers = (use.operation for result in op.results for use in result.uses)
    return [*(operand.owner for operand in op.operands), *readers]


def _adds_constant(op: Operation | Block) -> bool:
    return isinstance(op, arith.AddiOp) and any(
        isinstance(operand.owner, arith.ConstantOp) for operand in op.operands
    )


def is_extended(value: SSAValue) -> bool:
    """Whether every use of a narrow number widens it again: LLVM then doesn't narrow
    it."""
    wider = (arith.ExtSIOp, arith.ExtUIOp, arith.SIToFPOp, arith.UIToFPOp)
    return all(isinstance(use.operation, wider) for use in value.uses)


def before_clamps(value: SSAValue) -> tuple[SSAValue, list[tuple[bool, int]]]:
    """The value that `value` is clamped from, and the clamps in turn: whether from
    above, and the limit."""
    clamps: list[tuple[bool, int]] = []
    while isinstance(owner := value.owner, arith.MinSIOp | arith.MaxSIOp):
        value, limit = owner.operands
        if not isinstance(limit.owner, arith.ConstantOp):
            value, limit = limit, value
        if not isinstance(limit.owner, arith.ConstantOp):
            return owner.result, clamps[::-1]
        clamps.append((isinstance(owner, arith.MinSIOp), constant_value(limit)))
    return value, clamps[::-1]
