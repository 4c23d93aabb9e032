"""What is said of a whole graph, by graphs of a few nodes: the session that has its
bits, remarks, and the quantization of its inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.formats.small_graphs import graph

from qlower.dialects.quant import QuantizedType
from qlower.frontends.graph.nodes import Graph
from qlower.frontends.graph.quantizations import find_quantization
from qlower.frontends.graph.remarks import float_remarks
from qlower.frontends.graph.schema import Constant, Port
from qlower.frontends.import_options import (
    AS_WRITTEN,
    INTEGER,
    SHARED_ZERO_POINT,
    X86,
)
from qlower.frontends.onnx.remarks import (
    ANY_THREADS,
    DEFAULT_ON_X86,
    DEFAULT_SESSION,
    INT8_ALLOWED,
    ONE_THREAD,
    OPEN_SIZES,
    OTHER_AXIS,
    TRUNCATED_BIASES,
    UNFUSED_SESSION,
    ZERO_BIASES,
    bias_remarks,
    remarks,
    session_of,
    shared_zero_points,
)

F, U1, I1 = np.float32, np.uint8, np.int8
Q, DQ = "QuantizeLinear", "DequantizeLinear"
NUMBERS: dict[str, Any] = {
    **{"s": F(0.5), "t": F(0.25), "z": U1(3), "n": I1(-3), "none": U1(0)},
    **{"many": np.ones(3, F), "wide": np.float64(0.5), "code": np.int32(2)},
    **{
        "negative": F(-1),
        "infinite": F(np.inf),
        "huge": np.float64(1e38),
        "zero": F(0),
    },
}


@pytest.mark.parametrize(
    ("text", "qdq", "session"),
    [
        (f"a = {Q} x s n\nb = {DQ} a s n\nc = Relu b", INTEGER, INT8_ALLOWED),
        (f"a = {Q} x s n\nb = {DQ} a s n\nc = Relu b", X86, DEFAULT_ON_X86),
        (
            f"a = {Q} x s n\nb = {DQ} a s n\nc = Relu b",
            AS_WRITTEN,
            UNFUSED_SESSION,
        ),
        (f"a = {Q} x s z\nb = {DQ} a s z\nc = Relu b", INTEGER, DEFAULT_SESSION),
        (f"a = {Q} x s n\nb = {DQ} a s n", INTEGER, DEFAULT_SESSION),
        ("c = Relu x", INTEGER, DEFAULT_SESSION),
        (f"a = {Q} x s n\nc = Relu x", X86, DEFAULT_SESSION),
        (f"b = {DQ} x s n\nc = Relu b", X86, DEFAULT_SESSION),
    ],
)
def test_sessions(text: str, qdq: str, session: str) -> None:
    assert session_of(graph(text, **NUMBERS), qdq) == session


@pytest.mark.parametrize(
    ("producer", "constants", "found"),
    [
        ("pytorch", {"b": np.array([0, 4], np.int32)}, [TRUNCATED_BIASES]),
        ("pytorch", {"b": np.zeros(2, np.int32)}, [ZERO_BIASES]),
        ("pytorch", {"b": np.array([0, 4], np.int8)}, []),
        ("pytorch", {}, []),
        ("tf2onnx", {"b": np.array([0, 4], np.int32)}, []),
        ("tf2onnx", {}, []),
    ],
)
def test_biases(producer: str, constants: dict[str, Any], found: list[str]) -> None:
    """Of several, one that isn't 0 is enough."""
    built = graph(f"a = {DQ} b s\nc = {DQ} d s", **constants, d=np.zeros(1, np.int32))
    if "b" not in constants or constants["b"].dtype != np.int32:
        built = graph(f"a = {DQ} b s", **constants)
    built.model = replace(built.model, producer=producer)
    assert bias_remarks(built) == found


def test_biases_that_cannot_be_read() -> None:
    built = graph(f"a = {DQ} b s")
    built.constants["b"] = Constant("INT32", (2,), None)
    built.model = replace(built.model, producer="pytorch")
    assert bias_remarks(built) == [ZERO_BIASES]


@pytest.mark.parametrize(
    ("text", "outputs", "named"),
    [
        (f"a = {DQ} x s z\nb = {DQ} y s z\nc = Relu b", "a c", "'a'"),
        (f"a = {DQ} x s z\nb = {DQ} y s z", "a b", "'a', 'b'"),
        (f"e = {DQ} x s z\na = Identity e\nb = {DQ} y s z\nc = Relu b", "a c", "'a'"),
        (f"a = {DQ} x s none\nb = {DQ} y s none\nc = Relu b", "a c", ""),
        (f"a = {DQ} x s open\nb = {DQ} y s open\nc = Relu b", "a c", ""),
        (f"a = {DQ} x s z\nb = {DQ} y s n\nc = Relu b", "a c", ""),
        (f"a = {DQ} x s z\nb = {DQ} y s z\nc = MatMul b w", "a c", ""),
        (f"a = {DQ} x s z\nb = {DQ} y s z\nc = MatMul b w\nd = Neg b", "a c d", "'a'"),
        (f"a = {DQ} x s z\nb = {DQ} y s\nc = Relu b", "a c", ""),
        (f"a = {DQ} x s\nb = {DQ} y s z\nc = Relu b", "a c", ""),
        (f"a = Relu x\nb = {DQ} y s z\nc = Relu b", "a c", ""),
        (f"a = {DQ} x s z\nc = Relu a", "a c", ""),
        (f"b = {DQ} y s z\nc = Relu b", "x c", ""),
    ],
)
def test_zero_points_of_outputs(text: str, outputs: str, named: str) -> None:
    found = shared_zero_points(graph(text, outputs, **NUMBERS))
    assert found == ([f"{SHARED_ZERO_POINT}: {named}"] if named else [])


