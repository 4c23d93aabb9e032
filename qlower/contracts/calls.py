"""What functions of a contract may call, so that every rule can be inlined."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from qlower.diagnostics import QlowerError

MOST_FUNCTIONS = 2000
"""Functions that a contract may have, inherited ones included."""

LARGEST_FUNCTION = 10_000
"""Operations that a function may have when all of its calls are inlined."""

DEEPEST_CALLS = 100
"""Calls that may be open at once."""


def check_functions(module: ModuleOp) -> None:
    """Refuse too many functions, and what is no straight line of operations."""
    functions = list(module.body.ops)
    if len(functions) > MOST_FUNCTIONS:
        raise QlowerError(
            f"a contract has at most {MOST_FUNCTIONS} functions, not {len(functions)}",
            functions[MOST_FUNCTIONS].location,
        )
    for op in functions:
        if not isinstance(op, FuncOp) or op.is_declaration:
            raise QlowerError(
                f"a contract holds function definitions only, not {op.name}",
                op.location,
            )
        if len(op.body.blocks) != 1:
            raise QlowerError(
                f"function {op.sym_name.data} has {len(op.body.blocks)} blocks, "
                "a function of a contract has one",
                op.location,
            )


def check_calls(module: ModuleOp) -> None:
    """Refuse functions that call themselves, or grow too large when they are inlined.

    All calls must be of functions in the module.
    """
    functions = {
        op.sym_name.data: op for op in module.body.ops if isinstance(op, FuncOp)
    }
    sizes: dict[str, int] = {}
    for name in functions:
        _size(name, functions, sizes, ())


def _size(
    name: str,
    functions: dict[str, FuncOp],
    sizes: dict[str, int],
    callers: tuple[str, ...],
) -> int:
    """Operations of a function and of all that it calls."""
    function = functions[name]
    if name in callers:
        raise QlowerError(f"function {name} calls itself", function.location)
    if name in sizes:
        return sizes[name]
    if len(callers) == DEEPEST_CALLS:
        raise QlowerError(
            f"function {callers[0]} calls through more than {DEEPEST_CALLS} others",
            functions[callers[0]].location,
        )
    size = 0
    for op in function.body.block.ops:
        size += 1
        if isinstance(op, CallOp):
            callee = op.callee.string_value()
            size += _size(callee, functions, sizes, (*callers, name))
    if size > LARGEST_FUNCTION:
        raise QlowerError(
            f"function {name} has {size} operations when its calls are inlined, "
            f"more than {LARGEST_FUNCTION}",
            function.location,
        )
    sizes[name] = size
    return size
