"""The chain of steps from an accumulator to the stored result, by one rule.

A rule is run on the values of one element, calls inlined. With each value goes the
exact rational that it would be without any rounding, and the *result so far*: the value
that would be stored if all later steps were exact. So each rounding has an error in
steps of the result, and the errors add up to that of the whole chain, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import Float32Type, Float64Type, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qlower.contracts import Rule
from qlower.contracts.rules import RULES
from qlower.contracts.walk import walk_function
from qlower.diagnostics import file_location
from qlower.dialects import fixed
from qlower.dialects.types import element_type
from qlower.interp import make_interpreter
from qlower.interp.values import Array
from qlower.observe.exact import exact_result, fraction, ideal

ROUNDED_BY: Mapping[type[Operation], str] = {
    arith.DivSIOp: "toward_zero",
    arith.FloorDivSIOp: "floor",
    arith.CeilDivSIOp: "ceil",
    arith.ShRSIOp: "floor",
    arith.FPToSIOp: "toward_zero",
    math_dialect.FloorOp: "floor",
    math_dialect.CeilOp: "ceil",
    math_dialect.TruncOp: "toward_zero",
    math_dialect.RoundOp: "half_away",
    math_dialect.RoundEvenOp: "half_even",
    fixed.SaturateOp: "saturates",
    arith.TruncIOp: "wraps",
    arith.ShLIOp: "wraps",
    arith.MinSIOp: "clamps",
    arith.MaxSIOp: "clamps",
    arith.MinimumfOp: "clamps",
    arith.MaximumfOp: "clamps",
}
"""The changes that ops without an attribute for it make of a number."""


def line_of(op: Operation) -> str:
    """The line of the text in which an op is, `tflite.mlir:98`."""
    place = file_location(op.location)
    if place is None:
        return ""
    return f"{place.filename.data.rpartition('/')[2]}:{place.line.data}"


@dataclass(frozen=True)
class ChainStep:
    """A value of a chain: an argument of the rule, or the result of an op.

    `operands` are the numbers of earlier steps. `is_runtime` is true for values that
    depend on the model's inputs, false for those that are computed when a model is
    compiled.
    """

    name: str
    op: Operation | None
    operands: tuple[int, ...]
    value: Array
    is_runtime: bool

    @property
    def rounding(self) -> str:
        """The op's rounding or cut; empty for one that is exact or works on bits."""
        if isinstance(self.op, fixed.ShiftRightOp | fixed.ConvertOp):
            return self.op.rounding.data.value
        if self.op is None:
            return ""
        if type(self.op) in ROUNDED_BY:
            return ROUNDED_BY[type(self.op)]
        match element_type(self.op.results[0].type):
            case Float32Type():
                return "float32"
            case Float64Type():
                return "float64"
            case _:
                return ""

    @property
    def place(self) -> str:
        """The line of the contract's text, `tflite.mlir:98`; none of a given value."""
        return "" if self.op is None else line_of(self.op)


@dataclass(frozen=True, eq=False)
class Chain:
    """The steps of one rule for one element; the last step is its result.

    `meant` is the operation's exact result for the element, in steps of the result, and
    `given` its exact result for the rule's arguments, which may have been rounded or
    cut before, as `before` says; None where that isn't rational.
    """

    rule: str
    steps: tuple[ChainStep, ...]
    meant: Fraction | None
    given: Fraction | None
    before: str = ""

    @property
    def result(self) -> Array:
        """The rule's result."""
        return self.steps[-1].value

    @property
    def exact(self) -> Fraction | None:
        """The result without any rounding: as the operation is defined, where that is
        rational, or else as the rule's own steps mean it."""
        return self.meant if self.meant is not None else self.exact_values[-1]

    @cached_property
    def exact_values(self) -> list[Fraction | None]:
        """The value of each step if nothing before it had been rounded."""
        return self._exact_after(-1)

    @cached_property
    def so_far(self) -> list[Fraction | None]:
        """The result after each step, if all later ones were exact."""
        found: list[Fraction | None] = []
        numbers = self.exact_values
        for number, step in enumerate(self.steps):
            # After a step that is exact, all is as it was before.
            if number in self.nudges or numbers[number] != fraction(step.value):
                numbers = self._exact_after(number)
            found.append(numbers[-1])
        return found

    @cached_property
    def errors(self) -> list[Fraction | None]:
        """The error that each step adds to the result; the sum is `result -
        exact_values[-1]`."""
        before: Sequence[Fraction | None] = [self.exact_values[-1], *self.so_far]
        return [
            None if a is None or b is None else b - a
            for a, b in zip(before, self.so_far, strict=False)
        ]

    @cached_property
    def nudges(self) -> Mapping[int, int]:
        """Additions of half a divisor ahead of a shift or division that drops bits, by
        the number of that division: together they are one rounding."""
        found: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            if not isinstance(step.op, arith.ShRSIOp | arith.DivSIOp):
                continue
            nudge = self._chosen(step.operands[0])
            divisor = int(self.steps[step.operands[1]].value)
            if isinstance(step.op, arith.ShRSIOp):
                divisor = 2**divisor
            op, operands = self.steps[nudge].op, self.steps[nudge].operands
            if isinstance(op, arith.AddiOp | arith.SubiOp) and divisor > 1:
                added = int(self.steps[operands[1]].value)
                if abs(added) == abs(divisor) // 2:
                    found[number] = nudge
        return found

    def _chosen(self, number: int) -> int:
        """The step itself, or what was taken if it is a selection."""
        step = self.steps[number]
        is_selection = isinstance(step.op, arith.SelectOp)
        return self._chosen(step.operands[1]) if is_selection else number

    def rounding(self, number: int) -> str:
        """The rounding of a step, with a half that was added before."""
        name = self.steps[number].rounding
        if number not in self.nudges:
            return name
        nudge = self.steps[self.nudges[number]]
        given, added = (int(self.steps[operand].value) for operand in nudge.operands)
        moved = added if isinstance(nudge.op, arith.AddiOp) else -added
        if name == "floor":
            return "half_up" if moved > 0 else "half_down"
        return "half_away" if moved * given >= 0 else "half added, toward_zero"

    def rounds(self, number: int) -> Fraction | None:
        """The exact quotient that a step divides and rounds."""
        step = self.steps[number]
        operands = [self.steps[operand] for operand in step.operands]
        if number in self.nudges:
            operands[0] = self.steps[self.steps[self.nudges[number]].operands[0]]
        if step.op is None:
            return None
        return ideal(
            step.op,
            [fraction(operand.value) for operand in operands],
            [operand.is_runtime for operand in operands],
            [operand.value for operand in operands],
        )

    def _exact_after(self, last: int) -> list[Fraction | None]:
        """All values, exact after step number `last`, and as they are up to there; a
        half that is added for a rounding counts from the rounding on."""
        pending = {nudge for division, nudge in self.nudges.items() if division > last}
        numbers: list[Fraction | None] = []
        for index, step in enumerate(self.steps):
            number = None
            if index in pending:
                number = numbers[step.operands[0]]
            elif isinstance(step.op, arith.SelectOp) and step.operands[1] in pending:
                number = numbers[step.operands[1]]
            elif index > last and step.op is not None:
                earlier = [self.steps[operand] for operand in step.operands]
                number = ideal(
                    step.op,
                    [numbers[operand] for operand in step.operands],
                    [operand.is_runtime for operand in earlier],
                    [operand.value for operand in earlier],
                )
            numbers.append(fraction(step.value) if number is None else number)
        return numbers


