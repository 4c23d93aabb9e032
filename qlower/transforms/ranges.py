"""The integers that a scalar or a tensor can hold, by the operations that compute it.

A range is a closed interval of signed numbers, within that of the type. Ranges forget
how values depend on each other: they may be wider than what can occur, never narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects import arith, math, tensor
from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from qlower.dialects import fixed
from qlower.dialects.fixed import RoundingMode
from qlower.dialects.kernel import CopyOp, IndexOp, NestOp, YieldOp
from qlower.dialects.types import tensor_type
from qlower.interp.fixed import shift_right

Range: TypeAlias = tuple[int, int]
Ranges: TypeAlias = dict[SSAValue, Range]


def width_of(type: Attribute) -> int | None:
    """Bits of an integer or index type, None of any other."""
    match type:
        case IntegerType():
            return type.width.data
        case IndexType():
            return 64
        case _:
            return None


def type_range(type: Attribute) -> Range | None:
    """All numbers of an integer type, None of any other."""
    width = width_of(type)
    return None if width is None else fixed.integer_range(width)


def _within(low: int, high: int, type: Attribute) -> Range | None:
    """The range, or that of the type if numbers of it may have wrapped."""
    whole = type_range(type)
    if whole is None or whole[0] <= low <= high <= whole[1]:
        return low, high
    return whole


def join(*ranges: Range | None) -> Range | None:
    """The least range with all numbers of some; None if nothing is known of one."""
    known = [range for range in ranges if range is not None]
    if len(known) < len(ranges) or not known:
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def tensor_ranges(nests: Mapping[SSAValue, Range], op: Operation) -> Range | None:
    """The range of the elements of an op's result; for a nest's, see `nest_ranges`."""
    match op:
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as attribute):
            return _constant_range(attribute)
        case tensor.ExpandShapeOp(src=source) | tensor.CollapseShapeOp(src=source):
            return nests.get(source)
        case CopyOp():
            parts = [nests.get(op.source)]
            if op.destination is not None:
                parts.append(nests.get(op.destination))
            if isinstance(op.fill, IntegerAttr):
                parts.append(_number(op.fill))
            return join(*parts)
        case _:
            return None


def _constant_range(
    attribute: DenseIntOrFPElementsAttr[AnyDenseElement],
) -> Range | None:
    element = attribute.type.element_type
    if not isinstance(element, IntegerType | IndexType) or len(attribute) == 0:
        return None
    width = element.bitwidth if isinstance(element, IntegerType) else 0
    if width in (8, 16, 32, 64) and element != IntegerType(width, Signedness.UNSIGNED):
        values = np.frombuffer(attribute.data.data, f"<i{width // 8}")
        return _within(int(values.min()), int(values.max()), element)
    numbers = element.unpack(attribute.data.data, len(attribute))
    return _within(min(numbers), max(numbers), element)


def _number(attribute: IntegerAttr) -> Range | None:
    whole, value = type_range(attribute.type), attribute.value.data
    if whole is None:
        return None
    value = (value - whole[0]) % (whole[1] - whole[0] + 1) + whole[0]
    return value, value


def nest_ranges(nest: NestOp, tensors: Mapping[SSAValue, Range]) -> Ranges:
    """The ranges of everything that the regions of a nest compute, and its results."""
    inputs = [_of_tensor(value, tensors) for value in nest.inputs]
    found: Ranges = {}
    accumulators: list[Range | None] = []
    if nest.reduction_bounds:
        accumulators = _region(nest, nest.init, inputs, tensors, found)
        accumulators = _reduce(nest, inputs, accumulators, tensors, found)
    results = _region(nest, nest.epilogue, [*inputs, *accumulators], tensors, found)
    for result, range in zip(nest.res, results, strict=True):
        if range is not None:
            found[result] = range
    return found


def _of_tensor(value: SSAValue, tensors: Mapping[SSAValue, Range]) -> Range | None:
    return tensors.get(value, type_range(tensor_type(value).element_type))


def _reduce(
    nest: NestOp,
    inputs: list[Range | None],
    start: list[Range | None],
    tensors: Mapping[SSAValue, Range],
    found: Ranges,
) -> list[Range | None]:
    """The range of accumulators after all steps; `found` is the range after any
    step."""
    body = nest.body.block
    arguments = body.args[len(inputs) :]
    whole = [type_range(argument.type) for argument in arguments]
    _region(nest, nest.body, [*inputs, *whole], tensors, found)
    terminator = body.last_op
    assert isinstance(terminator, YieldOp)
    settled = [
        _settled(argument, first, value.owner, prod(nest.reduction_bounds), found)
        for argument, first, value in zip(
            arguments, start, terminator.arguments, strict=True
        )
    ]
    return _region(nest, nest.body, [*inputs, *settled], tensors, found)


def _settled(
    accumulator: SSAValue,
    start: Range | None,
    step: Operation | Block,
    steps: int,
    found: Ranges,
) -> Range | None:
    """An accumulator's range from that of what is added to it, or compared with it."""
    whole = type_range(accumulator.type)
    if start is None or not isinstance(step, _ACCUMULATING):
        return whole
    terms = [value for value in step.operands if value is not accumulator]
    if len(terms) != 1 or terms[0] not in found:
        return whole
    term = found[terms[0]]
    if not isinstance(step, arith.AddiOp):
        return join(start, term)
    low, high = start[0] + steps * min(term[0], 0), start[1] + steps * max(term[1], 0)
    return _within(low, high, accumulator.type)


