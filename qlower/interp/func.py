"""Meaning of the `func` ops: calls and returns within one module."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_callable,
    impl_terminator,
    register_impls,
)

from .values import InterpretationError, PartialTensor, Poison


@register_impls
class FuncFunctions(InterpreterFunctions):
    """Implementations of the `func` ops."""

    @impl_terminator(func.ReturnOp)
    def run_return(
        self, interpreter: Interpreter, op: func.ReturnOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        for value in args:
            if isinstance(value, PartialTensor):
                value.refuse()
        return ReturnedValues(args), ()

    @impl(func.CallOp)
    def run_call(
        self, interpreter: Interpreter, op: func.CallOp, args: PythonValues
    ) -> PythonValues:
        try:
            return interpreter.call_op(op.callee, args)
        except RecursionError:
            raise Poison("recurses without end") from None

    @impl_callable(func.FuncOp)
    def call_func(
        self, interpreter: Interpreter, op: func.FuncOp, args: PythonValues
    ) -> PythonValues:
        if op.is_declaration:
            message = f"@{op.sym_name.data} is called, but has no body"
            raise InterpretationError(message, op.location)
        return interpreter.run_ssacfg_region(op.body, args, op.sym_name.data)
