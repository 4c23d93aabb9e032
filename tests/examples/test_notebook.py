"""The notebook of an example runs, and shows what it shows as tables."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Protocol, runtime_checkable

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "glow-divergence"


@runtime_checkable
class Shown(Protocol):
    """What a notebook shows as HTML."""

    def _repr_html_(self) -> str: ...


def show(one: Shown) -> str:
    return one._repr_html_()  # pyright: ignore[reportPrivateUsage]


def cells() -> list[str]:
    """The code of the notebook."""
    notebook = json.loads((FOLDER / "diff.ipynb").read_text())
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
    shown = [run(code, names) for code in cells()]
    pages = [show(one) for one in shown if isinstance(one, Shown)]
    assert len(pages) == 4
    assert all("<table>" in page for page in pages)
    assert "stem" in pages[1]
    assert "glow-cpu" in pages[3]
