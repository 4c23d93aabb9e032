"""Inline a contract's rule into a loop nest, computing constants immediately.

The rule is written from the real scales to the result. Everything that depends on
compile-time values alone is evaluated here by the interpreter, for all channels
together; a helper that is a table of a small index is evaluated for all of them, and
looked up; the rest is copied into the nest. So the derivation of multipliers and shifts
is part of the contract's text, and the lowered model holds the steps that remain, each
an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import IntegerType, ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.math import FmaOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.contracts import Rule, load_contract
from qlower.contracts.tables import table_size
from qlower.contracts.walk import ROWS, walk_function
from qlower.diagnostics import QlowerError
from qlower.dialects.copying import copy_operation
from qlower.interp import evaluate_function, make_interpreter
from qlower.interp.values import Array
from qlower.model.nests import Nest, extract, to_index

Value: TypeAlias = SSAValue | Array
"""A value of the rule: already in the nest, or known now."""

Rows: TypeAlias = Callable[[FuncOp, Sequence[Value], Nest], Sequence[Value]]
"""From a helper on rows, the operands of its call and a nest to its results there."""


def call_function(nest: Nest, library: str, name: str, *operands: Value) -> SSAValue:
    """Append a function of `library`, a contract or the steps of one such as `_glibc`,
    to the body of `nest`, and return its one result for scalars of the nest and for
    numbers known now, scalars or arrays along its last parallel loops."""
    (result,) = call_results(nest, library, name, *operands)
    return result


def call_results(
    nest: Nest, library: str, name: str, *operands: Value
) -> tuple[SSAValue, ...]:
    """`call_function` for a function of several results."""
    return inline_function(library_function(library, name), operands, nest)


@lru_cache(maxsize=1 << 8)
def library_function(library: str, name: str) -> FuncOp:
    """A function of a text that comes with qlower, which stays what it is."""
    return load_contract(library).definition.function(name).function


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
    arguments: list[Value] = [
        runtime[name] if name in runtime else constants[name] for name in rule.values
    ]
    return inline_function(rule.function, arguments, nest)


def inline_function(
    function: FuncOp, arguments: Sequence[Value], nest: Nest, rows: Rows | None = None
) -> tuple[SSAValue, ...]:
    """Append a function of a contract to the body of a nest, and return its results;
    `rows` gives those of helpers on rows."""
    module = function.parent_op()
    assert isinstance(module, ModuleOp)
    inliner = _Inliner(module, nest, rows)
    results = walk_function(function, arguments, inliner.inline, inliner.look_up)
    types = function.function_type.outputs
    return tuple(
        inliner.materialize(value, type)
        for value, type in zip(results, types, strict=True)
    )


@lru_cache(maxsize=16)
def _interpreter(module: ModuleOp) -> Interpreter:
    """For single operations of a contract, which stays what it is."""
    return make_interpreter(module)


@lru_cache(maxsize=1 << 14)
def _constant(op: Operation, module: ModuleOp) -> tuple[Array, ...]:
    """The constant result of an operation without operands."""
    return _interpreter(module).run_op(op)


class _Inliner:
    def __init__(self, module: ModuleOp, nest: Nest, rows: Rows | None) -> None:
        self._module = module
        self._rows = rows
        self._interpreter = _interpreter(module)
        self._nest = nest

    def materialize(self, value: Value, type: Attribute) -> SSAValue:
        """A value of the nest that holds `value`."""
        if isinstance(value, SSAValue):
            return value
        return self._nest.constant(value, type)

    def look_up(
        self, table: FuncOp, operands: Sequence[Value]
    ) -> Sequence[Value] | None:
        """An entry of a table whose index alone is not known yet; what a helper makes
        of rows."""
        if ROWS in table.attributes:
            assert self._rows is not None, "rules on rows are inlined with those"
            return self._rows(table, operands, self._nest)
        index, *others = operands
        known = [value for value in others if not isinstance(value, SSAValue)]
        if not isinstance(index, SSAValue) or len(known) < len(others):
            return None
        if any(np.size(value) > 1 for value in known):
            return None
        indices = np.arange(table_size(table), dtype=np.int32)
        (found,) = evaluate_function(table, [indices, *known])
        entries = np.broadcast_to(found, indices.shape)
        (type,) = table.function_type.outputs
        stored, widen = _narrowest(entries) if type == i32 else (type, None)
        constant = self._nest.emitter.constant(entries, stored)
        entry = extract(self._nest, constant, [to_index(self._nest, index)])
        return [entry if widen is None else self._nest.add(widen(entry, i32)).result]

    def inline(self, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
        """The result of an op: evaluated now, or computed by a copy of the op in the
        nest."""
        if not operands:
            return _constant(op, self._module)
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
        if isinstance(op, arith.AddfOp) and _is_nothing(operands[1]):
            return [operands[0]]
        if isinstance(op, FmaOp) and _is_nothing(operands[2]):
            factors = zip(operands[:2], op.operands, strict=False)
            x, y = (self.materialize(value, one.type) for value, one in factors)
            return self._nest.add(arith.MulfOp(x, y)).results
        values = [
            self.materialize(value, operand.type)
            for value, operand in zip(operands, op.operands, strict=True)
        ]
        mapped = dict(zip(op.operands, values, strict=True))
        return self._nest.add(copy_operation(op, mapped)).results


def _is_nothing(value: Value) -> bool:
    """Whether a value is -0, which leaves every number as it is when it is added."""
    if isinstance(value, SSAValue):
        return False
    return bool(np.all(np.equal(value, 0) & np.signbit(value)))


def _narrowest(
    entries: Array,
) -> tuple[IntegerType, type[arith.ExtSIOp | arith.ExtUIOp] | None]:
    """The type that holds a table of i32 in the fewest bytes, and what widens it."""
    least, most = int(entries.min()), int(entries.max())
    for width in (8, 16):
        if -(1 << (width - 1)) <= least and most < 1 << (width - 1):
            return IntegerType(width), arith.ExtSIOp
        if least >= 0 and most < 1 << width:
            return IntegerType(width), arith.ExtUIOp
    return i32, None
