"""Tensors of a float model matched with layers, where names don't match.

A layer's tensor has its shape, channels first or last, and about its values on the same
input: it is the tensor with the largest cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.signature import TensorSpec
from qlower.sides.dumps import pairs_by_name, stacked
from qlower.sides.sides import Values, result_specs

LEAST_COSINE = 0.9
"""Tensors that are less alike aren't taken for a layer."""


def paired(
    arrays: Mapping[str, Array],
    model: Model,
    match: Mapping[str, str],
    own: Callable[[], Values],
) -> dict[str, str]:
    """The layer of each tensor: as `match` has it (tensors by layers), by name, or by
    shape and values, for which `own` gives the model's layers on the same input.

    Raises QlowerError for a layer or a tensor that isn't there.
    """
    specs = result_specs(model)
    for layer, tensor in match.items():
        if layer not in specs:
            raise QlowerError(
                f"--match {layer}={tensor}: the model has no layer {layer!r}",
                help="qlower inspect MODEL --stats shows the names",
            )
        if tensor not in arrays:
            raise QlowerError(
                f"--match {layer}={tensor}: the float model has no tensor {tensor!r}",
                help=f"it has {', '.join(arrays)}",
            )
    pairs = {tensor: layer for layer, tensor in match.items()}
    for tensor, layer in pairs_by_name(arrays, model).items():
        if layer not in match and tensor not in pairs:
            pairs[tensor] = layer
    missing = [name for name in specs if name not in pairs.values()]
    if not missing:
        return pairs
    values = own()
    for name in missing:
        free = {t: array for t, array in arrays.items() if t not in pairs}
        found = _nearest(specs[name], values[name], free)
        if found is not None:
            pairs[found] = name
    return pairs


def _nearest(
    spec: TensorSpec, stored: Array, arrays: Mapping[str, Array]
) -> str | None:
    """The tensor with the shape and, nearly, the values of a layer."""
    own = spec.dequantize(stored).reshape(-1)
    best, largest = None, LEAST_COSINE
    for name, array in arrays.items():
        for first in (False, True):
            stack = stacked(spec, array, 1, first)
            if stack is None or stack.dtype.kind != "f":
                continue
            other = stack.reshape(-1).astype(np.float64)
            norm = float(np.linalg.norm(own) * np.linalg.norm(other))
            cosine = float(own @ other) / norm if norm else 0.0
            if cosine > largest:
                best, largest = name, cosine
    return best
