"""Real functions and products that are spelled out become one node each, by graphs of a
few nodes with one line changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from support.formats.small_graphs import changed, graph, kept, shown

from qlower.frontends.graph.nodes import MICROSOFT, Graph
from qlower.frontends.graph.schema import Port
from qlower.frontends.onnx.real_fusing import fuse_reals

F = np.float32
CONSTANTS = {
    "root": F(np.sqrt(2)),
    "near": F(1.41422),
    "far": F(1.4143),
    "one": np.array([1], np.float32),
    "half": F(0.5),
    "whole": np.array(1),
    "wide": F(0.5).reshape(1, 1, 1),
    "matrix": F(1).reshape(1, 1),
    "third": F(3),
    "double": np.float64(0.5),
    "pair": np.array([0.5, 0.5], np.float32),
}

GELU = """
a = Div x root
f = Erf a
s = Add f one
p = Mul x s
y = Mul p half
"""
HALVED = """
a = Div x root
f = Erf a
s = Add f one
h = Mul x half
y = Mul h s
"""
QUICK = """
a = Mul x half
g = Sigmoid a
y = Mul x g
"""


def fused(text: str, outputs: str = "y", rank: int | None = 3) -> Graph:
    built = graph(text, outputs, **CONSTANTS)
    shape = None if rank is None else (2,) * rank
    built.inputs |= {name: Port(name, "FLOAT", shape) for name in ("x", "z")}
    fuse_reals(built)
    return built


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (GELU, ""),
        (GELU, "s = Add one f"),
        (GELU, "p = Mul s x"),
        (GELU, "y = Mul half p"),
        (GELU, "a = Div x near"),
        (GELU, "s = Add f whole"),
        (GELU, "x = Neg z"),
        (HALVED, ""),
        (HALVED, "h = Mul half x"),
        (HALVED, "y = Mul s h"),
        (HALVED, "x = Mul z half"),
    ],
)
def test_gelu(text: str, changes: str) -> None:
    built = fused(changed(text, changes))
    (made,) = built.of_kind("Gelu")
    assert (made.inputs, made.outputs, made.domain) == (["x"], ["y"], MICROSOFT)
    assert (made.index, dict(made.attributes)) == (4, {})
    assert len(built.nodes) == 1 + ("x =" in changes)


@pytest.mark.parametrize(
    ("text", "changes", "outputs"),
    [
        (GELU, "f = Sqrt a", "y"),
        (GELU, "f = Erf a z", "y"),
        (GELU, "a = Mul x root", "y"),
        (GELU, "a = Div root x", "y"),
        (GELU, "a = Div x far", "y"),
        (GELU, "s = Sub f one", "y"),
        (GELU, "s = Add f half", "y"),
        (GELU, "s = Add f matrix", "y"),
        (GELU, "s = Add f z", "y"),
        (GELU, "p = Div x s", "y"),
        (GELU, "p = Mul z s", "y"),
        (GELU, "y = Mul p one", "y"),
        (GELU, "y = Mul p z", "y"),
        (GELU, "y = Mul z half", "y p"),
        (GELU, "y = Add p half", "y"),
        (GELU, "x = Mul z half", "y"),
        (GELU, "n = Neg a", "y n"),
        (GELU, "n = Neg f", "y n"),
        (GELU, "n = Neg s", "y n"),
        (GELU, "n = Neg p", "y n"),
        (GELU, "", "y p"),
        (GELU, "", "y a"),
        (HALVED, "h = Mul x one", "y"),
        (HALVED, "h = Mul z half", "y"),
        (HALVED, "h = Add x half", "y"),
        (HALVED, "n = Neg h", "y n"),
        (HALVED, "", "y h"),
    ],
)
def test_what_is_no_gelu(text: str, changes: str, outputs: str) -> None:
    text = changed(text, changes)
    assert shown(fused(text, outputs)) == kept(text)


@pytest.mark.parametrize(
    ("changes", "alpha", "left"),
    [
        ("", 0.5, []),
        ("a = Mul half x", 0.5, []),
        ("y = Mul g x", 0.5, []),
        ("a = Mul x third", 3.0, []),
        ("a = Mul x z; y = Mul a g", 1.0, ["a = Mul x z"]),
        ("g = Sigmoid x", 1.0, ["a = Mul x half"]),
    ],
)
def test_quick_gelu(changes: str, alpha: float, left: list[str]) -> None:
    built = fused(changed(QUICK, changes), "y" + " a" * bool(left))
    *others, made = shown(built)
    assert others == left
    assert made == f"y = QuickGelu {'a' if 'y = Mul a' in changes else 'x'}"
    (made,) = built.of_kind("QuickGelu")
    assert (made.domain, made.index) == (MICROSOFT, 2)
    assert made.attributes == {"alpha": alpha}


@pytest.mark.parametrize(
    ("changes", "outputs"),
    [
        ("g = Sqrt a", "y"),
        ("y = Add x g", "y"),
        ("y = Mul z g", "y"),
        ("a = Mul x matrix", "y"),
        ("a = Mul x pair", "y"),
        ("a = Mul x z", "y"),
        ("a = Div x half", "y"),
        ("a = Mul half third", "y"),
        ("n = Neg a", "y n"),
        ("n = Neg g", "y n"),
        ("", "y a"),
        ("", "y g"),
    ],
)
def test_what_is_no_quick_gelu(changes: str, outputs: str) -> None:
    text = changed(QUICK, changes)
    assert shown(fused(text, outputs)) == kept(text)


SCALED: Mapping[str, tuple[str, str, float, int]] = {
    "first operand": ("a = Mul x half\ny = MatMul a z", "x z", 0.5, 0),
    "second operand": ("a = Mul half z\ny = MatMul x a", "x z", 0.5, 0),
    "both": ("a = Mul x half\nb = Mul z third\ny = MatMul a b", "x z", 1.5, 0),
    "quotient": ("a = Div x third\ny = MatMul a z", "x z", float(F(1) / F(3)), 0),
    "wide": ("a = Mul x wide\ny = MatMul a z", "x z", 0.5, 0),
    "result": ("a = MatMul x z\ny = Mul a half", "x z", 0.5, 0),
    "result last": ("a = MatMul x z\ny = Mul half a", "x z", 0.5, 0),
    "quotient of it": ("a = MatMul x z\ny = Div a third", "x z", float(F(1) / F(3)), 0),
    "results": ("a = MatMul x z\nb = Mul a half\ny = Div b half", "x z", 1.0, 0),
    "products": ("a = Mul x half\nb = Mul a half\ny = MatMul b z", "x z", 0.25, 0),
    "all": (
        *("a = Mul x half\nb = MatMul a z\nc = Mul b third\ny = Mul c third", "x z"),
        *(4.5, 0),
    ),
    "kept for another": (
        *("a = Mul x half\ny = MatMul a z\nn = Neg a", "x z"),
        *(0.5, 2),
    ),
    "unknown rank": ("x = Einsum z\na = Mul x half\ny = MatMul a z", "x z", 0.5, 1),
}


@pytest.mark.parametrize("case", SCALED)
def test_factors_of_products(case: str) -> None:
    text, operands, alpha, left = SCALED[case]
    built = fused(text, "y n")
    (made,) = built.of_kind("FusedMatMul")
    assert (" ".join(made.inputs), made.outputs) == (operands, ["y"])
    assert (made.domain, made.attributes) == (MICROSOFT, {"alpha": alpha})
    assert len(built.nodes) == 1 + left


@pytest.mark.parametrize(
    "text",
    [
        "y = MatMul x z",
        "a = Mul x z\ny = MatMul a z",
        "a = Div half x\ny = MatMul a z",
        "a = Add x half\ny = MatMul a z",
        "a = Mul x pair\ny = MatMul a z",
        "a = Mul x double\ny = MatMul a z",
        "a = MatMul x z\ny = Mul a double",
        "a = MatMul x z\ny = Div third a",
        "a = MatMul x z\ny = Add a half",
        "a = MatMul x z\ny = Mul a half\nn = Neg a",
        "a = Mul x half\ny = Gemm a z",
    ],
)
def test_products_that_stay(text: str) -> None:
    assert shown(fused(text, "y n")) == kept(text)


@pytest.mark.parametrize(("rank", "kind"), [(2, "MatMul"), (3, "FusedMatMul")])
def test_factors_that_add_dimensions(rank: int, kind: str) -> None:
    built = fused("a = Mul x wide\ny = MatMul a z", rank=rank)
    assert [node.kind for node in built.nodes][-1] == kind


def test_factors_are_multiplied_as_floats() -> None:
    """In the order of operands, then results."""
    third = float(F(1) / F(3))
    built = fused("a = Div x third\nb = Div z third\nc = MatMul a b\ny = Div c third")
    (made,) = built.nodes
    assert made.attributes == {"alpha": float(F(third) * F(third) * F(third))}


def test_functions_are_fused_before_factors() -> None:
    built = fused(changed(HALVED, "w = MatMul y z"), "w")
    assert shown(built) == ["w = MatMul y z", "y = Gelu x"]
