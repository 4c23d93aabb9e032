"""The TOSA contracts against Arm's converter and the TOSA reference model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.random_layers import LAYERS, random_layer_inputs
from support.recordings import make_executors
from support.tosa import has_tosa, run_tosa

import qlower
from qlower.compilation import Compilation
from qlower.diagnostics import QlowerError

pytestmark = pytest.mark.skipif(
    not has_tosa(), reason="tosa-converter-for-tflite and tosa-tools are not installed"
)

CONTRACTS = {"tosa": "SINGLE_ROUND", "tosa-double": "DOUBLE_ROUND"}
"""The mode of the converter's RESCALEs for each contract."""

SEEDS = 10
SETS = 10
"""Sets of inputs a layer: 1.1 million outputs a contract."""

SEEDS_OF_EVERY_EXECUTOR = 1

UNCONVERTED = {
    "resize_bilinear": "RESIZE is not described by the contract",
    "elu": "the converter writes invalid TOSA for quantized elu",
}


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("layer", LAYERS)
def test_random_layers(layer: str, contract: str, tmp_path: Path):
    if layer in UNCONVERTED:
        pytest.skip(UNCONVERTED[layer])
    if layer == "average_pool" and contract == "tosa":
        pytest.skip("the converter gives pools zero points of 0, not the tensors'")
    path = tmp_path / "layer.tflite"
    for seed in range(SEEDS):
        path.write_bytes(LAYERS[layer](seed, "int8"))
        model = qlower.load(path)
        if layer == "average_pool" and "activation" in str(model.module):
            continue  # the converter drops the activation of a pool
        input_sets = [random_layer_inputs(model, seed + i) for i in range(SETS)]
        answers = run_tosa(path, input_sets, CONTRACTS[contract])
        if any(answer is None for answer in answers):
            with pytest.raises(QlowerError):
                qlower.jit(model, contract=contract)
            continue
        executors = (
            make_executors(model, contract)
            if seed < SEEDS_OF_EVERY_EXECUTOR
            else {"qnn": Compilation(model, contract).interpreter("qnn")}
        )
        for name, executor in executors.items():
            for inputs, expected in zip(input_sets, answers, strict=True):
                ((result,), _) = executor.run(inputs, {})
                assert expected is not None
                np.testing.assert_array_equal(
                    result, expected.reshape(result.shape), f"seed {seed}, {name}"
                )
