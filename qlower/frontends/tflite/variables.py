"""Resources that are variables: tensors that operators read and write by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .schema import Model, Operator, Subgraph, Tensor


@dataclass(slots=True)
class Variables:
    """The variables of a model.

    `handles` gives the variable for each tensor of type RESOURCE, `initial` the value
    before the first call: a constant, and its bytes. A variable that is written only
    once, before the first call, is as good as a constant; `written` are the others.
    """

    written: frozenset[str]
    handles: dict[int, str] = field(default_factory=dict[int, str])
    initial: dict[str, tuple[Tensor, bytes]] = field(
        default_factory=dict[str, tuple[Tensor, bytes]]
    )


def handles_of(subgraph: Subgraph) -> dict[int, str]:
    """The variable's name for each of a subgraph's handles."""
    return {
        index: str(operator.options.get("shared_name", ""))
        for operator in subgraph.operators
        if operator.name == "VAR_HANDLE"
        for index in operator.outputs
    }


def accessed(subgraph: Subgraph, kind: str) -> frozenset[str]:
    """The variables that the operators of a kind access, READ_VARIABLE for one."""
    handles = handles_of(subgraph)
    return frozenset(
        handles[operator.inputs[0]]
        for operator in subgraph.operators
        if operator.name == kind and operator.inputs and operator.inputs[0] in handles
    )


def written_variables(main: Subgraph, others: Mapping[int, Subgraph]) -> frozenset[str]:
    """The variables that calls write: not only what is run once, before the first."""
    once = {
        operator.options.get("init_subgraph_index")
        for operator in main.operators
        if operator.name == "CALL_ONCE"
    }
    called = [other for number, other in others.items() if number not in once]
    return frozenset[str]().union(
        *(accessed(graph, "ASSIGN_VARIABLE") for graph in (main, *called))
    )


def keeps_state(model: Model) -> bool:
    """Whether a file may have anything that one call leaves to the next."""
    return any(tensor.is_variable for tensor in model.tensors) or any(
        operator.name in ("CALL_ONCE", "VAR_HANDLE") for operator in model.operators
    )


def needed_operators(graph: Subgraph, outputs: Sequence[int]) -> set[int]:
    """The places of the operators that tensors depend on, in this call or by what an
    earlier one has left."""
    handles = handles_of(graph)
    needed, kept = set(outputs), set[int]()
    read: set[str] = set()
    count = -1
    while count < len(kept):
        count = len(kept)
        for place in reversed(range(len(graph.operators))):
            operator = graph.operators[place]
            if place in kept or not _is_needed(operator, needed, read, handles):
                continue
            kept.add(place)
            needed.update(operator.inputs)
            if operator.name == "READ_VARIABLE":
                read.update(handles[i] for i in operator.inputs if i in handles)
    return kept


def _is_needed(
    operator: Operator, needed: set[int], read: set[str], handles: dict[int, str]
) -> bool:
    if operator.name == "ASSIGN_VARIABLE":
        return any(handles.get(index) in read for index in operator.inputs)
    return operator.name == "CALL_ONCE" or bool(needed.intersection(operator.outputs))
