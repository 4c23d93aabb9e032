"""Weights of 4 and 2 bits, each in a byte: LiteRT's kernels unpack them, too."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .schema import Model, Operator, Tensor

WEIGHTS = 1
"""The operand that holds the weights of a layer."""

WIDTHS = {"INT4": 4, "INT2": 2}
"""The bits of each packed type."""

LAYERS = {"CONV_2D": ("INT4",), "FULLY_CONNECTED": tuple(WIDTHS)}
"""The packed weights that layers take: LiteRT's CONV_2D has no kernel for INT2, and
reads such weights of a layer on float32 as if they were float32. In blocks none has
INT2."""


def unpack_weights(model: Model) -> Model:
    """The model with constant INT4 and INT2 weights as narrow INT8; where LiteRT takes
    none, as INT2 in blocks, or something else reads them, they stay."""
    tensors, buffers = list(model.tensors), list(model.buffers)
    unpacked: dict[tuple[int, int, int], int] = {}
    for index in _weights(model):
        tensor = tensors[index]
        if not 0 <= tensor.buffer < len(model.buffers):
            continue
        if not (data := buffers[tensor.buffer]):
            continue
        width = WIDTHS[tensor.type]
        unused = -math.prod(tensor.shape) % (8 // width)
        key = tensor.buffer, width, unused
        if key not in unpacked:
            unpacked[key] = len(buffers)
            buffers.append(_unpacked(data, width, unused))
        tensors[index] = replace(
            tensor, type="INT8", buffer=unpacked[key], is_narrow=True
        )
    return replace(model, tensors=tuple(tensors), buffers=tuple(buffers))


def _weights(model: Model) -> set[int]:
    """The tensors of packed types that are weights and nothing else."""
    found: set[int] = set()
    others = {*model.inputs, *model.outputs}
    for operator in model.operators:
        for number, index in enumerate(operator.inputs):
            if not 0 <= index < len(model.tensors):
                continue
            if _takes_packed(operator, number, model.tensors[index], model):
                found.add(index)
            else:
                others.add(index)
    return {i for i in found - others if model.tensors[i].type in WIDTHS}


def _takes_packed(
    operator: Operator, number: int, tensor: Tensor, model: Model
) -> bool:
    """Whether LiteRT unpacks an operand, which then is one of the weights."""
    if operator.name == "DEQUANTIZE":
        return True
    if number != WEIGHTS:
        return False
    if operator.name in LAYERS:
        has_blocks = tensor.quantization is not None and tensor.quantization.blocks
        return tensor.type in LAYERS[operator.name][: 1 if has_blocks else None]
    if operator.name == "EMBEDDING_LOOKUP":
        return any(
            0 <= result < len(model.tensors) and model.tensors[result].type == "FLOAT32"
            for result in operator.outputs
        )
    # of INT16 LiteRT reads the packed bytes as if they were weights
    given = operator.inputs[0]
    return (
        operator.name == "DEPTHWISE_CONV_2D"
        and tensor.type == "INT4"
        and 0 <= given < len(model.tensors)
        and model.tensors[given].type == "INT8"
    )


def _unpacked(data: bytes, width: int, unused: int) -> bytes:
    """The numbers of each byte from the lowest bits up; the last ones are unused."""
    packed = np.frombuffer(data, np.int8)
    shifts = range(8 - width, -1, -width)
    numbers = np.stack([packed << shift for shift in shifts], axis=1) >> (8 - width)
    return numbers.reshape(-1)[: numbers.size - unused].tobytes()
