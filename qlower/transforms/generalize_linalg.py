"""The pass generalize-linalg, which is upstream's linalg-generalize-named-ops."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qlower.frontends.linalg import generalize_named


class GeneralizeLinalgPass(ModulePass):
    """Writes named operations of `linalg` as `linalg.generic`.

    Each layer keeps its location and thereby its name. `qlower.load` runs this pass.
    """

    name = "generalize-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        generalize_named(op)
