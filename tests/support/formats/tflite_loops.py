"""`.tflite` files of loops that a run ends, with other subgraphs or states in them."""

from __future__ import annotations

import numpy as np

from .tflite_builder import TFLiteBuilder

UNITS = 4
LESS = "LESS"


def nested() -> bytes:
    """An input says how often a loop runs, whose steps run a layer of float32 as often
    as there were steps before, and add x where the sum is above 0, else subtract it.

    The weights are a constant of the main graph, which both loops pass on.
    """
    weights = np.random.default_rng(2).normal(0, 0.4, (UNITS, UNITS)).astype(np.float32)
    builder = TFLiteBuilder()
    outer, body, inner, layer, then, other = (builder.subgraph() for _ in range(6))

    def number(graph: TFLiteBuilder, name: str, data: int | None = None) -> int:
        return graph.tensor(name, (), "int32", data=None if data is None else [data])

    def row(graph: TFLiteBuilder, name: str) -> int:
        return graph.tensor(name, (1, UNITS), "float32")

    def matrix(graph: TFLiteBuilder, name: str) -> int:
        return graph.tensor(name, (UNITS, UNITS), "float32")

    def below(graph: TFLiteBuilder, count: int, limit: int) -> int:
        goes_on = graph.tensor("goes_on", (), "bool")
        graph.operator(LESS, [count, limit], [goes_on])
        return goes_on

    def next_of(graph: TFLiteBuilder, count: int) -> int:
        following = number(graph, "following")
        graph.operator("ADD", [count, number(graph, "one", 1)], [following])
        return following

    i, n, y, x, w = (
        *(number(outer, name) for name in "in"),
        *(row(outer, name) for name in "yx"),
        matrix(outer, "w"),
    )
    graphs = [outer.graph([i, n, y, x, w], [below(outer, i, n)])]

    i, n, y, x, w = (
        *(number(body, name) for name in "in"),
        *(row(body, name) for name in "yx"),
        matrix(body, "w"),
    )
    last = [number(body, "j"), number(body, "m"), row(body, "z"), matrix(body, "v")]
    options = {"cond_subgraph_index": 3, "body_subgraph_index": 4}
    body.operator("WHILE", [number(body, "none", 0), i, y, w], last, options)
    axes = body.tensor("axes", (2,), "int32", data=[0, 1])
    total = body.tensor("total", (), "float32")
    zero = body.tensor("zero", (), "float32", data=bytes(4))
    is_above = body.tensor("is_above", (), "bool")
    chosen = row(body, "chosen")
    body.operator("SUM", [last[2], axes], [total])
    body.operator("GREATER", [total, zero], [is_above])
    options = {"then_subgraph_index": 5, "else_subgraph_index": 6}
    body.operator("IF", [is_above, last[2], x], [chosen], options)
    graphs.append(body.graph([i, n, y, x, w], [next_of(body, i), n, chosen, x, w]))

    j, m, y, w = (
        number(inner, "j"),
        number(inner, "m"),
        row(inner, "y"),
        matrix(inner, "w"),
    )
    graphs.append(inner.graph([j, m, y, w], [below(inner, j, m)]))

    j, m, y, w = (
        number(layer, "j"),
        number(layer, "m"),
        row(layer, "y"),
        matrix(layer, "w"),
    )
    product, bounded = row(layer, "product"), row(layer, "bounded")
    layer.operator("FULLY_CONNECTED", [y, w, -1], [product])
    layer.operator("TANH", [product], [bounded])
    graphs.append(layer.graph([j, m, y, w], [next_of(layer, j), m, bounded, w]))

    for branch, operator in ((then, "ADD"), (other, "SUB")):
        y, x, z = (row(branch, name) for name in "yxz")
        branch.operator(operator, [y, x], [z])
        graphs.append(branch.graph([y, x], [z]))

    n, x = number(builder, "n"), row(builder, "x")
    w = builder.tensor("w", (UNITS, UNITS), "float32", data=weights.tobytes())
    left = [
        *(number(builder, f"left_{name}") for name in "in"),
        *(row(builder, f"left_{name}") for name in "yx"),
        matrix(builder, "left_w"),
    ]
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    builder.operator("WHILE", [number(builder, "start", 0), n, x, x, w], left, options)
    return builder.build([n, x], [left[0], left[2]], graphs)


def remembering(*, is_written: bool) -> bytes:
    """A loop whose steps read a variable, or write it."""
    builder = TFLiteBuilder()
    once, condition, body = (builder.subgraph() for _ in range(3))

    def handle_of(graph: TFLiteBuilder) -> int:
        handle = graph.tensor("handle", (), "resource")
        graph.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
        return handle

    first = once.tensor("first", (), "int32", data=[1])
    once.operator("ASSIGN_VARIABLE", [handle_of(once), first], [])
    n, limit = (
        condition.tensor("n", (), "int32"),
        condition.tensor("l", (), "int32", data=[9]),
    )
    goes_on = condition.tensor("goes_on", (), "bool")
    condition.operator(LESS, [n, limit], [goes_on])
    m, read, sum = (body.tensor(name, (), "int32") for name in ("m", "read", "sum"))
    body.operator("READ_VARIABLE", [handle_of(body)], [read])
    body.operator("ADD", [m, read], [sum])
    if is_written:
        body.operator("ASSIGN_VARIABLE", [handle_of(body), sum], [])
    given, before, left = (
        builder.tensor(name, (), "int32") for name in ("given", "before", "left")
    )
    builder.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    builder.operator("READ_VARIABLE", [handle_of(builder)], [before])
    builder.operator("ASSIGN_VARIABLE", [handle_of(builder), before], [])
    options = {"cond_subgraph_index": 2, "body_subgraph_index": 3}
    builder.operator("WHILE", [given], [left], options)
    graphs = [
        once.graph([], []),
        condition.graph([n], [goes_on]),
        body.graph([m], [sum]),
    ]
    return builder.build([given], [left], graphs)
