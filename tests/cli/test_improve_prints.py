"""`qlower improve` prints all of its tables, or all of its data."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.cli import main
from qlower.tables.table import Column, Table

NAMES = ("methods", "layers", "choices")


@pytest.mark.parametrize("form", ["plain", "json"])
def test_tables(
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")

    def table(name: str) -> Table[str]:
        return Table(name, [f"row of {name}"], [Column("of", "of", lambda row: row)])

    saved: list[Path] = []
    found = SimpleNamespace(
        table=table("methods"),
        layer_table=lambda: table("layers"),
        choice_table=lambda: table("choices"),
        to_dict=lambda: {"all": True},
        save=saved.append,
    )
    room = import_module("qlower.improvement.improve")
    monkeypatch.setattr(room, "improve", lambda *_, **__: found)
    model, output = tmp_path / "m.mlir", tmp_path / "better.mlir"
    model.write_text(SMALL_MODEL)
    words = ["improve", str(model), "--data", "x.npy", "--format", form]
    assert main([*words, "-o", str(output)]) == 0
    out = capsys.readouterr().out
    assert saved == [output]
    if form == "json":
        assert json.loads(out)["all"] is True
    else:
        places = [out.index(f"row of {name}") for name in NAMES]
        assert places == sorted(places)
        assert f"{output} is written" in out
