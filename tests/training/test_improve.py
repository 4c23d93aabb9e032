"""`qlower improve`: accuracy recovered without training or labels."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.systems.litert import run_litert
from training.test_write_back import small_model

import qlower
from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.identification.tflite_file import tflite_file
from qlower.model.scales import result_types, weight_types
from qlower.model.weights import weight_specs

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
improvement: Any = import_module("qlower.improvement.improve")

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
MODEL, IMAGES = DIGITS / "digits.mlir", DIGITS / "test_images.npy"


def work(contract: str, count: int = 24) -> Any:
    """The digits and their first images, before any method."""
    model = qlower.load(MODEL)
    images = np.load(IMAGES)[:count].reshape(-1, 8, 8, 1)
    real = {spec.name: spec.real for spec in weight_specs(model.module)}
    module = import_module("qlower.improvement.work")
    return module.Work(model, real, (images,), contract, {})


def test_a_range_that_ends_at_zero_is_a_relu() -> None:
    """ONNX files leave it to the quantization, so the real network has it, too."""
    given = work("tflite", 4)
    text = MODEL.read_text().replace(', activation = "relu"', "")
    assert "relu" not in text
    parse: Any = import_module("qlower.text.parsing").parse_module
    network: Any = import_module("qlower.improvement.network").Network
    plain = network(qlower.Model(parse(text)), "tflite", {})
    for name, values in plain.real(given.inputs, given.parameters).items():
        assert np.array_equal(values, given.reference[name]), name


@pytest.mark.long
def test_gains_undo_what_shifts_multiply_too_much() -> None:
    """`pow2-shift` is nearly exact where each ratio of scales is a power of two."""
    before = work("pow2-shift")
    after = improvement.METHODS["gains"](before)
    assert after.error() < before.error() / 30
    types = result_types(after.model.module)
    scales = weight_types(after.model.module)["logits.weight"].scales
    ratios = types["pool"].scale * np.array(scales) / types["logits"].scale
    assert np.abs(np.log2(ratios) - np.rint(np.log2(ratios))).max() < 0.02
    # under a contract that multiplies as is meant, nothing is changed
    same = work("tflite")
    assert improvement.METHODS["gains"](same).model is same.model


@pytest.mark.long
def test_layers_on_the_device_and_in_real_numbers() -> None:
    """Run one by one, layers have the device's bits; the real network has none."""
    given = work("tflite", 4)
    network, device = given.network, given.found
    every = {name for name in network.specs if name != "image"}
    mixed = network.mixed(given.inputs, every, given.parameters)
    assert network.judged == "logits"
    for name, values in device.items():
        assert np.array_equal(mixed[name], values), name
    real = network.mixed(given.inputs, (), given.parameters)
    module = import_module("qlower.torch").Module(MODEL)
    expected = module.surrogate(torch.from_numpy(given.inputs[0])).detach().numpy()
    np.testing.assert_allclose(real["probabilities"], expected, atol=1e-5)


def test_equalized_layers_are_the_same_real_network() -> None:
    before = work("tflite", 8)
    after = improvement.METHODS["equalize"](before)
    layer = next(iter(after.contractions))
    assert not np.allclose(
        after.parameters["conv1.weight"], before.parameters["conv1.weight"]
    )
    np.testing.assert_allclose(
        after.reference["logits"], before.reference["logits"], rtol=1e-4, atol=1e-4
    )
    assert layer.name == "conv1"


def test_equalization_is_pytorchs_own() -> None:
    """Two linear layers whose ranges are symmetric, where both methods are one."""
    equalizing: Any = import_module("qlower.improvement.equalizing")
    reference: Any = import_module("torch.ao.quantization._equalize")
    torch.manual_seed(0)
    first, second = torch.nn.Linear(6, 5), torch.nn.Linear(5, 4)
    with torch.no_grad():
        first.weight[:, 3:] = -first.weight[:, :3]
        second.weight[2:] = -second.weight[:2]
    one, other = (x.weight.detach().double().numpy() for x in (first, second))
    scales = equalizing.channel_scales(one, 0, other, 1)
    expected = one / scales[:, None], other * scales
    reference.cross_layer_equalization(first, second, 0, 1)
    for layer, weight in zip((first, second), expected, strict=True):
        np.testing.assert_allclose(layer.weight.detach().numpy(), weight, rtol=1e-5)


