"""What `run` writes, prints and says beside, without a model."""

from __future__ import annotations

import json
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.command_lines import parsed

from qlower.diagnostics import QlowerError
from qlower.model.signature import TensorSpec
from qlower.tables.table import Column, Table

Capture = pytest.CaptureFixture[str]
running: Any = import_module("qlower.cli.run")


def rows(name: str) -> Table[str]:
    return Table(name, [name], [Column(name, name, lambda row: row)])


class Ran:
    """An executor that gives the number of the run, and one of a layer."""

    outputs = (TensorSpec("y", (1,), "int8"),)

    def __init__(self) -> None:
        self.count = 0

    def new_state(self) -> str:
        return "state"

    def run(self, _: object, given: Any, state: str) -> Any:
        assert state == "state"
        self.count += 1
        return [np.array([self.count], np.int8)], {"l": np.array([-self.count])}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    inputs = SimpleNamespace(runs=[{"x": 1}, {"x": 2}], join=np.concatenate)
    model = SimpleNamespace(full_names={"l": "net/l"})
    compilation = SimpleNamespace(model=model, contract="c")
    monkeypatch.setattr(running, "check_inputs", lambda _: None)
    monkeypatch.setattr(running, "_prepared", lambda _: (compilation, inputs))
    monkeypatch.setattr(running, "_make_executor", lambda *_: Ran())
    monkeypatch.setattr(running, "clear_status", lambda: said.append("cleared"))
    monkeypatch.setattr(running, "complain", said.append)
    profile = SimpleNamespace(table=rows("profile"))
    monkeypatch.setattr(running, "_profile", lambda _, given: profile)
    return said


@pytest.mark.parametrize(("line", "name"), [("", "l"), ("--full-names", "net/l")])
def test_arrays_that_are_written(
    line: str, name: str, ran: list[str], capsys: Capture
) -> None:
    files = "--output y.npz --save-layers l.npz"
    assert running.run(parsed(f"run m --random {files} {line}")) == 0
    with np.load("y.npz") as file:
        assert {key: file[key].tolist() for key in file} == {"y": [1, 2]}
    with np.load("l.npz") as file:
        assert {key: file[key].tolist() for key in file} == {name: [-1, -2]}
    assert (capsys.readouterr().out, ran) == ("", [])
    with pytest.raises(QlowerError, match=r"y\.npy: arrays are written to \.npz files"):
        running.run(parsed("run m --random --output y.npy"))


def test_a_profile_is_printed_or_part_of_the_object(
    ran: list[str], capsys: Capture
) -> None:
    assert running.run(parsed("run m --random --profile")) == 0
    assert capsys.readouterr().out.startswith("profile\n-------\nprofile\n")
    assert running.run(parsed("run m --random --profile --format json")) == 0
    assert json.loads(capsys.readouterr().out)["profile"] == [{"profile": "profile"}]
    assert (
        running.run(parsed("run m --random --profile --format json --output y.npz"))
        == 0
    )
    assert "profile" in json.loads(capsys.readouterr().out)["rows"][0]


def test_labels_are_judged_at_the_end(
    ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Any] = []
    labels = SimpleNamespace(
        check=lambda *of: checked.append(of),
        judge=lambda found: f"{[one.tolist() for one in found]} judged",
    )
    module = import_module("qlower.cli.labels")
    monkeypatch.setattr(module, "read_labels", lambda path: labels)
    assert running.run(parsed("run m --random --labels l.npy --output y.npz")) == 0
    assert ran == ["cleared", "note: [[1], [2]] judged"]
    assert checked == [(Ran.outputs, 2)]


@pytest.mark.parametrize("form", ["plain", "json"])
def test_a_digest_in_place_of_outputs(
    form: str, ran: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    class Digest:
        def __init__(self, *of: Any) -> None:
            self.of = of

        def to_dict(self) -> dict[str, object]:
            _, contract, inputs, outputs = self.of
            values = [
                {name: one.tolist() for name, one in run.items()} for run in outputs
            ]
            return {"contract": contract, "inputs": inputs, "outputs": values}

        def __str__(self) -> str:
            return "in words"

    module = import_module("qlower.sides.run_digest")
    monkeypatch.setattr(module, "run_digest", Digest)
    assert running.run(parsed(f"run m --random --digest --format {form}")) == 0
    out = capsys.readouterr().out
    if form == "plain":
        assert out == "in words\n"
        return
    found = json.loads(out)
    assert (found["contract"], found["inputs"]) == ("c", [{"x": 1}, {"x": 2}])
    assert found["outputs"] == [{"y": [1]}, {"y": [2]}]
