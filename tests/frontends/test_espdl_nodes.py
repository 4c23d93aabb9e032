"""The nodes of ONNX that one of ESP-DL becomes: operands, scales, weights, refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from support.formats.espdl_files import packed

from qlower.diagnostics import QlowerError
from qlower.frontends.espdl.reader import Content, Tensor
from qlower.frontends.espdl.translating import model_of
from qlower.frontends.graph.schema import AttributeValue, Model, Node
from qlower.interp.values import Array

IMAGE = (1, 4, 4, 3)
S5, S6, S7 = "\nscale 2^-5", "\nscale 2^-6", "\nscale 2^-7"
Z, Z16 = "\nzero INT8 1", "\nzero INT16 1"


def stored(array: Array, *exponents: int, layout: str = "") -> Tensor:
    kind = f"INT{8 * array.itemsize}"
    return Tensor(kind, array.shape, exponents, layout, array)


VALUES = {
    "x": Tensor("INT8", IMAGE, (-5,)),
    "x2": Tensor("INT8", IMAGE, (-5,)),
    "y": Tensor("INT8", IMAGE, (-6,)),
    "wide": Tensor("INT16", IMAGE, (-5,)),
    "wide2": Tensor("INT16", IMAGE, (-5,)),
    "real": Tensor("FLOAT", IMAGE, (-5,)),
    "real2": Tensor("FLOAT", IMAGE, (-6,)),
    "bare": Tensor("INT8", IMAGE, ()),
    "steps": Tensor("INT8", IMAGE, (-5, -7)),
    "alike": Tensor("INT8", IMAGE, (-7, -7)),
}
FILTERS = np.arange(54, dtype=np.int8).reshape(18, 3, 1, 1)
CONSTANTS = {
    "t": stored(np.zeros(256, np.int8)),
    "w": stored(packed(FILTERS)[0], -7, layout=packed(FILTERS)[1]),
    "b": stored(np.zeros(18, np.int32), -12),
    "bs": stored(np.zeros(18, np.int32), *[-12] * 18),
    "c": stored(np.zeros(18, np.int32), -11),
    "b2": stored(np.zeros((1, 18), np.int32), -12),
    "b3": stored(np.zeros(3, np.int32), *[-12] * 18),
}


def of(kind: str, *inputs: str, result: str = "y", **more: AttributeValue) -> Node:
    # No operator reads what stands behind its operands and its first result.
    results = [result, "steps"] if result else []
    return Node(3, "esp-dl", kind, "n", [*inputs], results, more, kind)


def translated(node: Node, **more: Tensor) -> tuple[Model, str]:
    tensors = VALUES | CONSTANTS | more
    return model_of(Content(77, [node], tensors, ["x"], ["y"]), "m.espdl")


def test_the_device_of_several_layers() -> None:
    one = stored(packed(FILTERS)[0], *[-7] * 18, layout=packed(FILTERS)[1])
    nodes = [of("Conv", "x", "w"), of("Conv", "x", "p4")]
    tensors = VALUES | CONSTANTS | {"p4": one}
    for each in (nodes, nodes[::-1]):
        read = model_of(Content(77, each, tensors, ["x"], ["y"]), "m.espdl")
        assert read[1] == "esp-dl-p4"


def said(model: Model) -> list[tuple[str, str, list[str], list[str]]]:
    return [(one.domain, one.kind, one.inputs, one.outputs) for one in model.nodes]


ESP, MS = "esp-dl", "com.microsoft"
X, Y, W = ["x", S5, Z], [S6, Z], ["w", S7, Z]
SAME = [S5, Z]
WIDE = ["wide", S5, Z16]
TWO = ["\nscale 2^-5,-7", "\nzero INT8 2"]
LAST = {"channels_last": 1}
NODES: Sequence[tuple[Node, str, str, list[str], Mapping[str, object]]] = [
    (of("Relu", "x", "y", result="x2"), ESP, "Relu", [*X, *SAME], {}),
    (of("Relu", "x", lut="t"), ESP, "LUT", [*X, "t", *Y], {}),
    (
        of("Relu", "wide", result="wide2", lut="t", quant_type="S16"),
        *(ESP, "Relu", [*WIDE, S5, Z16], {}),
    ),
    (of("Swish", "x", "y", lut="t"), ESP, "LUT", [*X, "t", *Y], {}),
    (
        of("LUT", "wide", result="wide2", lut="t", quant_type="S16"),
        *(ESP, "LUT", [*WIDE, "t", S5, Z16], {}),
    ),
    (
        of("Slice", "x", "y", result="x2", axis=2),
        *("", "Slice", ["x", "y"], {"axis": 2}),
    ),
    (of("Identity", "real", result="real2"), "", "Identity", ["real"], {}),
    (of("Softmax", "x"), ESP, "Softmax", ["x"], {}),
    (of("Add", "x", "steps"), MS, "QLinearAdd", [*X, "steps", *TWO, *Y], {}),
    (of("Mul", "x", "y"), MS, "QLinearMul", [*X, "y", *Y, *Y], {}),
    (of("AveragePool", "x", "y"), MS, "QLinearAveragePool", [*X, *Y], LAST),
    (of("GlobalAveragePool", "x"), MS, "QLinearGlobalAveragePool", [*X, *Y], LAST),
    (of("MaxPool", "x", "q", result="x2"), MS, "NhwcMaxPool", ["x"], {}),
    (
        of("Concat", "x", "alike", "x"),
        *(MS, "QLinearConcat", [*Y, *X, "alike", S7, Z, *X], {}),
    ),
    (of("QuantizeLinear", "real", "a"), "", "QuantizeLinear", ["real", *Y], {}),
    (of("DequantizeLinear", "x", "a"), "", "DequantizeLinear", X, {}),
    (of("Conv", "x", "w"), MS, "QLinearConv", [*X, *W, *Y, ""], LAST),
    (of("Conv", "x", "w", ""), MS, "QLinearConv", [*X, *W, *Y, ""], LAST),
    (of("Conv", "x", "w", "b", "y"), MS, "QLinearConv", [*X, *W, *Y, "b"], LAST),
    (of("Conv", "x", "w", "bs"), MS, "QLinearConv", [*X, *W, *Y, "bs"], LAST),
    (of("Gemm", "x", "w", "b"), MS, "QGemm", [*X, *W, "b", *Y], {"transB": 0}),
    (of("MatMul", "x", "w", "b"), "", "QLinearMatMul", [*X, *W, *Y], {}),
    (of("MatMul", "x", "y", "w"), "", "QLinearMatMul", [*X, "y", *Y, *Y], {}),
]


@pytest.mark.parametrize(
    ("node", "domain", "kind", "inputs", "attributes"),
    NODES,
    ids=range(len(NODES)),
)
def test_nodes(
    node: Node,
    domain: str,
    kind: str,
    inputs: Sequence[str],
    attributes: Mapping[str, object],
) -> None:
    model, _ = translated(node)
    assert said(model) == [(domain, kind, inputs, node.outputs)]
    (made,) = model.nodes
    assert (made.index, made.name, made.spelled) == (3, "n", node.kind)
    assert made.attributes == attributes


def test_a_change_of_the_step_is_two_nodes() -> None:
    model, device = translated(of("RequantizeLinear", "x", "", ""))
    real = "\nreal y"
    assert said(model) == [
        ("", "DequantizeLinear", X, [real]),
        ("", "QuantizeLinear", [real, *Y], ["y", "steps"]),
    ]
    assert (model.filename, model.size, model.opset) == ("m.espdl", 77, 18)
    assert device == "esp-dl-p4"
    for ports, name, type in (
        (model.inputs, "x", "INT8"),
        (model.outputs, "y", "INT8"),
    ):
        assert [(one.name, one.type, one.shape) for one in ports] == [
            (name, type, IMAGE)
        ]


@pytest.mark.parametrize("kind", ["Conv", "Add", "AveragePool", "MatMul", "MaxPool"])
def test_attributes_that_the_operator_of_onnx_has_not(kind: str) -> None:
    other = "w" if kind in ("Conv", "MatMul") else "x"
    result = "x2" if kind == "MaxPool" else "y"
    last = LAST if kind in ("Conv", "AveragePool") else {}
    for activation, kept in (("Linear", {}), ("Relu", {"activation": "relu"})):
        node = of(
            *(kind, "x", other),
            result=result,
            quant_type="S8",
            input1_layout="q",
            activation=activation,
            k=5,
        )
        model, _ = translated(node)
        assert model.nodes[0].attributes == {"k": 5} | kept | last


def test_scales_are_powers_of_two() -> None:
    model, _ = translated(of("Add", "alike", "steps"))
    known = {
        name: (one.type, one.shape, None if one.array is None else one.array.tolist())
        for name, one in model.constants.items()
        if name.startswith("\n")
    }
    assert known == {
        S7: ("FLOAT", (1,), [2.0**-7]),
        "\nscale 2^-5,-7": ("FLOAT", (2,), [2.0**-5, 2.0**-7]),
        S6: ("FLOAT", (1,), [2.0**-6]),
        Z: ("INT8", (1,), [0]),
        "\nzero INT8 2": ("INT8", (2,), [0, 0]),
    }
    for name in ("t", "b", "c"):
        assert model.constants[name].array is CONSTANTS[name].array
    assert "w" not in model.constants, "of a device's layout"
    arrays = [one.array for one in model.constants.values()]
    kinds = {one.dtype.name for one in arrays if one is not None}
    assert kinds == {"float32", "int8", "int32"}


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
@pytest.mark.parametrize(
    ("shape", "groups"),
    [
        ((16, 3, 2, 1), 1),
        ((18, 3, 2, 1), 1),
        ((5, 2, 1, 3), 1),
        ((2, 3, 1, 1), 1),
        ((16, 1, 2, 3), 16),
        ((35, 1, 2, 3), 35),
        ((7, 1, 1, 2), 7),
    ],
)
@pytest.mark.parametrize("plain", [False, True])
def test_filters(
    shape: tuple[int, ...], groups: int, plain: bool, dtype: type[np.int8 | np.int16]
) -> None:
    weights = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    array, layout = packed(weights, groups, plain)
    many = len(weights)
    for exponents in ((-7,), (*range(-many, 0),)):
        filters = stored(array, *exponents, layout=layout)
        given = "x" if dtype is np.int8 else "wide"
        model, device = translated(of("Conv", given, "f", group=groups), f=filters)
        found = model.constants["f"]
        assert found.array is not None
        assert found.type == filters.type
        assert found.shape == shape
        np.testing.assert_array_equal(found.array, weights)
        assert found.array.flags["C_CONTIGUOUS"]
        single = "esp-dl-s3" if len(exponents) == 1 else "esp-dl-p4"
        assert device == ("esp-dl-esp32" if plain else single)


@pytest.mark.parametrize("kind", ["MatMul", "Gemm"])
def test_a_matrix_has_its_inputs_first(kind: str) -> None:
    array, layout = packed(FILTERS)
    for shape in (array.shape, array.shape[2:]):
        matrix = stored(array.reshape(shape), -7, layout=layout)
        model, device = translated(of(kind, "x", "f"), f=matrix)
        found = model.constants["f"]
        assert (found.type, found.shape, device) == ("INT8", (3, 18), "esp-dl-s3")
        assert found.array is not None
        np.testing.assert_array_equal(found.array, FILTERS[:, :, 0, 0].T)


def weights(shape: tuple[int, ...], layout: str, dtype: str = "int8") -> Tensor:
    return stored(np.zeros(shape, dtype), -7, layout=layout)


PACKED = "(N/16)HWC16, (N/16)HWC16_UNALIGNED"
DIFFER = "its input and result have different exponents"
UNSTORED = "is not of int8 or int16 with an exponent"
F = of("Conv", "x", "f")
REFUSED: Sequence[tuple[Node, Tensor | None, str]] = [
    (
        of("Add", "x", "x", quant_type="S32"),
        *(None, "quant_type 'S32' is not supported; expected S8 or S16"),
    ),
    (of("Relu"), None, "0 operands, expected 1"),
    (of("Mul", "x"), None, "1 operands, expected 2"),
    (of("Add", "x", "x", result=""), None, "2 operands, expected 2"),
    (
        of("Tanh", "wide", result="wide2", lut="t", quant_type="S16"),
        *(None, "a table of int16 beside the operator itself"),
    ),
    (of("Relu", "x"), None, DIFFER),
    (of("Slice", "x"), None, DIFFER),
    (of("MaxPool", "x"), None, DIFFER),
    (of("Add", "x", "q"), None, "'q' is described nowhere"),
    (of("Add", "x", "bare"), None, f"'bare' {UNSTORED}"),
    (of("AveragePool", "real"), None, f"'real' {UNSTORED}"),
    (of("Conv", "x", "y"), None, "weights 'y' of shape [1, 4, 4, 3]"),
    (F, weights((1, 3, 16), "NHWC"), "weights 'f' of shape [1, 3, 16]"),
    (F, weights((1, 1, 0, 16), "NHWC"), "weights 'f' of shape [1, 1, 0, 16]"),
    (F, weights((1, 1, 3, 16), "NHWC", "int16"), "weights 'f' of INT16"),
    (
        *(F, weights((1, 1, 3, 16), "HWCN")),
        f"weights 'f' in the layout 'HWCN'; expected {PACKED}, NHWC",
    ),
    (
        of("Conv", "x", "f", group=16),
        weights((1, 1, 16, 1), "NHWC"),
        f"weights 'f' in the layout 'NHWC'; expected {PACKED}, HWCN",
    ),
    (of("Conv", "x", "w", "b2"), None, "a bias 'b2' of shape [1, 18]"),
    (of("Conv", "x", "w", "b3"), None, "a bias 'b3' of shape [3]"),
    (of("Conv", "x", "w", "c"), None, "the bias 'c' isn't in steps of the sums"),
    (
        of("MatMul", "x", "y", activation="Relu"),
        *(None, "an activation of a product of two computed values"),
    ),
]


@pytest.mark.parametrize(
    ("node", "tensor", "message"), REFUSED, ids=range(len(REFUSED))
)
def test_refusals(node: Node, tensor: Tensor | None, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        translated(node, **({} if tensor is None else {"f": tensor}))
    assert caught.value.message == f"node 3 {node.kind} 'n': {message}"
    assert str(caught.value.location) == 'loc("m.espdl":3:0)'
