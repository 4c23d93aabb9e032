"""Normalizations that are spelled out become one node each, by graphs of a few nodes
with one line changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from support.formats.small_graphs import changed, graph, kept, shown

from qlower.diagnostics import QlowerError
from qlower.frontends.graph.nodes import Graph, Node
from qlower.frontends.graph.schema import Port
from qlower.frontends.onnx.norm_fusing import (
    fuse_layer_normalization,
    fuse_simplified_layer_normalization,
)
from qlower.frontends.onnx.patterns import is_whole

Fusion = Callable[[Graph, Node, Mapping[str, int]], None]

CONSTANTS = {
    "two": np.float32(2),
    "eps": np.float32(0.25),
    "pair": np.array([1, 2], np.float32),
    "scale": np.ones(8, np.float32),
    "bias": np.ones(8, np.float32),
    "short": np.ones(1, np.float32),
    "flat": np.ones((1, 8), np.float32),
    **{f"at{axis}": np.array([axis]) for axis in (-2, -1, 0, 1, 2)},
    "both": np.array([1, 2]),
}
RANKS = {
    **{name: np.ndim(array) for name, array in CONSTANTS.items()},
    **{"x": 3, "p": 3, "row": 1, "column": 1, "open": 1, "computed": 1},
}
PORTS = {"row": (8,), "column": (7,), "open": (None,)}

CENTRED = """
m = ReduceMean x at-1
d = Sub x m
p = Pow d two
v = ReduceMean p at-1
e = Add v eps
r = Sqrt e
q = Div d r
s = Mul q scale
y = Add s bias
"""
PLAIN = """
p = Pow x two
v = ReduceMean p at-1
e = Add v eps
r = Sqrt e
q = Div x r
y = Mul q scale
"""
DEFAULT = 1e-5


def fused(
    fusion: Fusion, text: str, outputs: str = "y", ranks: Mapping[str, int] = RANKS
) -> Graph:
    built = graph(text, outputs, **CONSTANTS)
    built.inputs |= {name: Port(name, "FLOAT", shape) for name, shape in PORTS.items()}
    for node in list(built.nodes):
        if node in built.nodes and is_whole(node):
            fusion(built, node, ranks)
    return built


CENTRED_FUSED: Mapping[str, tuple[str, str, float]] = {
    "as it is": ("", "x scale bias", 0.25),
    "mean less the number": ("d = Sub m x", "x scale bias", 0.25),
    "distances of its own": ("p = Pow f two; f = Sub m x", "x scale bias", 0.25),
    "quotient turned": ("q = Div r d", "x scale bias", 0.25),
    "epsilon first": ("e = Add eps v", "x scale bias", DEFAULT),
    "two epsilons": ("e = Add v pair", "x scale bias", DEFAULT),
    "another exponent": ("p = Pow d eps", "x scale bias", 0.25),
    "power turned": ("p = Pow two d", "x scale bias", 0.25),
    "factor first": ("s = Mul scale q", "x scale bias", 0.25),
    "offset first": ("y = Add bias s", "x scale bias", 0.25),
    "an input": ("s = Mul q row", "x row bias", 0.25),
    "inputs": ("s = Mul q row; y = Add s row", "x row row", 0.25),
    "axes as an attribute": ("m = ReduceMean x axes:(-1,)", "x scale bias", 0.25),
    "last of three": (
        *("m = ReduceMean x at2; v = ReduceMean p at2", "x scale bias", 0.25),
    ),
    "last by both numbers": ("m = ReduceMean x at2", "x scale bias", 0.25),
    "last by the other": ("v = ReduceMean p at2", "x scale bias", 0.25),
    "dimension stays": ("v = ReduceMean p at-1 keepdims:1", "x scale bias", 0.25),
}


@pytest.mark.parametrize("case", CENTRED_FUSED)
def test_normalizations(case: str) -> None:
    changes, operands, epsilon = CENTRED_FUSED[case]
    built = fused(fuse_layer_normalization, changed(CENTRED, changes))
    assert shown(built) == [f"y = LayerNormalization {operands}"]
    (made,) = built.nodes
    assert made.attributes == {"epsilon": epsilon}
    assert (made.index, made.domain) == (8, "")


@pytest.mark.parametrize(
    ("changes", "outputs"),
    [
        ("q = Mul d r", "y"),
        ("s = Div q scale", "y"),
        ("y = Mul s bias", "y"),
        ("", "q y"),
        ("", "s y"),
        ("", "d y"),
        ("", "m y"),
        ("", "p y"),
        ("", "v y"),
        ("", "e y"),
        ("", "r y"),
        ("n = Neg d", "n y"),
        ("n = Neg m", "n y"),
        ("n = Sub m x extra", "n y"),
        ("n = Sub m a; p = Pow n two", "y"),
        ("f = Sub m x; p = Pow f two", "f y"),
        ("n = Neg r", "n y"),
        ("n = Neg e", "n y"),
        ("n = Neg p", "n y"),
        ("d = Sub a m", "y"),
        ("d = Add x m", "y"),
        ("m = ReduceMax x at-1", "y"),
        ("p = Pow a two", "y"),
        ("p = Mul d two", "y"),
        ("v = ReduceMax p at-1", "y"),
        ("r = Abs e", "y"),
        ("e = Mul v eps", "y"),
        ("q = Div d a", "y"),
        ("s = Mul q eps", "y"),
        ("s = Mul q flat", "y"),
        ("s = Mul q unknown", "y"),
        ("y = Add s flat", "y"),
        ("y = Add s short", "y"),
        ("y = Add s column", "y"),
        ("m = ReduceMean x at-2", "y"),
        ("v = ReduceMean p at-2", "y"),
        ("m = ReduceMean x at0", "y"),
        ("m = ReduceMean x at1; v = ReduceMean p at1", "y"),
        ("v = ReduceMean p at1", "y"),
        ("m = ReduceMean x both", "y"),
        ("m = ReduceMean x open", "y"),
        ("m = ReduceMean x", "y"),
        ("m = ReduceMean x axes:-1", "y"),
        ("m = ReduceMean x at-1 keepdims:0", "y"),
    ],
)
def test_what_is_no_normalization(changes: str, outputs: str) -> None:
    text = changed(CENTRED, changes)
    assert shown(fused(fuse_layer_normalization, text, outputs)) == kept(text)


def test_the_rank_that_an_axis_needs() -> None:
    """By the first mean's operand; no rank is needed for the last axis by -1."""
    text = changed(CENTRED, "v = ReduceMean p at2")
    unknown = {name: rank for name, rank in RANKS.items() if name != "x"}
    with pytest.raises(QlowerError) as caught:
        fused(fuse_layer_normalization, text, ranks=unknown)
    assert caught.value.message == (
        "node 0 ReduceMean: axis -1 of 'x', whose rank is not known: ONNX Runtime fuses"
        " the normalization if that is the last axis"
    )
    assert caught.value.help == "--qdq as-written reads the model without fusions"
    assert len(fused(fuse_layer_normalization, CENTRED, ranks=unknown).nodes) == 1
    for axis in ("at-2", "at0", "open"):
        text = changed(CENTRED, f"v = ReduceMean p {axis}")
        built = fused(fuse_layer_normalization, text, ranks=unknown)
        assert shown(built) == kept(text)


