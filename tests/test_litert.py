"""Every imported TFLite operator against LiteRT's reference kernels."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_builder import Option
from support.formats.tflite_cases import (
    CASES,
    WITHOUT_REFERENCE_KERNEL,
    random_inputs,
)
from support.formats.tflite_general_cases import model
from support.lanes import LEVELS_VARIABLE, is_asked_for
from support.systems.litert import run_litert
from support.systems.recordings import make_executors

import qlower
from qlower.compilation.compilation import Compilation

pytestmark = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)

SEEDS = 2

PARTS = 6
"""Cases of which one runs in every executor, unless all are asked for; test_run_files
has every operator in all of them."""


@pytest.mark.parts(32)
@pytest.mark.parametrize(("turn", "case"), list(enumerate(CASES)), ids=str)
def test_every_executor_gives_the_bits_of_litert(turn: int, case: str, tmp_path: Path):
    path = tmp_path / f"{case}.tflite"
    path.write_bytes(CASES[case]())
    loaded = qlower.load(path)
    executors = (
        make_executors(loaded, "tflite", turn)
        if turn % PARTS == 0 or is_asked_for(LEVELS_VARIABLE)
        else {"qnn": Compilation(loaded, "tflite").interpreter("qnn")}
    )
    kernels = "opt" if case in WITHOUT_REFERENCE_KERNEL else "ref"
    types = [(spec.shape, spec.dtype) for spec in loaded.inputs]
    for seed in range(SEEDS):
        inputs = random_inputs(types, seed)
        expected = run_litert(path.read_bytes(), inputs, kernels=kernels)
        for name, executor in executors.items():
            outputs, _ = executor.run(inputs, {})
            assert len(outputs) == len(expected)
            for output, reference in zip(outputs, expected, strict=True):
                assert output.dtype == reference.dtype, name
                np.testing.assert_array_equal(output, reference, err_msg=name)


@pytest.mark.parametrize("case", CASES)
def test_the_interpreter_gives_the_bits_of_litert(case: str, tmp_path: Path):
    data = CASES[case]()
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    loaded = qlower.load(path)
    inputs = random_inputs([(spec.shape, spec.dtype) for spec in loaded.inputs], SEEDS)
    kernels = "opt" if case in WITHOUT_REFERENCE_KERNEL else "ref"
    expected = run_litert(data, inputs, kernels=kernels)
    outputs, _ = Compilation(loaded, "tflite").interpreter("qnn").run(inputs, {})
    for output, reference in zip(outputs, expected, strict=True):
        assert output.dtype == reference.dtype
        np.testing.assert_array_equal(output, reference)


GATHERS: dict[str, tuple[list[str], str, dict[str, Option]]] = {
    "rows": (["int8 5x2", "int32 4"], "int8 4x2", {"axis": 0}),
    "columns": (
        ["int16 3x5x2 0.01 0", "int64 2x2"],
        "int16 3x2x2x2 0.01 0",
        {"axis": 1},
    ),
    "batches": (
        ["uint8 2x5x3", "int32 2x4"],
        "uint8 2x4x3",
        {"axis": 1, "batch_dims": 1},
    ),
}


@pytest.mark.parametrize("case", GATHERS)
def test_gathering_by_inputs(case: str, tmp_path: Path):
    """The indices are within a dimension of 5: LiteRT stops at others."""
    operands, result, options = GATHERS[case]
    path = tmp_path / f"{case}.tflite"
    path.write_bytes(model("GATHER", operands, result, options=options)())
    loaded = qlower.load(path)
    source, indices = loaded.inputs
    (array,) = random_inputs([(source.shape, source.dtype)], 0)
    chosen = np.random.default_rng(1).integers(0, 5, indices.shape)
    chosen = chosen.astype(indices.dtype)
    (expected,) = run_litert(path.read_bytes(), [array, chosen])
    for found in (
        qlower.jit(loaded)(array, chosen),
        qlower.interpret(loaded, array, chosen, at="qnn"),
    ):
        np.testing.assert_array_equal(found, expected)
