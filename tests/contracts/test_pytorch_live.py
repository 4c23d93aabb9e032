"""The PyTorch contracts against the installed PyTorch on random layers."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.layers import random_modules
from support.layers.random_modules import Draw
from support.machines.native import machine_levels
from support.systems.torch_engines import CONTRACTIONS, ENGINES, Engine, run_torch
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.model.build import constant, make_module, quantized

Type = TensorType[Attribute]

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(
        "avx512vnni" not in machine_levels(),
        reason="the contracts are those of a CPU with AVX-512 VNNI",
    ),
]

CONTRACTION_SEEDS, OTHER_SEEDS, LEAST_OUTPUTS = (
    (10, 5, 1_000_000) if is_asked_for(LARGE_VARIABLE) else (2, 1, 150_000)
)
"""How many layers of each kind there are, and how many outputs all of them have."""

OUTPUTS = 15_000
"""About how many a layer has."""


@pytest.mark.parts(7)
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
        if seed == 0:
            ((native,), _) = compilation.function().run(layer.inputs, {})
            np.testing.assert_array_equal(native, expected, f"{kind}, seed {seed}")
    assert compared >= LEAST_OUTPUTS


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


@pytest.mark.parametrize("contract", ["pytorch-fbgemm", "pytorch-qnnpack"])
def test_what_int32_can_not_hold(contract: str):
    """Layers equal PyTorch up to 2^31 output steps, and are refused from there on."""
    limit = 2.0**31 / (255 * 100 * 512)
    makers = {
        _largest_sums: (0.5 * limit, 0.99 * limit, 1.01 * limit),
        _products: (2.0**14, 2.0**15),
        **({_sums: (2.0**21, 2.0**23)} if contract == "pytorch-fbgemm" else {}),
    }
    below = [make(scale) for make, (*scales, _) in makers.items() for scale in scales]
    engine = ENGINES[contract]
    answers = run_torch(below, engine.name, engine.environment)
    for layer, expected in zip(below, answers, strict=True):
        compilation = Compilation(qlower.Model(layer.module), contract)
        ((result,), _) = compilation.interpreter("qnn").run(layer.inputs, {})
        np.testing.assert_array_equal(result, expected, str(layer.module))
    for make, (*_, scale) in makers.items():
        compilation = Compilation(qlower.Model(make(scale).module), contract)
        with pytest.raises(
            QlowerError, match=r"which PyTorch turns|PyTorch's conversion"
        ):
            compilation.function()


def _largest_sums(scale: float) -> random_modules.RandomLayer:
    """A layer of 512 weights of 100, whose largest sum of uint8 codes is there."""
    codes = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 512, 1)
    x = quantized((256, 512), scale, 0, signed=False)
    y = quantized((256, 2), 1.0, 3, signed=False)
    weights = np.full((2, 512), 100, np.int8)

    def body(value: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized(weights.shape, 1.0))
        return [qnn.LinearOp(value, w, None, y).result]

    return random_modules.RandomLayer(make_module([x], body), [codes])


def _products(ratio: float) -> random_modules.RandomLayer:
    return _of_two(ratio, lambda a, b, y: qnn.MulOp(a, b, y).result)


def _sums(ratio: float) -> random_modules.RandomLayer:
    return _of_two(ratio / 2, lambda a, b, y: qnn.AddOp(a, b, y).result)


def _of_two(
    ratio: float, make: Callable[[SSAValue, SSAValue, Type], SSAValue]
) -> random_modules.RandomLayer:
    """All codes, by operands whose scale is 1 and a result whose zero point is high."""
    x = quantized((2, 128), 1.0, 0, signed=False)
    y = quantized((2, 128), 1 / ratio, 250, signed=False)
    codes = np.arange(256, dtype=np.uint8).reshape(2, 128)
    module = make_module([x, x], lambda a, b: [make(a, b, y)])
    return random_modules.RandomLayer(module, [codes, codes])


def _draw(kind: str, seed: int, engine: Engine) -> random_modules.RandomLayer:
    draw = Draw(
        seed,
        OUTPUTS,
        asymmetric_weights=engine.asymmetric_weights,
        points_per_axis=engine.asymmetric_weights,
        even_groups=engine.even_groups,
    )
    return getattr(random_modules, kind)(draw)
