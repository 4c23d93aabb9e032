"""The comparison of two commits, with figures in place of measured ones."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "benchmark" / "commits.py"


def test_two_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    spec = importlib.util.spec_from_file_location("commits", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    commits = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "commits", commits)
    spec.loader.exec_module(commits)
    # In the second round the machine is half as fast.
    figures = iter([(2.0, 10.0), (1.0, 9.0), (4.0, 20.0), (2.0, 18.0)] * 2)
    monkeypatch.setattr(commits, "measured", lambda *_: commits.Figures(*next(figures)))
    history = tmp_path / "history.csv"
    for _ in range(2):
        words = [".", ".", "a/model.tflite", "--rounds", "2", "--history", str(history)]
        assert commits.main(words) == 0
    row = "| a | 3.00 | 1.50 | 0.500 | 15.0 | 13.5 | 0.900 |"
    assert row in capsys.readouterr().out
    head, *lines = history.read_text().splitlines()
    assert head == "before,after,model,compile,call"
    assert lines == [".,.,a,0.500,0.900"] * 2
