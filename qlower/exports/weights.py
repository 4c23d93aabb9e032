"""Write new weights and biases into a copy of a model's file.

Everything else stays byte for byte, so the tools that read the file before read it
again. What was written is read back and compared before it is kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.exports.onnx import patch_onnx
from qlower.exports.tflite import patch_tflite
from qlower.files.replacing import replacing
from qlower.frontends.load import load
from qlower.model import Model
from qlower.model.fingerprint import fingerprint
from qlower.model.signature import Array
from qlower.model.weights import WeightSpec, weight_specs, with_weights

StrPath: TypeAlias = str | PathLike[str]
Patch: TypeAlias = Callable[[bytes, Sequence[tuple[WeightSpec, Array]]], bytes]


def to_tflite(model: Model, source: StrPath, path: StrPath) -> None:
    """Write `path`: the `.tflite` file `source` with the weights and biases of `model`.

    `model` is what `load(source)` gives but for weights and biases, as
    `qlower.torch.Module.to_model` makes it. Read again, the file gives the same bits.
    Raises QlowerError for another model, and for weights that the file shares with
    tensors that keep their values. Needs the extra `tflite`.
    """
    _write(model, Path(source), Path(path), ".tflite", patch_tflite)


def to_onnx(model: Model, source: StrPath, path: StrPath) -> None:
    """Write `path`: the `.onnx` file `source` with the weights and biases of `model`.

    As `to_tflite`; the weights must be integers in the file itself. Needs the extra
    `onnx`.
    """
    _write(model, Path(source), Path(path), ".onnx", patch_onnx)


def _write(model: Model, source: Path, path: Path, suffix: str, patch: Patch) -> None:
    if source.suffix != suffix:
        raise QlowerError(f"{source} is no {suffix} file")
    original = load(source)
    new = {spec.name: spec.stored for spec in weight_specs(model.module)}
    old = weight_specs(original.module)
    same_names = new.keys() == {spec.name for spec in old}
    if not same_names or _content(original, new) != _content(model, new):
        raise QlowerError(
            f"the model differs from {source} in more than weights and biases",
            help="only their stored values are written: scales, layers and shapes are"
            " the file's",
        )
    changed = [
        (spec, new[spec.name])
        for spec in old
        if not np.array_equal(spec.stored, new[spec.name])
    ]
    written = patch(source.read_bytes(), changed)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, source.name)
        copy.write_bytes(written)
        for spec in weight_specs(load(copy).module):
            if not np.array_equal(spec.stored, new[spec.name]):
                raise QlowerError(
                    f"{source} doesn't hold {spec.name} in a form that can be written"
                )
    with replacing(path) as stream:
        stream.write(written)


def _content(model: Model, stored: Mapping[str, Array]) -> bytes:
    """A hash of the model with these weights and biases, which are of equal form."""
    return fingerprint(with_weights(model, stored).module, locations=False)
