"""Figures as files: the same each time, with their texts as text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from qlower.diagnostics import QlowerError
from qlower.process.extras import install_line
from qlower.tables import plots


@pytest.mark.parts(4)
def test_a_figure_as_a_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    written: list[bytes] = []
    for name in ("one.svg", "two.svg"):
        figure: Any = plots.new_figure(4, 2)
        axes = figure.subplots()
        axes.plot([0, 1], [1, 0], label="words")
        axes.set_title("a title")
        plots.save(figure, tmp_path / name)
        shown = {side: spine.get_visible() for side, spine in axes.spines.items()}
        assert shown == {"left": True, "bottom": True, "top": False, "right": False}
        assert tuple(figure.get_size_inches()) == (4, 2)
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    assert b"a title</text>" in written[0]
    assert b"<dc:date>" not in written[0]
    plots.save(figure, tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(QlowerError, match="matplotlib is not installed") as caught:
        plots.new_figure(4, 2)
    assert caught.value.help == install_line("plots")
