"""Write new weights, biases and scales into a copy of a model's file.

Everything else stays byte for byte, so the tools that read the file before read it
again. What was written is read back and compared before it is kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.exports.changes import Changes, Rescaled
from qlower.exports.onnx import patch_onnx
from qlower.exports.tflite import patch_tflite
from qlower.files.replacing import replacing
from qlower.frontends.load import load
from qlower.kept.fingerprint import fingerprint
from qlower.model import Model
from qlower.model.scales import result_types, weight_types, with_scales
from qlower.model.weights import weight_specs, with_weights

StrPath: TypeAlias = str | PathLike[str]
Patch: TypeAlias = Callable[[bytes, Changes], bytes]


def to_tflite(model: Model, source: StrPath, path: StrPath) -> None:
    """Write `path`: the `.tflite` file `source` with the weights, biases and scales of
    `model`.

    `model` is what `load(source)` gives but for stored weights and biases, scales and
    zero points, as `qlower.torch.Module.to_model` makes it. Read again, the file gives
    the same bits. Raises QlowerError for another model, and for weights that the file
    shares with tensors that keep their values. Needs the extra `tflite`.
    """
    _write(model, Path(source), Path(path), ".tflite", patch_tflite)


def to_onnx(model: Model, source: StrPath, path: StrPath) -> None:
    """Write `path`: the `.onnx` file `source` with the weights, biases and scales of
    `model`.

    As `to_tflite`; the weights must be integers in the file itself. Needs the extra
    `onnx`.
    """
    _write(model, Path(source), Path(path), ".onnx", patch_onnx)


def _write(model: Model, source: Path, path: Path, suffix: str, patch: Patch) -> None:
    if source.suffix != suffix:
        raise QlowerError(f"{source} is no {suffix} file")
    original = load(source)
    changes = _changes(original, model, source)
    written = patch(source.read_bytes(), changes)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, source.name)
        copy.write_bytes(written)
        read = load(copy)
        stored = {spec.name: spec.stored for spec in weight_specs(model.module)}
        for spec in weight_specs(read.module):
            if not np.array_equal(spec.stored, stored[spec.name]):
                raise QlowerError(
                    f"{source} doesn't hold {spec.name} in a form that can be written"
                )
        if not _is_same(read, model):
            raise QlowerError(f"{source} doesn't hold its scales where they are known")
    with replacing(path) as stream:
        stream.write(written)


def _changes(original: Model, model: Model, source: Path) -> Changes:
    """Differences from the file's model; QlowerError if these are more than numbers."""
    results, weights = result_types(model.module), weight_types(model.module)
    old_results = result_types(original.module)
    old_weights = weight_types(original.module)
    new = {spec.name: spec for spec in weight_specs(model.module)}
    old = {spec.name: spec for spec in weight_specs(original.module)}
    is_like = (
        new.keys() == old.keys()
        and _forms(results) == _forms(old_results)
        and _forms(weights) == _forms(old_weights)
        and all(new[name].stored.shape == old[name].stored.shape for name in old)
    )
    if is_like:
        is_like = _is_same(with_scales(original, results, weights), model)
    if not is_like:
        raise QlowerError(
            f"the model differs from {source} in more than weights and biases",
            help="only their stored values, scales and zero points are written: layers"
            " and shapes are the file's",
        )
    names = {spec.name: spec.name for spec in original.inputs} | original.full_names
    scales = [
        Rescaled(
            names[name],
            (old_results[name].scale,),
            (type.scale,),
            (old_results[name].zero_point,),
            (type.zero_point,),
        )
        for name, type in results.items()
        if type != old_results[name]
    ]
    scales += [
        Rescaled(
            spec.file_name,
            spec.scales,
            new[name].scales,
            spec.zero_points,
            new[name].zero_points,
        )
        for name, spec in old.items()
        if spec.scales != new[name].scales and spec.file_name is not None
    ]
    changed = [
        (spec, new[name].stored)
        for name, spec in old.items()
        if not np.array_equal(spec.stored, new[name].stored)
    ]
    return Changes(changed, scales)


def _forms(types: Mapping[str, QuantizedType]) -> dict[str, tuple[object, ...]]:
    """All of the types but scales and zero points."""
    return {
        name: (type.data.storage, type.axis, len(type.scales))
        for name, type in types.items()
    }


def _is_same(one: Model, other: Model) -> bool:
    """Whether two models are equal, however their constants are written."""
    stored = {spec.name: spec.stored for spec in weight_specs(other.module)}
    first, second = (
        fingerprint(with_weights(model, stored).module, locations=False)
        for model in (one, other)
    )
    return first == second
