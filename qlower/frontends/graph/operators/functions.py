"""Functions of one real number by ONNX Runtime's polynomials, with FMAs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.ir import SSAValue

from qlower.emit.inline_rule import call_function
from qlower.model.nests import Nest

from ...entry import takes
from ...import_options import AS_WRITTEN
from ..context import NodeContext
from .real import elementwise, real_operand


def _import(node: NodeContext, function: str) -> None:
    """A function of MLAS."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        return call_function(nest, "_mlas", function, *elements)

    node.define(elementwise(node, [real_operand(node, 0)], body))


def import_erf(node: NodeContext) -> None:
    """Not as a part of what ONNX Runtime fuses to one operator (gelu_fusion.cc)."""
    source = node.graph.producer(node.name(0))
    users = [user.kind for user in node.graph.users(node.result())]
    is_fused = source is not None and source.kind == "Div" and users == ["Add"]
    if is_fused and node.importer.qdq != AS_WRITTEN:
        raise node.error(
            "ONNX Runtime may make a Gelu of it, which rounds in another order",
            help="--qdq as-written reads the model so, or quantize what it gives",
        )
    _import(node, "erf")


IMPORTERS = {
    ("", "Erf"): takes("x", import_erf),
    ("", "Exp"): takes("x", partial(_import, function="exp")),
    ("", "Tanh"): takes("x", partial(_import, function="tanh")),
}