SKIP = "y = SkipLayerNormalization a b scale"


def with_inputs(text: str, **shapes: tuple[int | None, ...] | None) -> Graph:
    built = graph(text, "y", scale=np.ones(4, F))
    built.inputs |= {name: Port(name, "FLOAT", shape) for name, shape in shapes.items()}
    return built


@pytest.mark.parametrize(
    ("text", "threads"),
    [
        ("y = Relu a", ANY_THREADS),
        ("y = MatMul a b", ONE_THREAD),
        ("y = MatMul a b\nz = Relu y", ONE_THREAD),
        ("y = Elu a", ONE_THREAD),
    ],
)
def test_threads(text: str, threads: str) -> None:
    assert remarks(graph(text, "y"), {}, "here") == [
        f"ONNX Runtime gives the same bits, {threads}, here"
    ]
    built = graph(text, "y")
    for node in built.nodes:
        node.domain = "mine"
    assert remarks(built, {}, "here")[0].split(", ")[1] == ANY_THREADS


THREE = (2, 3, 4)


@pytest.mark.parametrize(
    ("text", "shapes", "found"),
    [
        (SKIP, {"a": THREE, "b": THREE}, []),
        (SKIP, {"a": (None, 3, 4), "b": THREE}, [OPEN_SIZES]),
        ("y = Relu a", {"a": (None, 3, 4)}, []),
        (SKIP, {"a": None, "b": THREE}, []),
        (f"{SKIP} axis:-1", {"a": THREE, "b": THREE}, []),
        (f"{SKIP} axis:2", {"a": THREE, "b": THREE}, []),
        (f"{SKIP} axis:1", {"a": THREE, "b": THREE}, [f"{OTHER_AXIS}: 'y'"]),
        (f"{SKIP} axis:-2", {"a": THREE, "b": THREE}, [f"{OTHER_AXIS}: 'y'"]),
        (f"{SKIP} axis:1", {"a": (3, 4), "b": THREE}, []),
        (f"{SKIP} axis:1", {"a": THREE, "b": (1, 2, 3, 4)}, []),
        (f"{SKIP} axis:1", {"a": THREE}, []),
    ],
)
def test_normalized_sums(
    text: str, shapes: dict[str, tuple[int | None, ...] | None], found: list[str]
) -> None:
    assert remarks(with_inputs(text, **shapes), {}, "here")[1:] == found


@pytest.mark.parametrize("count", [1, 8, 9, 11])
def test_operators_on_floats(count: int) -> None:
    """Eight are named, in their order; those that are gone aren't counted."""
    built = graph("\n".join(f"y{at} = Relu x{at}" for at in range(count + 1)))
    nodes = list(built.nodes)
    nodes[0].name = "first"
    built.remove(nodes[-1])
    found = float_remarks(built, {node: f"reason {node.index}" for node in nodes})
    named = ["first", *(f"y{at}" for at in range(1, count))][:8]
    wanted = [
        f"Relu {name!r} runs on float32: reason {at}" for at, name in enumerate(named)
    ]
    more = [f"{count - 8} more operators run on float32"] if count > 8 else []
    assert found == wanted + more
    assert remarks(built, {nodes[0]: "so"}, "here")[1:] == [
        "Relu 'first' runs on float32: so"
    ]


@pytest.mark.parametrize(
    ("text", "scale", "zero_point"),
    [
        (f"a = {DQ} x s z", 0.5, 3),
        (f"a = {DQ} x s", 0.5, 0),
        (f"a = {DQ} x s open", 0.5, 0),
        ("a = QLinearConv x t z w s z", 0.25, 3),
        ("a = QLinearConv w s z x t z", 0.25, 3),
        ("a = QLinearAdd w s z x t", 0.25, 0),
        ("a = QGemm x t z", 0.25, 3),
        ("a = Conv x t z", 1.0, 0),
        (f"a = {DQ} x", 1.0, 0),
        (f"a = {DQ} x many", 1.0, 0),
        (f"a = {DQ} x code", 1.0, 0),
        (f"a = {DQ} x wide", 0.5, 0),
        (f"a = {DQ} x zero z", 1.0, 0),
        (f"a = {DQ} x negative z", 1.0, 0),
        (f"a = {DQ} x infinite z", 1.0, 0),
        (f"a = {DQ} x huge z", 1.0, 0),
        (f"a = {DQ} x open\nb = {DQ} x t z", 0.25, 3),
        (f"a = {DQ} x s z\nb = {DQ} x t z", 0.5, 3),
        (f"a = Reshape x r\nb = {DQ} a t z", 0.25, 3),
        (f"a = Reshape r x\nb = {DQ} a t z", 1.0, 0),
        (f"a = Relu x\nb = {DQ} a t z", 1.0, 0),
        (f"a, c = Split x\nb = {DQ} c t z", 0.25, 3),
        (f"a = Slice x\nb = Pad a\nc = {DQ} x s z\nd = {DQ} b t z", 0.5, 3),
        (f"a = Slice x\nb = Pad x\nc = {DQ} b s z\nd = {DQ} a t z", 0.25, 3),
        ("x = Identity x", 1.0, 0),
        ("a = Identity x\na = Identity a", 1.0, 0),
    ],
)
def test_quantizations_of_inputs(text: str, scale: float, zero_point: int) -> None:
    """By the first user that gives one, behind operators that only move elements."""
    built = graph(text, **NUMBERS)
    for signed in (True, False):
        found = find_quantization(built, "x", 8, signed)
        assert found == QuantizedType.per_tensor(8, signed, scale, zero_point)
