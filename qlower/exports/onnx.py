"""Weights and scales in an `.onnx` file: initializers whose values are exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.exports.changes import Changes, Rescaled
from qlower.model.signature import Array
from qlower.process.extras import install_line

LAYOUTS = ((), (0,), (0, 1), (1, 0), (0, 2, 3, 1), (1, 2, 3, 0), (0, 1, 2, 3))
"""The file's dimensions in qlower's order: of OIHW weights, of depthwise ones, of the
transposed matrix, of the same."""


def patch_onnx(data: bytes, changes: Changes) -> bytes:
    """The file with other stored values of weights and biases, and other scales.

    A scale is found by its tensor's name and its present values.

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
    for spec, stored in changes.stored:
        tensor = tensors.get(spec.file_name)
        if tensor is None or tensor.external_data:
            raise QlowerError(f"the file doesn't hold {spec.name} as an initializer")
        array: Array = onnx.numpy_helper.to_array(tensor)
        layout = _layout(array, spec.stored)
        if layout is None:
            raise QlowerError(f"the file doesn't hold {spec.name} as it is computed")
        given = np.transpose(stored, np.argsort(layout)).astype(array.dtype)
        _put(onnx, tensor, given)
    if changes.scales:
        _rescale(onnx, model.graph, tensors, changes.scales)
    written: bytes = model.SerializeToString()
    return written


def _put(onnx: Any, tensor: Any, given: Array) -> None:
    """Exchange an initializer's values, in the field that holds them."""
    made = onnx.numpy_helper.from_array(np.array(given, order="C"), tensor.name)
    if not tensor.HasField("raw_data"):
        made.ClearField("raw_data")
        field = made.float_data if given.dtype.kind == "f" else made.int32_data
        field.extend(given.reshape(-1).tolist())
    made.doc_string = tensor.doc_string
    if not tensor.HasField("doc_string"):
        made.ClearField("doc_string")
    tensor.CopyFrom(made)


def _rescale(
    onnx: Any, graph: Any, tensors: Mapping[str, Any], scales: Sequence[Rescaled]
) -> None:
    """Exchange scales and zero points: those of tensors of the name, or where the file
    has no such tensor, all of the same values."""
    arrays: dict[str, Array] = {
        name: onnx.numpy_helper.to_array(tensor) for name, tensor in tensors.items()
    }
    uses = list(_uses(graph, arrays))
    done: dict[str, Array] = {}
    for one in scales:
        equal = [use for use in uses if _is_of(use, arrays, one)]
        if not equal:
            raise QlowerError(f"the file has no scale of {one.file_name}")
        named = [use for use in equal if one.file_name in use.names]
        for use in named or equal:
            for name, given in ((use.scale, one.scales), (use.zero, one.zero_points)):
                if name not in arrays:
                    continue
                old = arrays[name]
                new = np.array(given[: old.size]).astype(old.dtype).reshape(old.shape)
                if name in done and not np.array_equal(done[name], new):
                    raise QlowerError(
                        f"tensors share {name!r} in the file, but are to differ"
                    )
                done[name] = new
    for name, values in done.items():
        _put(onnx, tensors[name], values)


@dataclass(frozen=True)
class _Use:
    """A scale and zero point that a node reads, and the tensors that they are of."""

    names: frozenset[str]
    scale: str
    zero: str


def _uses(graph: Any, arrays: Mapping[str, Array]) -> Iterator[_Use]:
    """All pairs of scale and zero point, in the inputs of quantized operators."""
    for node in graph.node:
        if "Linear" not in node.op_type:
            continue
        given = [*node.input, ""]
        is_cast = node.op_type in ("QuantizeLinear", "DequantizeLinear")
        last = -1
        for index in range(is_cast, len(node.input)):
            array = arrays.get(given[index])
            if array is None or array.dtype != np.float32:
                continue
            if is_cast:
                names = {given[0], node.output[0]}
            else:  # a tensor stands before its scale, but the result's
                names = {node.output[0] if last == index - 1 else given[index - 1]}
            last = index + 1
            yield _Use(frozenset(names), given[index], given[last])


def _is_of(use: _Use, arrays: Mapping[str, Array], one: Rescaled) -> bool:
    zero = arrays.get(use.zero)
    return _are_close(arrays[use.scale], one.old_scales) and (
        zero is None or np.array_equal(zero.reshape(-1), one.old_zero_points)
    )


def _are_close(scale: Array, wanted: Sequence[float]) -> bool:
    """Equal up to the rounding of a float32 product, as a bias's scale is one."""
    return scale.size == len(wanted) and np.allclose(
        scale.reshape(-1), wanted, rtol=2.0**-22, atol=0
    )


def _layout(array: Array, stored: Array) -> tuple[int, ...] | None:
    """The order of the file's dimensions that gives the stored values."""
    for layout in LAYOUTS:
        if len(layout) == array.ndim == stored.ndim and np.array_equal(
            array.transpose(layout), stored
        ):
            return layout
    return None
