"""Sums that are normalized become one node with their normalization, by graphs of a few
nodes with one line changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from support.formats.small_graphs import changed, graph, kept, shown

from qlower.frontends.graph.nodes import MICROSOFT, Graph
from qlower.frontends.onnx.norm_fusing import fuse_skip_layer_normalization
from qlower.frontends.onnx.patterns import is_whole

CONSTANTS = {
    "eps": np.float32(0.25),
    "scale": np.ones(8, np.float32),
    "bias": np.ones(8, np.float32),
    "short": np.ones(1, np.float32),
    "flat": np.ones((1, 8), np.float32),
}
SUMS = """
s = Add a b
y = LayerNormalization s scale bias
"""
DEFAULT = 1e-5


def fused(
    text: str, outputs: str = "y", ranks: Mapping[str, int] | None = None
) -> Graph:
    built = graph(text, outputs, **CONSTANTS)
    for node in list(built.nodes):
        if is_whole(node):
            fuse_skip_layer_normalization(built, node, ranks or {})
    return built


@pytest.mark.parametrize(
    ("changes", "operands"),
    [
        ("", "a b scale bias"),
        ("a = Add c row; row = Neg x", "a b scale bias"),
        ("a = Add c bias", "c b scale bias bias"),
        ("b = Add c short", "a c scale bias short"),
        ("a = Add c bias; b = Add f short", "c b scale bias bias"),
        ("a = Add c eps; b = Add f short", "a f scale bias short"),
        ("a = Add c flat", "a b scale bias"),
        ("a = Add bias c", "a b scale bias"),
        ("a = Add c bias; n = Neg a", "a b scale bias"),
        ("a = Mul c bias", "a b scale bias"),
        ("a = Add c bias; c = Mul f g; f = Cast h", "a b scale bias"),
        ("a = Add c bias; c = Mul f g; g = Cast h", "a b scale bias"),
        ("a = Add c bias; c = Mul f g; g = Neg h", "c b scale bias bias"),
        ("a = Add c bias; c = Div f g; g = Cast h", "c b scale bias bias"),
    ],
)
def test_normalized_sums(changes: str, operands: str) -> None:
    text = changed(SUMS, changes)
    built = fused(text, "y n")
    (made,) = built.of_kind("SkipLayerNormalization")
    assert " ".join(made.inputs) == operands
    assert (made.domain, made.outputs, made.index) == (MICROSOFT, ["y"], 1)
    assert made.attributes == {"epsilon": DEFAULT}
    gone = 1 + (" ".join(made.inputs[:2]) != "a b")
    assert len(built.nodes) == len(kept(text)) - gone


def test_attributes_of_normalized_sums() -> None:
    text = changed(SUMS, "y = LayerNormalization s scale bias epsilon:0.5 axis:1")
    (made,) = fused(text).nodes
    assert made.attributes == {"epsilon": 0.5, "axis": 1}


@pytest.mark.parametrize(
    ("changes", "outputs", "ranks"),
    [
        ("y = InstanceNormalization s scale bias", "y", {}),
        ("s = Sub a b", "y", {}),
        ("", "s y", {}),
        ("n = Neg s", "n y", {}),
        ("", "y", {"a": 2}),
        ("", "y", {"b": 4}),
        ("", "y", {"scale": 2}),
        ("", "y", {"bias": 0}),
    ],
)
def test_sums_that_stay(changes: str, outputs: str, ranks: Mapping[str, int]) -> None:
    text = changed(SUMS, changes)
    assert shown(fused(text, outputs, ranks)) == kept(text)
    if ranks:
        of_known = {"a": 3, "b": 3, "scale": 1, "bias": 1}
        assert len(fused(text, ranks=of_known).nodes) == 1
