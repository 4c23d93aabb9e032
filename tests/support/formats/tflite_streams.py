"""Models that keep something from one call to the next, as TFLite files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from .tflite_builder import Option, TFLiteBuilder

FRAMES, FEATURES, WORDS = 5, 8, 6
SCALE, ZERO_POINT = 0.05, 3


def keyword_spotter(initial: NDArray[np.int8] | None = None) -> bytes:
    """A layer over the last frames, which a variable keeps: `frames` of int8. Another
    one counts the calls, from 3 on."""
    random = np.random.default_rng(0)
    builder = TFLiteBuilder()
    once = builder.subgraph()
    frames = (1, FRAMES, FEATURES)
    start = np.full(frames, ZERO_POINT, np.int8) if initial is None else initial
    for name, shape, dtype, data in (
        ("frames", frames, "int8", start),
        ("count", (1,), "int32", np.array([3], np.int32)),
    ):
        scale = SCALE if dtype == "int8" else None
        handle = once.tensor(f"{name}_once", (), "resource")
        value = once.tensor(
            f"{name}_first", shape, dtype, scale=scale, zero_point=ZERO_POINT, data=data
        )
        once.operator("VAR_HANDLE", [], [handle], {"shared_name": name})
        once.operator("ASSIGN_VARIABLE", [handle, value], [])
    builder.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})

    def handle_of(name: str) -> int:
        handle = builder.tensor(f"{name}_handle", (), "resource")
        builder.operator("VAR_HANDLE", [], [handle], {"shared_name": name})
        return handle

    def activation(name: str, *shape: int) -> int:
        return builder.tensor(name, shape, scale=SCALE, zero_point=ZERO_POINT)

    x = activation("x", 1, 1, FEATURES)
    handle = handle_of("frames")
    before = activation("before", *frames)
    builder.operator("READ_VARIABLE", [handle], [before])
    begin = builder.tensor("begin", (3,), "int32", data=[0, 1, 0])
    size = builder.tensor("size", (3,), "int32", data=[1, FRAMES - 1, FEATURES])
    rest = activation("rest", 1, FRAMES - 1, FEATURES)
    builder.operator("SLICE", [before, begin, size], [rest])
    after = activation("after", *frames)
    builder.operator("CONCATENATION", [rest, x], [after], {"axis": 1})
    builder.operator("ASSIGN_VARIABLE", [handle, after], [])
    flat_shape = builder.tensor(
        "flat_shape", (2,), "int32", data=[1, FRAMES * FEATURES]
    )
    flat = activation("flat", 1, FRAMES * FEATURES)
    builder.operator("RESHAPE", [after, flat_shape], [flat])
    weights = builder.tensor(
        "weights",
        (WORDS, FRAMES * FEATURES),
        scale=0.01,
        data=random.integers(-127, 128, (WORDS, FRAMES * FEATURES)).astype(np.int8),
    )
    bias = builder.tensor(
        "bias", (WORDS,), "int32", scale=0.01 * SCALE, data=[9, -90, 900, 0, 1, 2]
    )
    words = builder.tensor("words", (1, WORDS), scale=0.3, zero_point=-7)
    builder.operator("FULLY_CONNECTED", [flat, weights, bias], [words])
    counter = handle_of("count")
    count = builder.tensor("calls", (1,), "int32")
    next_count = builder.tensor("calls_after", (1,), "int32")
    one = builder.tensor("one", (1,), "int32", data=[1])
    builder.operator("READ_VARIABLE", [counter], [count])
    builder.operator("ADD", [count, one], [next_count])
    builder.operator("ASSIGN_VARIABLE", [counter, next_count], [])
    return builder.build([x], [words, next_count], [once.graph([], [])])


def drawn_frames(count: int, seed: int = 0) -> list[NDArray[np.int8]]:
    """Inputs of `keyword_spotter` for so many steps."""
    random = np.random.default_rng(seed)
    return list(random.integers(-128, 128, (count, 1, 1, FEATURES)).astype(np.int8))


NO_ATTRIBUTES = b"\x00\x00\x01\x00\x00$\x01"
"""An empty map of FlexBuffers."""


def looped(times: int | None, until: int | None = None) -> bytes:
    """A layer that is run `times` times, each on the result of the last, to which `x`
    is added; None for as often as an input says. With `until` it ends before, once the
    largest code is that at least."""
    random = np.random.default_rng(1)
    builder = TFLiteBuilder()
    condition, body = builder.subgraph(), builder.subgraph()

    def carried(graph: TFLiteBuilder, prefix: str) -> list[int]:
        """A counter, the value, and what stays as it is."""
        count = graph.tensor(f"{prefix}_count", (), "int32")
        return [
            count,
            *(graph.tensor(f"{prefix}_{n}", (1, 4), scale=0.1) for n in "yx"),
        ]

    taken = carried(condition, "condition")
    limit = condition.tensor("limit", (), "int32", data=[times or 3])
    goes_on = condition.tensor("goes_on", (), "bool")
    if until is None:
        condition.operator("LESS", [taken[0], limit], [goes_on])
    else:
        counted, low = (condition.tensor(n, (), "bool") for n in ("counted", "low"))
        axes = condition.tensor("axes", (2,), "int32", data=[0, 1])
        largest = condition.tensor("largest", (), scale=0.1)
        bound = condition.tensor("bound", (), scale=0.1, data=[until])
        condition.operator("LESS", [taken[0], limit], [counted])
        condition.operator("REDUCE_MAX", [taken[1], axes], [largest])
        condition.operator("LESS", [largest, bound], [low])
        condition.operator("LOGICAL_AND", [counted, low], [goes_on])

    count, y, x = carried(body, "body")
    one = body.tensor("one", (), "int32", data=[1])
    weights = body.tensor(
        "weights", (4, 4), scale=0.01, data=random.integers(-127, 128, (4, 4))
    )
    layer = body.tensor("layer", (1, 4), scale=0.1)
    following = carried(body, "next")[:2]
    body.operator("ADD", [count, one], [following[0]])
    body.operator("FULLY_CONNECTED", [y, weights, -1], [layer])
    body.operator("ADD", [layer, x], [following[1]])

    given = builder.tensor("x", (1, 4), scale=0.1)
    start = builder.tensor("start", (), "int32", data=None if times is None else [0])
    results = carried(builder, "last")
    builder.operator(
        "WHILE",
        [start, given, given],
        results,
        {"cond_subgraph_index": 1, "body_subgraph_index": 2},
    )
    inputs = [given, start] if times is None else [given]
    others = [
        condition.graph(taken, [goes_on]),
        body.graph([count, y, x], [*following, x]),
    ]
    return builder.build(inputs, results[:2], others)


def chosen(condition: bool | None) -> bytes:
    """RELU of `x` if a constant is true, else `x + x`; None for an input's choice."""
    builder = TFLiteBuilder()
    branches = builder.subgraph(), builder.subgraph()
    graphs = []
    for branch, name in zip(branches, ("RELU", "ADD"), strict=True):
        x, y = (branch.tensor(n, (4,), scale=0.1) for n in "xy")
        branch.operator(name, [x] if name == "RELU" else [x, x], [y])
        graphs.append(branch.graph([x], [y]))
    x, y = (builder.tensor(n, (4,), scale=0.1) for n in "xy")
    data = None if condition is None else [condition]
    choice = builder.tensor("choice", (), "bool", data=data)
    builder.operator(
        "IF", [choice, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2}
    )
    return builder.build([x, choice] if condition is None else [x], [y], graphs)


