"""TFLite files become qnn modules that verify, with the operators' names kept."""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_cases import (
    CASES,
    WITHOUT_REFERENCE_KERNEL,
    random_inputs,
)
from support.formats.tflite_models import conv2d, fully_connected, split, strided_slice
from support.formats.tflite_word_cases import WORDS
from support.systems.litert import run_litert
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.frontends.tflite import import_tflite
from qlower.frontends.tflite.reader import read_model
from qlower.model.layers import layer_name
from qlower.text.parsing import parse_module

MODELS = models_directory()
REAL_MODELS = sorted(MODELS.glob("*/*.tflite"))
SAMPLES = sorted((MODELS.parent / "golden" / "tflite_samples").glob("*.tflite"))

QNN_NAMES = {
    "ADD": "qnn.add",
    "AVERAGE_POOL_2D": "qnn.avg_pool2d",
    "CONV_2D": "qnn.conv2d",
    "DEPTHWISE_CONV_2D": "qnn.depthwise_conv2d",
    "DEQUANTIZE": "qnn.dequantize",
    "FULLY_CONNECTED": "qnn.linear",
    "MAX_POOL_2D": "qnn.max_pool2d",
    "MEAN": "qnn.mean",
    "PAD": "qnn.pad",
    "RESHAPE": "qnn.reshape",
    "SOFTMAX": "qnn.softmax",
    "TRANSPOSE": "qnn.transpose",
}


def main_function(module: ModuleOp) -> FuncOp:
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    return function


def layers(module: ModuleOp) -> dict[str, list[str]]:
    """The operations of every layer but constants, by layer name."""
    found: dict[str, list[str]] = {}
    for op in main_function(module).body.block.ops:
        name = layer_name(op)
        if name is not None and not op.name.endswith(".constant"):
            found.setdefault(name, []).append(op.name)
    return found


def tensor_names(attributes: ArrayAttr[DictionaryAttr] | None) -> list[str]:
    assert attributes is not None
    names = [dictionary.data["qnn.name"] for dictionary in attributes]
    return [name.data for name in names if isinstance(name, StringAttr)]


def array_type(type: Attribute) -> tuple[tuple[int, ...], str]:
    """Shape and NumPy type name of a tensor type's stored values."""
    assert isa(type, TensorType[Attribute])
    element = type.element_type
    if isinstance(element, QuantizedType):
        return type.get_shape(), "int8" if element.signed else "uint8"
    names = {"f32": "float32", "i1": "bool", "i32": "int32", "i64": "int64"}
    return type.get_shape(), names[str(element)]


def text(module: ModuleOp) -> str:
    stream = io.StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue()


def model_id(path: Path) -> str:
    return path.stem if path.stem != "model" else path.parent.name


@pytest.mark.skipif(not REAL_MODELS, reason=f"no models in {MODELS}")
def test_every_model_is_there() -> None:
    manifest = json.loads((MODELS / "manifest.json").read_text())
    assert len([path for path in REAL_MODELS if path.stem == "model"]) == 13
    assert manifest


@pytest.mark.parts(12)
@pytest.mark.parametrize("path", REAL_MODELS + SAMPLES, ids=model_id)
def test_real_models(path: Path) -> None:
    module = import_tflite(path, name=path.name)
    module.verify()
    model = read_model(path.read_bytes(), path.name)

    # Every operator is one layer, named after its result, in the file's order.
    outputs = [model.tensors[operator.outputs[0]] for operator in model.operators]
    names = [tensor.name for tensor in outputs]
    helpers = {f"{name}/reshape" for name in names}
    assert [name for name in layers(module) if name not in helpers] == names
    for operator, tensor in zip(model.operators, outputs, strict=True):
        (operation,) = layers(module)[tensor.name]
        if operator.name in QNN_NAMES:
            assert operation == QNN_NAMES[operator.name]

    function = main_function(module)
    inputs = [model.tensors[index].name for index in model.inputs]
    results = [model.tensors[index].name for index in model.outputs]
    assert tensor_names(function.arg_attrs) == inputs
    assert tensor_names(function.res_attrs) == results
    assert module.attributes["qnn.contract"] == StringAttr("tflite")
    assert module.attributes["qnn.source"] == StringAttr(path.name)


