"""tanhf and expm1f, beside LiteRT's kernels and the C library that they call."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.litert import run_litert
from support.tflite_builder import TFLiteBuilder

import qlower

COUNT = 1 << 14

LIBRARY, VERSION = platform.libc_ver()


@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
@pytest.mark.skipif(
    LIBRARY != "glibc" or [int(n) for n in VERSION.split(".")] > [2, 40],
    reason="LiteRT calls the system's C library, whose functions are others",
)
@pytest.mark.parametrize(("operator", "kernels"), [("TANH", "ref"), ("ELU", "opt")])
def test_bits(operator: str, kernels: str, tmp_path: Path) -> None:
    """Any bits, numbers of the usual sizes, and the ends of the function's parts."""
    builder = TFLiteBuilder()
    x, y = (builder.tensor(name, (4 * COUNT,), "float32") for name in "xy")
    builder.operator(operator, [x], [y])
    path = tmp_path / "function.tflite"
    path.write_bytes(builder.build([x], [y]))
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 32, COUNT, dtype=np.uint32).view(np.float32)
    ends = np.array(
        [0.0, 0.173286795, 0.519860387, 1.0397207, 18.714973, 19.7, 22.0, np.inf]
    )
    near = np.repeat(np.append(ends, -ends), COUNT // ends.size // 2)
    near = near + random.integers(-20, 20, near.size) * np.spacing(near.astype("f4"))
    given = np.concatenate(
        [
            np.where(np.isnan(bits), 1, bits),
            random.normal(0, 1, COUNT),
            random.normal(0, 8, COUNT),
            np.where(np.isnan(near), np.inf, near),
        ]
    ).astype(np.float32)
    (expected,) = run_litert(path.read_bytes(), [given], kernels=kernels)
    model = qlower.load(path)
    for found in (qlower.jit(model)(given), qlower.interpret(model, given, at="qnn")):
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found.view("i4"), expected.view("i4"))
