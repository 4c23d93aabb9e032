"""Bounds of numbers, from the way they are computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from qlower.codegen.llvm.values import Type
from qlower.codegen.values.elements import scalar_type
from qlower.dialects.kernel import NestOp

T = TypeVar("T")

_LARGEST_FLOAT = {32: 2.0**127, 64: 2.0**1023}
"""Rounded sums and products below these are finite."""


def of_arguments(
    block: Block, given: Sequence[T | None], magnitudes: Sequence[float]
) -> tuple[dict[SSAValue, T], dict[SSAValue, float]]:
    """The values given for a block's arguments, None for unused arguments, and bounds
    on the magnitudes of the first ones."""
    values: dict[SSAValue, T] = {
        argument: value
        for argument, value in zip(block.args, given, strict=True)
        if value is not None
    }
    return values, dict(zip(block.args, magnitudes, strict=False))


def accumulator_magnitudes(op: NestOp, magnitudes: Sequence[float]) -> list[float]:
    """Bounds on the accumulators after all steps of a reduction, from those on the
    inputs: of a sum of terms, or of the greatest or least of them.

    That of anything else, or of a sum that may wrap, is infinite.
    """
    block, start = op.body.block, op.init.block
    terminator, first = block.last_op, start.last_op
    assert terminator is not None
    assert first is not None
    bounds: dict[SSAValue, float] = dict(zip(block.args, magnitudes, strict=False))
    at_first: dict[SSAValue, float] = dict(zip(start.args, magnitudes, strict=False))
    found: list[float] = []
    for accumulator, value, initial in zip(
        block.args[len(op.inputs) :], terminator.operands, first.operands, strict=True
    ):
        step, bound = value.owner, math.inf
        terms = [] if isinstance(step, Block) else list(step.operands)
        if isinstance(step, _ACCUMULATING) and terms.count(accumulator) == 1:
            terms.remove(accumulator)
            term = largest_magnitude(terms[0], bounds)
            begin = largest_magnitude(initial, at_first)
            if isinstance(step, arith.AddiOp):
                total = begin + math.prod(op.reduction_bounds) * term
                bound = total if total < 1 << (_bits(value) - 1) else math.inf
            else:
                bound = max(begin, term)
        found.append(bound)
    return found


_ACCUMULATING = arith.AddiOp | arith.MaxSIOp | arith.MinSIOp


def _bits(value: SSAValue) -> int:
    return Type(scalar_type(value.type)).bits


def largest_magnitude(value: SSAValue, bounds: dict[SSAValue, float]) -> float:
    """A bound on |value|, from how it is computed and `bounds` on the arguments.

    That of an integer is exact. A float may be rounded to a little more; it is infinite
    where nothing is known. One whose bound is finite is a number: it is computed from
    numbers that can't have become infinite. Results are kept in `bounds`.
    """
    return _walked(value, bounds, _magnitude)


def magnitude_unless_nan(value: SSAValue, bounds: dict[SSAValue, float]) -> float:
    """A bound on |value| where it is a number, as `largest_magnitude` gives it of what
    is one: minimum and maximum with a constant bound what they are given, but a NaN."""
    return _walked(value, bounds, _magnitude_of_number)


def _walked(
    value: SSAValue,
    bounds: dict[SSAValue, float],
    magnitude: Callable[[SSAValue, Mapping[SSAValue, float]], float],
) -> float:
    """The bound of a value, after those of all that it is computed from."""
    pending = [value]
    while pending:
        current, owner = pending[-1], pending[-1].owner
        missing: list[SSAValue] = []
        if isinstance(owner, Operation) and owner.name in _KNOWN:
            missing = [operand for operand in owner.operands if operand not in bounds]
        if missing:
            pending += missing
        else:
            if current not in bounds:
                bounds[current] = magnitude(current, bounds)
            pending.pop()
    return bounds[value]


_EXTREMES = ("arith.minimumf", "arith.maximumf")

_KNOWN = frozenset(
    (
        *("arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp", "arith.extf"),
        *("arith.muli", "arith.mulf", "arith.addi", "arith.subi", "arith.addf"),
        *("arith.subf", "arith.select", "math.copysign", "math.absf", "math.fma"),
        *("fixed.shift_right", *_EXTREMES),
    )
)
"""Operations whose results `_magnitude` bounds by their operands."""


def _magnitude(value: SSAValue, bounds: Mapping[SSAValue, float]) -> float:
    """The bound on |value| by those on its operands."""
    type = Type(scalar_type(value.type))
    limit = math.inf if type.is_float else 1 << (type.bits - 1)
    if isinstance(value, BlockArgument):
        return limit
    op = value.owner
    assert isinstance(op, Operation)

    def operands() -> list[float]:
        return [bounds[operand] for operand in op.operands]

    match op.name:
        case "arith.extsi" | "arith.sitofp" | "arith.extf":
            bound = operands()[0]
        case "math.copysign" | "math.absf":
            bound = operands()[0]
        case "arith.extui" | "arith.uitofp":
            bound = 2 * operands()[0]
        case "arith.muli" | "arith.mulf":
            a, b = operands()
            bound = a * b
        case "arith.addi" | "arith.subi" | "arith.addf" | "arith.subf":
            bound = sum(operands())
        case "math.fma":
            a, b, c = operands()
            bound = a * b + c
        case "fixed.shift_right":
            shift = constant_value(op.operands[1])
            half = 1 << shift >> 1
            bound = (int(min(operands()[0], limit)) + half) >> shift
        case "arith.select":
            bound = _selected_magnitude(op, bounds)
        case "arith.minimumf" | "arith.maximumf":
            bound = max(operands())
        case "arith.constant":
            bound = _constant_magnitude(value)
        case _:
            return limit
    if type.is_float and not bound < _LARGEST_FLOAT[type.bits]:
        return math.inf
    return min(bound, limit)  # a bound beyond the type says that it may wrap


def _magnitude_of_number(value: SSAValue, bounds: Mapping[SSAValue, float]) -> float:
    """The bound on |value| by those on its operands, unless it is NaN."""
    ends: dict[str, float] = {}
    within = value
    while isinstance(op := within.owner, Operation) and op.name in _EXTREMES:
        within, end = op.operands
        if not isinstance(end.owner, arith.ConstantOp):
            within, end = end, within
        ends[op.name] = max(bounds[end], ends.get(op.name, 0.0))
    if ends and isinstance(op, Operation) and op.name == "math.absf":
        ends.setdefault("arith.maximumf", 0.0)
    bound = _magnitude(value, bounds)
    if len(ends) == len(_EXTREMES):
        bound = min(bound, max(ends.values()))
    return bound


def _selected_magnitude(op: Operation, bounds: Mapping[SSAValue, float]) -> float:
    """The greatest magnitude of one of two values, or of one clamped between others.

    `select(x < most, x, most)` is at most that number, whatever x is, NaN too.
    """
    ends: dict[str, float] = {}
    value = op.results[0]
    while (clamped := _clamped(value, bounds)) is not None:
        value, side, end = clamped
        ends[side] = max(end, ends.get(side, 0.0))
    if len(ends) == 2:
        return max(ends.values())
    return max(bounds[choice] for choice in op.operands[1:])


def _clamped(
    value: SSAValue, bounds: Mapping[SSAValue, float]
) -> tuple[SSAValue, str, float] | None:
    """The operand of a float that another number clamps on one side, the comparison
    that says which side, and the magnitude of that number."""
    match value.owner:
        case arith.SelectOp(cond=condition, lhs=chosen, rhs=end):
            pass
        case _:
            return None
    comparison = condition.owner
    if not isinstance(comparison, arith.CmpfOp):
        return None
    side = arith.CMPF_COMPARISON_OPERATIONS[comparison.predicate.value.data]
    if tuple(comparison.operands) != (chosen, end) or side not in ("olt", "ogt"):
        return None
    return chosen, side, bounds[end]


def constant_value(value: SSAValue) -> int:
    """The integer of a constant, 0 of anything else."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return 0


def _constant_magnitude(value: SSAValue) -> float:
    assert isinstance(value.owner, arith.ConstantOp)
    attribute = value.owner.value
    if isinstance(attribute, FloatAttr):
        number = attribute.value.data
        return math.inf if math.isnan(number) else abs(number)
    return abs(constant_value(value))
