"""Meaning of `cf.assert`: the only control op, and it controls whether to go on."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import cf
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from .values import InterpretationError


@register_impls
class CfFunctions(InterpreterFunctions):
    """Implementations of the `cf` ops."""

    @impl(cf.AssertOp)
    def run_assert(
        self, interpreter: Interpreter, op: cf.AssertOp, args: PythonValues
    ) -> PythonValues:
        """Raise the op's message unless the condition holds in every lane."""
        if not np.all(args[0]):
            raise InterpretationError(op.msg.data, op.location)
        return ()
