"""Transformers of the published sizes have the bits of ONNX Runtime's default session,
or of one without optimizations."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qlower

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

FOLDER = Path(__file__).parents[2] / "examples" / "benchmark"

NETWORKS = ("bert-tiny", "bert-mini", "distilbert", "vit-tiny", "vit-small", "lstm")

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("form", ["static", "dynamic"])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(
    name: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    speed: Any = import_module("transformer_speed")
    path = speed.quantized(name, form, tmp_path)
    for reading, is_optimized in (("x86", True), ("as-written", False)):
        run = qlower.jit(qlower.load(path, qdq=reading))
        session = speed.session_of(path, is_optimized=is_optimized)
        examples = speed.NETWORKS[name].examples(5)
        for _ in range(3):
            x = next(examples)
            found, expected = np.asarray(run(x)), session(x)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            assert found.tobytes() == expected.tobytes()
