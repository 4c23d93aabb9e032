"""The TOSA contracts against Arm's converter and the TOSA reference model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.formats.edge_layers import LAYERS as EDGE_LAYERS
from support.formats.edge_layers import edge_inputs
from support.formats.tosa import NotConverted, has_tosa, run_tosa
from support.layers.random_layers import LAYERS, random_layer_inputs
from support.systems.recordings import make_executors

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

pytestmark = pytest.mark.skipif(
    not has_tosa(), reason="tosa-converter-for-tflite and tosa-tools are not installed"
)

CONTRACTS = {"tosa": "SINGLE_ROUND", "tosa-double": "DOUBLE_ROUND"}
"""The mode of the converter's RESCALEs for each contract."""

SEEDS, LONG_SEEDS = 1, 20
SETS = 5
"""Sets of inputs a layer: about a million outputs a contract in the long run."""

TURNS = list(product(LAYERS, CONTRACTS))
"""Whose native code is at one of the machine's levels after another."""

EDGE_SEEDS = 1
LONG_EDGE_SEEDS = 60

UNCONVERTED = {
    "resize_bilinear": "RESIZE is not described by the contract",
    "elu": "the converter writes invalid TOSA for quantized elu",
}

Inputs = Sequence[Array]


@pytest.mark.parts(46)
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("layer", LAYERS)
def test_random_layers(layer: str, contract: str, tmp_path: Path):
    check_random_layers(layer, contract, range(SEEDS), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("layer", LAYERS)
def test_many_random_layers(layer: str, contract: str, tmp_path: Path):
    check_random_layers(layer, contract, range(SEEDS, LONG_SEEDS), tmp_path)


def check_random_layers(
    layer: str, contract: str, seeds: Sequence[int], folder: Path
) -> None:
    """The first in every executor."""
    skip_unconverted(layer, contract)
    path = folder / "layer.tflite"
    for seed in seeds:
        path.write_bytes(LAYERS[layer](seed, "int8"))
        model = qlower.load(path)
        input_sets = [random_layer_inputs(model, seed + i) for i in range(SETS)]
        turn = TURNS.index((layer, contract)) if seed == 0 else None
        check(path, model, input_sets, contract, f"seed {seed}", turn)


@pytest.mark.parts(54)
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("layer", EDGE_LAYERS)
def test_edge_layers(layer: str, contract: str, tmp_path: Path):
    check_edge_layers(layer, contract, range(EDGE_SEEDS), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("layer", EDGE_LAYERS)
def test_many_edge_layers(layer: str, contract: str, tmp_path: Path):
    check_edge_layers(layer, contract, range(EDGE_SEEDS, LONG_EDGE_SEEDS), tmp_path)


def check_edge_layers(
    layer: str, contract: str, seeds: Sequence[int], folder: Path
) -> None:
    skip_unconverted(layer, contract)
    path = folder / "layer.tflite"
    for seed in seeds:
        path.write_bytes(EDGE_LAYERS[layer](seed, "int8"))
        model = qlower.load(path)
        check(path, model, [edge_inputs(model, seed)], contract, f"seed {seed}")


def skip_unconverted(layer: str, contract: str) -> None:
    if layer in UNCONVERTED:
        pytest.skip(UNCONVERTED[layer])
    if layer == "average_pool" and contract == "tosa":
        pytest.skip("the converter gives pools zero points of 0, not the tensors'")


def check(
    path: Path,
    model: qlower.Model,
    input_sets: Sequence[Inputs],
    contract: str,
    message: str,
    turn: int | None = None,
) -> None:
    """What the reference model calls unpredictable must be refused. With a `turn`, all
    executors are compared."""
    if "_pool2d" in (text := str(model.module)) and "activation" in text:
        return  # the converter drops the activation of a pool
    try:
        answers = run_tosa(path, input_sets, CONTRACTS[contract])
    except NotConverted:
        return
    if any(answer is None for answer in answers):
        with pytest.raises(QlowerError):
            qlower.jit(model, contract=contract)
        return
    executors = (
        {"qnn": Compilation(model, contract).interpreter("qnn")}
        if turn is None
        else make_executors(model, contract, turn)
    )
    for name, executor in executors.items():
        for inputs, expected in zip(input_sets, answers, strict=True):
            ((result,), _) = executor.run(inputs, {})
            assert expected is not None
            np.testing.assert_array_equal(
                result, expected.reshape(result.shape), f"{message}, {name}"
            )
