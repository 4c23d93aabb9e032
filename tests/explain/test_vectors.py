"""Test vectors: what they show, and that they are right."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.dialects import qnn
from qlower.explain.reach import inputs_for
from qlower.model.build import make_model, quantized
from qlower.model.extract import detach_layers

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"


@pytest.fixture(scope="module")
def made() -> qlower.Vectors:
    return qlower.vectors(DIGITS, layer="*wise")


def test_everything_is_shown_that_can_be(made: qlower.Vectors) -> None:
    for layer in made.layers:
        assert layer.coverage is not None
        assert layer.coverage.total[0] == layer.coverage.total[1] > 0
        assert not layer.coverage.missing
        shown = layer.coverage.possible
        assert any(" tie +" in what for what in shown)
        assert {"saturates low", "saturates high"} <= shown.keys()


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


def test_an_addition_sees_every_pair_of_codes() -> None:
    types = [quantized([64, 64], scale) for scale in (0.1, 0.2, 0.3)]
    model = make_model(types[:2], lambda a, b: [qnn.AddOp(a, b, types[2]).result])
    (layer,) = qlower.vectors(model, "tflite").layers
    assert layer.looked_at == "all codes"
    assert layer.count == 16
    pairs = {*zip(*(layer.arrays[f"input{i}"].flat for i in (0, 1)), strict=True)}
    assert len(pairs) == 65536


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
    if shutil.which("cc"):
        source = own / "check.c"
        source.write_text(
            '#include "vectors.h"\nint main(void) { return output[0]; }\n'
        )
        subprocess.run(["cc", "-std=c99", "-fsyntax-only", source], check=True)
    coverage = json.loads((folder / "coverage.json").read_text())
    assert coverage["layers"][0]["shown"] == coverage["layers"][0]["possible"]
    assert main([*arguments, "--files", "bin"]) == ExitCode.USAGE


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
