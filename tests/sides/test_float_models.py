"""A float model as a side: layers of the same name, in steps of the quantized one."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.onnx_builder import OnnxBuilder
from support.formats.tflite_builder import TFLiteBuilder

import qlower
from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.sides.live import has_real_numbers

needs_onnx = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("onnx", "onnxruntime")),
    reason="onnx and onnxruntime are not installed",
)
needs_litert = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("tflite", "ai_edge_litert")),
    reason="tflite and ai-edge-litert are not installed",
)

WEIGHTS = np.random.default_rng(4).integers(-127, 127, (5, 4)).astype("i1")
STEP, SCALE, OUTPUT = 0.02, 0.01, 0.05


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A quantized product under a tool's name, with a wrong bias of one channel after
    it, and the float model."""
    build = OnnxBuilder()
    build.input("x", (1, 5), "u1")
    operands = [
        *("x", *build.parameters(STEP, 120, "u1")),
        *(build.constant(WEIGHTS), *build.parameters(SCALE, 0, "i1")),
        *build.parameters(OUTPUT, 128, "u1"),
    ]
    build.node("QLinearMatMul", operands, "product:0_QuantizeLinear_Output")
    build.output("product:0_QuantizeLinear_Output", "u1")
    quantized = build.save(tmp_path / "quantized.onnx")
    build = OnnxBuilder()
    build.input("x", (1, 5), "f4")
    weights = build.constant(WEIGHTS.astype(np.float32) * np.float32(SCALE))
    build.node("MatMul", ["x", weights], "product:0")
    build.output("product:0", "f4")
    return quantized, build.save(tmp_path / "real.onnx")


@pytest.mark.parts(3)
@needs_onnx
def test_layers_differ_by_roundings_alone(files: tuple[Path, Path]) -> None:
    quantized, real = files
    x = np.random.default_rng(5).integers(60, 180, (30, 1, 5)).astype("u1")
    found = qlower.diff(real, "onnxruntime", quantized, x)
    (layer,) = (one for one in found.layers if one.carried is not None)
    assert layer.carried is not None
    assert layer.carried.elements == 30 * 4
    assert layer.carried.largest <= 1
    assert layer.carried.decibels is None or layer.carried.decibels > 30
    assert any("rounded to the nearest stored" in note for note in found.notes)


