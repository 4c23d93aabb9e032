"""Weights and scales in a `.tflite` file: bytes that are exchanged in place."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.exports.changes import Changes, Rescaled
from qlower.process.extras import install_line


def patch_tflite(data: bytes, changes: Changes) -> bytes:
    """The file with other stored values of weights and biases, and other scales.

    A tensor is found by its name, and its present bytes or scales.
    """
    try:
        schema: Any = import_module("tflite")
    except ImportError:
        raise QlowerError(
            "writing .tflite files needs the package tflite",
            help=install_line("tflite"),
        ) from None
    written = bytearray(data)
    file = schema.Model.GetRootAs(written, 0)
    readers: dict[int, list[str]] = {}
    for graph in (file.Subgraphs(n) for n in range(file.SubgraphsLength())):
        for tensor in (graph.Tensors(n) for n in range(graph.TensorsLength())):
            readers.setdefault(tensor.Buffer(), []).append(tensor.Name().decode())
    content = {
        number: array
        for number in range(file.BuffersLength())
        if (array := _content(written, file.Buffers(number))).size
    }
    before = {number: array.tobytes() for number, array in content.items()}
    wanted: dict[int, dict[str, bytes]] = {}
    for spec, stored in changes.stored:
        found = [
            number
            for number, bytes_ in before.items()
            if spec.file_name in readers.get(number, ())
            and bytes_ == spec.stored.tobytes()
        ]
        if not found:
            raise QlowerError(f"the file doesn't hold {spec.name} as it is computed")
        for number in found:
            assert spec.file_name is not None
            wanted.setdefault(number, {})[spec.file_name] = stored.tobytes()
    for number, values in wanted.items():
        others = set(readers[number]) - values.keys()
        if others or len(set(values.values())) > 1:
            raise QlowerError(
                f"tensors {', '.join(sorted(readers[number]))} share their bytes in the"
                " file, but are to differ"
            )
        content[number][:] = bytearray(next(iter(values.values())))
    for one in changes.scales:
        _rescale(file, one)
    return bytes(written)


def _content(written: bytearray, buffer: Any) -> Any:
    """A view of the bytes of a constant, which large files have behind their tables."""
    if buffer.DataLength():
        return buffer.DataAsNumpy()
    start = buffer.Offset()
    size = buffer.Size() if start > 1 else 0
    return np.frombuffer(written, np.uint8)[start : start + size]


def _rescale(file: Any, one: Rescaled) -> None:
    """Exchange the scales and zero points of all tensors of a name."""
    found = False
    for graph in (file.Subgraphs(n) for n in range(file.SubgraphsLength())):
        for tensor in (graph.Tensors(n) for n in range(graph.TensorsLength())):
            given = tensor.Quantization()
            if tensor.Name().decode() != one.file_name or given is None:
                continue
            if given.ScaleLength() != len(one.scales):
                continue
            found = True
            given.ScaleAsNumpy()[:] = one.scales
            if given.ZeroPointLength():
                given.ZeroPointAsNumpy()[:] = one.zero_points
    if not found:
        raise QlowerError(f"the file has no scales of {one.file_name}")
