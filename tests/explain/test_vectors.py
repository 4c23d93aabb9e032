"""Test vectors: what they show, and that they are right."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.layers.device_layers import convolution
from support.values.near_ties import REFUSING

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.contracts import contract_names
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.explain.reach import inputs_for
from qlower.explain.targets import Coverage
from qlower.explain.vectors import LayerVectors, Vectors
from qlower.model.build import make_model, quantized
from qlower.model.extract import detach_layers
from qlower.model.layers import layer_name, layers
from qlower.model.random_inputs import random_input
from qlower.observe.layer_data import layer_data
from qlower.observe.layer_run import run_layer

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.mlir"
NPU = EXAMPLES / "npu" / "my_npu.mlir"

Integers = NDArray[Any]
"""Python's integers, of any size."""


@pytest.fixture(scope="module")
def made() -> qlower.Vectors:
    return qlower.vectors(DIGITS, layer="*wise")


@pytest.mark.long
def test_everything_is_shown_that_can_be(made: qlower.Vectors) -> None:
    for layer in made.layers:
        assert layer.coverage is not None
        assert layer.coverage.total[0] == layer.coverage.total[1] > 0
        assert not layer.coverage.missing
        shown = layer.coverage.possible
        assert any(" tie +" in what for what in shown)
        assert {"saturates low", "saturates high"} <= shown.keys()


@pytest.mark.parts(5)
def test_outputs_are_those_of_native_code(made: qlower.Vectors) -> None:
    model = qlower.load(DIGITS)
    for layer in made.layers:
        module, _, _ = detach_layers(model.module, [layer.name])
        run = qlower.jit(qlower.Model(module), contract="tflite")
        for given, output in zip(
            layer.arrays["input"], layer.arrays["output"], strict=True
        ):
            np.testing.assert_array_equal(run(given), output)


def test_accumulators_are_sums_of_products(made: qlower.Vectors) -> None:
    (layer,) = (layer for layer in made.layers if layer.name == "pointwise")
    (spec,) = qlower.Model(
        detach_layers(qlower.load(DIGITS).module, ["pointwise"])[0]
    ).inputs
    zero = spec.zero_point
    weights = layer.arrays["weight"].reshape(16, 8).astype(int)
    sums = (layer.arrays["input"].astype(int) - zero) @ weights.T
    expected = sums + layer.arrays["bias"]
    np.testing.assert_array_equal(layer.arrays["accumulator"], expected)


@pytest.mark.parts(5)
def test_an_addition_sees_every_pair_of_codes() -> None:
    types = [quantized([64, 64], scale) for scale in (0.1, 0.2, 0.3)]
    model = make_model(types[:2], lambda a, b: [qnn.AddOp(a, b, types[2]).result])
    (layer,) = qlower.vectors(model, "tflite").layers
    assert layer.looked_at == "all codes"
    assert layer.count == 16
    pairs = {*zip(*(layer.arrays[f"input{i}"].flat for i in (0, 1)), strict=True)}
    assert len(pairs) == 65536


def test_one_input_has_no_number() -> None:
    types = [quantized([64], scale) for scale in (0.1, 0.3)]
    model = make_model(types[:1], lambda x: [qnn.RequantizeOp(x, types[1]).result])
    (layer,) = qlower.vectors(model, "tflite").layers
    assert {*layer.arrays} == {"input", "output"}


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "vectors"
    arguments = ["vectors", str(DIGITS), "-o", str(folder), "--layer", "conv1"]
    assert main(arguments) == 0
    assert "conv1" in capsys.readouterr().out
    own = folder / "00-conv1"
    for path in own.glob("*.npy"):
        array = np.load(path)
        words = path.with_suffix(".hex").read_text().splitlines()[1:]
        bits = np.array([int(word, 16) for word in words], f"u{array.itemsize}")
        np.testing.assert_array_equal(bits.view(array.dtype), array.reshape(-1))
    coverage = json.loads((folder / "coverage.json").read_text())
    assert coverage["layers"][0]["shown"] == coverage["layers"][0]["possible"]
    assert main([*arguments, "--files", "bin"]) == ExitCode.USAGE


@pytest.mark.long
def test_headers_of_several_layers_go_together(tmp_path: Path) -> None:
    assert (
        main(
            [
                "vectors",
                str(DIGITS),
                "-o",
                str(tmp_path),
                "--files",
                "c",
                "--layer",
                "*wise",
            ]
        )
        == 0
    )
    headers = sorted(tmp_path.glob("*/vectors.h"))
    assert len(headers) == 2
    text = "".join(f'#include "{path}"\n' for path in headers * 2)
    source = tmp_path / "check.c"
    source.write_text(
        f"{text}int main(void) {{ return layer01_depthwise_output[0]"
        " + (int)layer02_pointwise_multiplier[15] + layer02_pointwise_shift_1[0]; }\n"
    )
    if compiler := shutil.which("gcc") or shutil.which("cc"):
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        subprocess.run([compiler, *flags, source], check=True)


