"""Inline a contract's rule into a loop nest, computing at once what is constant.

The rule is written from the real scales to the result. Whatever depends on compile-time
values alone is evaluated here by the interpreter, for all channels together; the rest
is copied into the nest. So the derivation of multipliers and shifts is part of the
contract's text, and the lowered model holds the steps that remain, each an operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.contracts import Rule
from qlower.contracts.walk import walk_function
from qlower.diagnostics import QlowerError
from qlower.interp import make_interpreter
from qlower.interp.values import Array
from qlower.model.nests import Nest

Value: TypeAlias = SSAValue | Array
"""A value of the rule: already in the nest, or known now."""


def inline_rule(
    rule: Rule,
    runtime: Mapping[str, SSAValue],
    constants: Mapping[str, Array],
    nest: Nest,
) -> tuple[SSAValue, ...]:
    """Append `rule` to the body of `nest` and return its results.

    `runtime` values are scalars of the nest; `constants` are scalars or arrays along
    its last parallel loops. Raises `QlowerError` where an assertion of the rule fails.
    """
    module = rule.function.parent_op()
    assert isinstance(module, ModuleOp)
    inliner = _Inliner(_interpreter(module), nest)
    arguments: list[Value] = [
        runtime[name] if name in runtime else constants[name] for name in rule.values
    ]
    results = walk_function(rule.function, arguments, inliner.inline)
    types = rule.function.function_type.outputs
    return tuple(
        inliner.materialize(value, type)
        for value, type in zip(results, types, strict=True)
    )


@lru_cache(maxsize=16)
def _interpreter(module: ModuleOp) -> Interpreter:
    """For single operations of a contract, which stays what it is."""
    return make_interpreter(module)


class _Inliner:
    def __init__(self, interpreter: Interpreter, nest: Nest) -> None:
        self._interpreter = interpreter
        self._nest = nest

    def materialize(self, value: Value, type: Attribute) -> SSAValue:
        """A value of the nest that holds `value`."""
        if isinstance(value, SSAValue):
            return value
        return self._nest.constant(value, type)

    def inline(self, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
        """What an op gives: evaluated now, or a copy of it in the nest."""
        known = [value for value in operands if not isinstance(value, SSAValue)]
        if len(known) == len(operands):
            return self._interpreter.run_op(op, tuple(known))
        if isinstance(op, cf.AssertOp):
            raise QlowerError(
                "an assertion of a rule may depend on compile-time values only",
                op.location,
            )
        if isinstance(op, arith.SelectOp) and not isinstance(operands[0], SSAValue):
            condition = np.asarray(operands[0])
            if condition.all() or not condition.any():
                return [operands[1] if condition.all() else operands[2]]
        values = [
            self.materialize(value, operand.type)
            for value, operand in zip(operands, op.operands, strict=True)
        ]
        mapped = dict(zip(op.operands, values, strict=True))
        # twice as fast for an operation without regions, as nearly all are
        copy = (op.clone if op.regions else op.clone_without_regions)(mapped)
        return self._nest.add(copy).results
