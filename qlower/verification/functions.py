"""A rule of a contract as a function of integers, for many channels together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Operation

from qlower.contracts import Rule
from qlower.contracts.rules import RULES
from qlower.contracts.walk import walk_function
from qlower.interp import Array, evaluate_function, make_interpreter
from qlower.observe.layer_run import Evaluation
from qlower.transforms.prove_epilogues.steps import Integers

BLOCK = 1 << 16
"""Arguments that are looked at together: caches hold them."""


@dataclass(frozen=True)
class Variable:
    """A part of a number x: `low` + (x // `inner`) modulo `size`; the whole number, of
    any size, where that is None."""

    low: int = 0
    inner: int = 1
    size: int | None = None

    def __call__(self, x: Integers) -> Integers:
        """This part of numbers."""
        return x if self.size is None else self.low + x // self.inner % self.size

    def number(self, value: int) -> int:
        """The amount that a value of this part adds to the number."""
        return value if self.size is None else (value - self.low) * self.inner


@dataclass(frozen=True)
class Given:
    """The operations that run with the model, for some lanes and numbers of their
    domains.

    Each of `values` is a variable, by its index, and an offset, a scalar or [lane], in
    a type in which that wraps.
    """

    variables: Sequence[Variable]
    values: Mapping[str, tuple[int, Array, np.dtype[np.generic]]]

    def __call__(self, lanes: Integers, x: Integers) -> dict[str, Array]:
        """The values for numbers of lanes, of one shape."""
        return {
            name: (self.variables[index](x) + of_lanes(offset, lanes)).astype(dtype)
            for name, (index, offset, dtype) in self.values.items()
        }


WHOLE = (Variable(),)
"""The number itself is what is given."""

NO_OFFSET: Array = np.zeros((), np.int64)


@dataclass(frozen=True)
class RuleFunction:
    """A rule with all its constants, [lane] each or scalars.

    The domain of a lane is an interval of integers; `given` makes of them the values
    that the rule asks for at run time: an accumulator, or two stored integers.
    """

    rule: Rule
    constants: Mapping[str, Array]
    given: Given

    def __call__(self, lanes: Integers, x: Integers) -> Array:
        """The results for some numbers of some lanes, of one shape."""
        flat, points = lanes.reshape(-1), x.reshape(-1)
        parts = [
            self._block(flat[first : first + BLOCK], points[first : first + BLOCK])
            for first in range(0, max(points.size, 1), BLOCK)
        ]
        return np.concatenate(parts).reshape(x.shape)

    def _block(self, lanes: Integers, x: Integers) -> Array:
        (result,) = evaluate_function(self.rule.function, self.arguments(lanes, x))
        wide = np.broadcast_to(result, x.shape)
        return wide.astype(np.int64) if wide.dtype.kind == "i" else wide

    def arguments(self, lanes: Integers, x: Integers) -> list[Array]:
        """The arguments of a call of the rule."""
        given = self.given(lanes, x)
        return [
            given[name] if name in given else of_lanes(self.constants[name], lanes)
            for name in self.rule.values
        ]


def of_lanes(constant: Array, lanes: Integers) -> Array:
    """A constant's value for each of some lanes."""
    return constant[lanes] if constant.ndim else constant


@dataclass(frozen=True)
class Lanes:
    """The combinations of constants that the elements of a tensor of `shape` have.

    `places` has for each lane one element that has it, in row-major order. `of` has the
    lane of each element, of extent 1 along axes where it is the same. `columns` has
    each constant [lane], by side and name.
    """

    shape: tuple[int, ...]
    places: Integers
    of: Integers
    columns: Mapping[tuple[int, str], Array]

    def constants(self, side: int) -> dict[str, Array]:
        """The constants of one side."""
        return {name: one for (own, name), one in self.columns.items() if own == side}

    def index(self, lane: int) -> tuple[int, ...]:
        """The element of a lane."""
        place = np.unravel_index(int(self.places[lane]), self.shape)
        return tuple(int(at) for at in place)


def make_lanes(
    sides: Sequence[Evaluation],
    more: Sequence[Mapping[str, Array]],
    shape: tuple[int, ...],
) -> Lanes | None:
    """The lanes of a layer by two sides; None where the result depends on a position.

    The entries of `more` for each side are distinguished, too. Positions that only
    choose between two ways of computing stand for all that choose the same.
    """
    columns: dict[tuple[int, str], Array] = {}
    keys: list[Array] = []
    for number, (side, own) in enumerate(zip(sides, more, strict=True)):
        signature = RULES[side.rule.name]
        values: dict[str, Array] = {
            name: side.values[name]
            for name in side.rule.values
            if name in signature.constants or name in own or name == "element"
        }
        values.update(own)
        choices = _choices(side, values)
        if choices is None:
            return None
        keys += choices
        columns |= {(number, name): value for name, value in values.items()}
        keys += [value for name, value in values.items() if name != "element"]
    varying = [key for key in keys if key.size > 1]
    extents = np.broadcast_shapes((1,) * len(shape), *(key.shape for key in varying))
    codes = np.zeros(extents, np.int64).reshape(-1)
    for key in varying:
        bits = np.broadcast_to(key, extents).reshape(-1)
        _, inverse = np.unique(bits, return_inverse=True)
        codes = codes * (int(inverse.max()) + 1) + inverse
        _, codes = np.unique(codes, return_inverse=True)
    _, first = np.unique(codes, return_index=True)
    index = np.unravel_index(first, extents)
    places = np.ravel_multi_index(index, shape) if shape else first
    found = {
        key: np.broadcast_to(value, shape)[np.unravel_index(places, shape)]
        if value.size > 1
        else value.reshape(())
        for key, value in columns.items()
    }
    return Lanes(shape, places.astype(np.int64), codes.reshape(extents), found)


def _choices(side: Evaluation, values: Mapping[str, Array]) -> list[Array] | None:
    """The conditions that a rule makes of an element's position; None if it does
    anything else with it."""
    if "element" not in values:
        return []
    interpreter = make_interpreter(ModuleOp([]))
    found: list[Array] = []
    is_choice = True

    def run(op: Operation, operands: Sequence[_Tracked]) -> Sequence[_Tracked]:
        nonlocal is_choice
        if any(operand.value is None for operand in operands):
            if any(operand.is_position for operand in operands):
                is_choice = False
            return [_Tracked(None, False)] * len(op.results)
        results = interpreter.run_op(op, tuple(one.value for one in operands))
        moves = any(operand.is_position for operand in operands)
        tracked: list[_Tracked] = []
        for value, result in zip(results, op.results, strict=True):
            if moves and result.type == i1:
                found.append(value)
            tracked.append(_Tracked(value, moves and result.type != i1))
        return tracked

    arguments = [
        _Tracked(values.get(name), name == "element") for name in side.rule.values
    ]
    (result,) = walk_function(side.rule.function, arguments, run)
    return found if is_choice and not result.is_position else None


@dataclass(frozen=True)
class _Tracked:
    """A value that is known before the model runs, and whether it is a position."""

    value: Array | None
    is_position: bool
