"""Real quantized ONNX models give the bits of ONNX Runtime, in every value between.

ONNX Runtime runs them at its highest level with int8 allowed for groups in QDQ form, by
default, or without any optimization.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models_directory
from support.formats.onnx_models import compare
from support.formats.random_qdq import RandomGraph

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import AS_WRITTEN, INTEGER, X86
from qlower.interp.values import Array

MODELS = models_directory()
NAMES = sorted(path.parent.name for path in MODELS.glob("*_q*_onnx/model.onnx"))

runtime: Any = pytest.importorskip(
    "onnxruntime.capi.onnxruntime_pybind11_state",
    reason="onnxruntime is not installed",
)
Failure: type[Exception] = runtime.Fail
QUICK = ("ic_resnet8_qdq_onnx", "micro_kws_m_qdq_onnx", "micro_kws_m_qlinear_onnx")

SESSIONS = (INTEGER, X86, AS_WRITTEN)
"""The readings that are ONNX Runtime's."""

RANDOM_GRAPHS = 8
MANY_RANDOM_GRAPHS = 400


def feeds(name: str) -> list[dict[str, Array]]:
    """Every input of the model, in the shape that it takes."""
    model = qlower.load(MODELS / name / "model.onnx")
    (spec,) = model.inputs
    with np.load(MODELS / name / "inputs.npz") as arrays:
        return [{spec.name: x.reshape(spec.shape)} for x in arrays["x"]]


def check_random(seeds: range, folder: Path, qdq: str) -> dict[int, str]:
    """Graphs that are read give the same values; why the others are refused."""
    refused: dict[int, str] = {}
    for seed in seeds:
        path = RandomGraph(seed).builder.save(folder / f"seed_{seed}.onnx")
        try:
            found = compare(path, folder, qdq=qdq)
        except (QlowerError, Failure) as error:
            refused[seed] = str(error)
            continue
        assert found.is_equal, (seed, found.differing)
    return refused


@pytest.mark.parts(3)
@pytest.mark.parametrize("qdq", SESSIONS)
def test_random_graphs(qdq: str, tmp_path: Path) -> None:
    """All are read as they are written; else not one, whose float layer has no known
    order."""
    refused = check_random(range(RANDOM_GRAPHS), tmp_path, qdq)
    assert len(refused) == (qdq != AS_WRITTEN)
    for reason in refused.values():
        assert "the order of a real convolution whose weights aren't" in reason


@pytest.mark.long
@pytest.mark.parametrize("qdq", SESSIONS)
def test_many_random_graphs(qdq: str, tmp_path: Path) -> None:
    seeds = range(RANDOM_GRAPHS, MANY_RANDOM_GRAPHS)
    assert len(check_random(seeds, tmp_path, qdq)) < len(seeds) / 2


@pytest.mark.parts(3)
@pytest.mark.parametrize("name", [name for name in NAMES if name in QUICK])
def test_one_input(name: str, tmp_path: Path) -> None:
    """Interpreted as well where that takes little time."""
    small = name.startswith("micro_kws")
    path = MODELS / name / "model.onnx"
    found = compare(path, tmp_path, feeds(name)[:1], interpreted=small)
    assert found.is_equal, found.differing
    assert found.values > 10_000
    assert found.outputs > 0


@pytest.mark.long
def test_as_written(tmp_path: Path) -> None:
    """Convolutions, products, pools and softmax of float32."""
    name = "micro_kws_m_qdq_onnx"
    if name not in NAMES:
        pytest.skip(f"{name} is not there")
    path = MODELS / name / "model.onnx"
    inputs = feeds(name)[:1]
    found = compare(path, tmp_path, inputs, interpreted=False, qdq=AS_WRITTEN)
    assert found.is_equal, found.differing
    assert found.values > 50_000


@pytest.mark.long
@pytest.mark.parametrize("qdq", SESSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_every_input(name: str, qdq: str, tmp_path: Path) -> None:
    path = MODELS / name / "model.onnx"
    found = compare(path, tmp_path, feeds(name), qdq=qdq)
    assert found.is_equal, found.differing
