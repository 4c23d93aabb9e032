"""Pass fold-constants: computes what follows from constants, by the interpreter.

What a scalar operation means is said once, in `interp`; folding runs that.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure
from xdsl.utils.hints import isa

from qlower.interp import Array, InterpretationError, make_interpreter
from qlower.model.nests import scalar_constant


class FoldConstantsPass(ModulePass):
    """Replaces operations without effects on scalar constants by constants.

    Poison, and what the interpreter doesn't implement, is left as it is.
    """

    name = "fold-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        interpreter = make_interpreter(op)
        known: dict[SSAValue, Array] = {}
        for inner in list(op.walk()):
            if not _is_scalar(inner) or any(o not in known for o in inner.operands):
                continue
            try:
                values = interpreter.run_op(
                    inner, tuple(known[o] for o in inner.operands)
                )
            except InterpretationError:
                continue
            if not isinstance(inner, arith.ConstantOp):
                inner = _replace(inner, values)
            known.update(zip(inner.results, values, strict=True))


def _is_scalar(op: Operation) -> bool:
    return (
        op.has_trait(Pure)
        and len(op.results) == 1
        and isa(op.results[0].type, IntegerType | IndexType | AnyFloat)
    )


def _replace(op: Operation, values: tuple[Array, ...]) -> arith.ConstantOp:
    constant = scalar_constant(values[0].item(), op.results[0].type)
    constant.location = op.location
    Rewriter.replace_op(op, constant)
    return constant
