"""Meaning of `cf.assert`: the only control op, and it controls whether to go on."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import cf
from xdsl.interpreter import InterpreterFunctions, PythonValues

from .engine import implement, register_implementations
from .values import InterpretationError


@register_implementations
class CfFunctions(InterpreterFunctions):
    """Implementations of the `cf` ops."""

    @implement(cf.AssertOp)
    def run_assert(self, op: cf.AssertOp, args: PythonValues) -> PythonValues:
        """Raise the op's message unless the condition holds in every lane."""
        if not np.all(*args):
            raise InterpretationError(op.msg.data, op.location)
        return ()