_ACCUMULATING = arith.AddiOp | arith.MaxSIOp | arith.MinSIOp


def _region(
    nest: NestOp,
    region: Region,
    arguments: list[Range | None],
    tensors: Mapping[SSAValue, Range],
    found: Ranges,
) -> list[Range | None]:
    """Fill in what a region computes, and give what it yields."""
    block = region.block
    for argument, range in zip(block.args, arguments, strict=True):
        if range is not None:
            found[argument] = range
    for op in block.ops:
        range = None
        match op:
            case arith.ConstantOp(value=IntegerAttr() as value):
                range = _number(value)
            case _ if type(op) in RULES:
                range = result_range(op, [found.get(one) for one in op.operands])
            case IndexOp():
                range = 0, nest.bounds[op.dim.value.data] - 1
            case tensor.ExtractOp():
                range = _of_tensor(op.tensor, tensors)
            case _ if len(op.results) == 1:
                range = type_range(op.results[0].type)
            case _:
                pass
        if range is not None:
            found[op.results[0]] = range
    terminator = block.last_op
    assert isinstance(terminator, YieldOp)
    return [found.get(value) for value in terminator.arguments]


def result_range(op: Operation, operands: Sequence[Range | None]) -> Range | None:
    """The integers that an operation of `RULES` gives for operands in ranges."""
    whole = type_range(op.results[0].type)
    if whole is None or None in operands:
        return whole
    low, high = RULES[type(op)](op, *cast("list[Range]", operands))
    return (low, high) if whole[0] <= low <= high <= whole[1] else whole


def _corners(function: Callable[[int, int], int]) -> Callable[..., Range]:
    """A function that is monotone in each operand: its extremes are at the corners."""

    def rule(_op: Operation, a: Range, b: Range) -> Range:
        values = [function(x, y) for x in a for y in b]
        return min(values), max(values)

    return rule


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _quotient(_op: Operation, a: Range, b: Range) -> Range:
    if b[0] <= 0:
        bound = max(-a[0], a[1])
        return -bound, bound
    return _corners(_truncated)(_op, a, b)


def _unsigned_quotient(op: Operation, a: Range, b: Range) -> Range:
    return _quotient(op, a, b) if a[0] >= 0 and b[0] > 0 else _UNKNOWN


def _remainder(_op: Operation, a: Range, b: Range) -> Range:
    bound = max(abs(b[0]), abs(b[1])) - 1
    return max(a[0], -bound) if a[0] < 0 else 0, max(min(a[1], bound), 0)


def _unsigned_remainder(op: Operation, a: Range, b: Range) -> Range:
    return _remainder(op, a, b) if a[0] >= 0 and b[0] > 0 else _UNKNOWN


def _and(_op: Operation, a: Range, b: Range) -> Range:
    limits = [high for low, high in (a, b) if low >= 0]
    return (0, min(limits)) if limits else _UNKNOWN