@pytest.mark.skipif(not REAL_MODELS, reason=f"no models in {MODELS}")
def test_metadata_slip_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    folder = MODELS / "person_detect_int8"
    with caplog.at_level(logging.WARNING, "qlower"):
        slipped = import_tflite(folder / "original.tflite", name="m.tflite")
    (record,) = caplog.records
    assert "14 INT32 tensors have a quantized dimension" in record.getMessage()
    caplog.clear()
    mended = import_tflite(folder / "model.tflite", name="m.tflite")
    assert not caplog.records
    assert text(slipped) == text(mended)


@pytest.mark.parts(16)
@pytest.mark.parametrize("case", [*CASES, "words_sqrt"])
def test_cases_survive_text(case: str) -> None:
    data = WORDS["sqrt"](0) if case == "words_sqrt" else CASES[case]()
    module = import_tflite(data, name="model.tflite")
    module.verify()
    printed = text(module)
    assert text(parse_module(printed.encode(), "model.mlir")) == printed


@pytest.mark.parts(12)
@pytest.mark.parametrize("case", CASES)
def test_shapes_and_types_are_what_litert_computes(case: str) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    data = CASES[case]()
    types = main_function(import_tflite(data, name="model.tflite")).function_type
    results = run_litert(
        data,
        random_inputs([array_type(type) for type in types.inputs]),
        kernels="opt" if case in WITHOUT_REFERENCE_KERNEL else "ref",
    )
    assert [(value.shape, value.dtype.name) for value in results] == [
        array_type(type) for type in types.outputs
    ]


def only(module: ModuleOp, kind: type[qnn.QnnOp]) -> qnn.QnnOp:
    (found,) = (op for op in module.walk() if isinstance(op, kind))
    return found


def test_padding_is_explicit_with_the_larger_half_after() -> None:
    # Height 9 and width 7 to 5 and 4 with a 3x3 window: 2 rows, 2 columns missing.
    module = import_tflite(
        conv2d(stride=(2, 2), output_shape=(2, 5, 4, 6)), name="model.tflite"
    )
    convolution = only(module, qnn.Conv2DOp)
    assert isinstance(convolution, qnn.Conv2DOp)
    assert convolution.pad == (1, 1, 1, 1)

    # A 3x2 window: one column is missing, and goes to the right.
    pool = only(import_tflite(CASES["avg_pool2d"](), name="m"), qnn.AvgPool2DOp)
    assert isinstance(pool, qnn.AvgPool2DOp)
    assert pool.pad == (1, 1, 0, 1)


def test_groups_follow_from_the_shapes() -> None:
    convolution = only(import_tflite(CASES["conv2d_grouped"](), name="m"), qnn.Conv2DOp)
    assert isinstance(convolution, qnn.Conv2DOp)
    assert convolution.groups == 2


def test_bias_is_optional() -> None:
    module = import_tflite(conv2d(has_bias=False), name="model.tflite")
    convolution = only(module, qnn.Conv2DOp)
    assert isinstance(convolution, qnn.Conv2DOp)
    assert convolution.bias is None


def test_scales_keep_their_float32_value() -> None:
    convolution = only(import_tflite(CASES["conv2d"](), name="m"), qnn.Conv2DOp)
    assert isinstance(convolution, qnn.Conv2DOp)
    weight = convolution.weight.type.element_type
    assert weight.axis == 0
    assert weight.scales[:2] == (0.009999999776482582, 0.013000000268220901)
    assert (weight.storage_min, weight.storage_max) == (-128, 127)


def test_helpers_carry_a_suffix() -> None:
    module = import_tflite(fully_connected(input_shape=(2, 3, 4)), name="model.tflite")
    assert layers(module) == {"y/reshape": ["qnn.reshape"], "y": ["qnn.linear"]}
    module = import_tflite(
        strided_slice((1,), (2,), (1,), (5, 6), shrink_axis_mask=1), name="m"
    )
    assert layers(module) == {"y/slice": ["qnn.slice"], "y": ["qnn.reshape"]}


