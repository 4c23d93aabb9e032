"""Weights in an `.onnx` file: initializers whose values are exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.extras import install_line
from qlower.model.signature import Array
from qlower.model.weights import WeightSpec

LAYOUTS = ((), (0,), (0, 1), (1, 0), (0, 2, 3, 1), (1, 2, 3, 0), (0, 1, 2, 3))
"""The file's dimensions in qlower's order: of OIHW weights, of depthwise ones, of the
transposed matrix, of the same."""


def patch_onnx(data: bytes, changed: Sequence[tuple[WeightSpec, Array]]) -> bytes:
    """The file with other stored values of weights and biases.

    Raises QlowerError for an initializer that isn't the integers that are computed
    with, and for a file that another program than protobuf's would write: its other
    bytes would change.
    """
    try:
        onnx: Any = import_module("onnx")
    except ImportError:
        raise QlowerError(
            "writing .onnx files needs the package onnx", help=install_line("onnx")
        ) from None
    model = onnx.load_model_from_string(data)
    if model.SerializeToString() != data:
        raise QlowerError(
            "the file isn't in protobuf's usual form, so writing it would change more"
            " than weights",
            help="onnx.save(onnx.load(path), path) brings it there",
        )
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for spec, stored in changed:
        tensor = tensors.get(spec.file_name)
        if tensor is None or tensor.external_data:
            raise QlowerError(f"the file doesn't hold {spec.name} as an initializer")
        array: Array = onnx.numpy_helper.to_array(tensor)
        layout = _layout(array, spec.stored)
        if layout is None:
            raise QlowerError(f"the file doesn't hold {spec.name} as it is computed")
        given = np.transpose(stored, np.argsort(layout)).astype(array.dtype)
        made = onnx.numpy_helper.from_array(np.ascontiguousarray(given), tensor.name)
        if not tensor.HasField("raw_data"):
            made.ClearField("raw_data")
            made.int32_data.extend(given.reshape(-1).tolist())
        made.doc_string = tensor.doc_string
        if not tensor.HasField("doc_string"):
            made.ClearField("doc_string")
        tensor.CopyFrom(made)
    written: bytes = model.SerializeToString()
    return written


def _layout(array: Array, stored: Array) -> tuple[int, ...] | None:
    """The order of the file's dimensions that gives the stored values."""
    for layout in LAYOUTS:
        if len(layout) == array.ndim == stored.ndim and np.array_equal(
            array.transpose(layout), stored
        ):
            return layout
    return None
