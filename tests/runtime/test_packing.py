"""Weights that are packed when they are given have the bits of constant ones."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
import pytest
from support.formats.tflite_cases import random_inputs
from support.formats.tflite_word_cases import WORDS
from support.layers.random_layers import LAYERS
from support.machines.native import machine_levels

import qlower
from qlower.codegen.targets.resolve import Target, host_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import NestOp
from qlower.frontends.tflite import import_tflite
from qlower.model import Model
from qlower.model.signature import Array
from qlower.model.weights import WeightSpec, open_weights, weight_specs, with_weights
from qlower.runtime.packing import PackingFunction
from qlower.text.parsing import parse_module

LEVELS = ["x86-64-v4", "x86-64-v3", "x86-64-v2"]
BYTES = ["conv2d", "conv2d_grouped", "depthwise_conv2d", "fully_connected"]
WORD_LAYERS = ["conv2d", "depthwise_conv2d", "fully_connected"]

LONG_SUMS = """
!x = !quant.uniform<i16:f32, 0.01>
!w = !quant.uniform<i8:f32, 0.02>
!y = !quant.uniform<i16:f32, 0.5>
func.func @main(%x: tensor<3x700x!x>) -> tensor<3x5x!y> {
  %w = qnn.constant dense<1> : tensor<5x700xi8> -> tensor<5x700x!w>
  %b = arith.constant dense<7> : tensor<5xi64>
  %y = qnn.linear %x, %w, %b
    : (tensor<3x700x!x>, tensor<5x700x!w>, tensor<5xi64>) -> tensor<3x5x!y>
  return %y : tensor<3x5x!y>
}
"""


def targets() -> list[Target]:
    """This machine, and what it was in other years."""
    host = host_target()
    if not host.triple.startswith("x86_64"):
        return [host]
    return [host, *(machine_levels()[one] for one in LEVELS if one in machine_levels())]


def drawn(spec: WeightSpec, random: np.random.Generator) -> Array:
    """Any weights of the type; half of them at its ends."""
    limits = np.iinfo(spec.stored.dtype)
    if spec.role == "bias":
        return random.integers(-(10**6), 10**6, spec.stored.shape).astype(limits.dtype)
    shape = spec.stored.shape
    anything = random.integers(limits.min, limits.max, shape, endpoint=True)
    ends = random.choice([limits.min, limits.max], shape)
    return np.where(random.random(shape) < 0.5, anything, ends).astype(limits.dtype)


def families(compilation: Compilation) -> list[str]:
    """Which loops the code of a model has."""
    nests = (op for op in compilation.kernels.walk() if isinstance(op, NestOp))
    return [nest.family.data for nest in nests]


def check(model: Model, seed: int) -> None:
    """Compare the code of open weights with the interpreter, for three sets of them."""
    random = np.random.default_rng(seed)
    specs = weight_specs(model.module)
    inputs = random_inputs([(x.shape, x.dtype) for x in model.inputs], seed)
    packed = {spec.name for spec in specs if spec.can_be_packed}
    opened = open_weights(model)
    functions: list[PackingFunction] = []
    for target in targets():
        compilation = Compilation(opened, "tflite", target)
        functions.append(compilation.packing_function(packed))
        constant = Compilation(model, "tflite", target)
        assert families(compilation) == families(constant)
    for _ in range(3):
        weights = {spec.name: drawn(spec, random) for spec in specs}
        changed = Compilation(with_weights(model, weights), "tflite")
        expected = changed.interpreter()(*inputs)
        for function in functions:
            given = [*inputs, *weights.values()]
            assert (function(*given) == expected).all()
            pack = attrgetter("_packed")(function)
            assert pack(given) is pack(given)  # not anew


@pytest.mark.parts(32)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", BYTES)
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 20))]
)
def test_bytes(name: str, dtype: str, seed: int) -> None:
    check(Model(import_tflite(LAYERS[name](seed, dtype), name="layer")), seed)


@pytest.mark.parts(15)
@pytest.mark.parametrize("name", WORD_LAYERS)
def test_words(name: str) -> None:
    check(Model(import_tflite(WORDS[name](3), name="layer")), 3)


def test_sums_of_words_that_32_bits_do_not_hold() -> None:
    check(Model(parse_module(LONG_SUMS)), 5)


def test_a_model_that_says_so_itself_is_refused() -> None:
    text = LONG_SUMS.replace("!x>) ->", "!x> {kernel.packed}) ->", 1)
    with pytest.raises(QlowerError, match=r"kernel\.packed is an attribute that only"):
        qlower.jit(Model(parse_module(text)), "tflite")
