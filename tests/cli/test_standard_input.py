"""Models from standard input, and install lines that work as they are printed."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import main
from qlower.process.extras import install_line

Capture = pytest.CaptureFixture[str]


def type_in(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    "command",
    [
        "inspect MODEL",
        "inspect MODEL --at arith --layer conv",
        "inspect MODEL --stats",
        "run MODEL --input image.npy",
        "run MODEL --input image.npy --executor interp --save-layers l.npz",
        "bisect MODEL image.npy",
        "lint MODEL",
        "lint MODEL --input image.npy",
    ],
)
def test_models_from_standard_input(
    model: str,
    image: str,
    command: str,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
):
    code = main([model if word == "MODEL" else word for word in command.split()])
    expected = capsys.readouterr().out
    type_in(monkeypatch, SMALL_MODEL.encode())
    again = ["-" if word == "MODEL" else word for word in command.split()]
    assert main(again) == code
    assert capsys.readouterr().out == expected.replace(f"lint {model}", "lint -")


def test_import_and_compile_from_standard_input(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    type_in(monkeypatch, SMALL_MODEL.encode())
    assert main(["import", "-"]) == 0
    text = capsys.readouterr().out
    assert 'loc("conv"("<stdin>":12:13))' in text
    type_in(monkeypatch, text.encode())
    assert main(["compile", "-", "-o", "out", "--emit", "obj,header,mlir"]) == 0
    x = np.array([[[[-128], [5]], [[77], [127]]]], np.int8)
    expected = qlower.interpret("out/model.mlir", x)
    Path("model.mlir").write_text(SMALL_MODEL)
    assert np.array_equal(qlower.interpret("model.mlir", x), expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "<stdin>:1:1: error: there is no MLIR text"),
        (b"module {\n  fly\n}", "<stdin>:2:3: error: "),
        (b"ML\xefR\x01", "<stdin>:1:3: error: not MLIR text"),
        (
            SMALL_MODEL.replace("stride = [1, 1]", "stride = [0, 1]").encode(),
            "<stdin>:12:13: error: ",
        ),
    ],
)
def test_errors_in_standard_input(
    text: bytes, message: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    type_in(monkeypatch, text)
    assert main(["inspect", "-"]) == 1
    assert capsys.readouterr().err.startswith(message)


def test_packages_of_extras():
    assert install_line("tflite") == "pip install 'tflite==2.18.*' 'flatbuffers>=24'"
    assert install_line("none") == "pip install '.[none]'"
