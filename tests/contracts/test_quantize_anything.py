"""Quantizing what no integer holds: infinities, NaN, numbers beyond 32 bits.

C++ leaves most of it undefined. A contract gives what its system gives on x86, and
gives it in every executor and on every machine.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_builder import TFLiteBuilder
from support.machines.aarch64 import aarch64_levels
from support.systems.litert import run_litert
from support.systems.recordings import make_executors
from support.systems.tflm import run_tflm
from support.values.near_ties import WITHOUT_ZERO_POINTS

import qlower
from qlower.compilation.compilation import Compilation
from qlower.contracts import contract_names
from qlower.emulation.emulator import EmulatedExecutable

NAN = np.float32(np.nan)
REALS = np.array(
    [
        *(np.inf, -np.inf, NAN, -NAN, 3e9, -3e9, 1e30, -1e30, 0.0, 200.0, -200.0),
        # Around 2^31, in the last whole vector and beyond, and where a zero point makes
        # it wrap.
        *(2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 2147483392.0),
        *(np.inf, 1048575.5, 1048576.5, -1048577.0, NAN),
    ],
    np.float32,
)
ZERO_POINTS = (-128, -5, 0, 7, 127)


def write_quantize(folder: Path, dtype: str, scale: float, point: int) -> Path:
    """A model of one QUANTIZE; `point` is that of int8, 128 less than that of uint8."""
    builder = TFLiteBuilder()
    shape = (REALS.size,)
    x = builder.tensor("x", shape, "float32")
    point += 128 if dtype == "uint8" else 0
    y = builder.tensor("y", shape, dtype, scale=scale, zero_point=point)
    builder.operator("QUANTIZE", [x], [y])
    path = folder / "quantize.tflite"
    path.write_bytes(builder.build([x], [y]))
    return path


@pytest.mark.parts(36)
@pytest.mark.parametrize("contract", contract_names())
def test_every_executor_agrees(contract: str, tmp_path: Path):
    """On AArch64, too, whose conversions saturate and make 0 of NaN."""
    turn = contract_names().index(contract)
    point = 0 if contract in WITHOUT_ZERO_POINTS else ZERO_POINTS[turn % 5]
    model = qlower.load(write_quantize(tmp_path, "int8", 1.0, point))
    executors = make_executors(model, contract, turn)
    ((expected,), _) = executors.pop("qnn").run([REALS], {})
    for name, executor in executors.items():
        ((result,), _) = executor.run([REALS], {})
        np.testing.assert_array_equal(result, expected, name)
    compiled = Compilation(model, contract, aarch64_levels()["baseline"]).code
    (result,) = EmulatedExecutable(compiled)([REALS])
    np.testing.assert_array_equal(result, expected, "AArch64")


@pytest.mark.parts(3)
@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
@pytest.mark.parametrize(
    ("kernels", "contract"),
    [("ref", "tflite"), ("opt", "tflite-ruy"), ("xnn", "tflite-xnnpack")],
)
def test_litert(kernels: str, contract: str, tmp_path: Path):
    for dtype in ("int8", "uint8"):
        for scale in (1.0, 0.1):
            for point in ZERO_POINTS:
                path = write_quantize(tmp_path, dtype, scale, point)
                expected = run_litert(path.read_bytes(), [REALS], kernels=kernels)
                result = qlower.interpret(qlower.load(path), REALS, contract=contract)
                np.testing.assert_array_equal(result, expected[0], f"{dtype}, {point}")


@pytest.mark.parts(3)
@pytest.mark.skipif(
    find_spec("tflite_micro") is None, reason="tflite-micro is not installed"
)
def test_tflm(tmp_path: Path):
    for point in ZERO_POINTS:
        path = write_quantize(tmp_path, "int8", 1.0, point)
        (expected,) = run_tflm(path.read_bytes(), [REALS])
        result = qlower.interpret(qlower.load(path), REALS, contract="tflm")
        np.testing.assert_array_equal(result, expected, str(point))
