"""Proving that a rule is non-decreasing in the number that its run-time values have.

The same argument as for machine code's epilogues (`prove_epilogues/monotone.py`), for
the rule as the contract has it: operations are looked at in order, with the values of
both ends of each lane's interval. What is the same at both ends, computed of proved
values, is the same in between.

What the rule is given grows with the number one by one if its ends lie as far apart as
the number's, which they don't where it wraps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qlower.contracts.walk import walk_function
from qlower.interp import Array, make_interpreter
from qlower.observe.chain import line_of
from qlower.transforms.prove_epilogues.monotone import keeps_order
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.functions import RuleFunction, of_lanes

_ORDERED_I = (2, 3, 4, 5)
"""slt, sle, sgt, sge."""
_ORDERED_F = (2, 3, 4, 5, 9, 10, 11, 12)
"""ogt, oge, olt, ole, ugt, uge, ult, ule."""


@dataclass(frozen=True)
class _Known:
    """A value at both ends, in the last axis, of each lane's interval.

    `fault` is the operation that keeps it from being proved to be non-decreasing.
    """

    ends: Array
    depends: bool = False
    fault: Operation | None = None


@dataclass(frozen=True)
class Unproved:
    """An operation for which the argument fails; None where what it is given does."""

    op: Operation | None

    def __str__(self) -> str:
        if self.op is None:
            return "the accumulator may wrap"
        return f"{self.op.name} isn't proved to keep the order ({line_of(self.op)})"


class Intervals(Protocol):
    """The intervals in which a function is checked: low ... high of each of `lanes`."""

    @property
    def lanes(self) -> Integers: ...

    @property
    def low(self) -> Integers: ...

    @property
    def high(self) -> Integers: ...


def prove(function: RuleFunction, domain: Intervals) -> Unproved | None:
    """Why a rule isn't proved to be non-decreasing on each interval; None if it is.

    Raises InterpretationError where an end has no result.
    """
    lanes = domain.lanes[:, np.newaxis]
    both = np.stack([domain.low, domain.high], axis=1)
    given = function.given(np.broadcast_to(lanes, both.shape), both)
    if not all(map(_grows_by_one, given.values(), repeat(domain.high - domain.low))):
        return Unproved(None)
    interpreter = make_interpreter(ModuleOp([]))

    def run(op: Operation, operands: Sequence[_Known]) -> Sequence[_Known]:
        results = interpreter.run_op(op, tuple(one.ends for one in operands))
        return [_result(op, operands, value) for value in results]

    arguments = [
        _Known(given[name], depends=True)
        if name in given
        else _Known(of_lanes(function.constants[name], lanes))
        for name in function.rule.values
    ]
    (result,) = walk_function(function.rule.function, arguments, run)
    return Unproved(result.fault) if result.fault is not None else None


def _result(op: Operation, operands: Sequence[_Known], ends: Array) -> _Known:
    dependent = [one for one in operands if one.depends]
    if isinstance(op, arith.SelectOp) and not operands[0].depends:
        condition = operands[0].ends
        if condition.all() or not condition.any():
            return operands[1 if condition.all() else 2]
    if not dependent:
        return _Known(ends)
    fault = next((one.fault for one in dependent if one.fault is not None), None)
    if fault is not None:
        return _Known(ends, True, fault)
    if _is_same(ends) and (
        all(_is_same(one.ends) for one in dependent) or _is_comparison(op, operands)
    ):
        return _Known(ends[..., :1])
    is_proved = _keeps_order(op, operands, ends) and bool(np.isfinite(ends).all())
    return _Known(ends, True, None if is_proved else op)


def _grows_by_one(ends: Array, width: Integers) -> bool:
    """Whether values are as far apart at both ends as the numbers: none between them
    wrapped, because then they would be nearer, or the other way round."""
    lower, upper = (ends[..., place] for place in (0, 1))
    return bool(np.all((upper >= lower) & (upper - lower == width)))


def _is_same(ends: Array) -> bool:
    """Whether both ends have the same value, in every lane."""
    return bool(np.array_equal(ends[..., :1], ends[..., -1:]))


def _is_comparison(op: Operation, operands: Sequence[_Known]) -> bool:
    """Whether an operation compares, for order, a dependent number with a constant."""
    if sum(one.depends for one in operands) != 1:
        return False
    if isinstance(op, arith.CmpiOp):
        return op.predicate.value.data in _ORDERED_I
    return isinstance(op, arith.CmpfOp) and op.predicate.value.data in _ORDERED_F


def _keeps_order(op: Operation, operands: Sequence[_Known], ends: Array) -> bool:
    """Whether an operation on proved values is non-decreasing in those that depend."""
    depends = [one.depends for one in operands]
    match op:
        case arith.SelectOp():
            return not depends[0]
        case math.FmaOp():
            factors = [one.ends for one in operands[:2] if not one.depends]
            return len(factors) == 1 and bool(np.all(factors[0] >= 0))
        case arith.DivSIOp() | arith.DivfOp():
            return not depends[1] and bool(np.all(operands[1].ends > 0))
        case _:
            known = dict(zip(op.operands, (one.ends for one in operands), strict=True))
            return keeps_order(op, depends, known | {op.results[0]: ends})
