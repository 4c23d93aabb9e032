"""Nodes that give what they take, and quantizations of several users."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from qlower.frontends.graph.nodes import MOST_FOLDED, Graph, hoist_constants
from qlower.frontends.graph.passes import (
    remove_identities,
    same_step,
    separate_dequantizers,
)
from qlower.frontends.graph.schema import MAX_RANK, Constant, Model, Node

Attributes = dict[str, int]

UINT8, INT8, REAL = 2, 3, 1
"""ONNX's numbers of types."""


def node(
    kind: str, inputs: str, outputs: str, attributes: Attributes, domain: str = ""
) -> Node:
    names = inputs.split(), outputs.split()
    return Node(0, domain, kind, kind, *names, attributes)


def graph(nodes: Sequence[Node], returned: str = "z") -> Graph:
    constants = {
        "s": Constant("FLOAT", (), np.array(0.5, np.float32)),
        "p": Constant("INT8", (), np.array(3, np.int8)),
        "t": Constant("FLOAT", (), np.array(0.25, np.float32)),
        "o": Constant("INT8", (), np.array(0, np.int8)),
    }
    return Graph(Model("m.onnx", 0, 21, tuple(nodes), constants, (), ()), [returned])


def kinds(given: Graph) -> list[str]:
    return [one.kind for one in given.nodes]


@pytest.mark.parametrize(
    ("source", "kind", "attributes", "is_removed"),
    [
        ("", "Identity", {}, True),
        ("", "Dropout", {}, True),
        ("", "Relu", {}, False),
        ("", "Cast", {"to": REAL}, False),
        ("DequantizeLinear", "Cast", {"to": REAL}, True),
        ("DequantizeLinear", "Cast", {"to": INT8}, False),
        ("DequantizeLinear", "Cast", {}, False),
        ("QuantizeLinear", "Cast", {"to": INT8}, True),
        ("QuantizeLinear", "Cast", {"to": UINT8}, False),
        ("QuantizeLinear", "Cast", {"to": REAL}, False),
        ("QuantizeLinear", "Cast", {}, False),
        ("Relu", "Cast", {"to": INT8}, False),
        ("Relu", "Cast", {"to": REAL}, False),
    ],
)
def test_identities(
    source: str, kind: str, attributes: Attributes, is_removed: bool
) -> None:
    before = [node(source, "x s p", "a", {})] if source else []
    made = node(kind, "a", "b", attributes)
    after = [node("Sigmoid", "b", "z", {})]
    found = graph([*before, made, *after])
    remove_identities(found)
    wanted = [source] * bool(source) + [kind] * (not is_removed) + ["Sigmoid"]
    assert kinds(found) == wanted
    (last,) = found.of_kind("Sigmoid")
    assert last.inputs == ["a" if is_removed else "b"]


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Identity", "a", "z", {})],
        [node("Identity", "a", "b", {}, "com.mine"), node("Relu", "b", "z", {})],
        [node("Dropout", "a", "b mask", {}), node("Add", "b mask", "z", {})],
        [node("Identity", "", "b", {}), node("Relu", "b", "z", {})],
    ],
    ids=["returned", "another domain", "its mask is used", "no input"],
)
def test_identities_that_stay(nodes: list[Node]) -> None:
    found = graph(nodes)
    remove_identities(found)
    assert kinds(found) == [one.kind for one in nodes]


@pytest.mark.parametrize(("returned", "count"), [("z", 2), ("a", 3)])
def test_each_user_has_a_dequantization(returned: str, count: int) -> None:
    """The first keeps the one there is, unless the model returns that."""
    users = [node("Relu", "a", "y", {}), node("Add", "y a", "z", {})]
    found = graph([node("DequantizeLinear", "q s p", "a", {}), *users], returned)
    separate_dequantizers(found)
    made = found.of_kind("DequantizeLinear")
    assert [one.inputs for one in made] == [["q", "s", "p"]] * count
    names = [one.outputs[0] for one in made]
    (relu,), (add,) = found.of_kind("Relu"), found.of_kind("Add")
    assert len({*names}) == count
    assert [names[0], *names[-2:]] == ["a", relu.inputs[0], add.inputs[1]]
    assert add.inputs[0] == "y"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("s p", "s p", True),
        ("s p", "t p", False),
        ("s p", "s o", False),
        ("s o", "s", False),
        ("s", "s o", False),
        ("s", "s", False),
        ("unknown p", "s p", False),
        ("s p", "unknown p", False),
        ("unknown p", "unknown p", False),
    ],
)
def test_equal_steps(one: str, other: str, is_same: bool) -> None:
    """Both have a zero point, and numbers that are known."""
    nodes = [
        node("QuantizeLinear", f"x {given}", "z", {"output_dtype": INT8})
        for given in (one, other)
    ]
    assert same_step(graph([]), *nodes) is is_same


@pytest.mark.parametrize(
    ("kind", "count", "is_made"),
    [
        *(("Cast", 0, True), ("Cast", MOST_FOLDED, True)),
        ("Cast", MOST_FOLDED + 1, False),
        *(("ConstantOfShape", 0, True), ("ConstantOfShape", MAX_RANK, True)),
        *(("ConstantOfShape", MAX_RANK + 1, False), ("ConstantOfShape", 65, False)),
    ],
)
def test_constants_of_constants(kind: str, count: int, is_made: bool) -> None:
    """The limit is one of numbers for a cast, and one of dimensions for a fill: arrays
    have few."""
    found = graph([node(kind, "c", "z", {"to": 7} if kind == "Cast" else {})])
    array = np.ones(count, np.int64)
    found.constants["c"] = Constant("INT64", array.shape, array)
    hoist_constants(found, list(found.nodes))
    assert ("z" in found.constants) is is_made
    assert kinds(found) == ([] if is_made else [kind])