def test_the_only_axis_by_0() -> None:
    text = changed(CENTRED, "m = ReduceMean x at0; v = ReduceMean p at0")
    vector = {**RANKS, "x": 1, "p": 1}
    assert shown(fused(fuse_layer_normalization, text, ranks=vector)) == kept(text)


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ("s = Mul q open", "'open' and 'bias'"),
        ("y = Add s open", "'scale' and 'open'"),
        ("s = Mul q computed", "'computed' and 'bias'"),
        ("y = Add s computed", "'scale' and 'computed'"),
    ],
)
def test_lengths_that_are_not_known(changes: str, names: str) -> None:
    with pytest.raises(QlowerError) as caught:
        fused(fuse_layer_normalization, changed(CENTRED, changes))
    assert caught.value.message == (
        f"node 8 Add: the lengths of {names} are not known: ONNX Runtime fuses the"
        " normalization if they are equal"
    )
    assert caught.value.help == "--qdq as-written reads the model without fusions"


@pytest.mark.parametrize(
    ("changes", "scale", "epsilon"),
    [
        ("", "scale", 0.25),
        ("e = Add eps v", "scale", 0.25),
        ("e = Add v pair", "scale", DEFAULT),
        ("e = Add two v", "scale", 2.0),
        ("y = Mul scale q", "scale", 0.25),
        ("y = Mul q short", "short", 0.25),
        ("y = Mul q computed", "computed", 0.25),
    ],
)
def test_normalizations_by_the_mean_square(
    changes: str, scale: str, epsilon: float
) -> None:
    text = changed(PLAIN, changes)
    built = fused(fuse_simplified_layer_normalization, text)
    assert shown(built) == [f"y = SimplifiedLayerNormalization x {scale}"]
    (made,) = built.nodes
    assert made.attributes == {"epsilon": epsilon}
    assert (made.index, made.domain) == (5, "")


@pytest.mark.parametrize(
    ("changes", "outputs"),
    [
        ("q = Mul x r", "y"),
        ("q = Div r x", "y"),
        ("q = Div a r", "y"),
        ("p = Pow two x", "y"),
        ("p = Pow x eps", "y"),
        ("p = Pow x pair", "y"),
        ("p = Pow x a", "y"),
        ("y = Add q scale", "y"),
        ("y = Mul q flat", "y"),
        ("y = Mul q eps", "y"),
        ("v = ReduceMean p at1", "y"),
        ("v = ReduceMean p at0", "y"),
        ("v = Neg p", "y"),
        ("n = Neg q", "n y"),
        ("", "q y"),
        ("", "r y"),
    ],
)
def test_what_is_no_normalization_by_the_mean_square(
    changes: str, outputs: str
) -> None:
    text = changed(PLAIN, changes)
    assert shown(fused(fuse_simplified_layer_normalization, text, outputs)) == kept(
        text
    )
