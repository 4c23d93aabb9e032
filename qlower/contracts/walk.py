"""Going through a rule op by op, as if its calls were inlined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from qlower.contracts.tables import TABLE

Value = TypeVar("Value")

ROWS = "contract.rows"
"""The attribute of a helper that looks at all elements of a row (`rows.py`)."""


@dataclass(frozen=True)
class _NumberedOp:
    """An op of a rule, and which of the values so far are its operands; its results
    follow them. An op that calls a table, or a helper on rows, has that as its
    `callee`."""

    op: Operation
    operands: tuple[int, ...]
    callee: FuncOp | None = None


def walk_function(
    function: FuncOp,
    arguments: Sequence[Value],
    run: Callable[[Operation, Sequence[Value]], Sequence[Value]],
    look_up: Callable[[FuncOp, Sequence[Value]], Sequence[Value] | None] | None = None,
) -> Sequence[Value]:
    """The results of a checked contract's function.

    `run` gives the results of an op for its operands; each call of a function has its
    own values. The results of a call of a table or a helper on rows may come from
    `look_up`, where that gives some.
    """
    steps, results = _inlined(function)
    known = list(arguments)
    for step in steps:
        operands = [known[operand] for operand in step.operands]
        if step.callee is None:
            known.extend(run(step.op, operands))
            continue
        found = None if look_up is None else look_up(step.callee, operands)
        if found is None:
            found = walk_function(step.callee, operands, run, look_up)
        known.extend(found)
    return [known[result] for result in results]


_APART = {TABLE, ROWS}


def callees(function: FuncOp) -> list[FuncOp]:
    """The tables and the helpers on rows that a function calls, not those of these."""
    steps, _ = _inlined(function)
    return [step.callee for step in steps if step.callee is not None]


def used_arguments(function: FuncOp, starts: int = 0) -> set[int]:
    """The arguments that a function's own steps look at, not only helpers on rows; of
    those the operands before number `starts` are looked at."""
    steps, results = _inlined(function)
    used = set(results)
    for step in steps:
        is_apart = step.callee is not None and ROWS in step.callee.attributes
        used.update(step.operands[:starts] if is_apart else step.operands)
    return used


@lru_cache(maxsize=1 << 12)
def _inlined(function: FuncOp) -> tuple[Sequence[_NumberedOp], Sequence[int]]:
    """The steps of a function without its calls, but for those of tables and helpers on
    rows, and which values it returns; a contract's functions stay what they are."""
    steps: list[_NumberedOp] = []
    arguments = range(len(function.body.block.args))
    count = len(arguments)

    def inline(function: FuncOp, arguments: Sequence[int]) -> Sequence[int]:
        nonlocal count
        block = function.body.block
        places: dict[SSAValue, int] = dict(zip(block.args, arguments, strict=True))
        for op in block.ops:
            operands = tuple(places[operand] for operand in op.operands)
            if isinstance(op, ReturnOp):
                return operands
            callee = _callee(op) if isinstance(op, CallOp) else None
            if callee is not None and not _APART & callee.attributes.keys():
                results = inline(callee, operands)
            else:
                steps.append(_NumberedOp(op, operands, callee))
                results = range(count, count := count + len(op.results))
            places.update(zip(op.results, results, strict=True))
        raise AssertionError("a verified function returns")

    return steps, inline(function, arguments)


@lru_cache(maxsize=1 << 12)
def _callee(op: CallOp) -> FuncOp:
    """The function that is called."""
    function = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(function, FuncOp)
    return function
