"""Quantized networks as the real ones that they were made of, for systems that quantize
networks themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from xdsl.ir import SSAValue

import qlower
from qlower.contracts.accumulator_range import constant_integers
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.interp.values import Array
from qlower.model.layers import layers
from support.onnx_builder import OnnxBuilder

F = np.float32


@dataclass(frozen=True)
class Weights:
    """Real weights, outputs first and channels next, and biases."""

    weights: Array
    biases: Array


def real_weights(op: qnn.Conv2DOp | qnn.LinearOp) -> Weights:
    """What the codes of a layer mean."""
    codes, biases = (constant_integers(op.operands[number]) for number in (1, 2))
    assert codes is not None
    assert biases is not None
    scales = quantized_element(op.operands[1].type).scales
    column = np.broadcast_to(np.array(scales), len(codes))
    real = (codes.T * column).T.astype(F)
    if real.ndim == 4:
        real = np.ascontiguousarray(real.transpose(0, 3, 1, 2))
    step = quantized_element(op.operands[0].type).scales[0]
    return Weights(real, (biases * column * step).astype(F))


def real_resnet8(path: Path) -> OnnxBuilder:
    """ResNet8 of a TFLite file, up to its logits `y`, from real images `x`."""
    build, names, last = OnnxBuilder(13), dict[SSAValue, str](), "x"
    for op in layers(qlower.load(path).module):
        if isinstance(op, qnn.SoftmaxOp):
            break
        names.setdefault(op.operands[0], "x")
        given = [names[value] for value in op.operands if value in names]
        last = names[op.results[0]] = _node(build, op, given)
    build.input("x", (1, 3, 32, 32))
    build.node("Identity", [last], "y")
    build.output("y", shape=(1, 10))
    return build


def _node(build: OnnxBuilder, op: object, given: Sequence[str]) -> str:
    match op:
        case qnn.Conv2DOp():
            top, bottom, left, right = op.pad
            result = build.node(
                "Conv",
                [*given, *_constants(build, op)],
                strides=list(op.stride),
                pads=[top, left, bottom, right],
            )
        case qnn.LinearOp():
            return build.node("Gemm", [*given, *_constants(build, op)], transB=1)
        case qnn.AvgPool2DOp():
            kernel, strides = list(op.kernel), list(op.stride)
            return build.node(
                "AveragePool", given, kernel_shape=kernel, strides=strides
            )
        case qnn.ReshapeOp():
            return build.node("Flatten", given)
        case qnn.AddOp():
            result = build.node("Add", given)
        case _:
            raise AssertionError(op)
    return build.node("Relu", [result]) if op.activation else result


def _constants(build: OnnxBuilder, op: qnn.Conv2DOp | qnn.LinearOp) -> list[str]:
    found = real_weights(op)
    return [build.constant(found.weights), build.constant(found.biases)]
