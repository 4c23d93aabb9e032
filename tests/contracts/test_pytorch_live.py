"""The PyTorch contracts against the installed PyTorch on random layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np
import pytest
from support import random_modules
from support.native import machine_levels
from support.random_modules import Draw
from support.torch_engines import AVX2_ONLY, run_torch

import qlower
from qlower.compilation import Compilation

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(
        "avx512vnni" not in machine_levels(),
        reason="the contracts are those of a CPU with AVX-512 VNNI",
    ),
]

CONTRACTIONS = ("conv2d", "depthwise_conv2d", "linear")
POOLS = ("avg_pool2d", "adaptive_avg_pool2d")
TABLES = ("sigmoid", "tanh", "hard_swish", "elu", "leaky_relu")
OTHERS = (
    *("add", "mul", "quantize", "dequantize", "concat", "relu", "relu6", "clamp"),
    *POOLS,
    *TABLES,
)
CONTRACTION_SEEDS = 10
OTHER_SEEDS = 5
OUTPUTS = 15_000
"""About how many a layer has; all layers of a contract have over a million."""


@dataclass(frozen=True)
class Engine:
    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    asymmetric_weights: bool = False
    operations: tuple[str, ...] = OTHERS
    contiguous: bool = False
    even_groups: bool = True


# Without this limit oneDNN takes kernels for AMX where there is AMX.
VNNI = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI"}
ENGINES = {
    "pytorch-fbgemm": Engine("fbgemm", asymmetric_weights=True),
    # Groups of 4, 8 or 16 channels use VNNI in spite of this environment.
    "pytorch-fbgemm-avx2": Engine(
        "fbgemm", AVX2_ONLY, asymmetric_weights=True, even_groups=False
    ),
    "pytorch-onednn": Engine("onednn", VNNI),
    "pytorch-onednn-avx2": Engine("onednn", AVX2_ONLY),
    "pytorch-x86": Engine("x86", VNNI, asymmetric_weights=True),
    "pytorch-qnnpack": Engine(
        "qnnpack", asymmetric_weights=True, operations=(*OTHERS, "mean")
    ),
    # An add has its tail where the memory ends.
    "pytorch-nchw": Engine(
        "x86",
        VNNI,
        asymmetric_weights=True,
        operations=tuple(name for name in OTHERS if name != "add"),
        contiguous=True,
    ),
}


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
        model = qlower.Model(layer.module)
        interpreter = Compilation(model, contract).interpreter("qnn")
        ((result,), _) = interpreter.run(layer.inputs, {})
        np.testing.assert_array_equal(result, expected, f"{kind}, seed {seed}")
        compared += expected.size
        if seed < 2:
            native = qlower.jit(model, contract=contract)(*layer.inputs)
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
