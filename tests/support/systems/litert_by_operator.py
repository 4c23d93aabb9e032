"""Running a `.tflite` model one operator after the other with LiteRT.

Of weights in blocks the reference kernels leave the products out. A model that has
them runs by the reference kernels but for these layers, which the optimized ones run.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats.tflite_objects import pack, with_constants_inside
from .litert import run_litert

BLOCKWISE = 2
"""QuantizationDetails.BlockwiseQuantization of LiteRT's schema."""


def has_blocks(data: bytes) -> bool:
    """Whether a tensor of the model has weights in blocks."""
    return any(map(_is_in_blocks, with_constants_inside(data).subgraphs[0].tensors))


def run_by_operator(
    data: bytes, inputs: Sequence[NDArray[np.generic]]
) -> tuple[NDArray[np.generic], ...]:
    """The outputs; raises what LiteRT raises when it refuses an operator."""
    model = with_constants_inside(data)
    graph = model.subgraphs[0]
    values = dict(zip(graph.inputs, inputs, strict=True))
    for operator in graph.operators:
        taken = [n for n in operator.inputs if n >= 0]
        given = [n for n in dict.fromkeys(taken) if n in values]
        kernels = (
            "opt" if any(_is_in_blocks(graph.tensors[n]) for n in taken) else "ref"
        )
        layer = _layer(model, operator, given)
        results = run_litert(layer, [values[n] for n in given], kernels=kernels)
        values |= dict(zip(operator.outputs, results, strict=True))
    return tuple(values[n] for n in graph.outputs)


def _is_in_blocks(tensor: Any) -> bool:
    given = tensor.quantization
    return given is not None and given.detailsType == BLOCKWISE


def _layer(model: Any, operator: Any, inputs: Sequence[int]) -> bytes:
    """A model of one operator, with all tensors of the one that it is in."""
    graph, layer = copy(model.subgraphs[0]), copy(model)
    graph.operators = [operator]
    graph.inputs = np.array(inputs, np.int32)
    graph.outputs = operator.outputs
    layer.subgraphs, layer.signatureDefs = [graph], None
    return pack(layer)
