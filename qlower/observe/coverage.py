"""The distance of each rounding of a rule from a tie, for many elements in one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from qlower.contracts import Rule
from qlower.contracts.rules import RULES
from qlower.contracts.walk import walk_function
from qlower.dialects.fixed import ConvertOp, ShiftRightOp
from qlower.interp import make_interpreter
from qlower.interp.values import Array
from qlower.observe.chain import line_of

Value: TypeAlias = tuple[Array, bool]
"""Lanes, and whether they depend on the model's inputs."""

CLAMPS: Mapping[type[Operation], str] = {
    **dict.fromkeys((arith.MaxSIOp, arith.MaximumfOp), "low"),
    **dict.fromkeys((arith.MinSIOp, arith.MinimumfOp), "high"),
}
"""Ops that cut a number, and at which end."""


@dataclass(frozen=True)
class Rounding:
    """A step that rounds: `distance` is that of the fraction from 1/2, 0 for a tie and
    NaN where nothing is rounded; `negative` says which numbers are below 0."""

    name: str
    distance: Array
    negative: Array


@dataclass(frozen=True)
class Lanes:
    """A rule's effect on many elements: its roundings, in order, and the elements that
    it cuts at the low and at the high end."""

    roundings: tuple[Rounding, ...]
    low: Array
    high: Array


def analyse(rule: Rule, values: Mapping[str, Array]) -> Lanes:
    """Run a rule on lanes, which broadcast against each other."""
    module = rule.function.parent_op()
    assert isinstance(module, ModuleOp)
    interpreter = make_interpreter(module)
    shape = np.broadcast_shapes(*(np.shape(values[name]) for name in rule.values))
    roundings: list[Rounding] = []
    cut = {"low": np.zeros(shape, np.bool_), "high": np.zeros(shape, np.bool_)}

    def run(op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
        arrays = tuple(value for value, _ in operands)
        is_runtime = any(varies for _, varies in operands)
        results = interpreter.run_op(op, arrays)
        if is_runtime:
            distance = _distance(op, arrays)
            if distance is not None:
                name = f"%{op.results[0].name_hint} {line_of(op)}"
                spread = np.broadcast_to(distance, shape)
                below = np.broadcast_to(np.less(arrays[0], 0), shape)
                roundings.append(Rounding(name, spread, below))
            end = CLAMPS.get(type(op))
            if end is not None and operands[0][1] != operands[1][1]:
                given = arrays[0] if operands[0][1] else arrays[1]
                cut[end] |= np.broadcast_to(np.not_equal(results[0], given), shape)
        return [(result, is_runtime) for result in results]

    runtime = RULES[rule.name].runtime
    walk_function(rule.function, [(values[n], n in runtime) for n in rule.values], run)
    return Lanes(tuple(roundings), cut["low"], cut["high"])


def _distance(op: Operation, operands: Sequence[Array]) -> Array | None:
    """The fraction less 1/2 of what an op rounds; None for one that doesn't round."""
    if isinstance(op, ShiftRightOp):
        value, places = operands
        divisor = np.left_shift(np.int64(1), places.astype(np.int64))
        rest = np.bitwise_and(value, divisor - 1)
        return np.where(divisor > 1, (2 * rest - divisor) / (2.0 * divisor), np.nan)
    if isinstance(op, ConvertOp):
        real = np.asarray(operands[0], np.float64)
        return real - np.floor(real) - 0.5
    return None
