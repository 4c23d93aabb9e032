"""Models that are written for a device to run: each operator with its options, as the
packages of the formats read them, and the model that comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

import qlower
from qlower.dialects import qnn
from qlower.identification.onnx_file import channels_first, onnx_file
from qlower.identification.tflite_file import tflite_file
from qlower.model import build

Type = TensorType[Attribute]

BIAS = np.array([7, -9], np.int32)
EACH = (0.25, 0.5)
WINDOW = {"stride": (2, 1), "pad": (0, 1, 1, 1)}
"""A padded row below, and a column on each side."""


def q(*shape: int) -> Type:
    return build.quantized(shape, 0.5, 3)


def weights(type: Type) -> SSAValue:
    numbers = np.arange(np.prod(type.get_shape())) * 5 % 23 - 11
    return build.constant(numbers.astype(np.int8).reshape(type.get_shape()), type)


def convolution(x: SSAValue) -> SSAValue:
    kernel = weights(build.quantized_per_axis([2, 3, 3, 1], 0, EACH))
    return qnn.Conv2DOp(x, kernel, build.constant(BIAS), q(1, 2, 5, 2), **WINDOW).result


def depthwise(x: SSAValue) -> SSAValue:
    kernel = weights(build.quantized_per_axis([1, 3, 3, 2], 3, EACH))
    return qnn.DepthwiseConv2DOp(
        x, kernel, build.constant(BIAS), q(1, 2, 5, 2), **WINDOW
    ).result


def linear(x: SSAValue) -> SSAValue:
    kernel = weights(build.quantized([2, 4], 0.25))
    return qnn.LinearOp(x, kernel, build.constant(BIAS), q(3, 2)).result


def pool(x: SSAValue) -> SSAValue:
    return qnn.AvgPool2DOp(x, q(1, 2, 4, 2), kernel=(2, 3), stride=(2, 1)).result


def add(x: SSAValue) -> SSAValue:
    return qnn.AddOp(x, x, q(2, 5)).result


def mul(x: SSAValue) -> SSAValue:
    return qnn.MulOp(x, x, q(2, 5)).result


INPUTS = {
    **{convolution: q(1, 4, 5, 1), depthwise: q(1, 4, 5, 1), linear: q(3, 4)},
    **{pool: q(1, 4, 6, 2), add: q(2, 5), mul: q(2, 5)},
}

SAME, VALID = 0, 1
STRIDES = {"StrideH": 2, "StrideW": 1}
WINDOWED = {"Padding": SAME, **STRIDES, "DilationHFactor": 1, "DilationWFactor": 1}
OPTIONS: dict[Any, tuple[str, int, dict[str, int]]] = {
    convolution: ("Conv2DOptions", 3, WINDOWED),
    depthwise: ("DepthwiseConv2DOptions", 3, {**WINDOWED, "DepthMultiplier": 2}),
    linear: ("FullyConnectedOptions", 4, {}),
    pool: (
        *("Pool2DOptions", 2),
        {"Padding": VALID, **STRIDES, "FilterHeight": 2, "FilterWidth": 3},
    ),
    add: ("AddOptions", 2, {}),
    mul: ("MulOptions", 2, {}),
}
"""The table of options, its first version with int8, and what is set."""


@pytest.mark.parametrize("made", OPTIONS)
def test_options_in_tflite(made: Any) -> None:
    tflite: Any = pytest.importorskip("tflite", reason="tflite is not installed")
    kind, version, wanted = OPTIONS[made]
    file = tflite_file(build.make_model([INPUTS[made]], lambda x: [made(x)]))
    model = tflite.Model.GetRootAsModel(file, 0)
    (code,) = (model.OperatorCodes(n) for n in range(model.OperatorCodesLength()))
    assert code.Version() == version
    assert code.BuiltinCode() == code.DeprecatedBuiltinCode()
    (operator,) = (model.Subgraphs(0).Operators(n) for n in range(1))
    assert operator.BuiltinOptionsType() == getattr(tflite.BuiltinOptions, kind)
    options = getattr(tflite, kind)()
    table = operator.BuiltinOptions()
    options.Init(table.Bytes, table.Pos)
    assert {name: getattr(options, name)() for name in wanted} == wanted


ATTRIBUTES: dict[Any, tuple[str, dict[str, object]]] = {
    convolution: ("Conv", {"strides": [2, 1], "pads": [0, 1, 1, 1], "group": 1}),
    depthwise: ("Conv", {"strides": [2, 1], "pads": [0, 1, 1, 1], "group": 1}),
    linear: ("Gemm", {"transB": 1}),
    pool: ("AveragePool", {"kernel_shape": [2, 3], "strides": [2, 1]}),
    add: ("Add", {}),
    mul: ("Mul", {}),
}


@pytest.mark.parametrize("made", ATTRIBUTES)
def test_attributes_in_onnx(made: Any) -> None:
    """Axes are named where there is a scale for each channel."""
    onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
    model = onnx.load_from_string(
        onnx_file(build.make_model([INPUTS[made]], lambda x: [made(x)]))
    )
    onnx.checker.check_model(model)
    shapes = {one.name: list(one.dims) for one in model.graph.initializer}
    found: list[tuple[str, dict[str, object]]] = []
    for node in model.graph.node:
        attributes = {
            one.name: onnx.helper.get_attribute_value(one) for one in node.attribute
        }
        if "Quantize" in node.op_type or "Dequantize" in node.op_type:
            has_channels = shapes[node.input[1]] == [2]
            assert attributes == ({"axis": 0} if has_channels else {})
            assert shapes[node.input[2]] == shapes[node.input[1]]
        else:
            found.append((node.op_type, attributes))
    assert found == [ATTRIBUTES[made]]


@pytest.mark.parametrize("suffix", ["tflite", "onnx"])
@pytest.mark.parametrize("made", INPUTS)
def test_the_model_comes_back(made: Any, suffix: str, tmp_path: Path) -> None:
    pytest.importorskip(suffix, reason=f"{suffix} is not installed")
    model = build.make_model([INPUTS[made]], lambda x: [made(x)])
    path = tmp_path / f"model.{suffix}"
    path.write_bytes((tflite_file if suffix == "tflite" else onnx_file)(model))
    read = qlower.load(path)
    random = np.random.default_rng(0)
    x = random.integers(-128, 128, model.inputs[0].shape, np.int8)
    wanted = qlower.interpret(model, x, contract="exact", at="qnn")
    given = x if suffix == "tflite" else channels_first(x)
    found = qlower.interpret(read, given, contract="exact", at="qnn")
    assert isinstance(wanted, np.ndarray)
    expected = wanted if suffix == "tflite" else channels_first(wanted)
    np.testing.assert_array_equal(found, expected)
