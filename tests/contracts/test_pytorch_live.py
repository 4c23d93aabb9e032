"""The PyTorch contracts against the installed PyTorch on random layers."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from support import random_modules
from support.native import machine_levels
from support.random_modules import Draw
from support.torch_engines import CONTRACTIONS, ENGINES, Engine, run_torch

import qlower
from qlower.compilation import Compilation

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


def _draw(kind: str, seed: int, engine: Engine) -> random_modules.RandomLayer:
    draw = Draw(
        seed,
        OUTPUTS,
        asymmetric_weights=engine.asymmetric_weights,
        points_per_axis=engine.asymmetric_weights,
        even_groups=engine.even_groups,
    )
    return getattr(random_modules, kind)(draw)
