"""The interpreter: xDSL's framework with numpy values and located errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from typing_extensions import TypeVar
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    OpImpl,
    OpImplResult,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Operation, SSAValue

from .values import Array, InterpretationError, Poison

Implementation: TypeAlias = Callable[
    [Interpreter, Operation, PythonValues], OpImplResult
]


@dataclass
class NumpyInterpreter(Interpreter):
    """Runs ops on the values of `values.py`.

    What an implementation raises as `Poison` leaves as an `InterpretationError` at the
    op's location. (The framework itself would print the whole module, with its
    weights, for every error.)

    `dialects` gives what implements a dialect, which is registered with the first of
    its operations that has no implementation.
    """

    implementations: dict[type[Operation], Implementation] = field(
        default_factory=dict[type[Operation], Implementation]
    )
    dialects: Mapping[str, Callable[[], type[InterpreterFunctions]]] = field(
        default_factory=dict[str, Callable[[], type[InterpreterFunctions]]]
    )

    def register_implementations(
        self, impls: InterpreterFunctions, /, override: bool = False
    ) -> None:
        super().register_implementations(impls, override)
        table = impls._impls()  # pyright: ignore[reportPrivateUsage]
        for op_type, implementation in table:
            self.implementations[op_type] = partial(implementation, impls)

    def run_op(
        self, op: Operation | str | SymbolRefAttr, inputs: PythonValues = ()
    ) -> PythonValues:
        """The results of one op. Floating-point exceptions are silent, as in IEEE."""
        with np.errstate(all="ignore"):
            return super().run_op(op, inputs)

    def run_ops(self, ops: Iterable[Operation], values: dict[SSAValue, Array]) -> None:
        """`run_op` for each op in turn, whose results are added to `values`."""
        with np.errstate(all="ignore"):
            for op in ops:
                inputs = tuple([values[operand] for operand in op.operands])
                results = self._run_op(op, inputs).values
                values.update(zip(op.results, results, strict=True))

    def call_op(
        self, op: Operation | str | SymbolRefAttr, inputs: PythonValues = ()
    ) -> PythonValues:
        """The results of a function. Floating-point exceptions are silent."""
        with np.errstate(all="ignore"):
            return super().call_op(op, inputs)

    def get_op_for_symbol(self, symbol: str | SymbolRefAttr) -> Operation:
        """The called function. xDSL would search the module at every call."""
        name = symbol if isinstance(symbol, str) else symbol.string_value()
        return self._functions.get(name) or super().get_op_for_symbol(symbol)

    @cached_property
    def _functions(self) -> Mapping[str, Operation]:
        functions = (op for op in self.module.body.ops if isinstance(op, FuncOp))
        return {function.sym_name.data: function for function in functions}

    def _run_op(self, op: Operation, inputs: PythonValues) -> OpImplResult:
        implementation = self.implementations.get(type(op)) or self._find(op)
        for listener in self.listeners:
            listener.will_interpret_op(op, inputs)
        try:
            result = implementation(self, op, inputs)
        except Poison as poison:
            raise InterpretationError(f"'{op.name}' {poison}", op.location) from None
        for listener in self.listeners:
            listener.did_interpret_op(op, result.values)
        return result

    def _find(self, op: Operation) -> Implementation:
        functions = self.dialects.get(op.dialect_name())
        if functions is not None:
            self.register_implementations(functions()(), override=True)
        implementation = self.implementations.get(type(op))
        if implementation is None:
            raise InterpretationError(
                f"'{op.name}' has no implementation in the interpreter", op.location
            )
        return implementation


Functions = TypeVar("Functions", bound=InterpreterFunctions)
OperationT = TypeVar("OperationT", bound=Operation)
Entry = TypeVar("Entry")
Method: TypeAlias = Callable[[Functions, OperationT, PythonValues], PythonValues]

_OPERATIONS = "operations that a method implements"
"""The attribute in which `implement` leaves them for `register_implementations`."""


def implement(
    *op_types: type[OperationT],
) -> Callable[
    [Method[Functions, OperationT]],
    Method[Functions, OperationT],
]:
    """Makes a method `(op, operand values) -> result values` the meaning of operations.

    The framework's `impl` is for one operation, and gives the interpreter too.
    """

    def mark(method: Method[Functions, OperationT]) -> Method[Functions, OperationT]:
        setattr(method, _OPERATIONS, op_types)
        return method

    return mark


def yielding(op_type: type[Operation]) -> OpImpl[InterpreterFunctions, Operation]:
    """The method of a terminator that gives its operands to the op around it."""

    def run(
        _functions: InterpreterFunctions,
        _interpreter: Interpreter,
        _op: Operation,
        args: PythonValues,
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    return impl_terminator(op_type)(run)


def register_implementations(functions: type[Functions]) -> type[Functions]:
    """The framework's `register_impls`, for methods with `implement` too."""
    for method in tuple(vars(functions).values()):
        op_types: tuple[type[Operation], ...] = getattr(method, _OPERATIONS, ())
        for op_type in op_types:

            def implementation(
                functions: Functions,
                _interpreter: Interpreter,
                op: Operation,
                args: PythonValues,
                method: Method[Functions, Operation] = method,
            ) -> PythonValues:
                return method(functions, op, args)

            setattr(functions, f"run {op_type.name}", impl(op_type)(implementation))
    return register_impls(functions)


def implement_table(
    table: Mapping[type[Operation], Entry],
    run: Callable[[Entry, Operation, PythonValues], PythonValues],
) -> Callable[[type[Functions]], type[Functions]]:
    """Implement every op of `table` by `run(entry, op, operand values)`.

    A decorator of an `InterpreterFunctions` class, for use below
    `@register_implementations`.
    """

    def decorate(functions: type[Functions]) -> type[Functions]:
        for op_type, entry in table.items():

            def implementation(
                _functions: InterpreterFunctions,
                _interpreter: Interpreter,
                op: Operation,
                args: PythonValues,
                entry: Entry = entry,
            ) -> PythonValues:
                return run(entry, op, args)

            setattr(functions, f"run {op_type.name}", impl(op_type)(implementation))
        return functions

    return decorate
