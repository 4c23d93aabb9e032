"""Running modules of one qnn operation with ONNX's reference evaluator.

Needs the optional package `onnx`; tests skip without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp

from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.interp.values import Array
from support.layers.random_modules import RandomLayer
from support.systems.onnx_runtime import Graph, convolve, storage


class _Graph(Graph):
    opset = 21

    def evaluate(self, model: Any) -> Array:
        evaluator: Any = import_module("onnx.reference")
        with np.errstate(invalid="ignore"):
            (result,) = evaluator.ReferenceEvaluator(model).run(None, self.feeds)
        return result


FLOAT_OPERATORS = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "clamp": "Clip",
    "concat": "Concat",
    "leaky_relu": "LeakyRelu",
    "requantize": "Identity",
}


def run_onnx_reference(layer: RandomLayer) -> Array:
    """What the evaluator gives for the layer: stored integers, channels last."""
    main = layer.module.body.block.first_op
    assert isinstance(main, FuncOp)
    returned = main.body.block.last_op
    assert isinstance(returned, ReturnOp)
    op: Any = returned.arguments[0].owner
    graph, values = _Graph(), layer.inputs
    match op:
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp():
            return convolve(graph, op, values[0])
        case qnn.MatMulOp():
            y = quantized_element(op.result.type)
            inputs = [
                graph.input(values[0]),
                *graph.quantization(quantized_element(op.lhs.type)),
                graph.constant(values[1]),
                *graph.quantization(quantized_element(op.rhs.type)),
                *graph.quantization(y),
            ]
            return graph.run("QLinearMatMul", inputs, storage(y))
        case qnn.QuantizeOp():
            y = quantized_element(op.result.type)
            inputs = [graph.input(values[0]), *graph.quantization(y)]
            return graph.run("QuantizeLinear", inputs, storage(y))
        case qnn.DequantizeOp():
            x = quantized_element(op.input.type)
            inputs = [graph.input(values[0]), *graph.quantization(x)]
            return graph.run("DequantizeLinear", inputs, np.float32)
        case _:
            return _in_float32(graph, op, values)


def _in_float32(graph: Graph, op: Any, values: Any) -> Array:
    """DequantizeLinear of each operand, the operator, QuantizeLinear."""
    make = graph.helper.make_node
    nodes: list[Any] = []
    reals: list[str] = []
    for operand, value in zip(op.operands, values, strict=True):
        x = quantized_element(operand.type)
        real = f"real{len(reals)}"
        inputs = [graph.input(value), *graph.quantization(x)]
        nodes.append(make("DequantizeLinear", inputs, [real]))
        reals.append(real)
    attributes: dict[str, Any] = {}
    if isinstance(op, qnn.ConcatOp):
        attributes["axis"] = op.axis
    if isinstance(op, qnn.LeakyReluOp):
        attributes["alpha"] = op.alpha
    if isinstance(op, qnn.ClampOp):
        bounds = (np.array(bound, np.float32) for bound in (op.min, op.max))
        reals += [graph.constant(bound) for bound in bounds]
    y = quantized_element(op.results[0].type)
    return graph.run_nodes(
        [
            *nodes,
            make(FLOAT_OPERATORS[op.kind], reals, ["result"], **attributes),
            make("QuantizeLinear", ["result", *graph.quantization(y)], ["y"]),
        ],
        storage(y),
    )