def apply(sums: Integers, arithmetic: list[dict[str, Any]]) -> Integers:
    """The steps of `layer.json`, as a device would take them."""
    for step in arithmetic:
        value = np.array(step["values"], object)
        match step["op"], step.get("rounding"):
            case "arith.muli", _:
                sums = sums * value
            case "arith.addi", _:
                sums = sums + value
            case "fixed.shift_right", "half_up":
                sums = (sums + (1 << value - 1)) >> value
            case "fixed.shift_right", "half_away":
                sign = np.where(sums < 0, -1, 1)
                sums = sign * ((abs(sums) + (1 << value - 1)) >> value)
            case "arith.shrsi", _:
                sums = sums >> value
            case "arith.maxsi", _:
                sums = np.maximum(sums, value)
            case "arith.minsi", _:
                sums = np.minimum(sums, value)
            case other:
                raise AssertionError(other)
    return sums


@pytest.mark.parts(3)
@pytest.mark.parametrize("contract", ["tflite", "tflite-single", str(NPU)])
def test_a_device_is_driven_by_the_files_alone(tmp_path: Path, contract: str) -> None:
    arguments = ["vectors", str(DIGITS), "-o", str(tmp_path), "--layer", "pointwise"]
    assert main([*arguments, "--contract", contract]) == 0
    for folder in tmp_path.glob("*wise"):
        data = json.loads((folder / "layer.json").read_text())
        sums = np.load(folder / "accumulator.npy").astype(object)
        found = apply(sums, data["arithmetic"])
        np.testing.assert_array_equal(found, np.load(folder / "output.npy"))


def test_layer_data_is_that_of_the_model(tmp_path: Path) -> None:
    layer = next(iter(qlower.vectors(DIGITS, layer="depthwise").layers))
    model = qlower.load(DIGITS)
    (op,) = (op for op in layers(model.module) if layer_name(op) == "depthwise")
    assert isinstance(op, qnn.DepthwiseConv2DOp)
    data = layer.data.to_dict()
    attributes = data["attributes"]
    assert isinstance(attributes, dict)
    assert attributes["stride"] == list(op.stride)
    assert attributes["pad"] == list(op.pad)
    assert data["kernel"] == [3, 3]
    results = data["results"]
    assert isinstance(results, list)
    assert results[0]["scales"] == list(quantized_element(op.result.type).scales)
    assert layer.data.arrays.keys() == {"multiplier", "shift", "shift_1"}
    assert (data["output_min"], data["output_max"]) == (-128, 127)


@pytest.mark.parts(36)
@pytest.mark.parametrize("contract", contract_names())
def test_every_contract_has_layer_data(contract: str) -> None:
    whole, name = qlower.load(DIGITS), "pointwise"
    if contract in REFUSING:
        (whole, _), name = convolution(contract), "conv2d_2"
    module, (source,), _ = detach_layers(whole.module, [name])
    model = qlower.Model(module)
    values = {source: random_input(model.inputs[0], np.random.default_rng(0))}
    run = run_layer(whole, contract, name, values)
    data = layer_data(model, contract, 2, name, run)
    assert json.loads(json.dumps(data.to_dict()))["arithmetic"]


def test_the_table_says_what_was_looked_at() -> None:
    data: Any = None
    seen = Coverage(9, True, {"ties": 9, "ends": 4}, {"ties": 5, "ends": 4})
    outputs = {"output": np.zeros((7, 2))}
    rows = [
        LayerVectors(0, "a", "linear", outputs, data, seen),
        LayerVectors(1, "b", "add", outputs, data, has_all_codes=True),
        LayerVectors(2, "c", "softmax", outputs, data),
    ]
    found = Vectors("tflite", rows).table.records()
    keys = ("runs", "shown", "possible", "from")
    assert [[one[key] for key in keys] for one in found] == [
        [7, 9, 13, "all sums"],
        [7, None, None, "all codes"],
        [7, None, None, "drawn"],
    ]


@pytest.mark.parametrize("seed", range(6))
def test_sums_are_met_by_inputs(seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = random.integers(-127, 128, int(random.integers(3, 40)))
    low, high = (0, 255) if seed % 2 else (-100, 155)
    ends = np.stack([weights * low, weights * high])
    least, most = ends.min(0).sum(), ends.max(0).sum()
    wanted = np.concatenate([random.integers(least, most, 50), [least, most]])
    inputs, met = inputs_for(weights, wanted, low, high)
    assert inputs.min() >= low
    assert inputs.max() <= high
    np.testing.assert_array_equal(inputs @ weights == wanted, met)
    assert met[-2:].all()
    if np.gcd.reduce(weights) == 1:
        assert met.mean() > 0.9


def test_weights_that_are_computed(tmp_path: Path) -> None:
    """Of a product of two inputs each run has its own weights."""
    module = make_model(
        [quantized((2, 3), 0.5), quantized((4, 3), 0.5)],
        lambda x, w: [qnn.LinearOp(x, w, None, quantized((2, 4), 1.0)).result],
    ).module
    (layer,) = qlower.vectors(qlower.Model(module), contract="tflite").layers
    runs = len(layer.arrays["input"])
    assert layer.arrays["weight"].shape == (runs, 4, 3)
    run = qlower.jit(qlower.Model(module), contract="tflite")
    for x, w, y in zip(
        *(layer.arrays[name] for name in ("input", "weight", "output")), strict=True
    ):
        np.testing.assert_array_equal(run(x, w), y)
