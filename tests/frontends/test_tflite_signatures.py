"""Files with several signatures, of which one is read, beside LiteRT."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_builder import Signature, TFLiteBuilder

import qlower
from qlower.cli import main
from qlower.diagnostics import QlowerError

Capture = pytest.CaptureFixture[str]

NAMES = ("encode", "decode")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """`encode` doubles an open number of floats; `decode` runs it on x + 1."""
    first = TFLiteBuilder()
    x, y = (first.tensor(n, (1,), "float32", signature=(-1,)) for n in ("in:0", "y"))
    first.operator("ADD", [x, x], [y])
    other = first.subgraph()
    given, more, made = (other.tensor(n, (3,), "float32") for n in ("g", "m", "made"))
    one = other.tensor("one", (), "float32", data=np.float32(1).reshape(()))
    true = other.tensor("true", (), "bool", data=np.ones((), np.bool_))
    other.operator("ADD", [given, one], [more])
    branches = {"then_subgraph_index": 0, "else_subgraph_index": 0}
    other.operator("IF", [true, more], [made], dict(branches))
    signatures = [
        Signature("encode", 0, {"x": x}, {"y": y}),
        Signature("decode", 1, {"code": given}, {"y": made}),
    ]
    graph = other.graph([given], [made])
    file = tmp_path / "coder.tflite"
    file.write_bytes(first.build([x], [y], [graph], signatures=signatures))
    return file


@pytest.mark.parts(2)
@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
@pytest.mark.parametrize(("name", "argument"), [("encode", "x"), ("decode", "code")])
def test_bits(name: str, argument: str, path: Path) -> None:
    module = import_module("ai_edge_litert.interpreter")
    runner = module.Interpreter(str(path)).get_signature_runner(name)
    x = np.array([1, -2, 0.1], np.float32)
    expected = runner(**{argument: x})["y"]
    model = qlower.load(path, signature=name, shapes={argument: (3,)})
    np.testing.assert_array_equal(qlower.jit(model)(x), expected)
    np.testing.assert_array_equal(qlower.interpret(model, x, at="qnn"), expected)


def test_the_first_subgraph_is_read(
    path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    (x,) = qlower.load(path).inputs
    assert x.name == "in:0"
    assert "the file has the signatures 'encode', 'decode'" in caplog.text
    caplog.clear()
    for name in NAMES:
        assert main(["import", "--check", str(path), "--signature", name]) == 0
    assert not caplog.text
    capsys.readouterr()
    assert main(["import", "--check", str(path), "--signature", "x", "--json"]) == 1
    (line,) = json.loads(capsys.readouterr().out)["rows"]
    assert line["help"] == "its signatures are 'encode', 'decode'"


def test_refusals(path: Path, capsys: Capture) -> None:
    with pytest.raises(QlowerError, match="has no signature 'x'"):
        qlower.load(path, signature="x")
    text = path.with_suffix(".mlir")
    assert main(["import", str(path), "-o", str(text)]) == 0
    assert main(["import", str(text), "--signature", "encode"]) == 1
    err = capsys.readouterr().err
    assert "--signature encode is for TFLite files, not for .mlir files" in err
    for command in (["bench"], ["validate", "--data", "x.npy"]):
        given = ["--signature", "decode", "--against", "litert"]
        assert main([*command, str(path), *given]) == 1
        assert "cannot be combined with --signature: " in capsys.readouterr().err
    with pytest.raises(QlowerError, match="two names, by which it is given the shapes"):
        qlower.load(path, shapes={"x": (2,), "in:0": (3,)})


@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
def test_another_system_would_run_the_first(path: Path, capsys: Capture) -> None:
    arguments = ["litert-ref", "tflite", str(path), "--random", "--signature", "decode"]
    assert main(["diff", *arguments]) == 1
    assert "is read by its signature 'decode'" in capsys.readouterr().err


def test_outputs_are_not_held_against_the_first(path: Path) -> None:
    model = qlower.load(path, signature="decode")
    data = np.zeros((1, 3), np.float32)
    with pytest.raises(QlowerError, match="is read by its signature 'decode'"):
        qlower.validate(model, data, against="litert")
