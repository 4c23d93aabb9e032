"""The picture of a validation: bars, and how sure they are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.validation.result import Validation


def row(
    name: str, labelled: int, interval: tuple[float, float] | None, differing: int
) -> Any:
    output = SimpleNamespace(differing=differing, elements=40)
    counts = SimpleNamespace(labelled=labelled, top1=3, output=output)
    share = (lambda hits: hits / labelled) if labelled else (lambda _: None)
    return SimpleNamespace(contract=name, counts=counts, share=share, interval=interval)


def axes_of(rows: list[Any], monkeypatch: pytest.MonkeyPatch, path: Path) -> Any:
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    drawn: list[Any] = []
    monkeypatch.setattr(
        "qlower.tables.plots.save",
        lambda figure, path: (drawn.append(figure), path.write_text("")),
    )
    given: Any = SimpleNamespace(contracts=rows, against="tvm")
    Validation.plot(given, path / "a.svg")
    (axes,) = drawn[0].axes
    size = drawn[0].get_size_inches().tolist()
    assert size == pytest.approx([6.4, 1.2 + 0.35 * len(rows)])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert axes.yaxis_inverted()
    return axes


def test_accuracies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [row("a", 4, (0.5, 0.875), 1), row("b", 0, None, 2)]
    axes = axes_of(rows, monkeypatch, tmp_path)
    assert [bar.get_width() for bar in axes.patches] == [75, 0]
    (bars,) = (one for one in axes.containers if getattr(one, "errorbar", None))
    (segments,) = bars.errorbar[2]
    ends = [[float(x) for x, _ in one] for one in segments.get_segments()]
    assert ends == [[50, 87.5], [0, 0]]
    assert axes.get_xlim() == (0, 100)
    assert axes.get_xlabel() == "top-1 accuracy in %, and its 95 % confidence interval"


def test_differences(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no example has a class."""
    rows = [row("a", 0, None, 10), row("b", 0, None, 0)]
    rows[1].counts.output.elements = 0
    axes = axes_of(rows, monkeypatch, tmp_path)
    assert [bar.get_width() for bar in axes.patches] == [25, 0]
    assert axes.get_xlabel() == "outputs that differ from tvm, in %"
