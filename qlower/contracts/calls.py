"""Calls between a contract's functions, checked so that every rule can be inlined.

A call may leave out arguments at the end that are named after values: they are the
caller's arguments of those names. A caller that lacks one gets it as an argument, which
its own callers pass in turn, so that a rule asks for the values that its helpers need:

    func.func private @store(%x: i32, %output_min: i32) -> i32 { ... }

    func.func @requantize(%input: i32) -> i32 {
      %result = func.call @store(%input) : (i32) -> i32
      return %result : i32
    }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import SSAValue

from qlower.contracts.rules import RULES
from qlower.contracts.tables import check_table
from qlower.diagnostics import QlowerError
from qlower.text.hints import set_hint

VALUE = "contract.value"
"""The argument attribute that names the value which an argument wants, where that isn't
the argument's own name."""

MOST_FUNCTIONS = 2000
"""Functions that a contract may have, inherited ones included."""

LARGEST_FUNCTION = 10_000
"""Operations that a function may have when all of its calls are inlined."""

DEEPEST_CALLS = 100
"""The most calls that may be open at a time."""


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
        check_table(op)


def complete_calls(module: ModuleOp) -> None:
    """Give calls the arguments that they leave out.

    Calls of no known function stay as they are, for the verifier. Raises `QlowerError`
    where a function calls itself, and where what is left out is no value or has another
    type in the caller.
    """
    functions = _functions(module)
    calls = {name: list(_known_calls(functions, name)) for name in functions}
    order = TopologicalSorter(
        {name: [call.callee.string_value() for call in calls[name]] for name in calls}
    )
    try:
        names = list(order.static_order())
    except CycleError as error:
        name = error.args[1][0]
        raise QlowerError(
            f"function {name} calls itself", functions[name].location
        ) from error
    for name in names:
        for call in calls[name]:
            _complete(functions[name], call, functions[call.callee.string_value()])


def _functions(module: ModuleOp) -> dict[str, FuncOp]:
    return {op.sym_name.data: op for op in module.body.ops if isinstance(op, FuncOp)}


def _known_calls(functions: Mapping[str, FuncOp], name: str) -> Iterator[CallOp]:
    for op in functions[name].body.block.ops:
        if not isinstance(op, CallOp) or "callee" not in op.properties:
            continue
        if op.callee.string_value() in functions:
            yield op


def _complete(caller: FuncOp, call: CallOp, callee: FuncOp) -> None:
    given, wanted = len(call.arguments), len(callee.body.block.args)
    if given >= wanted:
        return
    left_out = [_argument(caller, call, callee, n) for n in range(given, wanted)]
    call.operands = [*call.arguments, *left_out]


def _argument(caller: FuncOp, call: CallOp, callee: FuncOp, index: int) -> SSAValue:
    """The caller's argument for the callee's one at `index`, which may be added."""
    name, type = value_name(callee, index), callee.body.block.args[index].type
    if name not in _VALUES:
        raise QlowerError(
            f"function {callee.sym_name.data} is called without its argument {index}, "
            f"{name or 'which has no name'}: only values may be left out",
            call.location,
        )
    block = caller.body.block
    for number, argument in enumerate(block.args):
        if value_name(caller, number) == name:
            if argument.type != type:
                raise QlowerError(
                    f"function {callee.sym_name.data} wants {name} as {type}, its "
                    f"caller has it as {argument.type}",
                    call.location,
                )
            return argument
    added = block.insert_arg(type, len(block.args))
    set_hint(added, name)
    if caller.arg_attrs is not None:
        caller.arg_attrs = ArrayAttr([*caller.arg_attrs, DictionaryAttr({})])
    caller.update_function_type()
    return added


def value_name(function: FuncOp, index: int) -> str | None:
    """The value that an argument wants: by its attribute, else by its own name."""
    if function.arg_attrs is not None and index < len(function.arg_attrs):
        value = function.arg_attrs.data[index].data.get(VALUE)
        if isinstance(value, StringAttr):
            return value.data
    return function.body.block.args[index].name_hint


_VALUES = frozenset(name for rule in RULES.values() for name in rule.values)


def check_calls(module: ModuleOp) -> None:
    """Refuse functions that grow too large when they are inlined.

    All calls must be of functions in the module that don't call themselves.
    """
    functions = _functions(module)
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
