"""Real quantized ONNX models give the bits of ONNX Runtime, in every value between.

ONNX Runtime runs them at its highest level with int8 allowed for groups in QDQ form.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.onnx_models import compare

import qlower
from qlower.interp.values import Array

MODELS = models_directory()
NAMES = sorted(path.parent.name for path in MODELS.glob("*_q*_onnx/model.onnx"))

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytestmark = pytest.mark.skipif(not NAMES, reason=f"no models in {MODELS}")


def feeds(name: str) -> list[dict[str, Array]]:
    """Every input of the model, in the shape that it takes."""
    model = qlower.load(MODELS / name / "model.onnx")
    (spec,) = model.inputs
    with np.load(MODELS / name / "inputs.npz") as arrays:
        return [{spec.name: x.reshape(spec.shape)} for x in arrays["x"]]


@pytest.mark.parametrize("name", NAMES)
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
