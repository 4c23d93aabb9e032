"""The right classes of examples, from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from qlower.diagnostics import QlowerError
from qlower.files.arrays import read_arrays
from qlower.files.digits import is_number
from qlower.files.json_text import parse_json
from qlower.validation.counts import Classes

LABEL_FILES = ".npy, .npz, .json, .txt or .csv"


def read_labels(path: Path) -> tuple[Classes, ...]:
    """The classes of each example, in order.

    An `.npy` or `.npz` file holds one array of integers, a line of `.txt` or `.csv` an
    integer (nothing: unknown). An item of `.json` is a class, a list of classes that
    are all right (none: unknown), or an object with that as "label" or "labels".
    """
    try:
        if path.suffix in (".npy", ".npz"):
            return _of_array(path)
        if path.suffix == ".json":
            items: Any = parse_json(path.read_text(encoding="utf-8"))
            if not isinstance(items, list):
                raise QlowerError(f"{path}: labels are a list, one item an example")
            numbered = enumerate(cast(list[Any], items))
            return tuple(_of_item(path, n, item) for n, item in numbered)
        if path.suffix in (".txt", ".csv"):
            lines = path.read_text(encoding="utf-8").splitlines()
            return tuple(_of_line(path, n, line) for n, line in enumerate(lines, 1))
    except OSError as error:
        raise QlowerError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise QlowerError(f"cannot read {path}: {error}") from error
    raise QlowerError(f"{path}: labels are read from {LABEL_FILES} files")


def check_labels(labels: Sequence[Classes], path: Path, classes: int) -> None:
    """Refuse labels outside of [0, classes), the first of them by its example."""
    for number, right in enumerate(labels):
        for label in sorted(right or ()):
            if not 0 <= label < classes:
                raise QlowerError(
                    f"{path}: {label} (example {number}) is no label, they are in "
                    f"[0, {classes})"
                )


def label_array(path: Path) -> NDArray[np.int64]:
    """The labels in a file with one array of integers; a column of them will do."""
    arrays = read_arrays(path)
    if len(arrays) != 1:
        raise QlowerError(f"{path} holds {len(arrays)} arrays, 1 is needed")
    (array,) = arrays.values()
    if array.dtype.kind not in "iu":
        raise QlowerError(f"{path} holds {array.dtype}, labels are integers")
    if array.ndim != 1 and array.shape[1:] != (1,):
        raise QlowerError(f"{path} holds an array of shape {list(array.shape)}")
    return array.astype(np.int64).ravel()


def _of_array(path: Path) -> tuple[Classes, ...]:
    return tuple(frozenset([label]) for label in label_array(path).tolist())


def _of_item(path: Path, number: int, item: Any) -> Classes:
    if isinstance(item, dict):
        entries = cast(dict[str, Any], item)
        item = entries.get("labels", entries.get("label"))
    given = cast(list[Any], item) if isinstance(item, list) else [item]
    labels = [label for label in given if label is not None]
    if not all(isinstance(label, int) for label in labels):
        raise QlowerError(f"{path}: {item!r} (example {number}) is no label")
    return frozenset(labels)


def _of_line(path: Path, number: int, line: str) -> Classes:
    text = line.strip()
    if not text:
        return None
    if not is_number(text.removeprefix("-")):
        raise QlowerError(f"{path}:{number}:1: error: {text[:40]!r} is no label")
    return frozenset([int(text)])
