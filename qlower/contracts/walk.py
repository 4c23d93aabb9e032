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


@dataclass(frozen=True)
class _Step:
    """An op of a rule, and which of the values so far are its operands; its results
    follow them. An op that calls a table has that as its `callee`."""

    op: Operation
    operands: tuple[int, ...]
    callee: FuncOp | None = None


def walk_function(
    function: FuncOp,
    arguments: Sequence[Value],
    run: Callable[[Operation, Sequence[Value]], Sequence[Value]],
    look_up: Callable[[FuncOp, Sequence[Value]], Value | None] | None = None,
) -> Sequence[Value]:
    """The results of a checked contract's function.

    `run` gives the results of an op for its operands; each call of a function has its
    own values. The result of a call of a table may come from `look_up`, where that
    gives one.
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
            known.extend(walk_function(step.callee, operands, run, look_up))
        else:
            known.append(found)
    return [known[result] for result in results]


@lru_cache(maxsize=1 << 12)
def _inlined(function: FuncOp) -> tuple[Sequence[_Step], Sequence[int]]:
    """The steps of a function without its calls, but for those of tables, and which
    values it returns; a contract's functions stay what they are."""
    steps: list[_Step] = []
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
            if callee is not None and TABLE not in callee.attributes:
                results = inline(callee, operands)
            else:
                steps.append(_Step(op, operands, callee))
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
