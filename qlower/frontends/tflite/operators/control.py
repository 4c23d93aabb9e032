"""Subgraphs: those of IF, those of WHILE whose running constants decide, and those that
are what an operator means, STABLEHLO_COMPOSITE. They become the function's
operations, those of a loop as often as it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import OpResult
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects.types import shape_of

from ...entry import takes
from ...scalars import Scalars
from ...signature import UNLIMITED
from ..context import OperatorContext
from ..nests import finish, start
from .variables import LAST_SUBGRAPH

MOST_ITERATIONS = 1000


def import_if(op: OperatorContext) -> None:
    """Without a constant condition both branches are computed, and one is taken."""
    if op.count and not op.is_constant(0):
        _import_choice(op)
        return
    branch = "then" if _truth(op, op.operator.inputs[0], "condition") else "else"
    _give(op, _run_branch(op, branch))


def _run_branch(op: OperatorContext, branch: str) -> list[int]:
    number = op.option(f"{branch}_subgraph_index", 0, LAST_SUBGRAPH)
    return op.graph.inline(number, op.operator.inputs[1:], op)


def _import_choice(op: OperatorContext) -> None:
    op.expect_type(0, "BOOL")
    op.check_range(f"elements of {op.input(0)}", math.prod(op.shape(0)), 1, 1)
    before = op.graph.states.values()
    branches = _run_branch(op, "then"), _run_branch(op, "else")
    for name, value in op.graph.states.values().items():
        if before.get(name, value) is not value or isinstance(value, OpResult):
            raise op.error(f"a branch that writes the state {name!r} is not supported")
    for given in branches:
        _check_count(op, given)
    for number, pair in enumerate(zip(*branches, strict=True)):
        values = [
            op.graph.value(tensor, op.graph.type(tensor, op), op)
            for tensor in (op.graph.tensor(index, op) for index in pair)
        ]
        if values[0].type != values[1].type:
            raise op.error(
                f"branches that give {values[0].type} and {values[1].type} are not"
                " supported where a run decides; expected one type"
            )
        nest = start(op, shape_of(values[0]), output=number)
        stored = [
            nest.input(op.stored(value), range(nest.parallel)) for value in values
        ]
        zeros = [AffineConstantExpr(0)] * len(op.shape(0))
        chosen = Scalars(nest).select(nest.input(op.value(0), zeros), *stored)
        finish(op, nest.build([chosen])[0], number)


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


def import_composite(op: OperatorContext) -> None:
    """Import the operators that a composite is made of, as LiteRT runs it where no
    delegate knows its name (stablehlo_composite.cc)."""
    number = op.option("decomposition_subgraph_index", 0, LAST_SUBGRAPH)
    _give(op, op.graph.inline(number, op.operator.inputs, op))


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


def _check_count(op: OperatorContext, indices: Sequence[int]) -> None:
    if len(indices) != len(op.operator.outputs):
        raise op.error(f"{len(indices)} tensors for {len(op.operator.outputs)} results")


def _give(op: OperatorContext, indices: Sequence[int]) -> None:
    """Make the values of tensors those of the operator's results."""
    _check_count(op, indices)
    for number, index in enumerate(indices):
        tensor = op.graph.tensor(index, op)
        data = op.graph.constant(tensor, op)
        if data is not None:
            op.graph.know(op.output(number), data, tensor.shape, op)
            continue
        value = op.graph.value(tensor, op.graph.type(tensor, op), op)
        type = op.result_type(shape_of(value), number)
        op.graph.define(op.output(number), op.retyped(value, type), op)


IMPORTERS = {
    "IF": takes("condition, x*", import_if, (0, UNLIMITED)),
    "STABLEHLO_COMPOSITE": takes("x*", import_composite, (0, UNLIMITED)),
    "WHILE": takes("x, more*", import_while, (0, UNLIMITED)),
}