def _or(_op: Operation, a: Range, b: Range) -> Range:
    if a[0] < 0 or b[0] < 0:
        return _UNKNOWN
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


def _unsigned(op: Operation, *operands: Range) -> Range:
    """Minimum or maximum of unsigned numbers."""
    if any(low < 0 for low, _ in operands):
        return _UNKNOWN
    choose = min if isinstance(op, arith.MinUIOp) else max
    return _corners(choose)(op, *operands)


def _shift_left(_op: Operation, a: Range, n: Range) -> Range:
    if n[0] < 0 or n[1] > _MOST_BITS:
        return _UNKNOWN
    return _corners(lambda x, y: x << y)(_op, a, n)


def _shift_right(op: Operation, a: Range, n: Range) -> Range:
    if n[0] < 0 or n[1] > _MOST_BITS:
        return _UNKNOWN
    if not isinstance(op, fixed.ShiftRightOp):
        return _corners(lambda x, y: x >> y)(op, a, n)
    return _rounded_shift_right(a, n, op.rounding.data)


@lru_cache(maxsize=1 << 12)
def _rounded_shift_right(a: Range, n: Range, rounding: RoundingMode) -> Range:
    # A shift by all bits has no result.
    amounts = np.minimum(n, _MOST_BITS - 1)
    values = np.array(a, np.int64)[:, np.newaxis]
    corners = shift_right(values, amounts, rounding)
    return int(corners.min()), int(corners.max())


def _unsigned_shift_right(op: Operation, a: Range, n: Range) -> Range:
    if a[0] >= 0:
        return _shift_right(op, a, n)
    width = width_of(op.operands[0].type)
    assert width is not None
    return (0, (1 << (width - n[0])) - 1) if 0 < n[0] <= width else _UNKNOWN


def _same(_op: Operation, a: Range) -> Range:
    return a


def _either(_op: Operation, _condition: Range, a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def _zero_extended(op: Operation, a: Range) -> Range:
    width = width_of(op.operands[0].type)
    assert width is not None
    return a if a[0] >= 0 else (0, (1 << width) - 1)


def _saturated(op: Operation, a: Range) -> Range:
    assert isinstance(op, fixed.SaturateOp)
    low, high = op.bounds
    return min(max(a[0], low), high), min(max(a[1], low), high)


def _magnitude(_op: Operation, a: Range) -> Range:
    largest = max(-a[0], a[1])
    return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), largest


def _leading_zeros(op: Operation, a: Range) -> Range:
    width = width_of(op.operands[0].type)
    assert width is not None
    if a[0] < 0:
        return 0, width
    return width - a[1].bit_length(), width - a[0].bit_length()


_MOST_BITS = 64
_UNKNOWN: Range = (1, 0)
"""An empty range, for which that of the type is taken."""

RULES: dict[type[Operation], Callable[..., Range]] = {
    arith.AddiOp: _corners(lambda x, y: x + y),
    arith.SubiOp: _corners(lambda x, y: x - y),
    arith.MuliOp: _corners(lambda x, y: x * y),
    arith.DivSIOp: _quotient,
    arith.DivUIOp: _unsigned_quotient,
    arith.RemSIOp: _remainder,
    arith.RemUIOp: _unsigned_remainder,
    arith.AndIOp: _and,
    arith.OrIOp: _or,
    arith.XOrIOp: _or,
    arith.MinSIOp: _corners(min),
    arith.MaxSIOp: _corners(max),
    arith.MinUIOp: _unsigned,
    arith.MaxUIOp: _unsigned,
    arith.ShLIOp: _shift_left,
    arith.ShRSIOp: _shift_right,
    arith.ShRUIOp: _unsigned_shift_right,
    arith.ExtSIOp: _same,
    arith.ExtUIOp: _zero_extended,
    arith.TruncIOp: _same,
    arith.IndexCastOp: _same,
    arith.SelectOp: _either,
    fixed.ShiftRightOp: _shift_right,
    fixed.SaturateOp: _saturated,
    math.AbsIOp: _magnitude,
    math.CountLeadingZerosOp: _leading_zeros,
}
"""From the operands' ranges to that of the result, in unlimited precision.

Of an op that isn't here, or that may wrap, nothing is known but its type.
"""
