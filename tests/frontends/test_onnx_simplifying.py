"""What ONNX Runtime simplifies before it fuses, and what keeps it from fusing a group:
by graphs of a few nodes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from support.formats.small_graphs import graph, shown

from qlower.diagnostics import QlowerError
from qlower.frontends.graph.nodes import TYPE_NAMES, QuantStep
from qlower.frontends.import_options import INTEGER, X86
from qlower.frontends.onnx.fusing import check_arity, fuse
from qlower.frontends.onnx.simplifying import (
    add_biases,
    constant_array,
    fold_quantized,
    remove_double_pairs,
    share_results,
)

common_range: Any = vars(import_module("qlower.frontends.onnx.simplifying"))[
    "_common_range"
]
numbers: Any = np
F, U1, I1 = numbers.float32, numbers.uint8, numbers.int8
Q, DQ = "QuantizeLinear", "DequantizeLinear"


STEP = {"s": F(0.5), "z": U1(3)}

QUANTIZED: dict[str, tuple[Any, dict[str, Any], Any, str]] = {
    "numbers": (
        F([0.3, -0.75, -9, 1e9, np.nan, np.inf, -np.inf]),
        STEP,
        [4, 1, 0, 255, 3, 255, 0],
        "y = QuantizeLinear w s z",
    ),
    "no zero point": (F([1, -1, 200]), STEP, [2, 0, 255], "y = QuantizeLinear w s"),
    "int8": (
        F([1.25, -1.25, 99, -99]),
        {"s": F(0.5), "z": I1(-3)},
        [-1, -5, 127, -128],
        "y = QuantizeLinear w s z",
    ),
    "columns": (
        F([[1, 1], [2, 2]]),
        {"s": F([0.5, 1]), "z": U1([1, 2])},
        [[3, 3], [5, 4]],
        "y = QuantizeLinear w s z",
    ),
    "rows": (
        F([[1, 1], [2, 2]]),
        {"s": F([0.5, 1]), "z": U1([1, 2])},
        [[3, 3], [4, 4]],
        "y = QuantizeLinear w s z axis:-2",
    ),
    "one zero point": (
        F([[1, 1]]),
        {"s": F([0.5, 1]), "z": U1([4])},
        [[6, 5]],
        "y = QuantizeLinear w s z",
    ),
    "one scale": (
        F([[1, 1]]),
        {"s": F([0.5]), "z": U1([4, 5])},
        [[6, 7]],
        "y = QuantizeLinear w s z",
    ),
}


@pytest.mark.parametrize("name", QUANTIZED)
def test_constants_are_quantized(name: str) -> None:
    real, step, expected, line = QUANTIZED[name]
    built = graph(line, w=real, **step)
    fold_quantized(built)
    assert shown(built) == []
    found = built.constants["y"]
    assert found.array is not None
    assert found.array.tolist() == expected
    assert found.type == TYPE_NAMES[step["z"].dtype.name]
    assert found.shape == np.shape(expected)


KEPT: dict[str, tuple[str, dict[str, Any]]] = {
    "words": ("y = QuantizeLinear w s z", {"s": F(1), "z": np.uint16(0)}),
    "doubles": ("y = QuantizeLinear w s z", {"w": np.ones(2), **STEP}),
    "scales of doubles": ("y = QuantizeLinear w s z", {"s": np.float64(1), "z": U1(0)}),
    "axis above": ("y = QuantizeLinear w s z axis:1", {"s": F([1, 1]), "z": U1(0)}),
    "axis below": ("y = QuantizeLinear w s z axis:-2", {"s": F([1, 1]), "z": U1(0)}),
    "three scales": ("y = QuantizeLinear w s z axis:0", {"s": F([1] * 3), "z": U1(0)}),
    "three points": ("y = QuantizeLinear w s z axis:0", {"s": F(1), "z": U1([0] * 3)}),
    "computed": ("y = QuantizeLinear x s z", STEP),
    "computed scale": ("y = QuantizeLinear w t z", STEP),
}


@pytest.mark.parametrize("name", KEPT)
def test_quantizations_that_stay(name: str) -> None:
    line, arrays = KEPT[name]
    built = graph(line, **{"w": F([1, 2]), **arrays})
    fold_quantized(built)
    assert shown(built) == [line.partition(" axis")[0]]


@pytest.mark.parametrize(
    ("line", "arrays", "expected"),
    [
        ("r = Neg x", {"r": F([1, 2])}, [1, 2]),
        (f"r = {DQ} w s z", {"w": U1([4, 1]), **STEP}, [0.5, -1]),
        (
            f"r = {DQ} w s z",
            {"w": U1([[4, 1]]), "s": F([0.5, 2]), "z": U1([3, 0])},
            [[0.5, 2]],
        ),
        (
            f"r = {DQ} w s z axis:0",
            {"w": U1([[4], [1]]), "s": F([0.5, 2]), "z": U1([3, 0])},
            [[0.5], [2]],
        ),
        (f"r = {DQ} w s z", {"w": U1([[1]]), "s": F([1, 2]), "z": U1([3, 0])}, None),
        (f"r = {DQ} w s z", {"w": U1([[1, 2]]), "s": F([1, 2]), "z": U1([3])}, None),
        (f"r = {DQ} w s", {"w": U1([4]), "s": F(1)}, None),
        (f"r = {DQ} x s z", STEP, None),
        (f"r = {DQ} w s t", {"w": U1([4]), **STEP}, None),
    ],
)
def test_constants_that_are_dequantized(
    line: str, arrays: dict[str, Any], expected: Any
) -> None:
    found = constant_array(graph(line, **arrays), "r")
    assert (None if found is None else found.tolist()) == expected


@pytest.mark.parametrize(
    ("one", "other", "scale", "zero_point"),
    [
        ((0.5, 0, "UINT8"), (0.25, 128, "UINT8"), 31.75 / 255, 0),
        ((0.5, 100, "UINT8"), (1.0, 10, "UINT8"), 87.5 / 255, 29),
        ((0.5, 0, "INT8"), (0.25, -28, "INT8"), 0.25, -28),
        ((1.0, 0, "INT8"), (2.0, 0, "INT8"), 1.0, 0),
        ((1.0, 255, "UINT8"), (2.0, 200, "UINT8"), 1.0, 255),
    ],
)
def test_the_range_of_two_quantizations(
    one: Any, other: Any, scale: float, zero_point: int
) -> None:
    for pair in ((one, other), (other, one)):
        found = common_range(*(QuantStep(*step) for step in pair))
        assert found[0] == F(scale)
        assert found[0].dtype == F
        assert found[1] == zero_point
        assert found[1].dtype == (I1 if one[2] == "INT8" else U1)


PAIRS = f"a = {Q} x s z\nb = {DQ} a s z\nc = {Q} b t y\nd = {DQ} c t y\ne = Neg d"


def test_pairs_of_conversions_become_one() -> None:
    built = graph(PAIRS, "e", **STEP, t=F(0.5), y=U1(3))
    remove_double_pairs(built)
    assert shown(built) == [f"a = {Q} x s z", f"d = {DQ} a t y", "e = Neg d"]
    built = graph(PAIRS, "e", **STEP, t=F(0.25), y=U1(128))
    remove_double_pairs(built)
    first, last, _ = built.nodes
    assert (last.inputs[0], last.outputs) == ("a", ["d"])
    # from -1.5 to 31.75
    for node in (first, last):
        assert built.array(node.inputs[1]) == F(33.25 / 255)
        assert built.array(node.inputs[2]) == 12
    assert built.constants["s"].array == F(0.5)


@pytest.mark.parametrize(
    ("lines", "outputs", "arrays"),
    [
        (PAIRS, "e", {"t": F(0.5), "y": I1(3)}),
        (PAIRS, "e c", {"t": F(0.5), "y": U1(3)}),
        (PAIRS, "e b", {"t": F(0.5), "y": U1(3)}),
        (PAIRS, "e a", {"t": F(0.5), "y": U1(3)}),
        (f"{PAIRS}\ng = Neg c", "e", {"t": F(0.5), "y": U1(3)}),
        (f"{PAIRS}\ng = Neg a", "e", {"t": F(0.5), "y": U1(3)}),
        (PAIRS.replace("c t y", "c s y"), "e", {"t": F(0.25), "y": U1(3)}),
        (PAIRS, "e", {"t": F([0.5, 0.5]), "y": U1([3, 3])}),
        (PAIRS.replace("b t y", "b t"), "e", {"t": F(0.5), "y": U1(0)}),
    ],
)
def test_pairs_that_stay(lines: str, outputs: str, arrays: dict[str, Any]) -> None:
    built = graph(lines, outputs, **STEP, **arrays)
    before = shown(built)
    remove_double_pairs(built)
    assert shown(built) == before


SHARED: dict[str, tuple[str, str, list[str]]] = {
    "equal": (
        "a = Neg x\nb = Neg x\nc = Add a b",
        "c",
        ["a = Neg x", "c = Add a a"],
    ),
    "one after the other": (
        "a = Neg x\nb = Neg x\nc = Abs a\nd = Abs b\ne = Add c d",
        "e",
        ["a = Neg x", "c = Abs a", "e = Add c c"],
    ),
    "equal numbers": (
        "a = Add x one\nb = Add x uno\nc = Add a b",
        "c",
        ["a = Add x one", "c = Add a a"],
    ),
    "returned": ("a = Neg x\nb = Neg x", "a b", ["a = Neg x", "b = Neg x"]),
    "attributes": (
        "a = Sum x k:1\nb = Sum x k:2\nc = Add a b",
        "c",
        ["a = Sum x", "b = Sum x", "c = Add a b"],
    ),
    "kinds": (
        "a = Neg x\nb = Abs x\nc = Add a b",
        "c",
        ["a = Neg x", "b = Abs x", "c = Add a b"],
    ),
    "rows of numbers": (
        "a = Add x row\nb = Add x raw\nc = Add a b",
        "c",
        ["a = Add x row", "b = Add x raw", "c = Add a b"],
    ),
    "integers": (
        "a = Add x two\nb = Add x due\nc = Add a b",
        "c",
        ["a = Add x two", "b = Add x due", "c = Add a b"],
    ),
    "several results": (
        "a, p = Split x\nb, q = Split x\nc = Add a b",
        "c",
        ["a, p = Split x", "b, q = Split x", "c = Add a b"],
    ),
    "dequantized": (
        f"d = {DQ} x s z\na = Neg d\nb = Neg d\nc = Add a b",
        "c",
        [f"d = {DQ} x s z", "a = Neg d", "b = Neg d", "c = Add a b"],
    ),
    "dequantizations": (
        f"a = {DQ} x s z\nb = {DQ} x s z\nc = Add a b",
        "c",
        [f"a = {DQ} x s z", f"b = {DQ} x s z", "c = Add a b"],
    ),
    "quantizations": (
        f"d = {DQ} x s z\na = {Q} d s z\nb = {Q} d s z\nc = Add a b",
        "c",
        [f"d = {DQ} x s z", f"a = {Q} d s z", "c = Add a a"],
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_equal_nodes_are_one(name: str) -> None:
    lines, outputs, expected = SHARED[name]
    reals = {"one": F(1), "uno": F(1), "row": F([1, 2]), "raw": F([1, 2])}
    whole = {"two": np.int64(2), "due": np.int64(2)}
    built = graph(lines, outputs, **STEP, **reals, **whole)
    share_results(built)
    assert shown(built) == expected


WEIGHTS = {"w": F([[1, 2, 3]] * 2), "v": F([1, 2, 3]), "u": F([[1, 2, 3]])}
GEMM = ["c = Gemm x w v"]

BIASES: dict[str, tuple[str, list[str] | None]] = {
    "row": ("a = MatMul x w\nc = Add a v", GEMM),
    "first": ("a = MatMul x w\nc = Add v a", GEMM),
    "matrix": ("a = MatMul x w\nc = Add a u", ["c = Gemm x w u"]),
    "dequantized": (
        f"p = {DQ} w s\nq = {DQ} v s\na = MatMul x p\nc = Add a q",
        [f"p = {DQ} w s", f"q = {DQ} v s", "c = Gemm x p q"],
    ),
    "other size": ("a = MatMul x w\nc = Add a r", None),
    "column": ("a = MatMul x w\nc = Add a k", None),
    "computed weights": ("a = MatMul x y\nc = Add a v", None),
    "computed bias": ("a = MatMul x w\nc = Add a y", None),
    "weights of a row": ("a = MatMul x v\nc = Add a v", None),
    "twice": ("a = MatMul x w\nc = Add a a", None),
    "not added": ("a = MatMul x w\nc = Sub a v", None),
    "used again": ("a = MatMul x w\nc = Add a v\nd = Neg a", None),
}


@pytest.mark.parametrize("name", BIASES)
def test_products_with_a_bias(name: str) -> None:
    lines, expected = BIASES[name]
    more = {"r": F([1, 2]), "k": F([[1], [2], [3]]), "s": F(1)}
    built = graph(lines, "c", **WEIGHTS, **more)
    before = shown(built)
    add_biases(built)
    assert shown(built) == (before if expected is None else expected)


def test_products_of_another_domain_stay() -> None:
    built = graph("a = MatMul x w\nc = Add a v", "c", **WEIGHTS)
    next(iter(built.nodes)).domain = "com.microsoft"
    add_biases(built)
    assert len(built.nodes) == 2


RELU = f"""
a = {DQ} x s z
b = {DQ} w s i
c = Conv a b
d = Relu c
e = {Q} d s z
"""
BOUNDED = (
    "its Relu is not what the quantization to [0, 255] with scale 0.5 and zero point 3"
    " does anyway"
)


@pytest.mark.parametrize(
    ("lines", "qdq", "reason"),
    [
        (RELU, INTEGER, BOUNDED),
        (
            RELU.replace("e =", "f = Neg d\ne ="),
            INTEGER,
            "result 'c' is not quantized",
        ),
        (RELU.replace("d s z", "d t z"), INTEGER, "bounds or quantization of its Relu"),
        (
            f"a = {DQ} x s z\nb = Sin a\ne = {Q} b s z",
            INTEGER,
            "there is no such operator on integers",
        ),
        (
            f"a = {DQ} x s i\nb = {DQ} w s i\nc = Conv a b\ne = {Q} c s i",
            X86,
            "int8 activations need the session entry session.qdqisint8allowed=1",
        ),
    ],
)
def test_operators_that_stay_real(lines: str, qdq: str, reason: str) -> None:
    built = graph(lines, "e", **STEP, w=I1([[[[1]]]]), i=I1(0))
    unfused = fuse(built, qdq)
    assert [why.startswith(reason) for why in unfused.values()] == [True], unfused


def test_int8_is_fused_where_a_session_allows_it() -> None:
    lines = f"a = {DQ} x s i\nb = {DQ} w s i\nc = Conv a b\ne = {Q} c s i"
    built = graph(lines, "e", **STEP, w=I1([[[[1]]]]), i=I1(0))
    assert fuse(built, INTEGER) == {}
    assert shown(built) == ["e = QLinearConv x s i w s i s i"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y = Relu", "Relu with operands [] and results ['y']; expected 1 to 1"),
        ("y = Relu a b", "Relu with operands ['a', 'b'] and results ['y']; expected 1"),
        ("y = Relu _", "Relu with operands [''] and results ['y']; expected 1 to 1"),
        ("y = MatMul a", "MatMul with operands ['a'] and results ['y']; expected 2 to"),
        ("y, z = Relu a", "Relu with operands ['a'] and results ['y', 'z']; expected"),
        (f"y = {Q} a", f"{Q} with operands ['a'] and results ['y']; expected 2 to 3"),
        ("y, z = MaxPool a", ""),
        ("y = Conv a b", ""),
        ("y = Conv a b c", ""),
        ("y, z = Sin", ""),
    ],
)
def test_operands_that_are_missing(line: str, message: str) -> None:
    built = graph(f"x = Neg q\n{line}")
    if not message:
        check_arity(built)
        return
    with pytest.raises(QlowerError) as caught:
        check_arity(built)
    assert caught.value.message.startswith(f"node 1: {message}")
    assert caught.value.message.endswith(" operands")
