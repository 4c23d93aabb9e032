"""Modules of one qnn operation on MNN.

Needs the optional package; tests skip without it. Its extension modules are used alone:
`MNN.tools` installs packages and reports to a server as it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from json import dumps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import shape_of
from qlower.interp.values import Array
from support.layers.random_modules import RandomLayer
from support.systems.phone_systems import One, channels_last, one_of

F = np.float32
BINARY = {qnn.AddOp: "ADD", qnn.SubOp: "SUB", qnn.MulOp: "MUL"}


def run_mnn(layer: RandomLayer) -> Array:
    """What MNN gives for a layer: codes."""
    one = one_of(layer)
    converter: Any = import_module("_tools")
    mnn: Any = import_module("_mnncengine")
    types = [quantized_element(one.op.operands[n].type) for n in range(len(one.inputs))]
    images = [
        _image(codes, type) for codes, type in zip(one.inputs, types, strict=True)
    ]
    shape = shape_of(one.op.results[0])
    full = shape if len(shape) == 4 else (shape[0], 1, 1, shape[1])
    size = tuple(full[dimension] for dimension in (0, 3, 1, 2))
    with TemporaryDirectory() as folder:
        text, made = f"{folder}/layer.json", f"{folder}/layer.mnn"
        graph = _graph(one, types, [image.shape for image in images])
        Path(text).write_text(dumps(graph))
        names = ["mnnconvert", "-f", "JSON", "--modelFile", text, "--MNNModel", made]
        converter.mnnconvert([*names, "--bizCode", "qlower"])
        net = mnn.Interpreter(made)
        session = net.createSession({"numThread": 1})
        caffe = mnn.Tensor_DimensionType_Caffe
        float_type = mnn.Halide_Type_Float
        for number, real in enumerate(images):
            entry = net.getSessionInput(session, f"t{number}")
            entry.copyFrom(mnn.Tensor(real.shape, float_type, real, caffe))
        net.runSession(session)
        host = mnn.Tensor(size, float_type, np.zeros(size, F), caffe)
        net.getSessionOutput(session).copyToHostTensor(host)
        found = np.array(host.getData(), np.float64).reshape(size)
    stored = np.rint(found / float(F(one.y.scales[0]))) + one.y.zero_point
    return channels_last(stored).reshape(shape).astype(np.int8)


def _image(codes: Array, type: QuantizedType) -> Array:
    """Codes as real numbers, with channels first."""
    codes = codes if codes.ndim == 4 else codes[:, None, None, :]
    first = np.ascontiguousarray(codes.transpose(0, 3, 1, 2))
    steps = first.astype(F) - F(type.zero_point)
    return (steps * F(type.scales[0])).astype(F)


def _graph(
    one: One, types: Sequence[QuantizedType], shapes: Sequence[tuple[int, ...]]
) -> dict[str, object]:
    """Inputs, a layer, output, with conversions of layout between."""
    count = len(types)
    to_blocks = {"source": "NCHW", "dest": "NC4HW4"}
    back = {"source": "NC4HW4", "dest": "NCHW"}
    steps: list[tuple[str, str, object, Sequence[int]]] = []
    for shape in shapes:
        entry = {"dims": list(shape), "dtype": "DT_FLOAT", "dformat": "NCHW"}
        steps.append(("Input", "Input", entry, ()))
    for number in range(count):
        steps.append(("ConvertTensor", "TensorConvertInfo", to_blocks, [number]))
    operands = range(count, 2 * count)
    match one.op:
        case qnn.AvgPool2DOp():
            steps.append(("Pooling", "Pool", _pool(one.op), operands))
        case qnn.AddOp() | qnn.SubOp() | qnn.MulOp() as op:
            kind = BINARY[type(op)]
            body = {"opType": kind, "T": "DT_FLOAT", "activationType": int(one.relu)}
            steps.append(("BinaryOp", "BinaryOp", body, operands))
        case _:
            kind, body = _contraction(one, shapes[0][1])
            steps.append((kind, "Convolution2D", body, operands))
    steps.append(("ConvertTensor", "TensorConvertInfo", back, [2 * count]))
    ops = [
        {
            **({"inputIndexes": list(inputs)} if inputs else {}),
            **{"type": kind, "main_type": main, "main": body, "name": f"t{at}"},
            **{"outputIndexes": [at], "defaultDimentionFormat": "NHWC"},
        }
        for at, (kind, main, body, inputs) in enumerate(steps)
    ]
    infos = [
        {
            "index": at,
            "quantInfo": {
                **{"scale": type.scales[0], "zero": float(type.zero_point)},
                **{"min": float(type.storage_min), "max": float(type.storage_max)},
                "type": "DT_INT8",
            },
        }
        for at, type in enumerate((*types, *types, one.y, one.y))
    ]
    return {
        **{"bizCode": "qlower", "extraTensorDescribe": infos, "oplists": ops},
        **{"outputName": [f"t{len(steps) - 1}"], "preferForwardType": "CPU"},
        **{"sourceType": "ONNX", "tensorName": [f"t{at}" for at in range(len(steps))]},
        "usage": "INFERENCE",
    }


def _pool(op: qnn.AvgPool2DOp) -> Mapping[str, object]:
    top, _, left, _ = op.pad
    return {
        **{"padX": left, "padY": top, "isGlobal": False, "type": "AVEPOOL"},
        **{"kernelX": op.kernel[1], "kernelY": op.kernel[0]},
        **{"strideX": op.stride[1], "strideY": op.stride[0]},
        **{"padType": "CAFFE", "dataType": "DT_FLOAT", "ceilModel": False},
        "countType": "DEFAULT",
    }


def _contraction(one: One, channels: int) -> tuple[str, Mapping[str, object]]:
    """The kind of layer, and the layer; weights as indices of all bytes."""
    op, count = one.op, shape_of(one.op.results[0])[-1]
    is_depthwise = isinstance(op, qnn.DepthwiseConv2DOp)
    weights = one.weights
    kernel = weights.shape[1:3] if weights.ndim == 4 else (1, 1)
    stride = dilation = (1, 1)
    pad = (0, 0, 0, 0)
    if isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp):
        stride, dilation, pad = op.stride, op.dilation, op.pad
        weights = weights.transpose((3, 0, 1, 2) if is_depthwise else (0, 3, 1, 2))
    rows = np.ascontiguousarray(weights).reshape(count, -1)
    sizes = [n for size in rows.shape for n in (size & 255, size >> 8)]
    stored = [2, *sizes, 0, *range(128, 256), *range(128), *(rows.ravel() + 128)]
    buffer = np.array(stored, np.uint8).astype(np.int8).tolist()
    top, bottom, left, right = pad
    common = {
        **{"kernelX": kernel[1], "kernelY": kernel[0]},
        **{"strideX": stride[1], "strideY": stride[0]},
        **{"dilateX": dilation[1], "dilateY": dilation[0]},
        **{"padMode": "CAFFE", "pads": [top, left, bottom, right]},
        **{"padX": left, "padY": top, "hasOutputShape": False},
        **{"group": count if is_depthwise else 1, "outputCount": count},
        **{"inputCount": channels, "relu": one.relu, "relu6": False},
    }
    ends = {"clampMin": one.y.storage_min, "clampMax": one.y.storage_max}
    quantized = {
        **{"buffer": buffer, "alpha": one.weight_scales.tolist(), "type": 1},
        **{"scaleIn": one.x.scales[0], "scaleOut": one.y.scales[0]},
        **{"quantScale": 1.0, "aMaxOrBits": 8, "scaleStorage": "FP32"},
    }
    layer = {
        "common": common,
        "bias": one.bias.tolist(),
        "quanParameter": quantized,
        "symmetricQuan": {
            **{"method": "DEFAULT", "nbits": 8, "outputDataType": "DT_INT8"},
            **{"zeroPoint": one.x.zero_point, "outputZeroPoint": one.y.zero_point},
            **ends,
        },
    }
    return "ConvolutionDepthwise" if is_depthwise else "Convolution", layer
