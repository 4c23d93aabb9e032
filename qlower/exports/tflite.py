"""Weights in a `.tflite` file: buffers whose bytes are exchanged in place."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from qlower.diagnostics import QlowerError
from qlower.extras import install_line
from qlower.model.signature import Array
from qlower.model.weights import WeightSpec


def patch_tflite(data: bytes, changed: Sequence[tuple[WeightSpec, Array]]) -> bytes:
    """The file with other stored values of weights and biases.

    A tensor is found by its name and its present bytes.
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
        number: file.Buffers(number).DataAsNumpy()
        for number in range(file.BuffersLength())
        if file.Buffers(number).DataLength()
    }
    before = {number: array.tobytes() for number, array in content.items()}
    wanted: dict[int, dict[str, bytes]] = {}
    for spec, stored in changed:
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
    return bytes(written)
