"""Subgraphs whose running constants decide: IF and WHILE. They become the function's
operations, those of a loop as often as it runs."""

from __future__ import annotations

from collections.abc import Sequence

from qlower.dialects.types import shape_of

from ...entry import takes
from ...signature import UNLIMITED
from ..context import OperatorContext
from ..types import tensor_type
from .variables import LAST_SUBGRAPH

MOST_ITERATIONS = 1000


def import_if(op: OperatorContext) -> None:
    branch = "then" if _truth(op, op.operator.inputs[0], "condition") else "else"
    number = op.option(f"{branch}_subgraph_index", 0, LAST_SUBGRAPH)
    _give(op, op.graph.inline(number, op.operator.inputs[1:], op))


def import_while(op: OperatorContext) -> None:
    """Each iteration takes the tensors that the one before has left."""
    condition = op.option("cond_subgraph_index", 0, LAST_SUBGRAPH)
    body = op.option("body_subgraph_index", 0, LAST_SUBGRAPH)
    carried: Sequence[int] = op.operator.inputs
    for _ in range(MOST_ITERATIONS + 1):
        (goes_on, *rest) = op.graph.inline(condition, carried, op) or [-1]
        if rest:
            raise op.error(f"subgraph {condition} gives {1 + len(rest)} conditions")
        if not _truth(op, goes_on, "condition of the loop"):
            _give(op, carried)
            return
        carried = op.graph.inline(body, carried, op)
    raise op.error(f"a loop of more than {MOST_ITERATIONS} iterations")


def _truth(op: OperatorContext, index: int, what: str) -> bool:
    """A BOOL that constants decide."""
    tensor = op.graph.tensor(index, op)
    data = op.graph.constant(tensor, op)
    if tensor.type != "BOOL" or data is None or len(data) != 1:
        raise op.error(
            f"{tensor}: this {what} isn't decided by constants, which is not supported;"
            " expected a constant, or what is computed from constants and shapes"
        )
    return data != b"\0"


def _give(op: OperatorContext, indices: Sequence[int]) -> None:
    """Make the values of tensors those of the operator's results."""
    if len(indices) != len(op.operator.outputs):
        raise op.error(f"{len(indices)} tensors for {len(op.operator.outputs)} results")
    for number, index in enumerate(indices):
        tensor = op.graph.tensor(index, op)
        data = op.graph.constant(tensor, op)
        if data is not None:
            op.graph.know(op.output(number), data, tensor.shape, op)
            continue
        value = op.graph.value(tensor, tensor_type(tensor, op), op)
        type = op.result_type(shape_of(value), number)
        op.graph.define(op.output(number), op.retyped(value, type), op)


IMPORTERS = {
    "IF": takes("condition, x*", import_if, (0, UNLIMITED)),
    "WHILE": takes("x, more*", import_while, (0, UNLIMITED)),
}
