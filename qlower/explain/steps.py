"""Whether two layers take the same steps with the same constants, whatever they are
given: the difference that no input of a test has shown yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from qlower.contracts.rules import RULES
from qlower.contracts.walk import walk_function
from qlower.dialects.fixed import RoundingModeAttr
from qlower.interp import make_interpreter
from qlower.interp.values import Array
from qlower.observe.chain import line_of
from qlower.observe.layer_run import Evaluation, LayerRun

Value: TypeAlias = int | Array
"""The number of a step that runs with the model, or what is known before."""


@dataclass(frozen=True)
class RunStep:
    """An op that runs with the model, with its constants for all channels."""

    op: Operation
    operands: tuple[Value, ...]


@dataclass(frozen=True)
class StepDifference:
    """The position at which the steps of two layers differ, and how."""

    left: RunStep
    right: RunStep
    what: str

    def __str__(self) -> str:
        name = self.left.op.results[0].name_hint
        places = dict.fromkeys((line_of(self.left.op), line_of(self.right.op)))
        return f"%{name} = {self.left.op.name}: {self.what} ({' | '.join(places)})"


def other_step(left: LayerRun, right: LayerRun) -> StepDifference | None:
    """The first step of two layers with another constant or attribute; None where all
    are the same, and where they take other steps altogether."""
    for a, b in zip(left.evaluations, right.evaluations, strict=False):
        steps = _run_steps(a), _run_steps(b)
        if len(steps[0]) != len(steps[1]):
            return None
        pairs = list(zip(*steps, strict=True))
        if any(first.op.name != second.op.name for first, second in pairs):
            return None
        for first, second in pairs:
            what = _difference(first, second)
            if what is not None:
                return StepDifference(first, second, what)
    return None


def _difference(left: RunStep, right: RunStep) -> str | None:
    if left.op.properties != right.op.properties:
        return _attributes(left.op, right.op)
    for a, b in zip(left.operands, right.operands, strict=True):
        if isinstance(a, int) or isinstance(b, int):
            if not (isinstance(a, int) and isinstance(b, int) and a == b):
                return "other operands"
            continue
        first, second = np.broadcast_arrays(a, b)
        apart = np.argwhere(first != second)
        if len(apart):
            place = tuple(apart[0])
            channel = f" in channel {place[-1]}" if place else ""
            return f"{first[place]} | {second[place]}{channel}"
    return None


def _attributes(left: Operation, right: Operation) -> str:
    """The attributes of one kind of op that differ."""
    return ", ".join(
        f"{name} {_text(value)} | {name} {_text(right.properties[name])}"
        for name, value in left.properties.items()
        if value != right.properties.get(name, value)
    )


def _text(attribute: Attribute) -> str:
    mode = isinstance(attribute, RoundingModeAttr)
    return attribute.data.value if mode else str(attribute)


def _run_steps(evaluation: Evaluation) -> list[RunStep]:
    """The part of a rule that runs with the model, once everything constant is
    computed."""
    rule = evaluation.rule
    module = rule.function.parent_op()
    assert isinstance(module, ModuleOp)
    interpreter = make_interpreter(module)
    runtime = set(RULES[rule.name].runtime)
    steps: list[RunStep] = []

    def run(op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
        arrays = [value for value in operands if not isinstance(value, int)]
        if len(arrays) == len(operands):
            return interpreter.run_op(op, tuple(arrays))
        if isinstance(op, arith.SelectOp) and not isinstance(operands[0], int):
            condition = np.asarray(operands[0])
            if condition.all() or not condition.any():
                return [operands[1 if condition.all() else 2]]
        steps.append(RunStep(op, tuple(operands)))
        return [len(steps)] * len(op.results)

    arguments: list[Value] = [
        -1 - place if name in runtime else evaluation.values[name]
        for place, name in enumerate(rule.values)
    ]
    walk_function(rule.function, arguments, run)
    return steps
