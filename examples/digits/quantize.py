"""Post-training quantization: the float network as a module at the qnn level.

Activations are asymmetric int8, their scale and zero point from the range seen in
calibration. Weights are symmetric int8, with a scale for each output channel. Biases
are int32 in steps of input scale * weight scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from network import CHANNEL_AXIS, Floats, Tensors
from numpy.typing import NDArray
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    AnyDenseElement,
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerType,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.text.verification import verify_module

Range: TypeAlias = tuple[float, float]

LARGEST_WEIGHT = 127
"""Weights are in -127 .. 127, so that they are symmetric."""

PROBABILITY = QuantizedType.per_tensor(8, True, 1 / 256, -128)
"""What the contract `tflite` demands of a softmax: steps of 1/256 from 0."""


def activation_type(seen: Range) -> QuantizedType:
    """The int8 type whose 256 values span the range, which is made to include 0."""
    low, high = min(seen[0], 0.0), max(seen[1], 0.0)
    scale = (high - low) / 255
    return QuantizedType.per_tensor(8, True, scale, round(-128 - low / scale))


def store(values: Floats, seen: Range) -> NDArray[np.int8]:
    """Real values as they are stored in the type of that range."""
    type = activation_type(seen)
    stored = np.rint(values / np.float32(type.scale)) + type.zero_point
    return np.clip(stored, -128, 127).astype(np.int8)


def weight_type(weight: Floats, axis: int) -> QuantizedType:
    """The int8 type that just holds the largest weight of each index of `axis`."""
    others = tuple(other for other in range(weight.ndim) if other != axis)
    scales = np.abs(weight).max(axis=others) / LARGEST_WEIGHT
    return QuantizedType.per_axis(
        8,
        True,
        axis,
        scales.tolist(),
        storage_min=-LARGEST_WEIGHT,
        storage_max=LARGEST_WEIGHT,
    )


def quantized_model(parameters: Tensors, ranges: Mapping[str, Range]) -> ModuleOp:
    """The module, verified; `ranges` gives the smallest and largest of each result."""

    def tensor(layer: str, *shape: int) -> TensorType[QuantizedType]:
        return TensorType(activation_type(ranges[layer]), shape)

    def weight_and_bias(layer: str, input: SSAValue) -> tuple[SSAValue, SSAValue]:
        real, axis = parameters[f"{layer}/weight"], CHANNEL_AXIS[layer]
        type = weight_type(real, axis)
        scales = np.array(type.scales)
        along = [-1 if d == axis else 1 for d in range(real.ndim)]
        stored = np.rint(real / scales.reshape(along)).astype(np.int8)
        weight = qnn.ConstantOp(dense(stored), TensorType(type, real.shape))
        assert isa(input.type, TensorType[QuantizedType])
        steps = input.type.element_type.scale * scales
        bias = np.rint(parameters[f"{layer}/bias"] / steps).astype(np.int32)
        return (
            named(f"{layer}/weight", weight),
            named(f"{layer}/bias", arith.ConstantOp(dense(bias))),
        )

    image = tensor("image", 1, 8, 8, 1)
    probabilities = TensorType(PROBABILITY, (1, 10))
    block = Block(arg_types=[image])
    with ImplicitBuilder(block) as (x,):
        x.name_hint = "image"
        type = tensor("conv1", 1, 8, 8, 8)
        weight, bias = weight_and_bias("conv1", x)
        op = qnn.Conv2DOp(x, weight, bias, type, pad=(1, 1, 1, 1), activation="relu")
        x = named("conv1", op)

        type = tensor("depthwise", 1, 8, 8, 8)
        weight, bias = weight_and_bias("depthwise", x)
        op = qnn.DepthwiseConv2DOp(
            x, weight, bias, type, pad=(1, 1, 1, 1), activation="relu"
        )
        x = named("depthwise", op)

        type = tensor("pointwise", 1, 8, 8, 16)
        weight, bias = weight_and_bias("pointwise", x)
        x = named("pointwise", qnn.Conv2DOp(x, weight, bias, type, activation="relu"))

        # These two move values about: the quantization stays.
        type = tensor("pointwise", 1, 4, 4, 16)
        op = qnn.MaxPool2DOp(x, type, kernel=(2, 2), stride=(2, 2))
        x = named("pool", op)
        x = named("flatten", qnn.ReshapeOp(x, tensor("pointwise", 1, 256)))

        weight, bias = weight_and_bias("logits", x)
        op = qnn.LinearOp(x, weight, bias, tensor("logits", 1, 10))
        x = named("logits", op)
        x = named("probabilities", qnn.SoftmaxOp(x, probabilities))
        func.ReturnOp(x)

    main = func.FuncOp(
        "main",
        ([image], [probabilities]),
        Region(block),
        arg_attrs=ArrayAttr([tensor_name("image")]),
        res_attrs=ArrayAttr([tensor_name("probabilities")]),
    )
    module = ModuleOp([main], {"qnn.contract": StringAttr("tflite")})
    verify_module(module)
    return module


def dense(values: NDArray[np.int8] | NDArray[np.int32]) -> DenseIntOrFPElementsAttr:
    """The array as a constant attribute."""
    type = TensorType(IntegerType(8 * values.itemsize), values.shape)
    assert isa(type, TensorType[AnyDenseElement])
    return DenseIntOrFPElementsAttr(type, BytesAttr(values.tobytes()))


def named(layer: str, op: Operation) -> SSAValue:
    """The result of `op`, which gets the name as its location."""
    op.location = NameLoc(StringAttr(layer), UnknownLoc())
    op.results[0].name_hint = layer.replace("/", "_")
    return op.results[0]


def tensor_name(name: str) -> DictionaryAttr:
    return DictionaryAttr(dict[str, Attribute]({"qnn.name": StringAttr(name)}))
