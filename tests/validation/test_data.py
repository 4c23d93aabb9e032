"""What users give as data, and the labels of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.model.signature import TensorSpec
from qlower.validation.data import open_source
from qlower.validation.preprocessing import Preprocessing

SPECS = [TensorSpec("x", (1, 2), "int8", (0.5,), (0,))]
X = np.arange(6, dtype=np.int8).reshape(3, 2)


def opened(data: Any, labels: Any, offset: int, folder: Path) -> Any:
    path = None
    if labels is not None:
        path = folder / "labels.npy"
        np.save(path, np.array(labels))
    return open_source(data, SPECS, Preprocessing(), path, offset)


LABELS: list[tuple[Any, Any, int, Any]] = [
    (None, None, 0, None),
    ([4, 5, 6], None, 0, [4, 5, 6]),
    ([4, 5, 6], None, -1, [3, 4, 5]),
    (None, [1, 2, 3], 0, [1, 2, 3]),
    (None, [1, 2, 3], 2, [3, 4, 5]),
    ([4, 5, 6], [1, 2, 3], 1, [2, 3, 4]),  # those of the option count
]
FORMS = [
    (form, *one)
    for form in ("array", "arrays", "file")
    for one in LABELS
    if form != "array" or one[0] is None  # an array alone has no labels
]


@pytest.mark.parametrize(("form", "own", "given", "offset", "classes"), FORMS)
def test_labels(
    form: str, own: Any, given: Any, offset: int, classes: Any, tmp_path: Path
) -> None:
    named: dict[str, Any] = {"x": X}
    if own is not None:
        named["labels"] = np.array(own)
    data: Any = {"array": X, "arrays": named, "file": tmp_path / "data.npz"}[form]
    if form == "file":
        np.savez(data, **named)
    source = opened(data, given, offset, tmp_path)
    found = source.labels
    wanted = None if classes is None else [frozenset([one]) for one in classes]
    assert (None if found is None else [*found]) == wanted


def test_labels_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(
        QlowerError, match="there are no labels for an offset to be add"
    ):
        opened(X, None, 1, tmp_path)
    with pytest.raises(QlowerError, match="a stream brings its labels along"):
        opened(iter([X]), [1, 2, 3], 0, tmp_path)
    assert opened(iter([X]), None, 0, tmp_path) is not None
    with pytest.raises(
        QlowerError, match=r"labels are a list of integers, not \[2\] of f"
    ):
        opened({"x": X, "labels": np.zeros(2)}, None, 0, tmp_path)
