"""Going through a rule op by op, as if its calls were inlined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolTable

from qlower.contracts.tables import TABLE

Value = TypeVar("Value")


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
    block = function.body.block
    known: dict[SSAValue, Value] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        operands = [known[operand] for operand in op.operands]
        if isinstance(op, ReturnOp):
            return operands
        if isinstance(op, CallOp):
            callee = _callee(op)
            found = None
            if look_up is not None and TABLE in callee.attributes:
                found = look_up(callee, operands)
            if found is not None:
                results = [found]
            else:
                results = walk_function(callee, operands, run, look_up)
        else:
            results = run(op, operands)
        known.update(zip(op.results, results, strict=True))
    raise AssertionError("a verified function returns")


@lru_cache(maxsize=1 << 12)
def _callee(op: CallOp) -> FuncOp:
    """The function that is called; a contract's functions stay what they are."""
    function = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(function, FuncOp)
    return function
