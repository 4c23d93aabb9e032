"""Networks as MNN's own converter and quantizer make them, and as qnn modules.

Needs the optional package; tests skip without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from json import dumps, loads
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.build import constant, make_model, quantized_per_axis
from support.systems.mnn_weights import weight_codes

F = np.float32
Graph = Mapping[str, Any]
"""A network as MNN writes it as text."""

QUANTIZED = ("Convolution", "ConvolutionDepthwise", "BinaryOp", "Pooling", "Pooling3D")
"""Kinds of layers that MNN computes with codes."""


def quantized_by_mnn(path: Path, images: Sequence[Array]) -> Graph:
    """A file of ONNX with an input `x` and an output `y`, converted and quantized.

    Images [1, C, H, W] calibrate it. A file `.mnn` beside it is made of the text, whose
    numbers have six digits, so that these are the network's.
    """
    tools: Any = import_module("_tools")
    real, made, text = (path.with_suffix(end) for end in (".real", ".mnn", ".json"))
    first = ["mnnconvert", "--bizCode", "qlower"]
    tools.mnnconvert(
        [*first, "-f", "ONNX", "--modelFile", str(path), "--MNNModel", str(real)]
    )
    calibration = path.with_suffix(".images")
    shape = images[0].shape
    for number, image in enumerate(images):
        folder = calibration / str(number)
        folder.mkdir(parents=True)
        np.savetxt(folder / "x.txt", image.ravel())
        ports = {"inputs": [{"name": "x", "shape": list(shape)}], "outputs": ["y"]}
        (folder / "input.json").write_text(dumps(ports))
    options = {
        **{"path": f"{calibration}/", "used_sample_num": len(images)},
        **{"feature_quantize_method": "KL", "weight_quantize_method": "MAX_ABS"},
        **{"model": str(real), "input_type": "sequence", "format": "RGB"},
        **{"mean": [0, 0, 0], "normal": [1, 1, 1]},
        **{"width": shape[3], "height": shape[2]},
    }
    settings = path.with_suffix(".settings")
    settings.write_text(dumps(options))
    tools.mnnquant(["mnnquant", str(real), str(made), str(settings)])
    tools.mnnconvert(
        [*first, "-f", "MNN", "--modelFile", str(made), "--JsonFile", str(text)]
    )
    tools.mnnconvert(
        [*first, "-f", "JSON", "--modelFile", str(text), "--MNNModel", str(made)]
    )
    return loads(text.read_text())


def layers_of_codes(graph: Graph) -> list[str]:
    """The results of layers that MNN computes with codes, whatever they are for."""
    described = {one["index"] for one in graph["extraTensorDescribe"]}
    return [
        graph["tensorName"][op["outputIndexes"][0]]
        for op in graph["oplists"]
        if op["type"] in QUANTIZED and op["outputIndexes"][0] in described
    ]


def mnn_values(path: Path, x: Array, names: Sequence[str]) -> list[Array]:
    """The real numbers that MNN has for a network's values, with channels first."""
    mnn: Any = import_module("_mnncengine")
    net = mnn.Interpreter(str(path))
    session = net.createSession({"numThread": 1, "saveTensors": tuple(names)})
    caffe, real = mnn.Tensor_DimensionType_Caffe, mnn.Halide_Type_Float
    entry = net.getSessionInput(session)
    entry.copyFrom(mnn.Tensor(x.shape, real, np.ascontiguousarray(x), caffe))
    net.runSession(session)
    found: list[Array] = []
    results = net.getSessionOutputAll(session)
    for name in names:
        shape = results[name].getShape()
        host = mnn.Tensor(shape, real, np.zeros(shape, F), caffe)
        results[name].copyToHostTensor(host)
        found.append(np.array(host.getData(), F).reshape(shape))
    return found


