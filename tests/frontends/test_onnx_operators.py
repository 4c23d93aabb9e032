"""Every operator that is imported gives ONNX Runtime's values, in every executor."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.onnx_cases import CASES
from support.onnx_models import compare

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.mark.parts(16)
@pytest.mark.parametrize("name", CASES)
def test_operator(name: str, tmp_path: Path) -> None:
    path = CASES[name]().save(tmp_path / "model.onnx")
    found = compare(path, tmp_path, count=2)
    assert found.is_equal, found
    assert found.outputs > 0