def rescaled(kind: str) -> bytes:
    """A subgraph that takes and gives other scales and zero points than the operator
    that runs it: a "composite", a constant "branch", a run's "choice" or a "loop"."""
    builder = TFLiteBuilder()
    is_loop, scales = kind == "loop", ((0.2, 4), (0.05, -3))

    def part(place: int) -> tuple[TFLiteBuilder, list[int], list[int]]:
        """A subgraph that doubles, and counts in a loop."""
        graph = builder.subgraph()
        y, x = (
            graph.tensor(n, (4,), scale=scale, zero_point=point)
            for n, (scale, point) in zip(
                "yx", (scales[place], scales[-place]), strict=True
            )
        )
        graph.operator("ADD", [x, x], [y])
        if not is_loop:
            return graph, [x], [y]
        count, counted = (graph.tensor(n, (), "int32") for n in ("i", "j"))
        one = graph.tensor("one", (), "int32", data=[1])
        graph.operator("ADD", [count, one], [counted])
        return graph, [count, x], [counted, y]

    parts = [part(0), part(1)]
    given = builder.tensor("given", (4,), scale=0.1)
    left = builder.tensor("left", (4,), scale=0.1)
    taken, results = [given], [left]
    if kind == "composite":
        options: dict[str, Option] = {
            "name": "odml.double",
            "decomposition_subgraph_index": 1,
            "composite_attributes": NO_ATTRIBUTES,
        }
        builder.operator("STABLEHLO_COMPOSITE", taken, results, options)
    elif is_loop:
        condition = builder.subgraph()
        count, x = (
            condition.tensor("i", (), "int32"),
            condition.tensor("x", (4,), scale=3),
        )
        limit = condition.tensor("limit", (), "int32", data=[2])
        goes = condition.tensor("goes", (), "bool")
        condition.operator("LESS", [count, limit], [goes])
        parts[1] = condition, [count, x], [goes]
        start = builder.tensor("start", (), "int32", data=[0])
        last = builder.tensor("last", (), "int32")
        options = {"cond_subgraph_index": 2, "body_subgraph_index": 1}
        builder.operator("WHILE", [start, given], [last, left], options)
    else:
        data = [True] if kind == "branch" else None
        choice = builder.tensor("choice", (), "bool", data=data)
        options = {"then_subgraph_index": 1, "else_subgraph_index": 2}
        builder.operator("IF", [choice, given], results, options)
        taken = [given, choice] if kind == "choice" else [given]
    return builder.build(taken, results, [g.graph(x, y) for g, x, y in parts])


