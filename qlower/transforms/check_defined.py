"""Pass check-defined: refuses what has no result for some numbers that can occur.

Native code can't stop at an operation that has no result there, as the interpreter
does: a shift by more than the width, a division by zero, a lookup outside of a table, a
sum that overflows in spite of `nsw`, an element that was never written. Each is proved
not to happen, from the ranges of what is computed (ranges.py), or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qlower.diagnostics import QlowerError
from qlower.dialects import fixed
from qlower.dialects.kernel import NestOp
from qlower.dialects.operations import operations_in
from qlower.dialects.types import tensor_type
from qlower.model.entry import defined_functions
from qlower.tally import count
from qlower.transforms.ranges import (
    RULES,
    Range,
    Ranges,
    nest_ranges,
    tensor_ranges,
    type_range,
    width_of,
)
from qlower.transforms.written import Masks, follow_writes

CHECKED_ALONE = "functions checked nest by nest"
"""The count of functions whose nests rely on nothing that others pass on."""


class CheckDefinedPass(ModulePass):
    """Refuse a kernel-level module if it may do what has no result.

    Raises QlowerError at the operation, with the range that was proved and the legal
    one.
    """

    name = "check-defined"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            check_function(function)


def check_function(function: func.FuncOp) -> None:
    """Checks the nests of one function: each by itself if that will do, so that it has
    a result whatever the others pass to it."""
    try:
        _check_nests(function, by_themselves=True)
    except QlowerError:
        _check_nests(function, by_themselves=False)
    else:
        count(CHECKED_ALONE)


def _check_nests(function: func.FuncOp, *, by_themselves: bool) -> None:
    tensors: Ranges = {}
    masks: Masks = {}
    for op in function.body.block.ops:
        follow_writes(op, masks)
        if isinstance(op, NestOp):
            found = nest_ranges(op, tensors)
            for region in op.regions:
                for inner in operations_in(region):
                    check = _CHECKS.get(type(inner))
                    if check is not None:
                        check(inner, found)
            if not by_themselves:
                tensors |= {r: found[r] for r in op.res if r in found}
        elif (range := tensor_ranges(tensors, op)) is not None:
            tensors[op.results[0]] = range


def _check_shift(op: Operation, ranges: Mapping[SSAValue, Range]) -> None:
    width = width_of(op.operands[0].type)
    assert width is not None
    _require(op, "amount", op.operands[1], ranges, (0, width - 1))
    if isinstance(op, arith.ShLIOp):
        _check_overflow(op, ranges)


def _check_extract(op: Operation, ranges: Mapping[SSAValue, Range]) -> None:
    table, *indices = op.operands
    shape = tensor_type(table).get_shape()
    for axis, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        _require(op, f"index of axis {axis}", index, ranges, (0, extent - 1))


def _require(
    op: Operation,
    role: str,
    value: SSAValue,
    ranges: Mapping[SSAValue, Range],
    legal: Range,
) -> None:
    low, high = ranges[value]
    if low < legal[0] or high > legal[1]:
        where = f"where its {role} is outside of [{legal[0]}, {legal[1]}]"
        raise _undefined(op, where, (low, high))


def _undefined(
    op: Operation,
    where: str,
    range: Range,
    help: str = "clamp it: what is in range whatever comes in can be compiled",
) -> QlowerError:
    low, high = range
    return QlowerError(
        f"'{op.name}' has no result {where}, and it may be in [{low}, {high}]",
        op.location,
        help=help,
    )


def _check_division(op: Operation, ranges: Mapping[SSAValue, Range]) -> None:
    dividend, divisor = (ranges[operand] for operand in op.operands)
    (result,) = op.results
    whole = type_range(result.type)
    assert whole is not None
    has_zero = divisor[0] <= 0 <= divisor[1]
    overflows = (
        isinstance(op, arith.DivSIOp | arith.RemSIOp)
        and dividend[0] == whole[0]
        and divisor[0] <= -1 <= divisor[1]
    )
    if has_zero or overflows:
        raise _undefined(op, f"for a divisor of {0 if has_zero else -1}", divisor)


def _check_overflow(op: Operation, ranges: Mapping[SSAValue, Range]) -> None:
    assert isinstance(op, arith.SignlessIntegerBinaryOperationWithOverflow)
    if not op.overflow_flags.data:
        return
    whole = type_range(op.result.type)
    assert whole is not None
    operands = [ranges[operand] for operand in op.operands]
    low, high = RULES[type(op)](op, *operands)
    for flag in op.overflow_flags.data:
        is_signed = flag is arith.IntegerOverflowFlag.NSW
        least, most = whole if is_signed else (0, 2 * whole[1] + 1)
        if low < least or high > most or (not is_signed and min(operands)[0] < 0):
            where = f"where it overflows in spite of {flag.value}"
            help = "leave the flag away: the sum then wraps"
            raise _undefined(op, where, (low, high), help)


_CHECKS: Mapping[
    type[Operation], Callable[[Operation, Mapping[SSAValue, Range]], None]
] = {
    **dict.fromkeys((arith.AddiOp, arith.SubiOp, arith.MuliOp), _check_overflow),
    **dict.fromkeys((arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp), _check_shift),
    fixed.ShiftRightOp: _check_shift,
    **dict.fromkeys(
        (arith.DivSIOp, arith.RemSIOp, arith.DivUIOp, arith.RemUIOp), _check_division
    ),
    tensor.ExtractOp: _check_extract,
}
"""The checks that refuse a scalar operation if it may have no result."""
