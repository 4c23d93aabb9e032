"""`qlower import --check`: which models can be read, and all that keeps the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.formats.tflite_builder import Signature, TFLiteBuilder

from qlower.cli import main

Capture = pytest.CaptureFixture[str]


ANGLE = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %init = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
      iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%init : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %c = math.atan %a : f32
      linalg.yield %c : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


@pytest.fixture
def folder(model: str) -> Path:
    folder = Path("zoo/inner")
    folder.mkdir(parents=True)
    Path(model).rename(folder / "good.mlir")
    builder = TFLiteBuilder()
    x, y, z = (builder.tensor(name, (1, 4), scale=0.1) for name in "xyz")
    wide = builder.tensor("wide", (1, 4), "float64")
    last, further = (builder.tensor(name, (1, 4), scale=0.1) for name in ("u", "v"))
    builder.operator("CUSTOM", [x], [y])
    builder.operator("TANH", [y], [z])
    builder.operator("DEQUANTIZE", [z], [wide])
    builder.operator("TANH", [wide], [last])
    builder.operator("LSTM", [last], [further])
    Path("zoo/bad.tflite").write_bytes(builder.build([x], [further]))
    return Path("zoo")


def test_all_reasons_at_once(folder: Path, capsys: Capture) -> None:
    assert main(["import", "--check", str(folder), "--json"]) == 1
    lines = json.loads(capsys.readouterr().out)["rows"]
    assert [(line["model"], line["line"]) for line in lines] == [
        ("zoo/bad.tflite", 0),
        ("zoo/bad.tflite", 2),
        ("zoo/bad.tflite", 4),
        ("zoo/inner/good.mlir", None),
    ]
    for key in ("imports", "compiles"):
        assert [line[key] for line in lines] == [False, False, False, True]
    custom, wide, lstm, good = (line["reason"] for line in lines)
    assert "CUSTOM 'MyOperator': this operator is not supported" in custom
    assert "tensor 3 'wide': type FLOAT64 is not supported" in wide
    assert "LSTM: this operator is not supported" in lstm
    assert good is None
    assert lines[2]["help"] == "--outputs u cuts the model before it"


def test_people_read_a_table(folder: Path, capsys: Capture) -> None:
    assert main(["import", "--check", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "1 of 2 models can be imported" in out
    assert out.count("bad.tflite") == 1
    assert main(["import", "--check", "zoo/inner"]) == 0
    assert main(["import", "--check", str(folder), "--outputs", "y"]) == 1


def test_what_has_no_machine_code(folder: Path, capsys: Capture) -> None:
    """It can be read, so that interpreters run it."""
    path = folder / "angle.mlir"
    path.write_text(ANGLE)
    assert main(["import", "--check", str(path), "--json"]) == 1
    (line,) = json.loads(capsys.readouterr().out)["rows"]
    assert (line["imports"], line["compiles"], line["line"]) == (True, False, 7)
    expected = "no native code for operation math.atan inside a loop nest"
    assert line["reason"] == expected
    assert main(["import", "--check", str(path), "zoo/inner"]) == 1
    out = capsys.readouterr().out
    assert "2 of 2 models can be imported" in out
    assert "1 of these can't be compiled" in out


def test_a_warning_is_told_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    builder = TFLiteBuilder()
    x, y = (builder.tensor(name, (1, 4), "float32") for name in "xy")
    builder.operator("RFFT2D", [x], [y])
    graph = builder.subgraph().graph([], [])
    signatures = [Signature(name, n, {}, {}) for n, name in enumerate("ab")]
    path = folder / "refused.tflite"
    path.write_bytes(builder.build([x], [y], [graph], signatures=signatures))
    for count in (1, 2):
        assert main(["import", "--check", str(path)]) == 1
        assert caplog.text.count("the file has the signatures 'a', 'b'") == count


def test_what_is_no_model(tmp_path: Path, capsys: Capture) -> None:
    assert main(["import", "--check", "missing.tflite", str(tmp_path)]) == 1
    assert "no model in" in capsys.readouterr().err
    assert main(["import", "--check", "missing.tflite"]) == 1
    assert "no such file" in capsys.readouterr().out


def test_one_model_at_a_time(model: str, capsys: Capture) -> None:
    assert main(["import", model, model]) == 2
    assert "--check takes several" in capsys.readouterr().err
