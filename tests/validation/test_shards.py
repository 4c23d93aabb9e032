"""A folder of files with some examples each, and labels for all."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.model.signature import TensorSpec
from qlower.validation.preprocessing import Preprocessing

SPECS = (TensorSpec("x", (1, 3), "int8", (0.5,), (0,)),)


def shards(folder: Path, *labels: int, given: Any = None) -> Any:
    for name, count in (("part0", 2), ("part1", 3)):
        np.save(folder / f"{name}.npy", np.zeros((count, 3), np.int8))
    if labels:
        np.save(folder / "labels.npy", np.array(labels))
    files = sorted(folder.iterdir())
    inner = vars(import_module("qlower.validation.data"))["_shards"]
    return inner(SPECS, files, Preprocessing(), given)


def test_labels_are_of_all_files(tmp_path: Path) -> None:
    source = shards(tmp_path, 4, 3, 2, 1, 0)
    assert source.size == 5
    assert [tuple(source.classes(row)) for row in range(5)] == [
        *((4,), (3,), (2,), (1,), (0,)),
    ]


@pytest.mark.parametrize("labels", [(1,), (1, 2, 3, 4), (1, 2, 3, 4, 5, 6)])
def test_labels_of_another_number_of_rows(
    labels: tuple[int, ...], tmp_path: Path
) -> None:
    message = f"there are {len(labels)} labels for 5 rows"
    with pytest.raises(QlowerError, match=message):
        shards(tmp_path, *labels)


def test_a_file_of_an_input_has_no_labels(tmp_path: Path) -> None:
    """Whatever labels are usually called."""
    specs = (TensorSpec("label", (1, 3), "int8", (0.5,), (0,)),)
    np.save(tmp_path / "label.npy", np.zeros((2, 3), np.int8))
    np.save(tmp_path / "y.npy", np.array([4, 3]))
    inner = vars(import_module("qlower.validation.data"))["_shards"]
    source = inner(specs, sorted(tmp_path.iterdir()), Preprocessing(), None)
    assert [tuple(source.classes(row)) for row in range(2)] == [(4,), (3,)]
