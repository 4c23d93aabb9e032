"""Weights of 4 bits, each in a byte: LiteRT's kernels unpack them, too."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .schema import Buffer, Model, Operator

WEIGHTS = 1
"""The operand that holds the weights of a layer."""

LAYERS = ("CONV_2D", "FULLY_CONNECTED")


def unpack_weights(model: Model) -> Model:
    """The model with the constant INT4 weights of layers as narrow INT8; where LiteRT
    takes none, or something else reads them, they stay."""
    tensors, buffers = list(model.tensors), list(model.buffers)
    unpacked: dict[tuple[int, bool], int] = {}
    for index in _weights(model):
        tensor = tensors[index]
        if not 0 <= tensor.buffer < len(model.buffers):
            continue
        buffer = buffers[tensor.buffer]
        if buffer.is_external or not buffer.data:
            continue
        is_odd = math.prod(tensor.shape) % 2 == 1
        key = tensor.buffer, is_odd
        if key not in unpacked:
            unpacked[key] = len(buffers)
            buffers.append(Buffer(_unpacked(buffer.data, is_odd), False))
        tensors[index] = replace(
            tensor, type="INT8", buffer=unpacked[key], is_narrow=True
        )
    return replace(model, tensors=tuple(tensors), buffers=tuple(buffers))


def _weights(model: Model) -> set[int]:
    """The INT4 tensors that are weights and nothing else."""
    found: set[int] = set()
    others = {*model.inputs, *model.outputs}
    for operator in model.operators:
        for number, index in enumerate(operator.inputs):
            if not 0 <= index < len(model.tensors):
                continue
            if number == WEIGHTS and _takes_nibbles(operator, model):
                found.add(index)
            else:
                others.add(index)
    return {i for i in found - others if model.tensors[i].type == "INT4"}


def _takes_nibbles(operator: Operator, model: Model) -> bool:
    if operator.name in LAYERS:
        return True
    if operator.name == "EMBEDDING_LOOKUP":
        return any(
            0 <= result < len(model.tensors) and model.tensors[result].type == "FLOAT32"
            for result in operator.outputs
        )
    # of INT16 LiteRT reads the packed bytes as if they were weights
    given = operator.inputs[0]
    return (
        operator.name == "DEPTHWISE_CONV_2D"
        and 0 <= given < len(model.tensors)
        and model.tensors[given].type == "INT8"
    )


def _unpacked(data: bytes, is_odd: bool) -> bytes:
    """The lower four bits of each byte, then the upper ones, the last of which are none
    of an odd number."""
    packed = np.frombuffer(data, np.int8)
    pairs = np.stack([packed << 4, packed], axis=1) >> 4
    return pairs.reshape(-1)[: pairs.size - is_odd].tobytes()