def rule_chain(
    rule: Rule,
    values: Mapping[str, Array],
    meant: Mapping[str, Array] | None = None,
    before: str = "",
    orders: Mapping[str, str] | None = None,
) -> Chain:
    """Run a rule on the values of one element; steps that don't reach the result are
    left out. `meant` has those values as the model means them, and `before` says why
    they may differ. `orders` are those of sums of rows, by the names of helpers."""
    walk = _Walk(rule)
    # a rule on rows may only pass an element on
    arguments = [
        walk.add(
            *(name, None, ()),
            values.get(name, np.array(np.nan)),
            name in RULES[rule.name].runtime,
        )
        for name in rule.values
    ]

    def made(helper: FuncOp, _: Sequence[int]) -> Sequence[int] | None:
        """A helper's result for the element's row."""
        name = helper.sym_name.data
        if name not in values:
            return None
        order = (orders or {}).get(name, "").replace("_", " ")
        shown = f"{name}, {order}" if order else name
        return [walk.add(shown, None, (), values[name], True)]

    (result,) = walk_function(rule.function, arguments, walk.run, made)
    given = exact_result(rule.name, values)
    exact = given if meant is None else exact_result(rule.name, meant)
    return Chain(rule.name, walk.needed(result), exact, given, before)


class _Walk:
    """Runs a rule's ops one by one, and keeps what they give."""

    def __init__(self, rule: Rule) -> None:
        module = rule.function.parent_op()
        assert isinstance(module, ModuleOp)
        self._interpreter = make_interpreter(module)
        self._steps: list[ChainStep] = []

    def add(
        self,
        name: str,
        op: Operation | None,
        operands: Sequence[int],
        value: Array,
        is_runtime: bool,
    ) -> int:
        """Append a step; returns its number."""
        step = ChainStep(name, op, tuple(operands), np.asarray(value)[()], is_runtime)
        self._steps.append(step)
        return len(self._steps) - 1

    def run(self, op: Operation, operands: Sequence[int]) -> Sequence[int]:
        """Run an op; a selection made at compile time is what it takes."""
        steps = [self._steps[operand] for operand in operands]
        is_runtime = any(step.is_runtime for step in steps)
        if isinstance(op, arith.SelectOp):
            taken = operands[1 if steps[0].value else 2]
            if not steps[0].is_runtime:
                return [taken]
            operands = (operands[0], taken, taken)
        results = self._interpreter.run_op(op, tuple(step.value for step in steps))
        return [
            self.add(value.name_hint or "", op, operands, result, is_runtime)
            for value, result in zip(op.results, results, strict=True)
        ]

    def needed(self, result: int) -> tuple[ChainStep, ...]:
        """The steps that lead to the result, in order; those of compile time first."""
        wanted = {result}
        for number in range(result, -1, -1):
            if number in wanted:
                wanted.update(self._steps[number].operands)
        numbers = sorted(wanted, key=lambda n: (self._steps[n].is_runtime, n))
        place = {number: index for index, number in enumerate(numbers)}
        steps = (self._steps[number] for number in numbers)
        return tuple(
            replace(step, operands=tuple(place[operand] for operand in step.operands))
            for step in steps
        )
