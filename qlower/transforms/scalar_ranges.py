"""The integers that the steps of a scalar function can be, lane by lane.

Arguments have them as attributes, an entry for each lane or one for all:

    %x: i32 {qlower.low = array<i64: -9, -4>, qlower.high = array<i64: 8, 5>}

An argument without attributes is any integer of its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from qlower.diagnostics import QlowerError
from qlower.transforms.ranges import RULES, Range, join, result_range, type_range

LOW, HIGH = "qlower.low", "qlower.high"
"""The attributes with the least and the greatest integer of an argument, by lane."""


def function_ranges(function: FuncOp) -> Mapping[SSAValue, Range]:
    """The range of each value of a function of integers, over all lanes.

    Raises `QlowerError` for attributes that are no lists of integers, of one length
    but for those of one entry, and for bounds that the type doesn't have.
    """
    bounds = [_bounds(function, index) for index in range(len(function.args))]
    lanes = max((len(one) for one in bounds), default=1)
    for one in bounds:
        if len(one) not in (1, lanes):
            raise QlowerError(
                f"an argument of {function.sym_name.data} has {len(one)} ranges, "
                f"another one {lanes}",
                function.location,
            )
    found: dict[SSAValue, Range] = {}
    for lane in range(lanes):
        own = dict[SSAValue, Range | None](
            (argument, one[lane % len(one)])
            for argument, one in zip(function.args, bounds, strict=True)
        )
        for op in function.body.block.ops:
            for result in op.results:
                own[result] = _range(op, [own.get(operand) for operand in op.operands])
        for value, range_ in own.items():
            if range_ is not None:
                found[value] = join(range_, found.get(value, range_)) or range_
    return found


def _bounds(function: FuncOp, index: int) -> Sequence[Range | None]:
    """The ranges of an argument."""
    argument = function.args[index]
    whole = type_range(argument.type)
    if function.arg_attrs is None:
        return [whole]
    attributes = function.arg_attrs.data[index].data
    first, last = attributes.get(LOW), attributes.get(HIGH)
    if first is None and last is None:
        return [whole]
    if (
        whole is None
        or not isa(first, DenseArrayBase[IntegerType])
        or not isa(last, DenseArrayBase[IntegerType])
    ):
        raise QlowerError(
            f"{LOW} and {HIGH} of argument {index} of {function.sym_name.data} must be "
            f"arrays of integers, and its type an integer, not {argument.type}",
            function.location,
        )
    low, high = first.get_values(), last.get_values()
    if len(low) != len(high) or not low:
        raise QlowerError(
            f"{LOW} of argument {index} of {function.sym_name.data} has {len(low)} "
            f"entries, {HIGH} {len(high)}",
            function.location,
        )
    found = [(int(one), int(other)) for one, other in zip(low, high, strict=True)]
    for least, most in found:
        if not whole[0] <= least <= most <= whole[1]:
            raise QlowerError(
                f"argument {index} of {function.sym_name.data} has range "
                f"[{least}, {most}], which is no range of {argument.type}",
                function.location,
            )
    return found


def _range(op: Operation, operands: Sequence[Range | None]) -> Range | None:
    match op:
        case arith.ConstantOp(value=IntegerAttr() as value):
            whole, number = type_range(value.type), value.value.data
            if whole is None:
                return None
            number = (number - whole[0]) % (whole[1] - whole[0] + 1) + whole[0]
            return number, number
        case tensor.ExtractOp():
            return _entries(op, operands)
        case _ if type(op) in RULES:
            return result_range(op, operands)
        case _:
            return type_range(op.results[0].type)


def _entries(op: tensor.ExtractOp, operands: Sequence[Range | None]) -> Range | None:
    """The entries of a table that an index can choose."""
    entries = table_entries(op.tensor)
    if entries is None or operands[1] is None:
        return type_range(op.result.type)
    low, high = max(operands[1][0], 0), min(operands[1][1], len(entries) - 1)
    chosen = entries[low : high + 1]
    return (min(chosen), max(chosen)) if chosen else type_range(op.result.type)


def table_entries(value: SSAValue) -> Sequence[int] | None:
    """The signed integers of a constant list; None of anything else."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return None
    dense = owner.value
    if not isinstance(dense, DenseIntOrFPElementsAttr) or len(dense.get_shape()) != 1:
        return None
    whole = type_range(dense.get_element_type())
    if whole is None:
        return None
    size = whole[1] - whole[0] + 1
    return [
        (int(one) - whole[0]) % size + whole[0]
        for one in dense.get_values()
        if isinstance(one, int)
    ]