def module_of(graph: Graph, names: Sequence[str], x_shape: Sequence[int]) -> Model:
    """The network from real numbers, channels last, to the codes of these values."""
    indices = [graph["tensorName"].index(name) for name in names]

    def body(x: SSAValue) -> list[SSAValue]:
        values = {0: x}
        types = {one["index"]: one["quantInfo"] for one in graph["extraTensorDescribe"]}
        last = graph["tensorName"].index(graph["outputName"][0])
        for op in graph["oplists"]:
            (at,) = op["outputIndexes"]
            given = [values[n] for n in op.get("inputIndexes", ()) if n in values]
            if given and at != last:
                values[at] = _layer(op, given, types.get(at))
        return [values[at] for at in indices]

    return make_model([TensorType(f32, x_shape)], body)


def _layer(op: Graph, given: Sequence[SSAValue], info: Graph | None) -> SSAValue:
    """The result of a layer: codes, or where nothing describes it what goes in."""
    x, *more = given
    if info is None:
        return x
    main = op.get("main", {})

    def stored(shape: Sequence[int]) -> TensorType[Attribute]:
        scale, zero, least = info["scale"], int(info["zero"]), int(info["min"])
        element = QuantizedType.per_tensor(8, True, scale, zero, least)
        return TensorType(element, shape)

    shape = shape_of(x)
    match op["type"]:
        case "Convolution" | "ConvolutionDepthwise":
            return _convolution(main, x, stored)
        case "BinaryOp":
            assert main["opType"] == "ADD"
            activation = "relu" if main["activationType"] else None
            return qnn.AddOp(x, *more, stored(shape), activation=activation).result
        case "Pooling" | "Pooling3D":
            assert main["type"] == "AVEPOOL"
            kernel = shape[1:3]
            assert main["isGlobal"] or (main["kernelY"], main["kernelX"]) == kernel
            y = stored((shape[0], 1, 1, shape[3]))
            return qnn.AvgPool2DOp(x, y, kernel=kernel, stride=kernel).result
        case _:
            # conversions of layout, and reshapes through real numbers
            if isinstance(element_type(x.type), QuantizedType):
                x = qnn.DequantizeOp(x, TensorType(f32, shape)).result
            return qnn.QuantizeOp(x, stored(shape)).result


def _convolution(
    main: Graph,
    x: SSAValue,
    stored: Callable[[Sequence[int]], TensorType[Attribute]],
) -> SSAValue:
    common, quantized = main["common"], main["quanParameter"]
    is_depthwise = common["group"] > 1
    kernel = common["kernelY"], common["kernelX"]
    stride = common["strideY"], common["strideX"]
    top, left, bottom, right = common.get("pads", (0, 0, 0, 0))
    count = common["outputCount"]
    codes = weight_codes(quantized["type"], quantized["buffer"])
    codes = codes.reshape(count, -1, *kernel)
    codes = codes.transpose((1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1))
    codes = np.ascontiguousarray(codes)
    axis = 3 if is_depthwise else 0
    weights = constant(codes, quantized_per_axis(codes.shape, axis, quantized["alpha"]))
    _, rows, columns, _ = shape_of(x)
    sizes = (
        (size + before + after - window) // step + 1
        for size, before, after, window, step in zip(
            *((rows, columns), (top, left), (bottom, right), kernel, stride),
            strict=True,
        )
    )
    y = stored((1, *sizes, count))
    if common["relu6"]:
        _require_codes_within_6(quantized_element(y))
    return (qnn.DepthwiseConv2DOp if is_depthwise else qnn.Conv2DOp)(
        *(x, weights, constant(np.array(main["bias"], F))),
        y,
        stride=stride,
        pad=(top, bottom, left, right),
        activation="relu" if common["relu"] or common["relu6"] else None,
    ).result


def _require_codes_within_6(y: QuantizedType) -> None:
    """A ReLU6 is a ReLU where no code is above 6; MNN's own bound wasn't read."""
    largest = (y.storage_max - y.zero_point) * y.scales[0]
    assert largest <= 6, f"a ReLU6 of codes up to {largest}, more than 6"
