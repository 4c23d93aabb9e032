"""Results that a node may lack, and the dimension that a layout calls channels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.formats.small_graphs import graph

from qlower.diagnostics import QlowerError
from qlower.frontends.graph.context import NodeContext
from qlower.frontends.graph.operators import quantizers

own: Any = vars(quantizers)


def context(line: str) -> NodeContext:
    importer: Any = SimpleNamespace(
        graph=graph(line), builder=None, way_out=lambda _node: None
    )
    (node,) = importer.graph.nodes
    return NodeContext(importer, node)


@pytest.mark.parametrize(
    ("line", "number", "found"),
    [
        ("a = Split x", 0, "a"),
        ("a, b = Split x", 1, "b"),
        ("a = Split x", 1, None),
        (", b = Split x", 0, None),
        (", b = Split x", 1, "b"),
    ],
)
def test_results(line: str, number: int, found: str | None) -> None:
    node = context(line)
    assert node.has_result(number) is (found is not None)
    if found is not None:
        assert node.result(number) == found
        return
    with pytest.raises(QlowerError, match=f"result {number} is missing"):
        node.result(number)


@pytest.mark.parametrize(
    ("line", "name"),
    [("a = Relu x", "a"), (", b = Split x", "b")],
)
def test_names_of_steps(line: str, name: str) -> None:
    """The first result that is there, unless another name is given."""
    assert context(line).place().name == name
    assert context(line).place("other").name == "other"


@pytest.mark.parametrize(
    ("layout", "rank", "place"),
    [
        ("", 2, 1),
        ("", 3, 2),
        ("", 4, 1),
        ("", 5, 1),
        ("'NHWC'", 4, 3),
        ("'NCHW'", 4, 1),
        ("'NC'", 2, 1),
        ("'NW'", 3, 1),
        ("'CN'", 2, 0),
        ("'NHWC'", 3, None),
        ("", 1, None),
    ],
)
def test_channels(layout: str, rank: int, place: int | None) -> None:
    node = context("a = MultiThreshold x" + f" data_layout:{layout}" * bool(layout))
    if place is not None:
        assert own["_channel"](node, rank) == place
        return
    with pytest.raises(QlowerError) as caught:
        own["_channel"](node, rank)
    assert caught.value.message == (
        f"node 0 MultiThreshold: layout {layout or repr('')} has no channels in {rank}"
        " dimensions; expected 2 or more (of 'a')"
    )
