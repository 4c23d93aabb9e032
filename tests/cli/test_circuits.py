"""`qlower compile --emit systemverilog`, `comb` and `gates`: files, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.layers.small_model import SIGNED_MODEL

from qlower.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def signed() -> str:
    Path("small.mlir").write_text(SIGNED_MODEL)
    return "small.mlir"


def compiled(model: str, *options: str) -> int:
    return main(["compile", model, "-o", "made", *options])


def test_circuits_of_layers_are_written_with_their_benches(
    signed: str, capsys: Capture
) -> None:
    """Both layers, as source with vectors and as a module; JSON lists what is there."""
    options = ("--emit", "systemverilog,comb", "--contract", "tflm")
    assert compiled(signed, *options, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    names = sorted(path.name for path in Path("made").iterdir())
    assert sorted(Path(file).name for file in found["files"]) == names
    stems = {name.partition(".")[0].removesuffix("_tb") for name in names}
    assert len(stems) == 2
    assert {f"{stem}.sv" for stem in stems} | {f"{stem}.mlir" for stem in stems} < set(
        names
    )
    assert any(name.endswith("_tb.sv") for name in names)
    assert compiled(signed, *options, "--layer", "conv") == 0
    listed = capsys.readouterr().out.splitlines()
    written = [Path(line).name for line in listed[: listed.index("")]]
    assert {name.partition(".")[0] for name in written} == {"conv", "conv_tb"}
    assert set(written) < set(names)


def test_circuits_of_a_contract_s_rules(capsys: Capture) -> None:
    options = ("--emit", "systemverilog", "--rules", "conv2d", "--unsigned")
    assert compiled("tflm", *options, "--accumulator-bits", "20", "--json") == 0
    (file, *_) = json.loads(capsys.readouterr().out)["files"]
    assert "module" in Path(file).read_text()


def test_a_model_as_gates(signed: str, capsys: Capture) -> None:
    options = ("--emit", "gates", "--contract", "tflm")
    assert compiled(signed, *options, "--json") == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert files
    assert all(Path(file).stat().st_size for file in files)
    assert compiled(signed, *options, "--name", "other") == 0
    assert str(Path("made", "other")) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("small.mlir", "comb,obj", "--emit obj can't be written along with circuits"),
        ("small.mlir", "gates,comb", "--emit gates is of a whole model"),
        ("small.mlir", "comb --accumulator-bits 1", "must be in [2, 32], not 1"),
        ("small.mlir", "comb --stages 65", "--stages must be in [0, 64], not 65"),
        ("small.mlir", "comb --unsigned", "--unsigned is for a contract in the place"),
        ("small.mlir", "comb --rules add", "--rules is for a contract in the place"),
        ("tflm", "comb --layer conv", "tflm is a contract: it has no layers"),
    ],
)
def test_options_that_do_not_go_together(
    model: str, options: str, said: str, signed: str, capsys: Capture
) -> None:
    assert compiled(model, "--emit", *options.split()) == 2
    assert said in capsys.readouterr().err
    assert not Path("made").exists()


def test_nothing_that_is_a_circuit(
    signed: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advice looks at all contracts, which another test does."""
    known = {"conv2d": ("tflm", "tvm")}
    monkeypatch.setattr("qlower.cli.circuits.integer_contracts", known.__getitem__)
    assert compiled(signed, "--emit", "comb", "--contract", "onnxruntime") == 1
    said = capsys.readouterr().err
    assert "nothing of small.mlir is a circuit of integers" in said
    assert "contracts whose convolutions compute in integers: tflm, tvm" in said
