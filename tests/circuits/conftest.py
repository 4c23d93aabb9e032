"""Yosys as it was when it read the recorded modules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.circuits.recorded_rtl import RECORDED

from qlower.circuits.rtl import design
from qlower.circuits.tools import Done


@pytest.fixture
def yosys(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Yosys as it was; the scripts that it is given."""
    scripts: list[str] = []

    def run(words: Sequence[str], folder: Path, seconds: float) -> Done:
        assert (list(words[:3]), seconds) == (["/bin/yosys", "-q", "-p"], 60.0)
        top = words[3].partition("-top ")[2].partition(";")[0]
        for kind in ("smt2", "json"):
            text = (RECORDED / f"{top}.{kind}").read_text()
            (folder / f"design.{kind}").write_text(text)
        assert (folder / "rtl.sv").read_text() == (RECORDED / f"{top}.sv").read_text()
        scripts.append(words[3])
        return Done(0, "")

    monkeypatch.setattr(design, "find_program", lambda name: f"/bin/{name}")
    monkeypatch.setattr(design, "run_within_limits", run)
    return scripts
