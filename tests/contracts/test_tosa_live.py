"""`tosa-double` against Arm's converter and the TOSA reference model, side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError
from qlower.executors import ModelInterpreter
from qlower.testing.random_layers import LAYERS, random_layer_inputs
from qlower.testing.recordings import make_executors
from qlower.testing.tosa import has_tosa, run_tosa

pytestmark = pytest.mark.skipif(
    not has_tosa(), reason="tosa-converter-for-tflite and tosa-tools are not installed"
)

SEEDS = 100
SEEDS_OF_EVERY_EXECUTOR = 2

UNCONVERTED = {
    "resize_bilinear": "RESIZE is not described by the contract",
    "elu": "the converter writes invalid TOSA for quantized elu",
}


@pytest.mark.parametrize("layer", LAYERS)
def test_random_layers(layer: str, tmp_path: Path):
    if layer in UNCONVERTED:
        pytest.skip(UNCONVERTED[layer])
    path = tmp_path / "layer.tflite"
    for seed in range(SEEDS):
        path.write_bytes(LAYERS[layer](seed, "int8"))
        model = qlower.load(path)
        if layer == "average_pool" and "activation" in str(model.module):
            continue  # the converter drops the activation of a pool
        inputs = random_layer_inputs(model, seed)
        expected = run_tosa(path, inputs)
        if expected is None:
            with pytest.raises(QlowerError):
                qlower.jit(model, contract="tosa-double")
            continue
        executors = (
            make_executors(model, "tosa-double")
            if seed < SEEDS_OF_EVERY_EXECUTOR
            else {"qnn": ModelInterpreter(model, at="qnn", contract="tosa-double")}
        )
        for name, executor in executors.items():
            ((result,), _) = executor.run(inputs, {})
            np.testing.assert_array_equal(
                result, expected.reshape(result.shape), f"seed {seed}, {name}"
            )
