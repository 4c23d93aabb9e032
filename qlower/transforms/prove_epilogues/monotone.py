"""Proving that a chain of scalar operations is a non-decreasing function.

The function has one variable, an integer in an interval; everything else it reads is
constant.

**Lemma (ends).** Let each operand of an operation be non-decreasing in the variable or
constant, and the operation non-decreasing in the former where nothing wraps. Then its
exact result lies, everywhere in the interval, between its exact results at both ends.
So if neither of these wraps, none in between does, and the result is non-decreasing;
likewise where both wrap equally often, as all in between do.

**Lemma (rounding).** IEEE rounding to nearest is non-decreasing, so a float operation
is non-decreasing wherever the real one is; and it is finite in between if it is at both
ends, so that no NaN comes up (infinity times zero, infinity less infinity).

The operations are composed one by one, and a composition of non-decreasing functions is
non-decreasing.

All is done for many channels in one step, each with its own interval and constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue

from qlower.dialects.fixed import ConvertOp, SaturateOp, ShiftRightOp
from qlower.interp import Array, NumpyInterpreter, make_interpreter

Values = dict[SSAValue, Array]
"""Lanes of scalars; they broadcast against each other."""

_OF_ONE_OPERAND = (
    arith.ExtSIOp,
    arith.SIToFPOp,
    arith.ExtFOp,
    arith.TruncFOp,
    math.FloorOp,
    math.CeilOp,
    math.TruncOp,
    math.RoundOp,
    math.RoundEvenOp,
    ConvertOp,
)
"""Non-decreasing wherever they are defined; constant operands don't matter."""

_OF_TWO_OPERANDS = (
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.AddfOp,
)
"""Non-decreasing in both."""

_BELOW, _ABOVE = (2, 3), (4, 5)
"""Predicates of signed comparisons that hold up to a bound, and from one on."""

_EXACT: Mapping[type[Operation], Callable[[Array, Array], Array]] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.ShLIOp: lambda a, b: np.multiply(a, np.power(2, b)),
}
"""Integer operations in unlimited precision, to see whether they wrap."""


@cache
def _interpreter() -> NumpyInterpreter:
    return make_interpreter(ModuleOp([]))


def run_scalars(ops: Iterable[Operation], values: Values) -> None:
    """Adds the results of `ops`, whose other operands are in `values`."""
    _interpreter().run_ops(ops, values)


def non_decreasing(
    ops: Sequence[Operation], variable: SSAValue, ends: Values
) -> set[SSAValue]:
    """The results of `ops` that are proved to be non-decreasing in `variable`.

    `ends` holds all values, with the two ends of the interval in the last axis.
    """
    dependent = {variable}
    proved = {variable}
    for op in ops:
        if dependent.isdisjoint(op.operands):
            continue  # a constant
        depends = [v in dependent for v in op.operands]
        dependent.update(op.results)
        if isinstance(op, arith.SelectOp):
            if _steps_up(op, proved, dependent, ends):
                proved.add(op.result)
        elif (
            all(v in proved for v in op.operands if v in dependent)
            and keeps_order(op, depends, ends)
            and np.isfinite(ends[op.results[0]]).all()
        ):
            proved.update(op.results)
    return proved


def _steps_up(
    op: arith.SelectOp, proved: set[SSAValue], dependent: set[SSAValue], ends: Values
) -> bool:
    """Whether `op` chooses by a bound of a non-decreasing number between two constants,
    and the one above the bound isn't smaller."""
    comparison = op.cond.owner
    if not isinstance(comparison, arith.CmpiOp):
        return False
    predicate = comparison.predicate.value.data
    if predicate not in _BELOW + _ABOVE:
        return False
    below, above = op.lhs, op.rhs
    if predicate in _ABOVE:
        below, above = above, below
    # The compared number is non-decreasing and its bound constant: the condition
    # changes once at most, and the choice goes from `below` to `above`.
    return (
        comparison.lhs in proved
        and dependent.isdisjoint((comparison.rhs, below, above))
        and bool(np.all(np.less_equal(ends[below], ends[above])))
    )


def keeps_order(op: Operation, depends: Sequence[bool], ends: Values) -> bool:
    """Whether `op` is non-decreasing in its operands that depend on the variable."""
    if isinstance(op, _OF_ONE_OPERAND + _OF_TWO_OPERANDS):
        return True
    if isinstance(op, SaturateOp):
        return not op.unsigned  # 128 to 255 are stored as negative numbers
    first_only = depends[0] and not any(depends[1:])
    operands = [ends[operand] for operand in op.operands]
    if isinstance(op, ShiftRightOp | arith.ShRSIOp | arith.SubfOp):
        return first_only  # x >> s with any rounding is; a >> x and a - x are not
    if isinstance(op, arith.TruncIOp):
        # what is kept at both ends fits the narrow type, and so does what lies between
        return bool(np.array_equal(ends[op.result], operands[0]))
    if isinstance(op, arith.MuliOp | arith.MulfOp):
        # x * c is non-decreasing for c >= 0; x * x isn't, as it turns at 0
        factors = [v for v, varies in zip(operands, depends, strict=True) if not varies]
        if len(factors) != 1 or np.any(np.less(factors[0], 0)):
            return False
    if isinstance(op, arith.SubiOp | arith.ShLIOp) and not first_only:
        return False
    if isinstance(op, arith.MulfOp):
        return True
    # what is left can wrap: by the lemma it does as at the ends, if those do alike
    exact = _EXACT.get(type(op))
    if exact is None or not isinstance(op.results[0].type, IntegerType):
        return False
    wide = [np.asarray(operand).astype(object) for operand in operands]
    wrapped = exact(*wide) - ends[op.results[0]]
    return bool(np.all(np.equal(wrapped, wrapped[..., :1])))
