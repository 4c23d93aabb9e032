"""Pass tabulate-functions: tables for functions that no machine has instructions for.

Exponentials, sines and the like run only when a model is compiled. Where one is between
bytes, in a model that is in float32 for a while, all its results are known then: 256
for one byte, 65,536 for two.
"""

from __future__ import annotations

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.math import SqrtOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from qlower.dialects.kernel import NestOp
from qlower.interp.math import ROUNDED_BINARY, ROUNDED_UNARY
from qlower.model.entry import defined_functions
from qlower.tally import timed_layer
from qlower.transforms.prove_epilogues.byte_functions import ByteFunction
from qlower.transforms.prove_epilogues.rewrite import replace_by_substitutes
from qlower.transforms.prove_epilogues.substitutes import Substitute, look_up

FUNCTIONS = (*ROUNDED_UNARY, *ROUNDED_BINARY, SqrtOp)
"""Operations that only the interpreter computes: small machines have no root."""


class TabulateFunctionsPass(ModulePass):
    """Look up the functions between bytes that use one of `FUNCTIONS`."""

    name = "tabulate-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions(op):
            for nest in tuple(function.body.block.ops):
                if isinstance(nest, NestOp) and _computes_any(nest):
                    with timed_layer(nest):
                        replace_by_substitutes(nest, _table)


def _computes_any(nest: NestOp) -> bool:
    return any(is_function(type(op)) for op in nest.epilogue.block.ops)


@cache
def is_function(kind: type[Operation]) -> bool:
    """Whether operations of a class are among `FUNCTIONS`."""
    return issubclass(kind, FUNCTIONS)


def _table(function: ByteFunction) -> Substitute | None:
    needed = any(is_function(type(op)) for op in function.ops)
    return look_up(function) if needed else None