def test_several_results() -> None:
    module = import_tflite(split(), name="model.tflite")
    assert layers(module) == {"y0": ["qnn.split"]}
    assert tensor_names(main_function(module).res_attrs) == ["y0", "y1", "y2"]
    module = import_tflite(CASES["split_v_unequal"](), name="model.tflite")
    assert list(layers(module)) == ["y0", "y1", "y2"]


def relu_chain(*names: str | bytes) -> bytes:
    builder = TFLiteBuilder()
    tensors = [builder.tensor(name, (1, 4), scale=0.1) for name in names]
    for source, target in pairwise(tensors):
        builder.operator("RELU", [source], [target])
    return builder.build(tensors[:1], tensors[-1:])


def test_equal_names_are_told_apart() -> None:
    module = import_tflite(relu_chain("x", "y", "y", "", b"z\xff\n"), name="m.tflite")
    assert list(layers(module)) == ["y", "y#2", "#3", "z\ufffd\ufffd"]
    printed = text(module)
    assert text(parse_module(printed.encode(), "m.mlir")) == printed


def test_one_tensor_as_two_results() -> None:
    builder = TFLiteBuilder()
    x, y = (builder.tensor(name, (1, 4), scale=0.1) for name in "xy")
    builder.operator("RELU", [x], [y])
    function = main_function(import_tflite(builder.build([x], [y, y]), name="m"))
    assert tensor_names(function.res_attrs) == ["y", "y#result1"]


def test_results_can_be_inputs_and_constants() -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x", (4,), scale=0.1)
    c = builder.tensor("c", (4,), scale=0.1, data=[1, 2, 3, 4])
    module = import_tflite(builder.build([x], [x, c]), name="m")
    module.verify()
    ops = [type(op) for op in main_function(module).body.block.ops]
    assert ops == [qnn.ConstantOp, ReturnOp]


def test_a_constant_is_emitted_once_before_its_first_use() -> None:
    builder = TFLiteBuilder()
    x, y, z = (builder.tensor(name, (1, 4), scale=0.1) for name in "xyz")
    c = builder.tensor("c", (4,), scale=0.1, data=[1, 2, 3, 4])
    builder.operator("ADD", [x, c], [y])
    builder.operator("ADD", [y, c], [z])
    module = import_tflite(builder.build([x], [z]), name="m")
    ops = [op.name for op in main_function(module).body.block.ops]
    assert ops == ["qnn.constant", "qnn.add", "qnn.add", "func.return"]


def test_a_bias_of_any_shape_is_a_list() -> None:
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 3), scale=0.1)
    w = builder.tensor("w", (2, 3), scale=0.1, data=list(range(6)))
    b = builder.tensor("b", (1, 2), "int32", data=[7, 8])
    y = builder.tensor("y", (1, 2), scale=0.1)
    builder.operator("FULLY_CONNECTED", [x, w, b], [y])
    linear = only(import_tflite(builder.build([x], [y]), name="m"), qnn.LinearOp)
    assert isinstance(linear, qnn.LinearOp)
    assert linear.bias is not None
    assert linear.bias.type.get_shape() == (2,)


def test_real_constants() -> None:
    builder = TFLiteBuilder()
    c = builder.tensor("c", (2,), "float32", data=np.array([0.5, -3], np.float32))
    y = builder.tensor("y", (2,), scale=0.1)
    builder.operator("QUANTIZE", [c], [y])
    module = import_tflite(builder.build([], [y]), name="m")
    module.verify()
    assert "dense<[5.000000e-01, -3.000000e+00]> : tensor<2xf32>" in text(module)


def test_import_by_path(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(CASES["relu"]())
    module = import_tflite(path, name="models/model.tflite")
    assert module.attributes["qnn.source"] == StringAttr("model.tflite")
    kinds = Counter(op.name for op in main_function(module).body.block.ops)
    assert kinds == {"qnn.relu": 1, "func.return": 1}
