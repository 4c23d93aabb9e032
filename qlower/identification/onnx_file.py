"""A probe as an `.onnx` file, in QDQ form. Needs the extra `onnx`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.emit.tensors import constant_of
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import main_function
from qlower.model.layers import is_constant, value_names
from qlower.observe.layer_run import CONTRACTIONS

OPSET, IR = 17, 8
"""Versions of the operators and of the format that have all that is written."""

FIRST = (0, 3, 1, 2)
"""The dimensions of an image with its channels first."""


def onnx_file(model: Model) -> bytes:
    """The file of a model of convolutions, linear layers, sums, products and averages:
    float operators between QuantizeLinear and DequantizeLinear. Images have their
    channels first."""
    return _Writer(model).file()


def channels_first(array: Array) -> Array:
    """An image as the file has it; other arrays as they are."""
    return np.transpose(array, FIRST) if array.ndim == 4 else array


class _Writer:
    """A graph under construction; the package's functions have no types."""

    def __init__(self, model: Model) -> None:
        self.helper: Any = import_module("onnx.helper")
        self.numpy: Any = import_module("onnx.numpy_helper")
        self.module, self.names = model.module, value_names(model.module)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def file(self) -> bytes:
        block = main_function(self.module).body.block
        for op in block.ops:
            if not is_constant(op) and not isinstance(op, ReturnOp):
                self._layer(op)
        terminator = block.last_op
        assert terminator is not None
        graph = self.helper.make_graph(
            self.nodes,
            "probe",
            [self._port(value) for value in block.args],
            [self._port(value) for value in terminator.operands],
            self.constants,
        )
        opset = self.helper.make_opsetid("", OPSET)
        made = self.helper.make_model(graph, opset_imports=[opset], ir_version=IR)
        data: bytes = made.SerializeToString()
        return data

    def _port(self, value: SSAValue) -> Any:
        shape = np.array(shape_of(value))
        sizes = shape[list(FIRST)] if len(shape) == 4 else shape
        dtype = np.int8 if quantized_element(value.type).signed else np.uint8
        type = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.helper.make_tensor_value_info(
            self.names[value], type, sizes.tolist()
        )

    def _layer(self, op: Operation) -> None:
        """The op on real numbers, its operands dequantized, its result quantized."""
        name = self.names[op.results[0]]
        reals = [self._real(op, index, name) for index in range(len(op.operands))]
        kind, attributes = _operator(op)
        real = self._node(kind, reals, f"{name}_real", **attributes)
        self._quantization("QuantizeLinear", real, op.results[0], name)

    def _real(self, op: Operation, index: int, layer: str) -> str:
        operand = op.operands[index]
        name = f"{layer}_{index}"
        data = constant_of(operand)
        if data is None:
            source = self.names[operand]
            return self._quantization("DequantizeLinear", source, operand, name)
        if index == 2:
            assert isinstance(op, CONTRACTIONS)
            weights = np.array(quantized_element(op.weight.type).scales, np.float32)
            scale = weights * np.float32(quantized_element(op.input.type).scale)
            scale = scale if len(scale) > 1 else scale.reshape(())
            parameters = self._parameters(name, scale, np.zeros(scale.shape, np.int32))
            stored = self._constant(data, f"{name}_stored")
            axis = {"axis": 0} if scale.ndim else {}
            return self._node("DequantizeLinear", [stored, *parameters], name, **axis)
        if isinstance(op, qnn.DepthwiseConv2DOp):
            data = np.transpose(data, (3, 0, 1, 2))
        elif data.ndim == 4:
            data = np.transpose(data, FIRST)
        stored = self._constant(data, f"{name}_stored")
        return self._quantization("DequantizeLinear", stored, operand, name)

    def _quantization(
        self, kind: str, source: str, value: SSAValue, result: str
    ) -> str:
        """Add a conversion between a value's stored integers and real numbers."""
        element = element_type(value.type)
        assert isinstance(element, QuantizedType)
        scale = np.array(element.scales, np.float32)
        point = np.array(element.zero_points, np.int8 if element.signed else np.uint8)
        if element.is_per_tensor:
            scale, point = scale.reshape(()), point.reshape(())
        parameters = self._parameters(result, scale, point)
        axis = {} if element.is_per_tensor else {"axis": 0}
        return self._node(kind, [source, *parameters], result, **axis)

    def _parameters(self, name: str, scale: Array, zero_point: Array) -> list[str]:
        found = self._constant(np.asarray(scale), f"{name}_scale")
        return [found, self._constant(zero_point, f"{name}_zero_point")]

    def _constant(self, values: Array, name: str) -> str:
        self.constants.append(
            self.numpy.from_array(np.asarray(values, order="C"), name)
        )
        return name

    def _node(
        self, kind: str, inputs: Sequence[str], result: str, **attributes: object
    ) -> str:
        node = self.helper.make_node(kind, inputs, [result], f"{result}_node")
        for key, value in attributes.items():
            node.attribute.append(self.helper.make_attribute(key, value))
        self.nodes.append(node)
        return result


def _operator(op: Operation) -> tuple[str, dict[str, object]]:
    """The float operator of an op, and its attributes."""
    match op:
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp():
            groups = (
                op.groups if isinstance(op, qnn.Conv2DOp) else shape_of(op.input)[3]
            )
            top, bottom, left, right = op.pad
            pads = [top, left, bottom, right]
            return "Conv", {"strides": list(op.stride), "pads": pads, "group": groups}
        case qnn.LinearOp():
            return "Gemm", {"transB": 1}
        case qnn.AvgPool2DOp():
            kernel, strides = list(op.kernel), list(op.stride)
            return "AveragePool", {"kernel_shape": kernel, "strides": strides}
        case qnn.AddOp():
            return "Add", {}
        case qnn.MulOp():
            return "Mul", {}
        case _:
            raise AssertionError(f"a probe has no {op.name}")
