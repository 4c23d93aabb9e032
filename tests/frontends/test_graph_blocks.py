"""Which values lie in blocks of channels, by graphs of a few nodes: each operator alone
behind an image in blocks, a transposed one, and one that may be in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.formats.small_graphs import graph
from xdsl.dialects.builtin import Float32Type, i8

from qlower.diagnostics import QlowerError
from qlower.frontends.graph.blocks import Blocks, is_input
from qlower.frontends.graph.context import NodeContext
from qlower.frontends.graph.schema import Port

F = np.float32
IMAGE = (2, 32, 5, 6)
LAST = (2, 5, 6, 32)
CONSTANTS = {
    "channels": np.ones((32, 1, 1), F),
    "rows": np.ones((1, 32, 1, 1), F),
    "last": np.ones(32, F),
    "pixels": np.ones((5, 6), F),
    "one": F(2),
    "twice": np.array([1, 1, 2, 2], F),
    "half": np.array([1, 1, 1.5, 2], F),
}
SHAPES: dict[str, tuple[int, ...]] = {
    **{name: IMAGE for name in ("x", "p", "q", "u", "r", "s")},
    **{"odd": (2, 33, 5, 6), "row": (2, 32, 5), "small": (2, 32, 1, 1)},
    **{"t": LAST, "v": LAST, "t1": (2, 1, 1, 32), "flat": (2, 32)},
}
TO_LAST, TO_FIRST = "perm:(0,2,3,1)", "perm:(0,3,1,2)"
START = f"p = MaxPool x\nt = Transpose p {TO_LAST}\nu = Transpose p perm:(0,1,3,2)\n"
"""An image in blocks, the same with channels last, and one that may be in blocks."""


def contexts(
    text: str, outputs: str, shapes: Any, reals: Any = None
) -> list[NodeContext]:
    built = graph(text, outputs, **CONSTANTS)
    built.inputs["x"] = Port("x", "FLOAT", IMAGE)
    shapes = {**{name: one.shape for name, one in CONSTANTS.items()}, **shapes}

    class Value:
        def __init__(self, name: str) -> None:
            self.shape = shapes.get(name, IMAGE)
            self.element = i8 if name in (reals or ()) else Float32Type()

    class Importer:
        graph = built
        builder = None

        def value(self, name: str, _site: object) -> Value:
            return Value(name)

        def way_out(self, _node: object) -> None:
            return None

    importer: Any = Importer()
    return [NodeContext(importer, node) for node in built.ordered()]


def follow(text: str, outputs: str = "", **more: Any) -> str:
    """What is known of the last value before z."""
    nodes = contexts(text, outputs, {**SHAPES, **more.pop("shapes", {})}, **more)
    nodes = [node for node in nodes if node.node.result != "z"]
    blocks = Blocks(True)
    for node in nodes:
        blocks.follow(node)
    name = nodes[-1].node.result
    found = [
        *["blocks"] * (name in blocks.names),
        *[str(blocks.hidden.get(name))] * (name in blocks.hidden),
        *["unknown"] * (name in blocks.unknown),
    ]
    assert len(found) <= 1
    return "".join(found)


STARTS: list[tuple[str, dict[str, tuple[int, ...]], str]] = [
    ("r = MaxPool x", {}, "blocks"),
    ("r = AveragePool x", {}, "blocks"),
    ("r = AveragePool x", {"x": (2, 33, 5, 6)}, ""),
    ("r = AveragePool x", {"x": (2, 16, 5, 6)}, "blocks"),
    ("r = AveragePool x", {"x": (2, 24, 5, 6)}, ""),
    ("r = AveragePool x", {"x": (16, 8, 16, 16)}, ""),
    ("r = AveragePool x", {"x": (2, 32, 5)}, ""),
    ("r = AveragePool x", {"x": (2, 32, 5, 6, 7)}, ""),
    ("r = GlobalAveragePool x", {}, "blocks"),
    ("r = GlobalMaxPool x", {}, "blocks"),
    ("r = GlobalMaxPool x", {"x": (2, 33, 5, 6)}, ""),
    ("a = Neg x\nr = GlobalMaxPool a", {}, ""),
    ("a = MaxPool x\nr = GlobalMaxPool a", {}, "blocks"),
    (f"{START}r = GlobalMaxPool t", {"t": (2, 32, 6, 5)}, "blocks"),
    (f"{START}r = GlobalMaxPool t", {}, ""),
    ("r, i = MaxPool x", {}, ""),
    ("r = Relu x", {}, ""),
    ("r = Sum x x", {}, ""),
]


@pytest.mark.parametrize(("text", "shapes", "found"), STARTS)
def test_pools(text: str, shapes: dict[str, tuple[int, ...]], found: str) -> None:
    """Of channels that blocks divide; global ones of inputs and images in blocks."""
    assert follow(text, shapes=shapes) == found


def test_pools_of_integers() -> None:
    assert follow("r = MaxPool x", reals=["r"]) == ""
    assert follow("r = GlobalMaxPool x", reals=["r"]) == ""


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
@pytest.mark.parametrize("kind", ["MaxPool", "Gelu", "QuickGelu", "Relu"])
def test_other_domains(kind: str, domain: str) -> None:
    """Have pools of their own, but some functions."""
    *before, node = contexts(f"{START}r = {kind} p", "", SHAPES)
    blocks = Blocks(True)
    for one in before:
        blocks.follow(one)
    node.node.domain = domain
    blocks.follow(node)
    is_known = not domain or kind in ("Gelu", "QuickGelu")
    assert ("r" in blocks.names) is is_known


def test_nothing_is_in_blocks_as_written() -> None:
    blocks = Blocks(False)
    (node,) = contexts("r = MaxPool x", "", SHAPES)
    blocks.follow(node)
    assert not blocks.names
    assert not blocks.starts(node)


UNLIKE = (
    "node 3 GlobalMaxPool: whether 'u' lies in blocks of channels depends on how ONNX"
    " Runtime moves transposes or resizes, which is not known here"
)
"""A transpose of another kind."""

FOLLOWED: list[tuple[str, str]] = [
    # Kernels for blocks
    ("r = Relu p", "blocks"),
    ("r = BatchNormalization p last last last last", "blocks"),
    ("r = LeakyRelu p", ""),
    ("r = Add p p", "blocks"),
    ("r = Sum p p p", "blocks"),
    ("r = Add p x", ""),
    ("r = Mul p p", "blocks"),
    ("r = Mul p channels", "blocks"),
    ("r = Mul channels p", "blocks"),
    ("r = Mul p rows", "blocks"),
    ("r = Mul p last", ""),
    ("r = Mul p pixels", ""),
    ("r = Mul p one", ""),
    ("r = Mul x channels", ""),
    ("r = Mul p row", ""),
    ("small = GlobalMaxPool p\nr = Mul p small", ""),
    ("r = Concat p p axis:1", "blocks"),
    ("r = Concat p p axis:2", ""),
    # Channels last
    ("r = Relu t", "(0, 2, 3, 1)"),
    ("r = Add t t", "(0, 2, 3, 1)"),
    ("r = Add t p", ""),
    ("r = Concat t t axis:3", "(0, 2, 3, 1)"),
    ("r = Concat t t axis:1", ""),
    ("r = BatchNormalization t last last last last", ""),
    ("r = Mul t last", "(0, 2, 3, 1)"),
    ("r = Mul t one", ""),
    ("r = Mul t pixels", ""),
    # Perhaps in blocks
    ("r = Relu u", "unknown"),
    ("r = Add u p", "unknown"),
    ("r = Add u t", "unknown"),
    ("r = Concat u u axis:2", "unknown"),
    ("r = Concat u p axis:2", ""),
    ("r = Concat u p axis:1", "unknown"),
    ("r = Add u x", ""),
    # Transposes
    (f"r = Transpose t {TO_FIRST}", "blocks"),
    (f"r = Transpose p {TO_FIRST}", "(0, 3, 1, 2)"),
    (f"r = Transpose t {TO_LAST}", "(0, 3, 1, 2)"),
    (f"r = Transpose x {TO_LAST}", ""),
    ("r = Transpose t perm:(0,1,3,2)", "unknown"),
    ("r = Transpose p", "unknown"),
    (f"r = Transpose u {TO_LAST}", "unknown"),
    # Reshapes
    ("r = Reshape t pixels", ""),
    ("r = Reshape u pixels", "unknown"),
    ("r = Reshape p pixels", ""),
    ("flat = Reshape u pixels", ""),
    ("r = Tile p one", ""),
]


@pytest.mark.parametrize(("line", "found"), FOLLOWED)
def test_operators_behind_a_pool(line: str, found: str) -> None:
    """Transposes lead to another one, without which none moves."""
    name = line.splitlines()[-1].partition(" ")[0]
    assert follow(f"{START}{line}\nz = Transpose {name} {TO_FIRST}", "z") == found


def test_reshapes_of_ones() -> None:
    text = f"{START}r = Reshape t last"
    assert follow(text, shapes={"t": (2, 1, 1, 32), "r": (2, 1, 32)}) == "unknown"
    assert follow(text, shapes={"t": (2, 1, 1, 32), "r": (1, 2, 32)}) == "unknown"
    assert follow(text, shapes={"t": (2, 1, 1, 32), "r": (32, 2)}) == ""
    assert follow(text, shapes={"t": (2, 1, 1, 32), "r": (64,)}) == ""


REPEATED = "coordinate_transformation_mode:'asymmetric' nearest_mode:'floor'"
HALF = REPEATED.replace("asymmetric", "half_pixel")


@pytest.mark.parametrize(
    ("operands", "attributes", "found"),
    [
        ("p _ twice", f"{REPEATED} mode:'nearest'", "blocks"),
        ("p _ twice", REPEATED, "blocks"),
        ("p _ twice", f"{REPEATED} mode:'cubic'", "unknown"),
        ("p _ twice", f"{HALF} mode:'nearest'", "unknown"),
        ("p _ twice", "nearest_mode:'floor'", "unknown"),
        ("p _ twice", "coordinate_transformation_mode:'asymmetric'", "unknown"),
        ("p _ _ twice", REPEATED, "unknown"),
        ("p _ half", REPEATED, ""),
        ("u _ twice", REPEATED, "unknown"),
        ("x _ twice", f"{REPEATED} mode:'linear'", ""),
        ("p _ half", "mode:'linear'", ""),
    ],
)
def test_resizes(operands: str, attributes: str, found: str) -> None:
    """Pixels that are repeated stay in blocks."""
    assert follow(f"{START}r = Resize {operands} {attributes}") == found


@pytest.mark.parametrize("source", ["p", "u"])
def test_interpolated_blocks_are_refused(source: str) -> None:
    with pytest.raises(QlowerError) as caught:
        follow(f"{START}r = Resize {source} _ twice mode:'linear'")
    assert caught.value.message == (
        "node 3 Resize: ONNX Runtime interpolates this image in blocks of channels, in"
        " an order that is not supported (of 'r')"
    )
    assert caught.value.help == "--qdq as-written reads the model so"


@pytest.mark.parametrize(
    "line", ["r = GlobalMaxPool u", "r = GlobalAveragePool u", "r = Mul u channels"]
)
def test_what_is_not_known_is_refused(line: str) -> None:
    with pytest.raises(QlowerError) as caught:
        follow(f"{START}{line}")
    assert caught.value.message == UNLIKE.replace("GlobalMaxPool", line.split()[2])
    assert caught.value.help == "--qdq as-written reads the model so"


def test_products_behind_transposes_that_stay() -> None:
    """Without a transpose behind it none moves; where it is returned nobody knows."""
    assert follow(f"{START}r = Mul t last") == ""
    assert follow(f"{START}r = Relu t") == ""
    text = f"{START}r = Mul t last\nz = Transpose r {TO_FIRST}"
    with pytest.raises(QlowerError) as caught:
        follow(text, "r z")
    assert caught.value.message == (
        "node 3 Mul: how ONNX Runtime moves transposes before this product, and so"
        " whether it is a convolution in blocks of channels, is not known (of 'r')"
    )
    assert caught.value.help == "--qdq as-written reads the model so"


def test_functions_that_are_returned() -> None:
    text = f"z = Transpose r {TO_FIRST}\n{START}r = Relu t"
    assert follow(text, "z") == "(0, 2, 3, 1)"
    assert follow(text, "r z") == "unknown"


def test_products_of_single_pixels() -> None:
    text = f"{START}r = Mul t last\nz = Transpose r {TO_FIRST}"
    with pytest.raises(QlowerError, match="is not known"):
        follow(text, "z", shapes={"t": (2, 1, 1, 32)})


def test_equal_results_may_be_copies() -> None:
    text = f"{START}r = Transpose t {TO_FIRST}"
    assert follow(text, "r") == "blocks"
    assert follow(text, "p r") == "unknown"
    assert follow(text, "p") == "blocks"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", True),
        ("a = Relu x", False),
        (f"a = Transpose x {TO_LAST}", False),
        ("a = Transpose x perm:(0,1,2,3)", False),
        (f"b = Transpose x {TO_LAST}\na = Transpose b {TO_FIRST}", True),
        (f"b = Transpose x {TO_LAST}\na = Transpose b {TO_LAST}", False),
        ("b = Transpose x\na = Transpose b", True),
        ("b = Transpose x perm:(2,0,1)\na = Transpose b perm:(1,2,0)", False),
        ("b = Transpose x perm:1\na = Transpose b", False),
        (f"c = Relu x\nb = Transpose c {TO_LAST}\na = Transpose b {TO_FIRST}", False),
    ],
)
def test_inputs_behind_transposes_that_cancel(text: str, found: bool) -> None:
    assert is_input(graph(text, "a"), "a") is found
