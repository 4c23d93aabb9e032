"""Arrays that results are written into, in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.model.signature import TensorSpec
from qlower.runtime.bound import check_outputs
from qlower.runtime.executable import Executable

SPECS = (
    TensorSpec("y", (2, 3), "int8", (0.5,), (0,)),
    TensorSpec("z", (4,), "float32"),
)
SHARED = np.zeros(8, np.int8)


def fresh() -> list[Any]:
    return [np.zeros((2, 3), np.int8), np.zeros(4, np.float32)]


def read_only() -> Any:
    array = np.zeros((2, 3), np.int8)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (fresh()[:1], "the model has 2 outputs, 1 arrays are given"),
        ([*fresh(), np.zeros(1)], "the model has 2 outputs, 3 arrays are given"),
        ([], "the model has 2 outputs, 0 arrays are given"),
        (
            [[1, 2], fresh()[1]],
            "output 'y' needs an array to be written into, not list",
        ),
        (
            [np.zeros((2, 3), np.uint8), fresh()[1]],
            r"output 'y' is \[2, 3\] of int8, the array \[2, 3\] of uint8",
        ),
        (
            [fresh()[0], np.zeros((4, 1), np.float32)],
            r"output 'z' is \[4\] of float32, the array \[4, 1\] of float32",
        ),
        (
            [np.zeros((3, 2), np.int8).T, fresh()[1]],
            "array for output 'y' is not contiguous and aligned",
        ),
        (
            [fresh()[0], np.zeros(17, np.uint8)[1:].view(np.float32)],
            "array for output 'z' is not contiguous and aligned",
        ),
        ([read_only(), fresh()[1]], "the array for output 'y' is read-only"),
        (
            [SHARED[2:].reshape(2, 3), fresh()[1]],
            "the array for output 'y' overlaps another array",
        ),
    ],
)
def test_outputs_that_are_refused(outputs: Sequence[Any], message: str) -> None:
    with pytest.raises(QlowerError, match=message):
        check_outputs(SPECS, outputs, [SHARED[:4]])


def test_outputs_may_not_share_memory_among_themselves() -> None:
    twice = (SPECS[0], SPECS[0])
    memory = np.zeros(12, np.int8)
    parts = [memory[:6].reshape(2, 3), memory[6:].reshape(2, 3)]
    check_outputs(twice, parts, [SHARED])
    with pytest.raises(QlowerError, match="output 'y' overlaps another array"):
        check_outputs(twice, [parts[0], memory[5:11].reshape(2, 3)], [SHARED])


def test_a_system_that_refuses_tile_registers() -> None:
    tiles = SimpleNamespace(request=lambda: False)
    compiled: Any = SimpleNamespace(target=SimpleNamespace(tiles=tiles))
    with pytest.raises(QlowerError, match="refuses this process the tile registers"):
        Executable(compiled)


def test_code_that_is_no_code(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(SMALL_MODEL)
    compiled = Compilation(qlower.load(path)).object
    Executable(compiled)
    for objects in ((b"no object",), compiled.objects[:-1]):
        with pytest.raises(QlowerError, match="the code cannot be loaded: "):
            Executable(replace(compiled, objects=objects))