@needs_onnx
def test_command(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    quantized, real = files
    code = main(["diff", str(real), "pow2-shift", str(quantized), "--random"])
    assert code in (0, 1)
    assert "product" in capsys.readouterr().out


@needs_onnx
def test_elements_of_layers_with_colons(files: tuple[Path, Path]) -> None:
    """The name of a layer is no name of one of several results."""
    quantized, real = files
    x = np.full((1, 5), 255, "u1")
    found = qlower.diff(real, "pow2-shift", quantized, x)
    assert not found.is_equal
    assert found.chain is not None


@needs_onnx
def test_a_validation_by_layers(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quantized, real = files
    data = tmp_path / "x.npy"
    np.save(data, np.random.default_rng(5).integers(60, 180, (30, 5)).astype("u1"))
    words = ["validate", str(quantized), "--data", str(data), "--against", str(real)]
    assert main([*words, "--layers", "--format", "json"]) == 0
    told = capsys.readouterr()
    (row,) = json.loads(told.out)["layers"]
    assert (row["layer"], row["elements"]) == ("product:0", 30 * 4)
    assert row["largest_steps"] <= 1
    assert row["least"] < 0 < row["most"]
    assert sum(row["histogram"]) == 30 * 4
    assert "real numbers are compared as such" in told.err
    with pytest.raises(QlowerError, match="layers are held against"):
        qlower.validate(quantized, data, against=str(real), with_layers=True)


def other_names(folder: Path) -> Path:
    """The float model under names that say nothing, and a tensor of the same shape."""
    build = OnnxBuilder()
    build.input("x", (1, 5), "f4")
    weights = WEIGHTS.astype(np.float32) * np.float32(SCALE)
    build.node("MatMul", ["x", build.constant(-weights)], "t1")
    build.node("MatMul", ["x", build.constant(weights)], "t2")
    build.output("t1", "f4")
    build.output("t2", "f4")
    return build.save(folder / "other.onnx")


@pytest.mark.long
@needs_onnx
def test_tensors_are_matched_by_shape_and_values(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quantized, real = files[0], other_names(tmp_path)
    x = np.random.default_rng(5).integers(60, 180, (30, 1, 5)).astype("u1")
    found = qlower.diff(real, "onnxruntime", quantized, x)
    (layer,) = (one for one in found.layers if one.carried is not None)
    assert layer.carried is not None
    assert layer.carried.largest <= 1
    assert (layer.carried.cosine or 0) > 0.999
    name = layer.name
    wrong = qlower.diff(real, "onnxruntime", quantized, x, match={name: "t1"})
    (layer,) = (one for one in wrong.layers if one.carried is not None)
    assert layer.carried is not None
    assert (layer.carried.cosine or 0) < -0.9
    np.save(tmp_path / "x.npy", x)
    line = ["diff", str(real), "onnxruntime", str(quantized)]
    line += ["--input", str(tmp_path / "x.npy")]
    assert main([*line, "--fail-below", "10"]) == 0
    assert main([*line, "--fail-below", "10", "--match", f"{name}=t1"]) == 1
    assert "at least 10 are asked for" in capsys.readouterr().err
    assert main([*line, "--match", f"{name}=t3"]) == 1
    assert "has no tensor 't3'" in capsys.readouterr().err
    assert main([*line, "--match", "y=t1"]) == 1
    assert "has no layer 'y'" in capsys.readouterr().err
    page, gate = tmp_path / "page.html", tmp_path / "gate.xml"
    line = ["report", str(quantized), "--against", str(real), "--no-native", *line[-2:]]
    line += ["-o", str(page), "--junit", str(gate), "--json", "--fail-below", "10"]
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out)["difference"]["layers"]
    assert 'failures="0"' in gate.read_text()
    page.unlink()
    assert main([*line, "--match", f"{name}=t1"]) == 1
    assert "dB, at least 10 are asked for" in capsys.readouterr().err
    assert 'failures="1"' in gate.read_text()
    assert page.exists()
    alone = ["report", str(quantized), "--no-native", "-o", str(page)]
    assert main([*alone, "--fail-below", "10"]) == 2
    assert "--fail-below needs --against" in capsys.readouterr().err


@needs_onnx
def test_an_exported_program_as_the_float_model(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    layer = torch.nn.Linear(5, 4, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(WEIGHTS.T * np.float32(SCALE)))
    program = torch.export.export(layer, (torch.zeros(1, 5),))
    torch.export.save(program, tmp_path / "real.pt2")
    data, page = tmp_path / "x.npy", tmp_path / "page.html"
    x = np.random.default_rng(5).integers(60, 180, (30, 5)).astype("u1")
    np.save(data, x)
    words = [str(files[0]), "--against", str(tmp_path / "real.pt2")]
    line = ["validate", *words, "--data", str(data), "--layers", "--format", "json"]
    assert main([*line, "--fail-below", "25"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["against"] == "real.pt2 (torch)"
    (row,) = told["layers"]
    assert row["decibels"] > 30
    assert row["cosine"] > 0.999
    assert row["saturated"] == 0
    assert main([*line, "--fail-below", "90"]) == 1
    assert "dB of signal to noise, at least 90" in capsys.readouterr().err
    np.save(data, x[:1])
    line = ["report", *words, "--input", str(data), "--no-native", "-o", str(page)]
    assert main(line) == 0
    assert "real.pt2" in page.read_text()


def tflite_models(folder: Path) -> tuple[Path, Path]:
    """A convolution and a linear layer, quantized and as floats, of the same names."""
    draw = np.random.default_rng(9)
    filters = draw.integers(-127, 127, (3, 2, 2, 1)).astype("i1")
    weights = draw.integers(-127, 127, (4, 27)).astype("i1")
    paths: list[Path] = []
    for kind in ("int8", "float32"):
        build = TFLiteBuilder()
        is_real = kind == "float32"

        def tensor(
            name: str,
            shape: tuple[int, ...],
            scale: float,
            data: NDArray[np.int8] | None = None,
            build: TFLiteBuilder = build,
            is_real: bool = is_real,
        ) -> int:
            if not is_real:
                return build.tensor(name, shape, scale=scale, data=data)
            real = None if data is None else data.astype(np.float32) * np.float32(scale)
            return build.tensor(name, shape, "float32", data=real)

        x = tensor("x", (1, 4, 4, 1), 0.02)
        y, z = tensor("conv/y", (1, 3, 3, 3), 0.05), tensor("z", (1, 4), 0.4)
        window = {"stride_h": 1, "stride_w": 1, "padding": 1}
        operands = [x, tensor("f", (3, 2, 2, 1), 0.01, filters)]
        steps = np.array([30, 0, -500], np.int32)
        bias: NDArray[np.generic] = steps * np.float32(0.0002) if is_real else steps
        scale = None if is_real else 0.0002
        dtype = "float32" if is_real else "int32"
        operands.append(build.tensor("b", (3,), dtype, scale=scale, data=bias))
        build.operator("CONV_2D", operands, [y], window)
        last = [y, tensor("w", (4, 27), 0.01, weights)]
        build.operator("FULLY_CONNECTED", last, [z])
        paths.append(folder / f"{kind}.tflite")
        paths[-1].write_bytes(build.build([x], [z]))
    return paths[0], paths[1]


@needs_litert
def test_a_float_model_that_litert_runs(tmp_path: Path) -> None:
    """All layers have their results, which differ by roundings alone."""
    quantized, real = tflite_models(tmp_path)
    x = np.random.default_rng(5).integers(-60, 60, (20, 1, 4, 4, 1)).astype("i1")
    found = qlower.diff(real, "tflite", quantized, x)
    compared = [layer for layer in found.layers if layer.carried is not None]
    assert [layer.name for layer in compared] == ["conv", "z"]
    for layer, elements in zip(compared, (27, 4), strict=True):
        assert layer.carried is not None
        assert layer.carried.elements == 20 * elements
        assert layer.carried.largest <= 1 + (layer.name == "z")
    assert any("rounded to the nearest stored" in note for note in found.notes)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_a_quantized_model_is_no_model_of_real_numbers(dtype: str, tmp_path: Path):
    graph = TFLiteBuilder()
    x, y = (graph.tensor(name, (1, 4), dtype, scale=0.5) for name in "xy")
    graph.operator("RELU", [x], [y])
    path = tmp_path / "model.tflite"
    path.write_bytes(graph.build([x], [y]))
    assert not has_real_numbers(path)
