"""The contract of ONNX's reference evaluator against the installed one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from support.layers.random_modules import (
    Draw,
    RandomLayer,
    conv2d,
    depthwise_conv2d,
    dequantize,
    quantize,
)
from support.systems.onnx_reference import run_onnx_reference
from support.values.all_values import (
    compare,
    of_accumulators,
    of_codes,
    of_columns,
    of_pairs,
    of_products,
)
from xdsl.dialects.builtin import TensorType, f32

from qlower.dialects import qnn
from qlower.model.build import make_module, quantized

pytestmark = pytest.mark.skipif(
    find_spec("onnx") is None, reason="onnx is not installed"
)

BEYOND = np.array(
    [np.nan, np.inf, -np.inf, 1e10, -1e10, 2.0**31, -(2.0**31), 2.0**31 - 128],
    np.float32,
)
"""What no int32 holds, and what barely fits."""


def layers(draw: Draw) -> Iterator[RandomLayer]:
    """A layer of every kind with parameters of `draw`."""
    alpha = 0.30000001192092896
    yield of_codes(draw, lambda x, y: qnn.LeakyReluOp(x, y, alpha=alpha).result)
    yield of_codes(draw, lambda x, y: qnn.RequantizeOp(x, y).result)
    yield of_codes(draw, lambda x, y: qnn.ConcatOp([x], y, axis=0).result)
    yield of_codes(draw, lambda x, y: qnn.ClampOp(x, y, min=-1.5, max=3.0).result)
    yield of_pairs(draw, lambda a, b, y: qnn.AddOp(a, b, y).result)
    yield of_pairs(draw, lambda a, b, y: qnn.SubOp(a, b, y).result)
    yield of_products(draw, lambda a, b, y: qnn.MulOp(a, b, y).result)
    yield of_columns(draw)
    yield of_columns(draw, half=True)
    yield of_accumulators(draw, convolved=True)
    yield conv2d(draw)
    yield depthwise_conv2d(draw)
    yield quantize(draw)
    yield dequantize(draw)
    for point in (-3, -1, 0, 3):
        y = quantized(BEYOND.shape, 1.0, point)
        real = TensorType(f32, BEYOND.shape)
        module = make_module([real], lambda x, y=y: [qnn.QuantizeOp(x, y).result])
        yield RandomLayer(module, [BEYOND])


def compared(seed: int) -> int:
    draw = Draw(
        seed,
        400,
        real_bias=False,
        asymmetric_weights=True,
        activations=(),
        signed=seed % 2 == 1,
    )
    return compare("onnx-reference", layers(draw), run_onnx_reference)


@pytest.mark.parts(3)
def test_all_values() -> None:
    assert compared(0) >= 100_000


@pytest.mark.long
def test_all_values_with_many_scales() -> None:
    assert sum(map(compared, range(1, 30))) >= 5_000_000
