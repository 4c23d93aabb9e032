"""Modules of one qnn operation as ONNX files in QDQ form, which OpenVINO reads.

Needs the optional packages `onnx` and `openvino`; tests skip without them.
"""

from __future__ import annotations

import numpy as np

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.interp.values import Array
from support.formats.onnx_builder import OnnxBuilder
from support.layers.random_modules import RandomLayer
from support.systems.phone_systems import (
    SEQUENCE_ROWS,
    One,
    OpenVino,
    channels_last,
    one_of,
    real_of,
)

F = np.float32


class QdqFile:
    """The file of one operation between quantizations; a layer of int8 that does
    nothing follows. `rows` of codes are given at a time, or all."""

    def __init__(self, one: One, rows: int | None = None) -> None:
        self.one, self.builder = one, OnnxBuilder(13)
        self.given = [one.real_input]
        if one.addend is not None:
            self.given.append(real_of(one.inputs[1], one.addend))
        shapes = [[rows or len(x), *x.shape[1:]] for x in self.given]
        entries = [self.builder.input(f"x{n}", shape) for n, shape in enumerate(shapes)]
        value = entries[0]
        if not isinstance(one.op, qnn.QuantizeOp):
            value = self._result(self._pair(value, one.x))
        if isinstance(one.op, qnn.FusedAddOp):
            assert one.addend is not None
            pair = self._pair(value, one.op.summand), self._pair(entries[1], one.addend)
            pair = pair if len(one.weights) % 2 else pair[::-1]
            value = self.builder.node("Add", pair)
        value = self._pair(self._activated(value), one.y)
        self.builder.node("Identity", [self._kept(value)], "y")
        self.builder.output("y")

    def run(self) -> Array:
        """Codes."""
        network = OpenVino()
        compiled = network.compiled(network.core.read_model(self.builder.build()))
        size = compiled.inputs[0].shape[0]
        found = [
            np.asarray(compiled([x[row : row + size] for x in self.given])[0]).copy()
            for row in range(0, len(self.given[0]), size)
        ]
        real, y = channels_last(np.concatenate(found)), self.one.y
        codes = np.rint(real.astype(np.float64) / F(y.scales[0])) + y.zero_point
        shape = shape_of(self.one.op.results[0])
        return codes.reshape(shape).astype(np.int8 if y.signed else np.uint8)

    def _pair(self, value: str, type: QuantizedType) -> str:
        step = float(F(type.scales[0])), type.zero_point, "i1" if type.signed else "u1"
        return self.builder.pair(value, *step)

    def _weights(self, weights: Array, scales: Array, axis: int = 0) -> str:
        stored = self.builder.constant(weights.astype(np.int8))
        one = len(np.unique(scales)) == 1
        return self.builder.dequantize(
            stored, scales[0] if one else scales, 0, "i1", axis=axis
        )

    def _result(self, x: str) -> str:
        one, op, node = self.one, self.one.op, self.builder.node
        match op:
            case qnn.AvgPool2DOp():
                steps = list(op.stride)
                kernel = list(op.kernel)
                return node("AveragePool", [x], kernel_shape=kernel, strides=steps)
            case qnn.MeanOp():
                return node("GlobalAveragePool", [x])
            case qnn.LinearOp():
                w = self._weights(one.weights.T, one.weight_scales, 1)
                return node("Add", [node("MatMul", [x, w]), self._bias()])
            case _:
                assert isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp)
        is_whole = isinstance(op, qnn.Conv2DOp)
        order = (0, 3, 1, 2) if is_whole else (3, 0, 1, 2)
        w = self._weights(one.weights.transpose(order), one.weight_scales)
        top, bottom, left, right = op.pad
        return node(
            "Conv",
            [x, w, self._bias()],
            group=op.groups if is_whole else shape_of(op.input)[-1],
            pads=[top, left, bottom, right],
            strides=list(op.stride),
            dilations=list(op.dilation),
        )

    def _bias(self) -> str:
        return self.builder.constant(self.one.bias)

    def _activated(self, value: str) -> str:
        match self.one.bounds:
            case None:
                return value
            case (_, None):
                return self.builder.node("Relu", [value])
            case (low, high):
                ends = [self.builder.constant(float(end)) for end in (low, high)]
                return self.builder.node("Clip", [value, *ends])

    def _kept(self, value: str) -> str:
        size = shape_of(self.one.op.results[0])[-1]
        if isinstance(self.one.op, qnn.QuantizeOp):
            return value
        w = np.eye(size)
        if self.given[0].ndim == 4:
            w = w.reshape(size, size, 1, 1)
            return self.builder.node("Conv", [value, self._weights(w, np.ones(size))])
        return self.builder.node("MatMul", [value, self._weights(w, np.ones(size))])


def run_openvino_qdq(layer: RandomLayer) -> Array:
    """What OpenVINO gives for a layer's file: codes."""
    return QdqFile(one_of(layer)).run()


def run_openvino_qdq_sequence(layer: RandomLayer) -> Array:
    """What it gives for eight rows at a time, in a kernel with the layer behind."""
    return QdqFile(one_of(layer), SEQUENCE_ROWS).run()


def is_known_in_qdq(one: One) -> bool:
    """Not what the contract refuses: see its page."""
    op = one.op
    if isinstance(op, qnn.AvgPool2DOp):
        return not any(op.pad)
    same = hasattr(op, "bias") and len(np.unique(one.bias)) == 1
    if isinstance(op, qnn.LinearOp):
        return not same
    if not isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp):
        return True
    is_cut = one.bounds is not None and one.bounds[1] is not None
    if one.x.signed or (same and (is_cut or isinstance(op, qnn.FusedAddOp))):
        return False
    window = one.weights.shape[1] * one.weights.shape[2]
    return isinstance(op, qnn.DepthwiseConv2DOp) or not (
        op.groups > 1 or (window == 1 and op.stride != (1, 1))
    )
