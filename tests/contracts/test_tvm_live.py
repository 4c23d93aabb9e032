"""The contracts of the TVM family against TVM's own builds of TFLite models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.layers.random_layers import LAYERS, random_layer_inputs
from support.systems.recordings import make_executors
from support.systems.tvm import TVM_VARIABLE, has_tvm, run_tvm

import qlower
from qlower.compilation.compilation import Compilation
from qlower.interp.values import Array

SEEDS = 4
EXCEPT = {"batch_matmul", "elu"}
"""What TVM's TFLite front end imports without its scales."""
NO_CHANNELS = {"conv2d_grouped": {1}, "fully_connected": {0, 1}}
"""Seeds of layers with a multiplier for each channel, which TVM 0.16 does not build."""


@pytest.mark.skipif(
    not has_tvm(), reason=f"${TVM_VARIABLE} names no Python with TVM's Relay"
)
@pytest.mark.parametrize("layer", [name for name in LAYERS if name not in EXCEPT])
def test_random_layers(layer: str, tmp_path: Path):
    seeds = [seed for seed in range(SEEDS) if seed not in NO_CHANNELS.get(layer, ())]
    models: list[tuple[Path, list[Array]]] = []
    for seed in seeds:
        path = tmp_path / f"{seed}.tflite"
        path.write_bytes(LAYERS[layer](seed, "uint8" if seed == 3 else "int8"))
        models.append((path, random_layer_inputs(qlower.load(path), seed)))
    for (path, inputs), expected in zip(models, run_tvm(models), strict=True):
        model = qlower.load(path)
        for contract, answer in expected.items():
            executors = (
                make_executors(model, contract)
                if path.stem == "0"
                else {"qnn": Compilation(model, contract).interpreter("qnn")}
            )
            for name, executor in executors.items():
                ((result,), _) = executor.run(inputs, {})
                message = f"{contract}, seed {path.stem}, {name}"
                assert result.dtype == answer.dtype
                np.testing.assert_array_equal(
                    result.reshape(answer.shape), answer, err_msg=message
                )
