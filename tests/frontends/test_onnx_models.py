"""Real quantized ONNX models give the bits of ONNX Runtime, in every value between.

ONNX Runtime runs them at its highest level with int8 allowed for groups in QDQ form.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.onnx_models import compare
from support.random_qdq import RandomGraph

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

MODELS = models_directory()
NAMES = sorted(path.parent.name for path in MODELS.glob("*_q*_onnx/model.onnx"))

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
QUICK = ("ic_resnet8_qdq_onnx", "micro_kws_m_qdq_onnx", "micro_kws_m_qlinear_onnx")

RANDOM_GRAPHS = 16
MANY_RANDOM_GRAPHS = 400


def feeds(name: str) -> list[dict[str, Array]]:
    """Every input of the model, in the shape that it takes."""
    model = qlower.load(MODELS / name / "model.onnx")
    (spec,) = model.inputs
    with np.load(MODELS / name / "inputs.npz") as arrays:
        return [{spec.name: x.reshape(spec.shape)} for x in arrays["x"]]


def check_random(seeds: range, folder: Path) -> None:
    """Graphs that are fused entirely give the same values; others are refused."""
    compared = 0
    for seed in seeds:
        path = RandomGraph(seed).builder.save(folder / f"seed_{seed}.onnx")
        try:
            found = compare(path, folder)
        except QlowerError:
            continue
        assert found.is_equal, (seed, found.differing)
        compared += 1
    assert compared > len(seeds) / 5


def test_random_graphs(tmp_path: Path) -> None:
    check_random(range(RANDOM_GRAPHS), tmp_path)


@pytest.mark.long
def test_many_random_graphs(tmp_path: Path) -> None:
    check_random(range(RANDOM_GRAPHS, MANY_RANDOM_GRAPHS), tmp_path)


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
@pytest.mark.parametrize("name", NAMES)
def test_every_input(name: str, tmp_path: Path) -> None:
    found = compare(MODELS / name / "model.onnx", tmp_path, feeds(name))
    assert found.is_equal, found.differing