@pytest.mark.long
def test_digits_by_shifts_recover_without_labels(tmp_path: Path) -> None:
    """Most of what `pow2-shift` loses comes back, by every measure."""
    found = improvement.improve(
        MODEL, IMAGES, contract="pow2-shift", labels=DIGITS / "test_labels.npy"
    )
    before = found.steps[0].figures
    lost = found.real_top1 - before.top1
    assert lost > 0.02
    assert found.after.top1 - before.top1 > lost / 3
    assert found.after.decibels > before.decibels + 10
    assert found.after.agreement > 0.95
    kinds = {row.name: row for row in found.layers}
    assert list(kinds) == ["conv1", "depthwise", "pointwise", "logits"]
    assert all(row.alone > before.decibels for row in found.layers)
    assert found.choices[-1].figures.decibels > found.choices[0].figures.decibels
    assert "no rule conv2d_i16" in found.choices[1].refusal


@pytest.mark.long
def test_what_is_written_runs_in_litert_as_foretold(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    source, better = tmp_path / "model.tflite", tmp_path / "better.tflite"
    source.write_bytes(tflite_file(small_model()))
    model = qlower.load(source)
    random = np.random.default_rng(0)
    data = random.integers(-128, 128, (64, *model.inputs[0].shape), np.int8)
    np.save(tmp_path / "data.npy", data)
    found = improvement.improve(
        source, tmp_path / "data.npy", contract="tflite", methods=("ranges", "biases")
    )
    found.save(better)
    for x in data[:4]:
        foretold = qlower.interpret(found.model, x, contract="tflite")
        assert np.array_equal(foretold, run_litert(better.read_bytes(), [x])[0])


@pytest.mark.long
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, picture = tmp_path / "better.mlir", tmp_path / "layers.svg"
    line = ["improve", str(MODEL), "--data", str(IMAGES), "--limit", "32"]
    line += ["--contract", "pow2-shift", "--methods", "gains", "--format", "json"]
    assert main([*line, "-o", str(path), "--plot", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in found["methods"]] == [
        "as it is",
        "gains",
        "result",
    ]
    assert found["methods"][1]["decibels"] > found["methods"][0]["decibels"] + 10
    assert "depthwise" in picture.read_text()
    assert qlower.load(path).inputs == qlower.load(MODEL).inputs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "magic"], "there is no method 'magic'"),
        (["--limit", "4"], "4 examples can be used; at least 8"),
        (["-o", "better.onnx"], "ends with neither .mlir"),
        (["--plot", "layers.pdf"], "neither .svg nor .png"),
        (["--float", str(IMAGES)], "is no .tflite, .onnx or .pt2 file"),
    ],
)
def test_refusals(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["improve", str(MODEL), "--data", str(IMAGES), "--limit", "8"]
    assert main([*line, *options]) == 1
    assert message in capsys.readouterr().err


def test_float_weights_are_found_by_their_values(tmp_path: Path) -> None:
    onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
    weights: Any = import_module("qlower.improvement.float_weights")
    model = qlower.load(MODEL)
    random = np.random.default_rng(0)
    wanted: dict[str, Any] = {}
    tensors: list[Any] = []
    for spec in weight_specs(model.module):
        step = spec.along_axis(spec.scales)
        real = spec.real + step * random.uniform(-0.5, 0.5, spec.stored.shape)
        wanted[spec.name] = real = real.astype(np.float32)
        turned = np.moveaxis(real, -1, 1) if real.ndim == 4 else real
        named = onnx.numpy_helper.from_array(np.ascontiguousarray(turned), "t")
        tensors.append(named)
    graph = onnx.helper.make_graph([], "g", [], [], tensors)
    onnx.save(onnx.helper.make_model(graph), tmp_path / "float.onnx")
    found = weights.float_parameters(model, tmp_path / "float.onnx")
    for name, real in wanted.items():
        np.testing.assert_array_equal(found[name], real)
    other = qlower.load(MODEL)
    onnx.save(
        onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], tensors[1:])),
        tmp_path / "float.onnx",
    )
    with pytest.raises(QlowerError, match=r"no weights that conv1\.weight"):
        weights.float_parameters(other, tmp_path / "float.onnx")