def svdf(
    seed: int,
    *,
    batch: int = 1,
    rank: int = 2,
    units: int = 4,
    places: int = 6,
    has_bias: bool = True,
    scales: Mapping[str, float] = MappingProxyType({}),
) -> bytes:
    """SVDF of int8 with a state of int16; `scales` are those of input, weights,
    time_weights, state and output."""
    random = np.random.default_rng(seed)
    scale = {
        "input": 0.05,
        "weights": 0.01,
        "time_weights": 0.001,
        "state": 0.002,
        "output": 0.05,
        **scales,
    }
    filters = rank * units
    builder = TFLiteBuilder()
    shape = (batch, FEATURES)
    x = builder.tensor("x", shape, scale=scale["input"], zero_point=ZERO_POINT)
    weights = builder.tensor(
        "weights",
        (filters, FEATURES),
        scale=scale["weights"],
        data=random.integers(-127, 128, (filters, FEATURES)).astype(np.int8),
    )
    time_weights = builder.tensor(
        "time_weights",
        (filters, places),
        "int16",
        scale=scale["time_weights"],
        data=random.integers(-32767, 32768, (filters, places)).astype(np.int16),
    )
    bias = builder.tensor(
        "bias",
        (units,),
        "int32",
        scale=scale["state"] * scale["time_weights"],
        data=random.integers(-(10**7), 10**7, units).astype(np.int32),
    )
    state = builder.tensor(
        "state",
        (batch, filters * places),
        "int16",
        scale=scale["state"],
        is_variable=True,
    )
    y = builder.tensor("y", (batch, units), scale=scale["output"], zero_point=-128)
    operands = [x, weights, time_weights, bias if has_bias else -1, state]
    builder.operator(
        "SVDF", operands, [y], {"rank": rank, "fused_activation_function": 1}
    )
    return builder.build([x], [y])
