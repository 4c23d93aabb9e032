"""Scales whose ratio no model has: refused when a model is compiled, or computed alike.

No executor may do what the others don't: a shift by more than a word, which LLVM leaves
undefined, or a conversion of NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.values import edge_values
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue

import qlower
from qlower.compilation.compilation import Compilation
from qlower.contracts import contract_names
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.model.build import constant, make_module, quantized
from qlower.model.signature import Array

ODD = 1.3
"""Scales are powers of two times this, so that products aren't exact."""

EXPONENTS = (-240, -149, -126, -64, -40, -33, 20, 28, 29, 30, 31, 32, 40, 64, 127, 240)
"""Ratios of scales, as powers of two."""

Shape = tuple[int, ...]
Type = TensorType[Attribute]
Unary = Callable[[SSAValue, Type], SSAValue]


def unary(make: Unary, shape: Shape = (2, 128)) -> Callable[[float, float], ModuleOp]:
    def make_layer(x_scale: float, y_scale: float) -> ModuleOp:
        x, y = quantized(shape, x_scale, 3), quantized(shape, y_scale, -5)
        return make_module([x], lambda value: [make(value, y)])

    return make_layer


def contraction(
    make: Callable[[SSAValue, SSAValue, Type], SSAValue],
    image: Shape,
    weights: Shape,
    result: Shape,
) -> Callable[[float, float], ModuleOp]:
    random = np.random.default_rng(0)
    codes = edge_values.weights(random, weights, "int8")

    def make_layer(x_scale: float, y_scale: float) -> ModuleOp:
        x, y = quantized(image, x_scale, 3), quantized(result, y_scale, -5)

        def body(value: SSAValue) -> list[SSAValue]:
            return [make(value, constant(codes, quantized(weights, 1.0)), y)]

        return make_module([x], body)

    return make_layer


def binary(
    make: Callable[[SSAValue, SSAValue, Type], SSAValue], other: float = 1.0
) -> Callable[[float, float], ModuleOp]:
    """The second operand's scale is `other` times the output's."""

    def make_layer(x_scale: float, y_scale: float) -> ModuleOp:
        shape = (2, 128)
        a, b = quantized(shape, x_scale, 3), quantized(shape, other * y_scale, 7)
        y = quantized(shape, y_scale, -5)
        return make_module([a, b], lambda a, b: [make(a, b, y)])

    return make_layer


LAYERS: dict[str, Callable[[float, float], ModuleOp]] = {
    "conv2d": contraction(
        lambda x, w, y: qnn.Conv2DOp(x, w, None, y).result,
        *((1, 4, 4, 3), (5, 3, 3, 3), (1, 2, 2, 5)),
    ),
    "depthwise_conv2d": contraction(
        lambda x, w, y: qnn.DepthwiseConv2DOp(x, w, None, y).results[0],
        *((1, 4, 4, 5), (1, 3, 3, 5), (1, 2, 2, 5)),
    ),
    "linear": contraction(
        lambda x, w, y: qnn.LinearOp(x, w, None, y).result, (4, 9), (5, 9), (4, 5)
    ),
    "add": binary(lambda a, b, y: qnn.AddOp(a, b, y).result),
    "add_smaller": binary(lambda a, b, y: qnn.AddOp(a, b, y).result, 2.0**-20),
    "sub": binary(lambda a, b, y: qnn.SubOp(a, b, y).result),
    "mul": binary(lambda a, b, y: qnn.MulOp(a, b, y).result),
    "mean": unary(
        lambda x, y: qnn.MeanOp(x, y, axes=[1], keep_dims=True).result, (2, 1)
    ),
    "requantize": unary(lambda x, y: qnn.RequantizeOp(x, y).result),
    "relu": unary(lambda x, y: qnn.ReluOp(x, y).result),
    "relu6": unary(lambda x, y: qnn.Relu6Op(x, y).result),
    "leaky_relu": unary(lambda x, y: qnn.LeakyReluOp(x, y, alpha=0.3).result),
    "sigmoid": unary(lambda x, y: qnn.SigmoidOp(x, y).result),
    "tanh": unary(lambda x, y: qnn.TanhOp(x, y).result),
    "hard_swish": unary(lambda x, y: qnn.HardSwishOp(x, y).result),
    "elu": unary(lambda x, y: qnn.EluOp(x, y).result),
}
"""Makers of a module from the scales of its input and its output."""


def outcome(run: Callable[[], Array]) -> Array | None:
    """What it gives, or None if it refuses."""
    try:
        return run()
    except QlowerError:
        return None


def check(contract: str, name: str, exponent: int) -> None:
    scales = (float(np.float32(ODD * 2.0 ** (exponent / 2 * side))) for side in (1, -1))
    model = qlower.Model(LAYERS[name](*scales))
    random = np.random.default_rng(0)
    inputs = [edge_values.codes(random, spec.shape, "int8") for spec in model.inputs]
    compilation = Compilation(model, contract)
    message = f"{contract}, {name}, 2^{exponent}"
    expected = outcome(lambda: compilation.interpreter("qnn").run(inputs, {})[0][0])
    got = outcome(lambda: compilation.function().run(inputs, {})[0][0])
    assert (got is None) == (expected is None), message
    if got is not None and expected is not None:
        np.testing.assert_array_equal(got, expected, message)


@pytest.mark.parts(12)
@pytest.mark.parametrize("contract", contract_names())
def test_refused_or_computed_alike(contract: str):
    check(contract, "conv2d", 31)
    check(contract, "requantize", 32)


@pytest.mark.long
@pytest.mark.parametrize("contract", contract_names())
def test_every_layer_refused_or_computed_alike(contract: str):
    for name in LAYERS:
        for exponent in EXPONENTS:
            check(contract, name, exponent)
