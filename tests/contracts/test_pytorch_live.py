"""The PyTorch contracts against the installed PyTorch on random layers."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest
from support import random_modules
from support.native import machine_levels
from support.random_modules import Draw
from support.torch_engines import CONTRACTIONS, ENGINES, Engine, run_torch

import qlower
from qlower.compilation import Compilation
from qlower.dialects import qnn
from qlower.model.build import make_module, quantized

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(
        "avx512vnni" not in machine_levels(),
        reason="the contracts are those of a CPU with AVX-512 VNNI",
    ),
]

CONTRACTION_SEEDS = 10
OTHER_SEEDS = 5
OUTPUTS = 15_000
"""About how many a layer has; all layers of a contract have over a million."""


@pytest.mark.parametrize("contract", ENGINES)
def test_random_layers(contract: str):
    engine = ENGINES[contract]
    layers = {
        (kind, seed): _draw(kind, seed, engine)
        for kinds, seeds in (
            (CONTRACTIONS, CONTRACTION_SEEDS),
            (engine.operations, OTHER_SEEDS),
        )
        for kind in kinds
        for seed in range(seeds)
    }
    answers = run_torch(
        list(layers.values()),
        engine.name,
        engine.environment,
        contiguous=engine.contiguous,
    )
    compared = 0
    for ((kind, seed), layer), expected in zip(layers.items(), answers, strict=True):
        compilation = Compilation(qlower.Model(layer.module), contract)
        ((result,), _) = compilation.interpreter("qnn").run(layer.inputs, {})
        np.testing.assert_array_equal(result, expected, f"{kind}, seed {seed}")
        compared += expected.size
        if seed < (2 if kind in CONTRACTIONS else 1):
            ((native,), _) = compilation.function().run(layer.inputs, {})
            np.testing.assert_array_equal(native, expected, f"{kind}, seed {seed}")
    assert compared >= 1_000_000


def test_tables_of_any_ratio():
    """From 2^31 steps on the vectors' conversion ends, and the zero point wraps."""
    makers = (
        lambda x, y: qnn.HardSwishOp(x, y).result,
        lambda x, y: qnn.EluOp(x, y).result,
        lambda x, y: qnn.LeakyReluOp(x, y, alpha=0.3).result,
    )
    layers: list[random_modules.RandomLayer] = []
    for make, signed, exponent in product(makers, (False, True), (12, 13, 20)):
        codes = np.arange(256, dtype=np.uint8).view(np.int8 if signed else np.uint8)
        x = quantized((2, 128), 1.5 * 2.0**exponent, 7, signed=signed)
        for point in (-100, 3, 100) if signed else (3, 130, 250):
            y = quantized((2, 128), 1.3 * 2.0**-exponent, point, signed=signed)
            module = make_module([x], lambda value, make=make, y=y: [make(value, y)])
            layers.append(random_modules.RandomLayer(module, [codes.reshape(2, 128)]))
    engine = ENGINES["pytorch-fbgemm"]
    answers = run_torch(layers, engine.name, engine.environment)
    for layer, expected in zip(layers, answers, strict=True):
        compilation = Compilation(qlower.Model(layer.module), "pytorch-fbgemm")
        ((result,), _) = compilation.interpreter("qnn").run(layer.inputs, {})
        np.testing.assert_array_equal(result, expected, str(layer.module))


def _draw(kind: str, seed: int, engine: Engine) -> random_modules.RandomLayer:
    draw = Draw(
        seed,
        OUTPUTS,
        asymmetric_weights=engine.asymmetric_weights,
        points_per_axis=engine.asymmetric_weights,
        even_groups=engine.even_groups,
    )
    return getattr(random_modules, kind)(draw)
