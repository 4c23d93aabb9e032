"""The comparison of two commits, with figures in place of measured ones."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "benchmark" / "commits.py"


@pytest.mark.parts(5)
def test_two_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("commits", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    commits = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "commits", commits)
    spec.loader.exec_module(commits)
    # In the second round the machine is half as fast.
    figures = iter(
        [
            (2.0, 10.0, 0.5, 40.0),
            (1.0, 9.0, 0.5, 45.0),
            (4.0, 20.0, 1.0, 80.0),
            (2.0, 18.0, 1.0, 90.0),
        ]
        * 2
    )
    monkeypatch.setattr(commits, "measured", lambda *_: commits.Figures(*next(figures)))
    monkeypatch.setattr(commits, "check_out", lambda *_: tmp_path)
    monkeypatch.setattr(commits, "git", lambda *words: f"{words[0]} {words[-1]}")
    history = tmp_path / "history.csv"
    for _ in range(2):
        words = ["x", "y", "a/model.tflite", "--rounds", "2", "--history", str(history)]
        assert commits.main(words) == 0
    row = "| a | 3.00 | 1.50 | 0.500 | 15.0 | 13.5 | 0.900 | 4.00 | 5.00 |"
    assert row in capsys.readouterr().out
    head, *lines = history.read_text().splitlines()
    assert head == "commit,date,model,compile_yardsticks,litert_ratio"
    assert lines == [
        "rev-parse x,log rev-parse x,a,4.000,4.000",
        "rev-parse y,log rev-parse y,a,2.000,5.000",
    ]
    assert history.with_suffix(".svg").read_text().count("rev-parse") == 4


def test_the_committed_history_is_drawn():
    """The picture beside the file shows the commits that the file has."""
    file = SCRIPT.with_name("history.csv")
    commits = {line.split(",")[0] for line in file.read_text().splitlines()[1:]}
    picture = file.with_suffix(".svg").read_text()
    assert commits
    assert all(commit in picture for commit in commits)
