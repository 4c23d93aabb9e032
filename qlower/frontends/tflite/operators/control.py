"""Subgraphs: those of IF, those of WHILE whose running constants decide or bound, and
those that are what an operator means, STABLEHLO_COMPOSITE. They become the function's
operations, those of a loop as often as it can run, or once where nothing bounds it."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from xdsl.ir import Block, OpResult, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects.types import shape_of

from ...entry import takes
from ...graph.scanning import repeat
from ...scalars import Scalars
from ...signature import UNLIMITED
from ..context import OperatorContext
from ..nests import finish, start
from ..tensor_table import NO_BUFFER
from ..types import tensor_type
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
    return _inlined(op, number, op.operator.inputs[1:])


def _inlined(op: OperatorContext, number: int, arguments: Sequence[int]) -> list[int]:
    """Import a subgraph's operators, which read the elements of arguments by the scales
    of its own inputs (LiteRT copies types and shapes, subgraph.cc)."""
    graph, subgraph = op.graph, op.graph.subgraph(number, op)
    taken = [*arguments]
    for place, own in enumerate(subgraph.inputs[: len(taken)]):
        if taken[place] == -1:
            continue
        op.check_range("tensor index", own, 0, len(subgraph.tensors) - 1)
        given, inner = op.graph.tensor(taken[place], op), subgraph.tensors[own]
        if given.quantization == inner.quantization:
            continue
        meant = replace(
            given,
            name=inner.name,
            quantization=inner.quantization,
            buffer=NO_BUFFER,
            is_variable=False,
        )
        if (type := tensor_type(meant, op)) == graph.type(given, op):
            continue
        meant, data = graph.added(meant), graph.constant(given, op)
        taken[place] = meant.index
        if data is not None:
            graph.know(meant, data, given.shape, op)
        else:
            (value,) = _values(op, [given.index])
            graph.define(meant, op.retyped(value, type), op)
    return graph.inline(number, taken, op)


def _import_choice(op: OperatorContext) -> None:
    op.expect_type(0, "BOOL")
    op.check_range(f"elements of {op.input(0)}", math.prod(op.shape(0)), 1, 1)
    with _without_writes(op, "a branch"):
        branches = _run_branch(op, "then"), _run_branch(op, "else")
    for given in branches:
        _check_count(op, given)
    pairs = zip(*(_values(op, given) for given in branches), strict=True)
    for number, (value, other) in enumerate(pairs):
        chosen = _chosen(op, op.value(0), (value, other), number)
        finish(op, chosen, number)


@contextmanager
def _without_writes(op: OperatorContext, what: str) -> Generator[None]:
    """Refuse states that are written meanwhile, where a run decides about it."""
    before = op.graph.states.values()
    yield
    for name, value in op.graph.states.values().items():
        is_written = name not in before and isinstance(value, OpResult)
        if before.get(name, value) is not value or is_written:
            raise op.error(f"{what} that writes the state {name!r} is not supported")


def _values(op: OperatorContext, indices: Sequence[int]) -> list[SSAValue]:
    tensors = (op.graph.tensor(index, op) for index in indices)
    return [op.graph.value(tensor, op.graph.type(tensor, op), op) for tensor in tensors]


def _chosen(
    op: OperatorContext,
    condition: SSAValue,
    values: tuple[SSAValue, SSAValue],
    number: int,
) -> SSAValue:
    """The stored elements of the first value where a BOOL of one element is true, else
    those of the second."""
    plain = [op.stored(value) for value in values]
    if plain[0].type != plain[1].type:
        raise op.error(
            f"branches that give {values[0].type} and {values[1].type} are not"
            " supported where a run decides; expected one type"
        )
    nest = start(op, shape_of(values[0]), output=number)
    stored = [nest.input(value, range(nest.parallel)) for value in plain]
    zeros = [AffineConstantExpr(0)] * len(shape_of(condition))
    chosen = Scalars(nest).select(nest.input(condition, zeros), *stored)
    return nest.build([chosen])[0]


def import_while(op: OperatorContext) -> None:
    """Each iteration takes the tensors that the one before has left. Where a run ends
    the loop, later iterations are computed all the same, and what is left is chosen."""
    condition = op.option("cond_subgraph_index", 0, LAST_SUBGRAPH)
    body = op.option("body_subgraph_index", 0, LAST_SUBGRAPH)
    carried: Sequence[int] = op.operator.inputs
    goes: SSAValue | None = None
    left: list[SSAValue] = []
    for _ in range(MOST_ITERATIONS + 1):
        first = len(op.graph.tensors)
        (goes_on, *rest) = _inlined(op, condition, carried) or [-1]
        if rest:
            raise op.error(f"subgraph {condition} gives {1 + len(rest)} conditions")
        if op.graph.constant(op.graph.tensor(goes_on, op), op) is not None:
            if not _truth(op, goes_on, "condition of the loop"):
                _end(op, carried, left)
                return
        elif goes is None and not _is_bounded(op, first):
            _import_open_loop(op, (condition, body), carried, goes_on)
            return
        else:
            now = _condition(op, goes_on)
            left = left or _values(op, carried)
            goes = now if goes is None else _both(op, goes, now)
        if goes is None:
            carried = _inlined(op, body, carried)
            continue
        with _without_writes(op, "a loop"):
            carried = _inlined(op, body, carried)
        _check_count(op, carried)
        types = [op.graph.type(op.graph.tensor(i, op), op) for i in carried]
        pairs = zip(_values(op, carried), left, strict=True)
        left = [
            op.retyped(_chosen(op, goes, pair, number), types[number])
            for number, pair in enumerate(pairs)
        ]
    raise op.error(f"a loop of more than {MOST_ITERATIONS} iterations")


def _is_bounded(op: OperatorContext, first: int) -> bool:
    """Whether constants have a part in a condition: one of its tensors from the first
    on is a constant BOOL."""
    graph, added = op.graph, range(first, len(op.graph.tensors))
    return any(i in graph.known and graph.tensors[i].type == "BOOL" for i in added)


def _condition(op: OperatorContext, index: int) -> SSAValue:
    """The one BOOL that a condition gives."""
    tensor = op.graph.tensor(index, op)
    op.check_type(tensor, "BOOL")
    op.check_range(f"elements of {tensor}", math.prod(tensor.shape), 1, 1)
    (value,) = _values(op, [index])
    return value


def _import_open_loop(
    op: OperatorContext,
    subgraphs: tuple[int, int],
    carried: Sequence[int],
    goes_on: int,
) -> None:
    """A loop that nothing but a run ends, of the condition and the body, whose first
    condition is that tensor. Constants that the body leaves as they are stay such."""
    graph, (condition, body) = op.graph, subgraphs
    subgraph = graph.subgraph(body, op)
    _check_count(op, carried)
    changing = [
        place
        for place, (own, left) in enumerate(
            zip(subgraph.inputs, subgraph.outputs, strict=False)
        )
        if own != left or graph.constant(graph.tensor(carried[place], op), op) is None
    ]
    start = _values(op, [carried[place] for place in changing])

    def step(given: Sequence[SSAValue]) -> Sequence[SSAValue]:
        taken = [*carried]
        for place, value in zip(changing, given[1:], strict=True):
            tensor = graph.tensor(carried[place], op)
            tensor = replace(tensor, buffer=NO_BUFFER, is_variable=False)
            taken[place] = (tensor := graph.added(tensor)).index
            type = graph.type(tensor, op)
            if value.type != type:
                value = op.as_stored(value, type)
            graph.define(tensor, value, op)
        left = _inlined(op, body, taken)
        _check_count(op, left)
        goes = _condition(op, (_inlined(op, condition, left) or [-1])[0])
        plain = map(op.stored, _values(op, [left[place] for place in changing]))
        following = [goes, *plain]
        for value, before in zip(following, given, strict=True):
            if value.type != before.type:
                raise op.error(
                    f"a loop that takes {before.type} and leaves {value.type} is not"
                    " supported where a run ends it; expected one type"
                )
        if _reads_outside(graph.builder.block):
            raise op.error(
                "a loop that a run ends and that reads a state is not supported;"
                " expected one that is given what it reads"
            )
        return following

    given = [_condition(op, goes_on), *map(op.stored, start)]
    with _without_writes(op, "a loop"), graph.apart():
        _, *last = repeat(graph.builder, op.place(), "loop", given, step)
    for number, index in enumerate(carried):
        if number in changing:
            finish(op, last[changing.index(number)], number)
        else:
            _give_one(op, index, number)


def _reads_outside(block: Block) -> bool:
    """Whether an operation reads a value of another function."""
    inside = {block, *(b for o in block.walk() for r in o.regions for b in r.blocks)}
    read = {value.owner for o in block.walk() for value in o.operands}
    return any(
        (owner if isinstance(owner, Block) else owner.parent) not in inside
        for owner in read
    )


def _both(op: OperatorContext, goes: SSAValue, now: SSAValue) -> SSAValue:
    """Whether two conditions of one element hold."""
    nest = start(op, (1,))
    steps = Scalars(nest)
    one, other = (
        nest.input(value, [AffineConstantExpr(0)] * len(shape_of(value)))
        for value in (goes, now)
    )
    nest.window((0,))
    return nest.build([steps.logical("and", one, other)])[0]


def _end(op: OperatorContext, carried: Sequence[int], left: Sequence[SSAValue]) -> None:
    """Give what the last iteration has left, or where a run ends the loop, the last
    one before that."""
    if not left:
        _give(op, carried)
        return
    for number, value in enumerate(left):
        finish(op, op.stored(value), number)


def import_composite(op: OperatorContext) -> None:
    """Import the operators that a composite is made of, as LiteRT runs it where no
    delegate knows its name (stablehlo_composite.cc)."""
    number = op.option("decomposition_subgraph_index", 0, LAST_SUBGRAPH)
    _give(op, _inlined(op, number, op.operator.inputs))


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
        _give_one(op, index, number)


def _give_one(op: OperatorContext, index: int, number: int) -> None:
    tensor = op.graph.tensor(index, op)
    data = op.graph.constant(tensor, op)
    if data is not None:
        op.graph.know(op.output(number), data, tensor.shape, op)
        return
    value = op.graph.value(tensor, op.graph.type(tensor, op), op)
    type = op.result_type(shape_of(value), number)
    op.graph.define(op.output(number), op.retyped(value, type), op)


IMPORTERS = {
    "IF": takes("condition, x*", import_if, (0, UNLIMITED)),
    "STABLEHLO_COMPOSITE": takes("x*", import_composite, (0, UNLIMITED)),
    "WHILE": takes("x, more*", import_while, (0, UNLIMITED)),
}
