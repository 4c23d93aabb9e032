"""The reference interpreter: the one definition of what every op means.

    run_function(module, "main", [image])      a program, numpy in and out
    evaluate_function(function, [lanes, ...])  a function of scalars, on many lanes
    make_interpreter(module)                   the interpreter itself, to run single ops

`values.py` says what values are. Poison is an error and never a value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from qlower.process.lazy import lazy_table

from .engine import NumpyInterpreter
from .func import FuncFunctions
from .values import Array, InterpretationError, Poison, as_value

__all__ = [
    "Array",
    "InterpretationError",
    "evaluate_function",
    "make_interpreter",
    "run_function",
]


_DIALECTS = lazy_table(
    {
        "arith": "qlower.interp.arith:ArithFunctions",
        "cf": "qlower.interp.cf:CfFunctions",
        "fixed": "qlower.interp.fixed:FixedFunctions",
        "kernel": "qlower.interp.kernel:KernelFunctions",
        "linalg": "qlower.interp.linalg:LinalgFunctions",
        "math": "qlower.interp.math:MathFunctions",
        "tensor": "qlower.interp.tensor:TensorFunctions",
    }
)
"""The implementations of each dialect's operations."""


def make_interpreter(
    module: ModuleOp, *, listeners: Sequence[Interpreter.Listener] = ()
) -> NumpyInterpreter:
    """An interpreter of `module` with the implementations of all our dialects."""
    interpreter = NumpyInterpreter(
        module, listeners=tuple(listeners), dialects=_DIALECTS
    )
    interpreter.register_implementations(FuncFunctions())
    return interpreter


def run_function(
    module: ModuleOp,
    name: str,
    inputs: Sequence[object],
    *,
    listeners: Sequence[Interpreter.Listener] = (),
) -> tuple[Array, ...]:
    """The results of `module`'s function `name`.

    An input is an array, or a Python number for a scalar argument; unsigned arrays are
    taken as their bits. Integer results are signed arrays. Listeners see every op that
    runs, and an op in the body of a loop nest many times, each on many lanes: the ops
    of the function itself are those whose `parent_op()` is the function.

    Raises `InterpretationError` for inputs that don't fit, and for anything in the
    program that has no defined result.
    """
    function = SymbolTable.lookup_symbol(module, name)
    if not isinstance(function, FuncOp):
        raise InterpretationError(f"the module has no function @{name}")
    results = evaluate_function(function, inputs, listeners=listeners)
    # A program may return its argument or a broadcast constant: give the caller arrays.
    return tuple(np.array(result) for result in results)


def evaluate_function(
    function: FuncOp,
    arguments: Sequence[object],
    *,
    listeners: Sequence[Interpreter.Listener] = (),
) -> tuple[Array, ...]:
    """The results of a function for numbers, tensors, or lanes of scalar arguments.

    Lanes broadcast against each other. A call finds its callee in the function's
    module. Raises as `run_function`.
    """
    types = function.function_type.inputs.data
    if len(arguments) != len(types):
        raise InterpretationError(
            f"@{function.sym_name.data} takes {len(types)} arguments, "
            f"got {len(arguments)}",
            function.location,
        )
    values: list[Array] = []
    for index, (argument, value_type) in enumerate(zip(arguments, types, strict=True)):
        try:
            values.append(as_value(argument, value_type))
        except Poison as poison:
            raise InterpretationError(
                f"argument {index} of @{function.sym_name.data} {poison}",
                function.location,
            ) from None
    interpreter = make_interpreter(_module_of(function), listeners=listeners)
    return interpreter.call_op(function, tuple(values))


def _module_of(function: FuncOp) -> ModuleOp:
    """The module where the function's calls are looked up."""
    op: Operation | None = function
    while op is not None and not isinstance(op, ModuleOp):
        op = op.parent_op()
    return ModuleOp([]) if op is None else op
