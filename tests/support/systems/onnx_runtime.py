"""Running modules of one qnn operation with ONNX Runtime's quantized operators.

Needs the optional packages `onnx` and `onnxruntime`; tests skip without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f16
from xdsl.dialects.func import FuncOp, ReturnOp

from qlower.dialects import qnn
from qlower.dialects.qnn import ACTIVATION_BOUNDS
from qlower.dialects.qnn.base import ActivatedOp
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.interp.values import Array
from support.layers.random_modules import RandomLayer

MICROSOFT = "com.microsoft"


class Graph:
    """A graph of one node under construction; every other input is a constant."""

    opset = 17

    def __init__(self) -> None:
        self.helper: Any = import_module("onnx.helper")
        self.numpy: Any = import_module("onnx.numpy_helper")
        self.constants: list[Any] = []
        self.feeds: dict[str, Array] = {}

    def constant(self, values: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.numpy.from_array(values, name))
        return name

    def input(self, values: Array) -> str:
        name = f"x{len(self.feeds)}"
        self.feeds[name] = values
        return name

    def scale(self, type: QuantizedType) -> str:
        """One number, or one for each channel."""
        half = type.expressed_type == f16
        scales = np.array(type.scales, np.float16 if half else np.float32)
        return self.constant(scales if type.is_per_axis else scales.reshape(()))

    def zero_point(self, type: QuantizedType) -> str:
        points = np.array(type.zero_points, np.int8 if type.signed else np.uint8)
        return self.constant(points if type.is_per_axis else points.reshape(()))

    def quantization(self, type: QuantizedType) -> list[str]:
        return [self.scale(type), self.zero_point(type)]

    def run(
        self,
        operator: str,
        inputs: Sequence[str],
        output: type[np.generic],
        domain: str = "",
        attributes: Mapping[str, Any] = {},
    ) -> Array:
        node = self.helper.make_node(
            operator, inputs, ["y"], domain=domain, **attributes
        )
        return self.run_nodes([node], output)

    def run_nodes(self, nodes: Sequence[Any], output: type[np.generic]) -> Array:
        helper = self.helper
        element = helper.np_dtype_to_tensor_dtype
        feeds = [
            helper.make_tensor_value_info(name, element(x.dtype), x.shape)
            for name, x in self.feeds.items()
        ]
        y = helper.make_tensor_value_info("y", element(np.dtype(output)), None)
        graph = helper.make_graph(nodes, "layer", feeds, [y], self.constants)
        opsets = [
            helper.make_opsetid("", self.opset),
            helper.make_opsetid(MICROSOFT, 1),
        ]
        return self.evaluate(
            helper.make_model(graph, opset_imports=opsets, ir_version=10)
        )

    def evaluate(self, model: Any) -> Array:
        """What ONNX Runtime gives for the model on the inputs."""
        runtime: Any = import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        # Nodes are run as they are written.
        options.graph_optimization_level = (
            runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        )
        session = runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        (result,) = session.run(None, self.feeds)
        return result


def run_onnx_runtime(layer: RandomLayer) -> Array:
    """What ONNX Runtime gives for the layer: stored integers, channels last."""
    main = layer.module.body.block.first_op
    assert isinstance(main, FuncOp)
    returned = main.body.block.last_op
    assert isinstance(returned, ReturnOp)
    op: Any = returned.arguments[0].owner
    y = _run(Graph(), op, layer.inputs)
    activation = op.activation if isinstance(op, ActivatedOp) else None
    if activation is None:
        return y
    type = quantized_element(op.results[0].type)
    return _clip(Graph(), y, type, type, ACTIVATION_BOUNDS[activation])


def _run(graph: Graph, op: Any, values: Sequence[Array]) -> Array:
    """The operation without its fused activation."""
    match op:
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp():
            return convolve(graph, op, values[0])
        case qnn.LinearOp():
            return _linear(graph, op, values[0])
        case qnn.MatMulOp():
            y = quantized_element(op.result.type)
            inputs = []
            for operand, value in zip(op.operands, values, strict=True):
                x = graph.input(value)
                inputs += [x, *graph.quantization(quantized_element(operand.type))]
            return graph.run(
                "QLinearMatMul", inputs + graph.quantization(y), storage(y)
            )
        case qnn.AddOp() | qnn.MulOp():
            inputs: list[str] = []
            for operand, value in zip(op.operands, values, strict=True):
                x = graph.input(value)
                inputs += [x, *graph.quantization(quantized_element(operand.type))]
            y = quantized_element(op.result.type)
            operator = "QLinearAdd" if isinstance(op, qnn.AddOp) else "QLinearMul"
            inputs += graph.quantization(y)
            return graph.run(operator, inputs, storage(y), MICROSOFT)
        case qnn.ConcatOp():
            y = quantized_element(op.result.type)
            inputs = graph.quantization(y)
            for operand, value in zip(op.operands, values, strict=True):
                x = graph.input(value)
                inputs += [x, *graph.quantization(quantized_element(operand.type))]
            axis = {"axis": op.axis}
            return graph.run("QLinearConcat", inputs, storage(y), MICROSOFT, axis)
        case qnn.MeanOp():
            layout = {"channels_last": 1}
            return _unary(graph, "QLinearGlobalAveragePool", op, values[0], layout)
        case qnn.AvgPool2DOp():
            top, bottom, left, right = op.pad
            window = {
                "kernel_shape": list(op.kernel),
                "strides": list(op.stride),
                "pads": [top, left, bottom, right],
                "count_include_pad": int(op.count_include_pad),
                "channels_last": 1,
            }
            return _unary(graph, "QLinearAveragePool", op, values[0], window)
        case qnn.LeakyReluOp():
            alpha = {"alpha": op.alpha}
            return _unary(graph, "QLinearLeakyRelu", op, values[0], alpha)
        case qnn.SigmoidOp():
            return _unary(graph, "QLinearSigmoid", op, values[0], {})
        case qnn.SoftmaxOp():
            rows = {"axis": -1, "opset": 13}
            return _unary(graph, "QLinearSoftmax", op, values[0], rows)
        case qnn.QuantizeOp():
            y = quantized_element(op.result.type)
            inputs = [graph.input(values[0]), *graph.quantization(y)]
            return graph.run("QuantizeLinear", inputs, storage(y))
        case qnn.DequantizeOp():
            x = quantized_element(op.input.type)
            inputs = [graph.input(values[0]), *graph.quantization(x)]
            return graph.run("DequantizeLinear", inputs, np.float32)
        case qnn.ReluOp() | qnn.Relu6Op() | qnn.ClampOp():
            x, y = quantized_element(op.input.type), quantized_element(op.result.type)
            bounds = ACTIVATION_BOUNDS.get(op.name.removeprefix("qnn."))
            if isinstance(op, qnn.ClampOp):
                bounds = op.min, op.max
            assert bounds is not None
            return _clip(graph, values[0], x, y, bounds)
        case _:
            raise NotImplementedError(str(op))


def _unary(
    graph: Graph, operator: str, op: Any, value: Array, attributes: Mapping[str, Any]
) -> Array:
    """One of Microsoft's operators on one quantized tensor."""
    x, y = quantized_element(op.input.type), quantized_element(op.result.type)
    inputs = [graph.input(value), *graph.quantization(x), *graph.quantization(y)]
    return graph.run(operator, inputs, storage(y), MICROSOFT, attributes)


