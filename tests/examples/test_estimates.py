"""The script that compares estimated with measured times."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from support.layers.small_model import SMALL_MODEL

SCRIPT = Path(__file__).parents[2] / "examples" / "benchmark" / "estimates.py"


@pytest.mark.parts(4)
def test_kernels_have_a_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("estimates", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    estimates = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(estimates)
    monkeypatch.setattr(estimates, "LEAST_NANOSECONDS", 0.0)
    path = tmp_path / "model.mlir"
    path.write_text(SMALL_MODEL)
    monkeypatch.setattr(sys, "argv", ["estimates.py", str(path), "--rounds", "3"])
    estimates.main()
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["kernels", "count"]
    assert sum(int(line.split()[1]) for line in lines) > 0
