"""What `qlower improve` measures, prints, draws and writes, from given figures."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.table_forms import forms

from qlower.diagnostics import QlowerError

pytest.importorskip("torch", reason="torch is not installed")


def room(name: str) -> Any:
    """A module of the room, which imports PyTorch."""
    return import_module(f"qlower.improvement.{name}")


def test_roundings_are_pressed_to_be_whole() -> None:
    """The exponent falls from 20 to 2; a stretched sigmoid reaches 0 and 1."""
    import torch

    rounding = vars(room("rounding"))
    undecided, stretched = rounding["_undecided"], rounding["_stretched"]
    up = torch.tensor([0.0, 0.5, 1.0, 0.75])
    assert undecided(up, 0.2).item() == pytest.approx(1 + 1 - 0.5**20)
    assert undecided(up, 0.6).item() == pytest.approx(1 + 1 - 0.5**11)
    assert undecided(up, 1.0).item() == pytest.approx(1 + 1 - 0.5**2)
    values = stretched(torch.tensor([0.0, 9.0, -9.0, math.log(3)]))
    np.testing.assert_allclose(values, [0.5, 1, 0, 0.75 * 1.2 - 0.1], rtol=1e-6)


def test_figures_against_the_real_network() -> None:
    """Of four examples two have the real network's largest output, one of two labels
    is right."""
    figures = room("figures")
    network: Any = SimpleNamespace(output="p", judged="l")
    found = {"p": np.array([[0, 1], [1, 0], [1, 0], [0, 1.0]]), "l": np.array([3.0, 4])}
    wanted = {
        "p": np.array([[0, 1], [0, 1], [1, 0], [1, 0.0]]),
        "l": np.array([3.0, 3]),
    }
    classes = [{1}, {1, 5}, (), ()]
    one = figures.figures_of(network, found, wanted, classes)
    assert one.decibels == pytest.approx(-10 * math.log10(1 / 18))
    assert (one.agreement, one.top1) == (0.5, 0.5)
    assert figures.figures_of(network, found, wanted, [()] * 4).top1 is None
    examples = figures.Examples((np.arange(4), np.arange(4) * 2), classes)
    part = examples.part(np.array([3, 1]))
    assert [array.tolist() for array in part.inputs] == [[3, 1], [6, 2]]
    assert (part.classes, len(part), len(examples)) == ([(), {1, 5}], 2, 4)


def test_of_four_examples_two_fit_one_decides_one_measures() -> None:
    figures, improve = room("figures"), vars(room("improve"))
    rows = np.arange(10)
    parts = improve["_parts"](figures.Examples((rows,), [()] * 10))
    found = [part.inputs[0].tolist() for part in parts]
    assert found == [[0, 1, 4, 5, 8, 9], [2, 6], [3, 7]]
    is_better = improve["_is_better"]

    def errs(error: float) -> Any:
        there = SimpleNamespace(error=lambda: error)
        return SimpleNamespace(model=object(), on=lambda inputs: there)

    deciding = SimpleNamespace(inputs=(rows,))
    assert is_better(errs(0.1), errs(0.2), deciding)
    assert not is_better(errs(0.2), errs(0.2), deciding)
    same = errs(0.1)
    assert not is_better(same, same, deciding)


def improvement(**changes: Any) -> Any:
    """A result with given figures."""
    result, sensitivity = room("result"), room("sensitivity")
    figures = room("figures").Figures
    given: dict[str, Any] = {
        "model": None,
        "source": Path("net.onnx"),
        "examples": (2000, 1000, 1024),
        "steps": (
            result.Attempt("as it is", True, figures(10.04, 0.5, 0.25), 0.0),
            result.Attempt("gains", False, figures(math.inf, 0.75, 0.5), 1.5),
        ),
        "after": figures(20.0, 1.0, 0.5),
        "layers": (
            sensitivity.LayerEffect("a", "conv2d", 30.0, math.inf, 25.0, 0.125),
            sensitivity.LayerEffect("b", "linear", 12.25, 15.0, math.inf, 0.0),
        ),
        "choices": (
            sensitivity.Choice("as it is", 1500, figures(10.0, 0.5, 0.25)),
            sensitivity.Choice("wide", 1500, None, "no rule"),
        ),
        "real_top1": 0.875,
    }
    return result.Improvement(**{**given, **changes})


def cells(table: Any) -> list[list[str]]:
    lines = table.render("markdown").splitlines()
    rows = [line for line in lines if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows]


def test_the_tables_of_an_improvement() -> None:
    found = improvement()
    assert cells(found.table) == [
        ["method", "kept", "dB", "argmax agrees", "top-1", "seconds"],
        ["as it is", "yes", "10.0", "50.00%", "25.00%", "0"],
        ["gains", "no", "-", "75.00%", "50.00%", "1.5"],
        ["result", "yes", "20.0", "100.00%", "50.00%", "0"],
    ]
    assert found.table.notes == [
        "measured on 1,024 examples by the contract's integers; fitted to 2,000, kept "
        "by 1,000 others",
        "dB: signal to noise of the outputs, before a softmax, against the real "
        "network",
        "top-1 of the real network: 87.50%",
    ]
    assert cells(found.layer_table()) == [
        ["layer", "op", "alone", "without", "own", "saturated"],
        ["a", "conv2d", "30.0", "exact", "25.0", "12.50%"],
        ["b", "linear", "12.2", "15.0", "exact", "0.00%"],
    ]
    assert found.layer_table().notes[-1] == "b hurts most"
    assert forms(found.table) == [
        *("method, left", "kept, left", "dB, right", "argmax agrees, right"),
        *("top-1, right", "seconds, right, rank 1"),
    ]
    assert forms(found.layer_table()) == [
        *("layer, left, cut to 12", "op, left, rank 1", "alone, right"),
        *("without, right", "own, right", "saturated, right"),
    ]
    assert forms(found.choice_table()) == [
        *("precision, left", "weights, bytes, right", "dB, right"),
        *("argmax agrees, right", "top-1, right", "refused, left, cut to 20"),
    ]
    assert cells(found.choice_table()) == [
        ["precision", "weights, bytes", "dB", "argmax agrees", "top-1", "refused"],
        ["as it is", "1,500", "10.0", "50.00%", "25.00%", ""],
        ["wide", "1,500", "-", "-", "-", "no rule"],
    ]
    data = found.to_dict()
    assert data["examples"] == [2000, 1000, 1024]
    assert data["real_top1"] == 0.875
    assert [row["decibels"] for row in data["methods"]] == [10.04, None, 20.0]
    assert [row["without"] for row in data["layers"]] == [None, 15.0]
    assert [row["top1"] for row in data["precision"]] == [0.25, None]
    bare = improvement(
        after=room("figures").Figures(1, 1, None), real_top1=None, layers=()
    )
    assert "top-1" not in cells(bare.table)[0]
    assert len(bare.table.notes) == 2
    assert len(bare.layer_table().notes) == 1


def test_the_picture_of_an_improvement(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    drawn: list[Any] = []
    monkeypatch.setattr(
        "qlower.tables.plots.save",
        lambda figure, path: (drawn.append(figure), path.write_text("")),
    )
    improvement().plot(tmp_path / "a.svg")
    (axes,) = drawn[0].axes
    assert [bar.get_width() for bar in axes.patches] == [30.0, 12.25]
    whole, line = (one.get_data() for one in axes.lines)
    assert [list(map(float, one)) for one in whole] == [[10.04, 15.0], [0, 1]]
    assert list(line[0]) == [10.04, 10.04]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert axes.yaxis_inverted()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        *("alone in float", "all quantized", "quantized alone"),
    ]
    assert axes.get_xlabel() == "signal to noise of the output, dB"
    assert drawn[0].get_size_inches().tolist() == [6.4, 1.9]


def test_where_an_improvement_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written: list[Any] = []
    for name in ("to_tflite", "to_onnx"):
        monkeypatch.setattr(
            room("result"),
            name,
            lambda *given, name=name: written.append((name, *given)),
        )
    source = Path("net.tflite")
    saved = SimpleNamespace(save=lambda path: written.append(path))
    for path in (Path("a.mlir"), Path("a.tflite")):
        improvement(model=saved, source=source).save(path)
    improvement(model=saved).save(Path("a.onnx"))
    assert written == [
        Path("a.mlir"),
        ("to_tflite", saved, source, Path("a.tflite")),
        ("to_onnx", saved, Path("net.onnx"), Path("a.onnx")),
    ]
    with pytest.raises(QlowerError, match=r"a\.tflite: the model came from net\.onnx"):
        improvement().save(Path("a.tflite"))
    with pytest.raises(QlowerError, match="the model came from no file"):
        improvement(source=None).save(Path("a.onnx"))
