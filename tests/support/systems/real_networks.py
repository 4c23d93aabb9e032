"""Quantized networks as the real ones that they were made of, for systems that quantize
networks themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np
from xdsl.ir import Operation, SSAValue

import qlower
from qlower.contracts.accumulator_range import constant_integers
from qlower.dialects import qnn
from qlower.dialects.qnn import ACTIVATION_BOUNDS
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.interp.values import Array
from qlower.model.layers import layers
from support.formats.ncnn_files import NcnnFile
from support.formats.onnx_builder import OnnxBuilder

F = np.float32


@dataclass(frozen=True)
class Weights:
    """Real weights, outputs first and channels next, and biases."""

    weights: Array
    biases: Array


Contraction = qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp


def real_weights(op: Contraction) -> Weights:
    """What the codes of a layer mean."""
    codes, biases = (constant_integers(op.operands[number]) for number in (1, 2))
    assert codes is not None
    assert biases is not None
    if isinstance(op, qnn.DepthwiseConv2DOp):
        codes = codes.transpose(3, 1, 2, 0)
    scales = quantized_element(op.operands[1].type).scales
    column = np.broadcast_to(np.array(scales), len(codes))
    real = (codes.T * column).T.astype(F)
    if real.ndim == 4:
        real = np.ascontiguousarray(real.transpose(0, 3, 1, 2))
    step = quantized_element(op.operands[0].type).scales[0]
    return Weights(real, (biases * column * step).astype(F))


def _real_layers(path: Path) -> Iterator[Operation]:
    """The layers of a TFLite file up to its logits."""
    found = layers(qlower.load(path).module)
    return takewhile(lambda op: not isinstance(op, qnn.SoftmaxOp), found)


def real_network(path: Path) -> OnnxBuilder:
    """The network of a TFLite file, up to its logits `y`, from real images `x`."""
    build, names, last = OnnxBuilder(13), dict[SSAValue, str](), "x"
    for op in _real_layers(path):
        if not names:
            _, *sizes, channels = shape_of(op.operands[0])
            build.input("x", (1, channels, *sizes))
        names.setdefault(op.operands[0], "x")
        given = [names[value] for value in op.operands if value in names]
        last = names[op.results[0]] = _node(build, op, given)
    build.node("Identity", [last], "y")
    build.output("y", shape=shape_of(next(reversed(names))))
    return build


def _node(build: OnnxBuilder, op: Operation, given: Sequence[str]) -> str:
    match op:
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp():
            top, bottom, left, right = op.pad
            is_depthwise = isinstance(op, qnn.DepthwiseConv2DOp)
            result = build.node(
                "Conv",
                [*given, *_constants(build, op)],
                strides=list(op.stride),
                pads=[top, left, bottom, right],
                group=shape_of(op.input)[-1] if is_depthwise else 1,
            )
        case qnn.LinearOp():
            return build.node("Gemm", [*given, *_constants(build, op)], transB=1)
        case qnn.AvgPool2DOp():
            kernel, strides = list(op.kernel), list(op.stride)
            return build.node(
                "AveragePool", given, kernel_shape=kernel, strides=strides
            )
        case qnn.MeanOp():
            return build.node("GlobalAveragePool", given)
        case qnn.ReshapeOp():
            return build.node("Flatten", given)
        case qnn.RequantizeOp():
            return given[0]  # another type of the same numbers
        case qnn.AddOp():
            result = build.node("Add", given)
        case _:
            raise AssertionError(op)
    match op.activation:
        case None:
            return result
        case "relu":
            return build.node("Relu", [result])
        case name:
            low, high = ACTIVATION_BOUNDS[name]
            assert low is not None
            assert high is not None
            bounds = [build.constant(low), build.constant(high)]
            return build.node("Clip", [result, *bounds])


def _constants(build: OnnxBuilder, op: Contraction) -> list[str]:
    """Weights and biases. One weight of a channel that has none is small instead: MNN
    gives such a channel a scale of 0, which no type has."""
    found = real_weights(op)
    rows = found.weights.reshape(len(found.weights), -1).copy()
    rows[~rows.any(axis=1), 0] = 1e-4
    weights = rows.reshape(found.weights.shape)
    return [build.constant(weights), build.constant(found.biases)]


def ncnn_resnet8(path: Path) -> tuple[NcnnFile, str]:
    """The same from `data` in ncnn's file of real weights, and a table of scales, as
    `ncnn2int8` is given."""
    file, names, table = NcnnFile(3, 32, 32), dict[SSAValue, list[str]](), list[str]()
    for op in _real_layers(path):
        if isinstance(op, qnn.ReshapeOp):
            names[op.results[0]] = names[op.operands[0]]
            continue
        names = names or {op.operands[0]: ["data"]}
        given = [names[value].pop() for value in op.operands if value in names]
        name = _ncnn_layer(file, f"v{len(file.lines)}", op, given)
        if isinstance(op, qnn.Conv2DOp | qnn.LinearOp):
            weights = real_weights(op).weights
            largest = abs(weights.reshape(len(weights), -1)).max(axis=1)
            x = quantized_element(op.operands[0].type)
            ends = np.array([x.storage_min, x.storage_max]) - x.zero_point
            table.append(_scales(f"{name}_param_0", largest))
            table.append(_scales(name, abs(ends).max() * np.array(x.scales)))
        ends = [name]
        if (uses := len(list(op.results[0].uses))) > 1:
            ends = [f"{name}_{number}" for number in range(uses)]
            file.add("Split", f"{name}_split", [name], ends)
        names[op.results[0]] = ends
    return file, "\n".join([*table, ""])


def _scales(name: str, largest: Array) -> str:
    """A line of ncnn's table: its scales multiply."""
    return " ".join([name, *(f"{127 / value:.9g}" for value in largest)])


def _ncnn_layer(file: NcnnFile, name: str, op: Operation, given: Sequence[str]) -> str:
    match op:
        case qnn.Conv2DOp():
            shape, data = _ncnn_weights(op)
            top, bottom, left, right = op.pad
            numbers = {
                **{"p0": shape[0], "p1": shape[3], "p11": shape[2]},
                **{"p3": op.stride[1], "p13": op.stride[0]},
                **{"p4": left, "p14": top, "p15": right, "p16": bottom},
                **{"p5": 1, "p6": math.prod(shape), "p9": int(bool(op.activation))},
            }
            return file.add("Convolution", name, given, (), data, **numbers)
        case qnn.LinearOp():
            shape, data = _ncnn_weights(op)
            numbers = {"p0": shape[0], "p1": 1, "p2": math.prod(shape)}
            return file.add("InnerProduct", name, given, (), data, **numbers)
        case qnn.AvgPool2DOp():
            return file.add("Pooling", name, given, p0=1, p4=1)
        case qnn.AddOp():
            file.add("BinaryOp", f"{name}_sum", given, p0=0)
            return file.add("ReLU", name, [f"{name}_sum"])
        case _:
            raise AssertionError(op.name)


def _ncnn_weights(op: qnn.Conv2DOp | qnn.LinearOp) -> tuple[tuple[int, ...], bytes]:
    """The shape of real weights, and they with their biases."""
    found = real_weights(op)
    data = bytes(4) + found.weights.tobytes() + found.biases.tobytes()
    return found.weights.shape, data
