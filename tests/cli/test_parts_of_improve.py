"""What `improve`, `compile --emit gates` and `run` do around their work."""

from __future__ import annotations

import json
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.command_lines import parsed

from qlower.cli.exit_codes import UsageError
from qlower.cli.output import check_plot, write_junit, write_plot
from qlower.cli.tables.junit import Case
from qlower.diagnostics import QlowerError
from qlower.model.signature import TensorSpec
from qlower.process.extras import install_line
from qlower.tables.table import Table

Capture = pytest.CaptureFixture[str]
improving: Any = import_module("qlower.cli.improve")
circuits: Any = import_module("qlower.cli.circuits")
running: Any = import_module("qlower.cli.run")


# improve


class Improved:
    """A result with three empty tables."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.table = self.layer_table()

    def layer_table(self) -> Table[str]:
        return Table("t", [], [], notes=["a table"])

    choice_table = layer_table

    def to_dict(self) -> dict[str, object]:
        return {"all": 1}

    def save(self, path: Path) -> None:
        self.done.append(("saved", path))

    def plot(self, path: Path) -> None:
        self.done.append(("drawn", path))


@pytest.fixture
def improved(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("torch", reason="torch is not installed")
    found: Any = Improved()
    model = SimpleNamespace(path=Path("m.tflite"))

    def improve(*of: Any, **named: Any) -> Improved:
        found.done.append((of, named))
        return found

    def as_model(given: Any, contracts: Any) -> Any:
        found.done.append(contracts)
        return model

    monkeypatch.setattr(improving, "find_spec", lambda _: True)
    monkeypatch.setattr("qlower.improvement.improve.improve", improve)
    monkeypatch.setattr(improving, "given_model", lambda _: "given")
    monkeypatch.setattr(improving, "as_model", as_model)
    return found


LINE = "improve m.tflite --data x.npy"


def test_what_is_improved(improved: Any, capsys: Capture) -> None:
    line = f"{LINE} --methods a,,b --contract c --layer-contract l=d --limit 1"
    assert improving.run(parsed(f"{line} -o out.tflite --plot p.svg")) == 0
    contracts, ((_, data), named), *done = improved.done
    assert (contracts, data) == (["c"], "x.npy")
    assert named["methods"] == ["a", "b"]
    assert (named["limit"], named["layer_contracts"]) == (1, {"l": "d"})
    assert done == [("saved", Path("out.tflite")), ("drawn", Path("p.svg"))]
    out = capsys.readouterr().out
    assert out == "a table\n\na table\n\na table\nout.tflite is written\n"
    improved.done.clear()
    assert improving.run(parsed(f"{LINE} -o out.mlir --format json")) == 0
    assert improved.done[0] == []
    assert improved.done[2:] == [("saved", Path("out.mlir"))]
    assert json.loads(capsys.readouterr().out)["all"] == 1
    assert improving.run(parsed(f"{LINE} -o out.mlir --format csv")) == 0
    assert "is written" not in capsys.readouterr().out


def test_what_is_not_improved(improved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for line, message in (
        ("--limit 0", "--limit 0: at least 1"),
        (
            "-o out.onnx",
            "--output 'out.onnx' ends with neither .mlir nor .tflite",
        ),
        ("--plot p.gif", "--plot 'p.gif' ends with neither .svg nor .png"),
    ):
        with pytest.raises(QlowerError) as caught:
            improving.run(parsed(f"{LINE} {line}"))
        assert caught.value.message == message
    assert not any(isinstance(one, tuple) for one in improved.done)
    monkeypatch.setattr(improving, "find_spec", lambda _: None)
    with pytest.raises(QlowerError) as caught:
        improving.run(parsed(LINE))
    assert caught.value.message == "qlower improve needs PyTorch"
    assert caught.value.help == install_line("torch")


# gates


@pytest.mark.parametrize(("line", "name"), [("", "m"), ("--name n", "n")])
def test_gates_are_written(
    line: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def write(folder: Path, name: str) -> list[str]:
        (folder / "a").write_text(name)
        return ["a", "b"]

    made = SimpleNamespace(
        write=write, to_dict=lambda: {"wires": 3}, render=lambda _: "3 wires"
    )
    monkeypatch.setattr(circuits, "model_gates", lambda *of: made)
    monkeypatch.setattr(circuits, "given_model", lambda _: "given")
    line = f"compile d/m.mlir -o out --emit gates {line}"
    assert circuits._write_gates(parsed(line), ["gates"]) == 0
    assert capsys.readouterr().out == "out/a\nout/b\n\n3 wires\n"
    assert Path("out/a").read_text() == name
    assert circuits._write_gates(parsed(f"{line} --json"), ["gates"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["files"], data["wires"]) == (["out/a", "out/b"], 3)
    with pytest.raises(UsageError) as caught:
        circuits._write_gates(parsed(line), ["gates", "comb"])
    assert caught.value.message == (
        "--emit gates is of a whole model, and written alone"
    )
    with pytest.raises(QlowerError):
        circuits._write_gates(parsed(f"{line} --stages 3"), ["gates"])


# sizes that a file leaves open


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A model of two numbers, or of as many as --shape says up to four."""
    said: list[str] = []

    def make(options: Namespace) -> Any:
        size = int(options.shape[0].rpartition("=")[2]) if options.shape else 2
        if size > 4:
            raise QlowerError("too many")
        inputs = [TensorSpec("x", (size,), "int8")]
        return SimpleNamespace(signature=SimpleNamespace(inputs=inputs))

    monkeypatch.setattr(running, "make_compilation", make)
    monkeypatch.setattr(running, "complain", said.append)
    return said


def prepared(size: int, line: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    arrays = {"x": np.zeros(size, np.int8), "s": np.int8(3)}
    monkeypatch.setattr(running, "given_arrays", lambda *_: arrays)
    return running._prepared(parsed(f"run {line} --random"))


def test_open_sizes_are_those_of_inputs(
    opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compilation, inputs = prepared(2, "m", monkeypatch)
    assert (compilation.signature.inputs[0].shape, opened) == ((2,), [])
    compilation, inputs = prepared(3, "m", monkeypatch)
    assert compilation.signature.inputs[0].shape == (3,)
    assert inputs.runs[0]["x"].shape == (3,)
    assert opened == ["note: sizes are those of the inputs: --shape x=3"]
    for size, line in ((5, "m"), (3, "m --shape x=2"), (3, "-")):
        with pytest.raises(QlowerError) as caught:
            prepared(size, line, monkeypatch)
        assert caught.value.message == (
            f"input 'x' has shape [{size}], the model takes [2]"
        )
    assert len(opened) == 1


# pictures and cases


def test_files_that_are_asked_for() -> None:
    found: Any = Improved()
    for path in (None, "a.svg", "b.png"):
        options = Namespace(plot=path, junit=path and "j.xml", command="lint")
        check_plot(options)
        write_plot(options, found)
        write_junit(options, lambda: [Case("a", "wrong"), Case("b")])
        assert Path("j.xml").exists() == (path is not None)
    assert found.done == [("drawn", Path("a.svg")), ("drawn", Path("b.png"))]
    text = Path("j.xml").read_text()
    assert 'name="qlower lint"' in text
    assert (text.count("<testcase"), text.count("<failure")) == (2, 1)