def _clip(
    graph: Graph,
    stored: Array,
    x: QuantizedType,
    y: QuantizedType,
    bounds: tuple[float | None, float | None],
) -> Array:
    """DequantizeLinear, Clip, QuantizeLinear."""
    make = graph.helper.make_node
    limits = [
        "" if bound is None else graph.constant(np.array(bound, np.float32))
        for bound in bounds
    ]
    dequantized = [graph.input(stored), *graph.quantization(x)]
    nodes = [
        make("DequantizeLinear", dequantized, ["real"]),
        make("Clip", ["real", *limits], ["clipped"]),
        make("QuantizeLinear", ["clipped", *graph.quantization(y)], ["y"]),
    ]
    return graph.run_nodes(nodes, storage(y))


def convolve(
    graph: Graph, op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp, image: Array
) -> Array:
    """QLinearConv, which has channels first."""
    depthwise = isinstance(op, qnn.DepthwiseConv2DOp)
    weights = _constant(op.weight.owner).reshape(op.weight.type.get_shape())
    weights = weights.transpose((3, 0, 1, 2) if depthwise else (0, 3, 1, 2))
    x, y = quantized_element(op.input.type), quantized_element(op.result.type)
    w = quantized_element(op.weight.type)
    inputs = [
        graph.input(np.ascontiguousarray(image.transpose(0, 3, 1, 2))),
        *graph.quantization(x),
        graph.constant(np.ascontiguousarray(weights)),
        *graph.quantization(w),
        *graph.quantization(y),
        graph.constant(_bias(op)),
    ]
    top, bottom, left, right = op.pad
    attributes = {
        "strides": list(op.stride),
        "dilations": list(op.dilation),
        "pads": [top, left, bottom, right],
        "group": image.shape[3] if depthwise else op.groups,
    }
    result = graph.run("QLinearConv", inputs, storage(y), attributes=attributes)
    return np.ascontiguousarray(result.transpose(0, 2, 3, 1))


def _linear(graph: Graph, op: qnn.LinearOp, rows: Array) -> Array:
    weights = _constant(op.weight.owner).reshape(op.weight.type.get_shape())
    x, y = quantized_element(op.input.type), quantized_element(op.result.type)
    inputs = [
        graph.input(rows),
        *graph.quantization(x),
        graph.constant(weights),
        *graph.quantization(quantized_element(op.weight.type)),
        graph.constant(_bias(op)),
        *graph.quantization(y),
    ]
    return graph.run("QGemm", inputs, storage(y), MICROSOFT, {"transB": 1})


def storage(type: QuantizedType) -> type[np.generic]:
    return np.int8 if type.signed else np.uint8


def _constant(owner: Any) -> Array:
    return np.frombuffer(owner.value.data.data, np.int8)


def _bias(op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp) -> Array:
    assert op.bias is not None
    owner: Any = op.bias.owner
    return np.frombuffer(owner.value.data.data, np.int32)
