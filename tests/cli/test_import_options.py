"""Cutting models at tensors, and fixing the shapes of inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_builder import TFLiteBuilder
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import main
from qlower.diagnostics import QlowerError

BOXES = "net/boxes/Relu;net/boxes/BiasAdd"

Capture = pytest.CaptureFixture[str]


def detector() -> bytes:
    """Two activations, and a custom operator behind them that takes an input more."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (1, 4), scale=0.1)
    anchors = builder.tensor("anchors", (2,), "float32")
    boxes = builder.tensor(BOXES, (1, 4), scale=0.1)
    scores = builder.tensor("net/scores/Tanh", (1, 4), scale=1 / 128)
    found = builder.tensor("found", (1, 4), scale=0.1)
    builder.operator("RELU", [x], [boxes])
    builder.operator("TANH", [boxes], [scores])
    builder.operator("CUSTOM", [boxes, scores, anchors], [found])
    return builder.build([x, anchors], [found])


@pytest.fixture
def path() -> str:
    Path("detector.tflite").write_bytes(detector())
    return "detector.tflite"


def test_what_is_refused_says_where_to_cut(path: str, capsys: Capture) -> None:
    assert main(["import", path]) == 1
    error = capsys.readouterr().err
    assert "operator 2 CUSTOM 'MyOperator': this operator is not supported" in error
    assert "--outputs boxes,scores cuts the model before it" in error
    assert main(["import", path, "--outputs", "boxes,scores"]) == 0


@pytest.mark.parametrize("name", ["boxes", BOXES])
def test_a_cut_model_leaves_out_what_it_does_not_need(path: str, name: str) -> None:
    model = qlower.load(path, outputs=[name])
    assert [spec.name for spec in model.inputs] == ["x"]
    assert [spec.name for spec in model.outputs] == [BOXES]
    x = np.array([[-5, 0, 1, 7]], np.int8)
    assert qlower.jit(model)(x).tolist() == [[0, 0, 1, 7]]


def test_mlir_is_cut_as_well(model: str, image: str) -> None:
    cut = qlower.load(model, outputs=["conv"])
    whole = qlower.load(model)
    assert [spec.name for spec in cut.outputs] == ["conv"]
    layers: dict[str, np.ndarray] = {}
    x = np.load(image)
    qlower.interpret(whole, x, layers=layers)
    assert np.array_equal(qlower.jit(cut)(x), layers["conv"])


@pytest.mark.parts(8)
@pytest.mark.parametrize(
    "command",
    [
        "import MODEL",
        "inspect MODEL --stats",
        "lint MODEL",
        "run MODEL --input image.npy",
        "bisect MODEL image.npy",
        "compile MODEL -o out",
        "bench MODEL --rounds 1",
        "contracts compare MODEL --contract tflite --contract exact",
    ],
)
def test_every_command_takes_them(
    model: str, image: str, command: str, capsys: Capture
) -> None:
    given = ["--outputs", "conv", "--shape", "image=1x2x2x1"]
    assert main([*command.replace("MODEL", model).split(), *given]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--outputs", "bocks"], "the model computes no tensor 'bocks'"),
        (["--outputs", "box"], "did you mean 'boxes'?"),
        (["--shape", "y=1x4"], "the model has no input 'y'"),
        (["--shape", "x=1xa"], "--shape 'x=1xa' is not NAME=SIZExSIZE..."),
        (["--shape", "x=0x4"], "shape [0, 4] of input 'x': sizes are at least 1"),
    ],
)
def test_refusals(path: str, options: list[str], message: str, capsys: Capture) -> None:
    assert main(["import", path, *options]) == 1
    assert message in capsys.readouterr().err


def test_text_has_fixed_shapes(model: str) -> None:
    with pytest.raises(QlowerError, match=r"doesn't fit the file's \[1, 2, 2, 1\]"):
        qlower.load(model, shapes={"image": (2, 2, 2, 1)})


def test_standard_input_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    import io

    text = io.TextIOWrapper(io.BytesIO(SMALL_MODEL.encode()))
    monkeypatch.setattr("sys.stdin", text)
    assert main(["import", "-", "--outputs", "nowhere"]) == 1
    assert "computes no tensor 'nowhere'" in capsys.readouterr().err


def test_readings_of_groups_are_for_onnx(path: str, capsys: Capture) -> None:
    assert main(["import", path, "--qdq", "x86"]) == 1
    assert (
        "--qdq x86 is for ONNX files, not for .tflite files" in capsys.readouterr().err
    )
    with pytest.raises(QlowerError, match="qdq 'all' is not known; expected one of"):
        qlower.load(path, qdq="all")
