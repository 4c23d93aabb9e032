"""Groups of ONNX that ONNX Runtime runs on integers: the operator and the operands of
each, and why others stay real; by graphs of a few nodes that are made here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.frontends.graph.nodes import TYPE_NAMES, Graph
from qlower.frontends.graph.qdq import find_group, open_operand, open_result
from qlower.frontends.graph.schema import Constant, Model, Node
from qlower.frontends.onnx.selectors import (
    SELECTORS,
    Fused,
    StaysReal,
    check_bias_scale,
)

STORED = {"u1": "UINT8", "i1": "INT8", "i4": "INT32", "u2": "UINT16"}
selectors: Any = vars(import_module("qlower.frontends.onnx.selectors"))


class Built:
    """A graph under construction: `op` takes dequantized values and gives `y`."""

    def __init__(self, kind: str, opset: int = 18, **attributes: Any) -> None:
        self.opset = opset
        self.nodes: list[Node] = []
        self.constants: dict[str, Constant] = {}
        self.operator = self.node(kind, [], ["y"], **attributes)
        self.outputs = ["z"]

    def node(
        self, kind: str, inputs: list[str], outputs: list[str], **more: Any
    ) -> Node:
        made = Node(len(self.nodes), "", kind, kind, inputs, outputs, more)
        self.nodes.append(made)
        return made

    def constant(self, name: str, array: Any) -> str:
        self.constants[name] = Constant(
            TYPE_NAMES[array.dtype.name], array.shape, array
        )
        return name

    def step(self, name: str, scale: Any, point: int | None, type: str) -> list[str]:
        names = [self.constant(f"{name}_s", np.array(scale, np.float32))]
        if point is not None:
            names.append(self.constant(f"{name}_z", np.array(point, type)))
        return names

    def given(
        self,
        name: str,
        type: str = "u1",
        scale: Any = 0.5,
        point: int | None = 3,
        stored: Any = None,
        **attributes: Any,
    ) -> Built:
        """Another operand, dequantized from `name`."""
        if stored is not None:
            self.constant(name, stored)
        inputs = [name, *self.step(name, scale, point, type)]
        self.node("DequantizeLinear", inputs, [f"{name}_r"], **attributes)
        self.operator.inputs.append(f"{name}_r")
        return self

    def plain(self, name: str) -> Built:
        self.operator.inputs.append(name)
        return self

    def bounded(self) -> Built:
        self.node("Relu", ["y"], ["b"])
        return self

    def used(self, value: str) -> Built:
        self.node("Neg", [value], ["n"])
        return self

    def stored(
        self, type: str = "u1", scale: float = 0.25, point: int | None = 7
    ) -> Built:
        """The result, quantized."""
        last = "b" if any(node.kind == "Relu" for node in self.nodes) else "y"
        self.node("QuantizeLinear", [last, *self.step("z", scale, point, type)], ["z"])
        return self

    def read(self) -> tuple[Graph, Any]:
        parts = tuple(self.nodes), self.constants, (), ()
        graph = Graph(Model("f", 1, self.opset, *parts), self.outputs)
        (operator,) = graph.of_kind(self.operator.kind)
        return graph, find_group(graph, operator)

    def selected(self) -> Fused:
        graph, group = self.read()
        return SELECTORS[self.operator.kind](graph, group)


def conv(
    types: str = "u1 i1 u1", bias: str = "", scale: float = 0.125, **more: Any
) -> Built:
    x, w, y = types.split()
    built = Built("Conv", **more).given("x", x).given("w", w, 0.25, 0)
    if bias:
        built.given("b", bias, scale, None, np.array([5, 6], bias))
    return built.stored(y)


def gemm(result: str = "u1", bias: str = "i4", **attributes: Any) -> Built:
    built = Built("Gemm", **attributes).given("x").given("w", "i1", 0.25, 0)
    if bias:
        built.given("b", bias, 0.125, None, np.array([5], bias))
    return built.stored(result) if result else built


X, W, Z = ("x", "x_s", "x_z"), ("w", "w_s", "w_z"), ("z_s", "z_z")
MS = "com.microsoft"
COLUMNS = np.zeros((4, 3), np.int8)

FUSED: dict[str, tuple[Built, tuple[str, str, tuple[str, ...], Mapping[str, Any]]]] = {
    "conv": (conv(group=2), ("", "QLinearConv", (*X, *W, *Z), {"group": 2})),
    "conv and bias": (conv(bias="i4"), ("", "QLinearConv", (*X, *W, *Z, "b"), {})),
    "conv of int8": (conv("i1 i1 i1"), ("", "QLinearConv", (*X, *W, *Z), {})),
    "conv of uint8 weights": (
        conv("u1 u1 u1"),
        ("", "QLinearConv", (*X, *W, *Z), {}),
    ),
    "a bias that is nearly in steps": (
        conv(bias="i4", scale=0.125 * 1.0099),
        ("", "QLinearConv", (*X, *W, *Z, "b"), {}),
    ),
    "matmul": (
        Built("MatMul").given("x").given("w", "i1", 0.25, 0).stored(),
        ("", "QLinearMatMul", (*X, *W, *Z), {}),
    ),
    "matmul to reals": (
        Built("MatMul").given("x").given("w", "i1", 0.25, 0),
        (MS, "MatMulIntegerToFloat", ("x", "w", "x_s", "w_s", "x_z", "w_z"), {}),
    ),
    "gemm": (
        gemm(transB=1),
        (MS, "QGemm", (*X, *W, "b", *Z), {"transB": 1}),
    ),
    "gemm to reals": (gemm(""), (MS, "QGemm", (*X, *W, "b"), {})),
    "gemm without bias": (
        gemm(bias="", alpha=2.0, beta=3.0),
        (MS, "QGemm", (*X, *W, "", *Z), {"alpha": 2.0}),
    ),
    "stored weights": (
        Built("MatMul").plain("x").given("w", "i1", 0.25, 0, COLUMNS),
        (MS, "MatMulNBits", ("x", *W), {"accuracy_level": 4}),
    ),
    "stored weights of columns": (
        Built("MatMul").plain("x").given("w", "i1", [0.25] * 3, None, COLUMNS, axis=1),
        (MS, "MatMulNBits", ("x", "w", "w_s"), {"accuracy_level": 4}),
    ),
    "stored weights of blocks": (
        Built("MatMul")
        .plain("x")
        .given("w", "i1", [[1.0] * 3], None, COLUMNS, axis=0, block_size=16),
        (MS, "MatMulNBits", ("x", "w", "w_s"), {"accuracy_level": 4}),
    ),
    "stored weights and a bias": (
        Built("Gemm").plain("x").given("w", "i1", 0.25, 0, COLUMNS).given("b"),
        (MS, "MatMulNBits", ("x", *W, "b_r"), {"accuracy_level": 4}),
    ),
    "add": (
        Built("Add").given("x").given("w").stored(),
        (MS, "QLinearAdd", (*X, *W, *Z), {}),
    ),
    "sigmoid": (
        Built("Sigmoid").given("x").stored(),
        (MS, "QLinearSigmoid", (*X, *Z), {}),
    ),
    "softmax": (
        Built("Softmax", opset=13, axis=1).given("x").stored(),
        (MS, "QLinearSoftmax", (*X, *Z), {"axis": 1, "opset": 13}),
    ),
    "concat": (
        Built("Concat", axis=1).given("x").given("w").stored(),
        (MS, "QLinearConcat", (*Z, *X, *W), {"axis": 1}),
    ),
    "where": (
        Built("Where").plain("c").given("x").given("w").stored(),
        (MS, "QLinearWhere", ("c", *X, *W, *Z), {}),
    ),
    "reshape": (
        Built("Reshape").given("x").plain("shape").stored("u1", 0.5, 3),
        ("", "Reshape", ("x", "shape"), {}),
    ),
    "largest since 12": (
        Built("MaxPool", opset=12).given("x").stored("u1", 0.5, 3),
        ("", "MaxPool", ("x",), {}),
    ),
    "nearest": (
        Built("Resize", mode="nearest").given("x").stored("u1", 0.5, 3),
        ("", "Resize", ("x",), {"mode": "nearest"}),
    ),
    "arg_max": (
        Built("ArgMax", axis=1).given("x"),
        ("", "ArgMax", ("x",), {"axis": 1}),
    ),
}


@pytest.mark.parametrize("name", FUSED)
def test_groups_of_integers(name: str) -> None:
    built, (domain, kind, inputs, attributes) = FUSED[name]
    assert built.selected() == Fused(domain, kind, inputs, attributes)


def test_zero_points_that_are_left_out() -> None:
    """They are constants of 0, of the stored type."""
    built = Built("Add").given("x", "i1", 0.5, None, np.zeros(2, np.int8))
    built.given("w", "i1", 0.5, 0).stored("i1", 0.25, 0)
    graph, group = built.read()
    found = SELECTORS["Add"](graph, group)
    assert found.inputs[:2] == ("x", "x_s")
    zero = graph.constants[found.inputs[2]]
    assert (zero.type, zero.array.tolist() if zero.array is not None else 1) == (
        "INT8",
        0,
    )
    plain = Built("Sigmoid").given("x", "u1", 0.5, None, np.zeros(2, np.uint8))
    graph, group = plain.stored("u1", 0.25, None).read()
    found = SELECTORS["Sigmoid"](graph, group)
    assert [graph.constants[found.inputs[at]].type for at in (2, 4)] == ["UINT8"] * 2


UNALIKE = "operands and result have different types: "
STEP = "scale and zero point differ before and after it, or are not given as one"
SCALE = "the scale of its bias is not that of the input times the weights'"

REAL: dict[str, tuple[Built, str]] = {
    "int16": (conv("u2 i1 u1"), "there is no such operator on UINT16"),
    "result": (conv("u1 i1 i1"), f"{UNALIKE}UINT8, INT8"),
    "weights": (conv("i1 u1 i1"), "int8 activations with weights of UINT8"),
    "bias type": (conv(bias="i1"), "its bias is of type INT8, not INT32"),
    "bias scale": (conv(bias="i4", scale=0.125 * 1.011), SCALE),
    "open": (
        Built("Conv").given("x").plain("w").stored(),
        "operand 1 ('w') is not dequantized",
    ),
    "no result": (
        Built("Conv").given("x").given("w", "i1", 0.25, 0),
        "result 'y' is not quantized",
    ),
    "bounded": (
        Built("MatMul").given("x").given("w", "i1", 0.25, 0).bounded().used("b"),
        "its result is not quantized",
    ),
    "matmul types": (
        Built("MatMul").given("x").given("w", "i1", 0.25, 0).stored("i1"),
        f"{UNALIKE}UINT8, INT8",
    ),
    "beta": (gemm(beta=0.5), "its beta is not 1"),
    "alpha": (gemm(alpha=0.5), "its alpha is not 1"),
    "gemm bias": (gemm(bias="i1"), "its bias is of type INT8, not INT32"),
    "binary": (
        Built("Add").given("x").given("w", "i1").stored(),
        f"{UNALIKE}UINT8, INT8, UINT8",
    ),
    "unary": (
        Built("Sigmoid").given("x", "u2").stored("u2"),
        "there is no such operator on UINT16",
    ),
    "moving and bounded": (
        Built("Reshape").given("x").plain("shape").bounded().stored(),
        "its result is bounded before it is quantized",
    ),
    "largest before 12": (
        Built("MaxPool", opset=11).given("x").stored("u1", 0.5, 3),
        "MaxPool has integers since opset 12",
    ),
    "linear": (
        Built("Resize", mode="linear").given("x").stored("u1", 0.5, 3),
        "it computes what lies between pixels",
    ),
    "other scale": (Built("Squeeze").given("x").stored("u1", 0.25, 3), STEP),
    "other point": (Built("Squeeze").given("x").stored("u1", 0.5, 4), STEP),
    "other type": (Built("Squeeze").given("x").stored("i1", 0.5, 3), STEP),
    "no point": (
        Built("Squeeze").given("x", "u1", 0.5, None).stored("u1", 0.5, None),
        STEP,
    ),
    "where types": (
        Built("Where").plain("c").given("x").given("w").stored("i1"),
        f"{UNALIKE}UINT8, UINT8, INT8",
    ),
    "where condition": (
        Built("Where").given("c").given("x").given("w").stored(),
        "operand 0 ('c_r') is dequantized",
    ),
    "arg_max": (
        Built("ArgMax").given("x", "u1", 0.5, None),
        "scale and zero point are not one constant each",
    ),
    "arg_max of channels": (
        Built("ArgMax").given("x", "u1", [0.5, 0.25], 3),
        "scale and zero point are not one constant each",
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_groups_that_stay_real(name: str) -> None:
    built, message = REAL[name]
    with pytest.raises(StaysReal) as caught:
        built.selected()
    assert str(caught.value).startswith(message)


NO_WEIGHTS: dict[str, Built] = {
    "transposed": Built("Gemm", transB=1).plain("x").given("w", "i1", 1, 0, COLUMNS),
    "scaled": Built("Gemm", alpha=0.5).plain("x").given("w", "i1", 1, 0, COLUMNS),
    "computed": Built("MatMul").plain("x").given("w", "i1", 1, 0),
    "words": Built("MatMul").plain("x").given("w", "u2", 1, 0, COLUMNS.astype("u2")),
    "a row": Built("MatMul").plain("x").given("w", "i1", 1, 0, COLUMNS[0]),
    "rows": Built("MatMul").plain("x").given("w", "i1", [1.0] * 4, 0, COLUMNS, axis=0),
    "small blocks": Built("MatMul")
    .plain("x")
    .given("w", "i1", [[1.0] * 3], 0, COLUMNS, axis=0, block_size=8),
    "odd blocks": Built("MatMul")
    .plain("x")
    .given("w", "i1", [[1.0] * 3], 0, COLUMNS, axis=0, block_size=24),
    "blocks of columns": Built("MatMul")
    .plain("x")
    .given("w", "i1", [[1.0]] * 4, 0, COLUMNS, axis=1, block_size=16),
    "both dequantized": Built("MatMul").given("x").given("w", "i1", 1, 0, COLUMNS),
    "stored": Built("MatMul").plain("x").given("w", "i1", 1, 0, COLUMNS).stored(),
    "weights first": Built("MatMul").given("w", "i1", 1, 0, COLUMNS).plain("x"),
}


@pytest.mark.parametrize("name", NO_WEIGHTS)
def test_products_whose_weights_are_not_kept(name: str) -> None:
    graph, group = NO_WEIGHTS[name].read()
    assert not selectors["_has_stored_weights"](graph, group)


def bias_nodes(x: Any, w: Any, b: Any, point: int | None = None) -> Any:
    built = Built("Conv").given("x", "u1", x).given("w", "i1", w)
    built.given("b", "i4", b, point, np.zeros(2, np.int32))
    graph, group = built.read()
    return graph, *group.dequantizers.values()


@pytest.mark.parametrize(
    ("x", "w", "b", "accepts"),
    [
        (0.5, 0.25, 0.125, True),
        (0.5, [0.25, 0.5], [0.125, 0.25], True),
        (0.5, [0.25, 0.5], [0.125, 0.26], False),
        (0.5, [0.25, 0.25], 0.125, True),
        (0.5, [0.25, 0.5, 1.0], [0.125, 0.25], False),
        (1e-4, 1e-4, 1.0e-6, True),
        (1e-4, 1e-4, 1.2e-6, False),
        (0.5, 0.25, 0.125 / 1.0101, True),
        (0.5, 0.25, 0.125 * 0.989, False),
    ],
)
def test_scales_of_a_bias(x: Any, w: Any, b: Any, accepts: bool) -> None:
    if accepts:
        check_bias_scale(*bias_nodes(x, w, b))
        return
    with pytest.raises(StaysReal) as caught:
        check_bias_scale(*bias_nodes(x, w, b))
    assert str(caught.value) == SCALE


def test_a_bias_with_a_zero_point() -> None:
    check_bias_scale(*bias_nodes(0.5, 0.25, 0.125, 0))
    with pytest.raises(StaysReal, match=r"^the zero point of its bias is not 0$"):
        check_bias_scale(*bias_nodes(0.5, 0.25, 0.125, 1))
    graph, *nodes = bias_nodes(0.5, 0.25, 0.125)
    del graph.constants["x_s"]
    with pytest.raises(StaysReal, match=r"^scales of operands or bias are not const"):
        check_bias_scale(graph, *nodes)
    check_bias_scale(*bias_nodes(0.5, 0.25, 0.13), ratio=0.05)
    check_bias_scale(*bias_nodes(0.5, 0.25, 0.13), step=0.005)


def test_why_groups_are_open() -> None:
    built = Built("Add").given("x").given("w").stored()
    built.node("Neg", ["x_r"], ["n"])
    graph, group = built.read()
    assert open_operand(graph, group, [0, 1]) == "operand 0 ('x_r') has other users"
    assert open_operand(graph, group, [1]) == "operand 0 ('x_r') is dequantized"
    built = Built("Add").given("x").given("w").stored()
    built.outputs = ["w_r", "z"]
    graph, group = built.read()
    assert open_operand(graph, group, [0, 1]) == (
        "operand 1 ('w_r') is an output of the model"
    )
    assert open_result(graph, group) is None
    for outputs, message in (
        (["y"], "result 'y' is an output of the model"),
        (["b"], "result 'b' is an output of the model"),
    ):
        built = Built("Add").given("x").given("w").bounded().stored()
        built.outputs = outputs
        graph, group = built.read()
        found = open_result(graph, group)
        # bounds whose own result is given belong to no group
        assert found == ("result 'y' is not quantized" if outputs == ["b"] else message)
    built = Built("Add").given("x").given("w").stored()
    built.node("Neg", ["y"], ["n"])
    assert open_result(*built.read()) == "result 'y' has 2 users"
    built = Built("Add").given("x").given("w")
    assert open_result(*built.read()) == "result 'y' is not quantized"


def test_members_of_a_group() -> None:
    _, group = Built("Add").given("x").given("w").bounded().stored().read()
    assert [node.kind for node in group.members] == [
        "DequantizeLinear",
        "DequantizeLinear",
        "Relu",
        "QuantizeLinear",
    ]
    assert group.last.kind == "Relu"
    _, group = Built("Sigmoid").given("x").stored().read()
    assert [node.kind for node in group.members] == [
        "DequantizeLinear",
        "QuantizeLinear",
    ]
    assert group.last is group.operator
