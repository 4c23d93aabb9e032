"""The notebooks of examples run, and show what they show as tables."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import Protocol, runtime_checkable

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = EXAMPLES / "glow-divergence"


@runtime_checkable
class Shown(Protocol):
    """What a notebook shows as HTML."""

    def _repr_html_(self) -> str: ...


def show(one: Shown) -> str:
    return one._repr_html_()  # pyright: ignore[reportPrivateUsage]


def cells(path: Path) -> list[str]:
    """The code of a notebook."""
    notebook = json.loads(path.read_text())
    assert notebook["nbformat"] == 4
    return [
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def run(code: str, names: dict[str, object]) -> object:
    """Run a cell as a notebook does: its last expression is what it shows."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_its_cells_run_and_show_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    names: dict[str, object] = {}
    shown = [run(code, names) for code in cells(FOLDER / "diff.ipynb")]
    pages = [show(one) for one in shown if isinstance(one, Shown)]
    assert len(pages) == 4
    assert all("<table>" in page for page in pages)
    assert "stem" in pages[1]
    assert "glow-cpu" in pages[3]


@pytest.mark.long
def test_training_for_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("torch", "matplotlib"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    folder = tmp_path / "digits"
    shutil.copytree(EXAMPLES / "digits", folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    names: dict[str, object] = {}
    code = [
        one.replace("EPOCHS = 20", "EPOCHS = 1")
        for one in cells(folder / "device_training.ipynb")
    ]
    shown = [run(one, names) for one in code]
    assert sum(isinstance(one, Shown) for one in shown) == 2
    curves = shown[-2]
    assert isinstance(curves, dict)
    assert curves.keys() == {"fake quantization", "device"}
    assert "<svg" in (folder / "my_curves.svg").read_text()
