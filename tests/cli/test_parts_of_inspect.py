"""What `inspect`, `contracts new` and `compare` make of their options, and of a model
that isn't compiled."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.command_lines import parsed

from qlower.cli import main
from qlower.cli.exit_codes import UsageError
from qlower.contract_pages.contract_differences import (
    Comparison,
    Disagreement,
    Kind,
)
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.frontends.load import as_model
from qlower.tables.table import Table

Capture = pytest.CaptureFixture[str]
inspect: Any = import_module("qlower.cli.inspect")
compare: Any = import_module("qlower.cli.compare")


# inspect


@pytest.mark.parametrize(
    ("line", "message", "help"),
    [
        (
            "--format csv",
            "--format csv is for the table of layers",
            "inspect MODEL --stats prints it",
        ),
        (
            "--at qnn --dump-ir d",
            "--dump-ir has nothing to write: no pass is run for --at qnn",
            "--at llvm runs all of them",
        ),
    ],
)
def test_options_of_inspect_that_are_refused(
    line: str, message: str, help: str
) -> None:
    with pytest.raises(UsageError) as caught:
        inspect.run(parsed(f"inspect m {line}"))
    assert (caught.value.message, caught.value.help) == (message, help)


@pytest.mark.parametrize("line", ["--format csv", "--at qnn --dump-ir d", ""])
def test_statistics_take_these_options(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    asked: list[Any] = []

    def stats(compilation: Any, chosen: Any, *, full_names: bool) -> Any:
        asked.append((chosen, full_names))
        return SimpleNamespace(table=Table[str]("t", [], [], notes=["first"]))

    statistics = import_module("qlower.inspection.statistics")
    monkeypatch.setattr(statistics, "stats_of", stats)
    model = SimpleNamespace(model=SimpleNamespace(module="module"))
    monkeypatch.setattr(inspect, "make_compilation", lambda _: model)
    monkeypatch.setattr(inspect, "select_layers", lambda *of: list(of))
    shown: list[Table[Any]] = []
    monkeypatch.setattr(inspect, "print_table", lambda table, _: shown.append(table))
    assert inspect.run(parsed(f"inspect a'b --stats {line}")) == 0
    assert inspect.run(parsed("inspect m --stats --layer l --full-names")) == 0
    assert asked == [(None, False), (["module", "l"], True)]
    assert list(shown[0].notes) == [
        "first",
        "Run `qlower lint 'a'\"'\"'b'` to find layers that can overflow 32 bits (or "
        "--accumulator-bits N).",
    ]


def test_layers_of_which_nothing_is_left(model: str) -> None:
    module = as_model(Path(model)).module
    for chosen, words in ((["no"], "layer 'no'"), (["no", "n"], "layers 'no', 'n'")):
        with pytest.raises(QlowerError) as caught:
            inspect._ir(module, chosen, False)
        assert caught.value.message == f"nothing is left of {words} at this level"
    whole = inspect._ir(module, None, True)
    assert "func.func" in whole
    lone = inspect._ir(module, ["conv"], False)
    assert ("func.func" in lone, "qnn.conv2d" in lone) == (False, True)
    assert "qnn.constant" not in lone
    with_constants = inspect._ir(module, ["conv"], True)
    assert with_constants.count("qnn.constant") == 1
    assert "qnn.linear" not in with_constants
    # With constants it is a model of its own.
    assert "func.func @main" in inspect._layers(module, ["conv"], True)
    assert "func.func" not in inspect._layers(module, ["conv"], False)


KERNELS = [
    SimpleNamespace(name="a", layers=["conv"]),
    SimpleNamespace(name="b", layers=["flat", "conv"]),
    SimpleNamespace(name="c", layers=["scores"]),
]


@pytest.mark.parametrize("level", ["llvm", "asm"])
def test_code_of_layers(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = {name: f"{level} of {name}" for name in "abc"}
    code = SimpleNamespace(
        llvm_text="llvm", assembly=lambda: "asm", functions=functions, kernels=KERNELS
    )
    monkeypatch.setattr(inspect, "functions_of", lambda _: functions)
    compilation = SimpleNamespace(code=code)
    text = inspect._text
    assert text(compilation, level, None, False) == level
    found = text(compilation, level, ["conv"], False)
    assert found.splitlines() == [f"{level} of a", f"{level} of b"]
    with pytest.raises(QlowerError) as caught:
        text(compilation, level, ["add"], False)
    assert caught.value.message == "there is no code of layer 'add' alone"


def test_the_contract_is_written_above(model: str) -> None:
    module = as_model(Path(model)).module
    compilation = SimpleNamespace(contract="tvm", qnn=module, arith=module)
    arith = inspect._text(compilation, "arith", None, False)
    assert arith.startswith("// contract tvm\n!")
    assert 'qnn.contract = "tvm"' in inspect._text(compilation, "qnn", None, False)
    plain = SimpleNamespace(contract=None, qnn=module, arith=module)
    own = inspect._text(plain, "arith", None, False)
    assert own.startswith("// contract tflite\n!")
    del module.attributes["qnn.contract"]
    assert inspect._text(plain, "arith", None, False).startswith("!")
    assert inspect._with_contract(plain) is module
    wrong = SimpleNamespace(contract="nobody", qnn=module)
    with pytest.raises(QlowerError, match="nobody"):
        inspect._text(wrong, "qnn", None, False)


# contracts new


@pytest.mark.parametrize("name", ["mine", "mine.mlir", "/mine"])
def test_a_contract_of_steps_is_written(
    name: str, tmp_path: Path, capsys: Capture
) -> None:
    given = f"{tmp_path}{name}" if name.startswith("/") else name
    line = ["contracts", "new", given, "--base", "tflite", "--rounding", "half_up"]
    assert main(line) == 0
    path = Path(given.removesuffix(".mlir") + ".mlir")
    contract = load_contract(str(path))
    where = f"{path}" if path.is_absolute() else f"./{path}"
    assert capsys.readouterr().out == (
        f"{path}: {contract.summary}; base tflite\n"
        f"qlower run MODEL --random --contract {where}\n"
    )
    written = path.read_text()
    assert main(line) == 1
    assert f"{path} is there already" in capsys.readouterr().err
    assert path.read_text() == written


# compare


def test_subjects_of_a_comparison(
    model: str, image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = parsed(f"contracts compare {model}")
    drawn = compare.subject_of(model, options)
    assert drawn.name == Path.cwd().name  # a folder a model
    (codes,) = drawn.inputs.values()
    assert codes.shape == (4, 1, 2, 2, 1)
    Path(model).rename("digits.mlir")
    named = compare.subject_of(f"digits.mlir={image}", options)
    assert named.name == "digits"
    (codes,) = named.inputs.values()
    assert codes.tolist() == np.load(image).tolist()
    odd = Path(f"digits.mlir={image}")
    odd.write_text(Path("digits.mlir").read_text())
    monkeypatch.setattr(compare, "model_of", lambda path, _: Path("digits.mlir"))
    (codes,) = compare.subject_of(str(odd), options).inputs.values()
    assert codes.shape == (4, 1, 2, 2, 1)


@pytest.mark.parametrize(
    ("line", "contracts", "start"),
    [
        ("", None, "# How contracts differ"),
        ("--contract a --contract b", ["a", "b"], "# How contracts differ"),
        ("--format csv --layers", None, "layer,first,second,outputs,differing,largest"),
        ("--format plain --examples 1", None, "kind "),
    ],
)
def test_how_contracts_are_compared(
    line: str,
    contracts: list[str] | None,
    start: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    asked: list[Any] = []

    def found(
        subjects: Any, names: Any, examples: Any, *, by_layer: bool
    ) -> Comparison:
        asked.append((list(subjects), names, examples))
        kind = Kind(1, {"a": 4}, {("a", "b"): Disagreement(4, 1, 1)})
        return Comparison(["a", "b"], [], {"add": kind}, by_layer)

    monkeypatch.setattr(compare, "compare", found)
    monkeypatch.setattr(compare, "contract_names", lambda: ["all"])
    monkeypatch.setattr(compare, "subject_of", lambda name, _: name)
    assert compare.run(parsed(f"contracts compare m n {line}")) == 0
    examples = 1 if "examples" in line else None
    assert asked == [(["m", "n"], contracts or ["all"], examples)]
    text = capsys.readouterr().out
    assert text.startswith(start)
    assert text.endswith("\n")
    assert compare.run(parsed(f"contracts compare m {line} --output t")) == 0
    assert Path("t").read_text().startswith(start)
    assert capsys.readouterr().out == ""


def test_a_comparison_takes_an_example_at_least() -> None:
    with pytest.raises(QlowerError) as caught:
        compare.run(parsed("contracts compare m --examples 0"))
    assert caught.value.message == "--examples must be at least 1, not 0"
