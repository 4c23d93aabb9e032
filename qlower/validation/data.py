"""Users' data, opened as a source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

from qlower.diagnostics import QlowerError
from qlower.files.mapped import open_arrays
from qlower.model.signature import TensorSpec
from qlower.validation.counts import Classes
from qlower.validation.labels import read_labels
from qlower.validation.pictures import PICTURES, parquet_source, picture_folder
from qlower.validation.preprocessing import Preprocessing
from qlower.validation.sources import (
    Shards,
    Source,
    Stream,
    array_source,
    label_keys,
    labels_of,
)

Data: TypeAlias = str | PathLike[str] | Mapping[str, Any] | Iterable[Any]
"""A path, arrays by input name, one array (numpy's or dask's), or a stream."""


def open_source(
    data: Data,
    specs: Sequence[TensorSpec],
    preprocessing: Preprocessing,
    labels: Path | None,
    label_offset: int = 0,
    class_names: Sequence[str] | None = None,
) -> Source:
    """The examples in `data`; QlowerError for what can't be read, or an empty set."""
    given = None if labels is None else read_labels(labels)
    if isinstance(data, str | PathLike):
        path = Path(data)
        source = _open_path(path, specs, preprocessing, given, class_names)
    elif isinstance(data, Mapping):
        named = cast(Mapping[str, Any], data)
        source = array_source(specs, named, preprocessing, given)
    elif hasattr(data, "shape") and hasattr(data, "dtype"):
        source = array_source(specs, {"data": data}, preprocessing, given)
    else:
        if given is not None:
            raise QlowerError(
                "a stream brings its labels along: (example, class) pairs"
            )
        source = Stream(tuple(specs), data, preprocessing)
    if given is not None and not any(given):
        raise QlowerError(f"{labels} has no class for any of {len(given):,} examples")
    if label_offset and source.labels is None:
        raise QlowerError("there are no labels for an offset to be added to")
    if label_offset and source.labels is not None:
        source.labels = [
            None if right is None else frozenset(c + label_offset for c in right)
            for right in source.labels
        ]
    return source


def _open_path(
    path: Path,
    specs: Sequence[TensorSpec],
    preprocessing: Preprocessing,
    labels: Sequence[Classes] | None,
    class_names: Sequence[str] | None,
) -> Source:
    if path.suffix in (".npy", ".npz"):
        _check_no_pictures(path, preprocessing, class_names)
        return array_source(specs, open_arrays([path]), preprocessing, labels)
    if path.suffix == ".parquet":
        return parquet_source(specs, [path], preprocessing, labels)
    if not os.path.isdir(path):
        is_there = os.path.exists(path)
        reason = "not a kind of data" if is_there else "no such file or folder"
        raise QlowerError(
            f"cannot read {path}: {reason}",
            help="data is .npy, .npz, .parquet, or a folder of these or of pictures",
        )
    files = sorted(file for file in path.rglob("*") if file.is_file())
    arrays = [file for file in files if file.suffix in (".npy", ".npz")]
    tables = [file for file in files if file.suffix == ".parquet"]
    pictures = [file for file in files if file.suffix.lower() in PICTURES]
    kinds = [kind for kind in (arrays, tables, pictures) if kind]
    if len(kinds) > 1:
        raise QlowerError(f"{path} holds {kinds[0][0].name} and {kinds[1][0].name}")
    if arrays:
        _check_no_pictures(path, preprocessing, class_names)
        return _shards(specs, arrays, preprocessing, labels)
    if tables:
        return parquet_source(specs, tables, preprocessing, labels)
    if len(specs) != 1:
        raise QlowerError(f"pictures are for one input, the model has {len(specs)}")
    return picture_folder(specs[0], path, class_names, preprocessing, labels)


def _check_no_pictures(
    path: Path, preprocessing: Preprocessing, class_names: Sequence[str] | None
) -> None:
    """Refuse what is done to pictures alone, where there are arrays."""
    asked = {
        "a resize": preprocessing.resize,
        "a crop": preprocessing.crop,
        "an order of channels": preprocessing.channels != "rgb",
        "names of classes": class_names is not None,
    }
    found = [name for name, is_asked in asked.items() if is_asked]
    if found:
        raise QlowerError(f"{path} holds arrays: {found[0]} is for pictures")


def _shards(
    specs: Sequence[TensorSpec],
    files: Sequence[Path],
    preprocessing: Preprocessing,
    labels: Sequence[Classes] | None,
) -> Source:
    """A folder of arrays: an `.npy` file an input, or files with some examples each."""
    told = [file for file in files if file.stem in label_keys(specs)]
    rest = [file for file in files if file not in told]
    if not rest:
        raise QlowerError(f"{files[0]} holds labels: the set of examples is empty")
    if len(rest) == 1 or {file.stem for file in rest} == {spec.name for spec in specs}:
        return array_source(specs, open_arrays(files), preprocessing, labels)
    parts = tuple(
        array_source(specs, open_arrays([file]), preprocessing, None) for file in rest
    )
    if labels is None and len(told) == 1:
        (found,) = open_arrays(told).values()
        labels = labels_of(found)
    source = Shards(parts, labels)
    if labels is not None and len(labels) != source.size:
        raise QlowerError(f"there are {len(labels):,} labels for {source.size:,} rows")
    return source
