"""The ONNX Runtime contract against the installed one, on all values at once."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from support.layers.random_modules import Draw, RandomLayer
from support.machines.native import machine_levels
from support.systems.onnx_runtime import run_onnx_runtime
from support.values.all_values import (
    PAIRS,
    compare,
    of_accumulators,
    of_codes,
    of_columns,
    of_pairs,
    of_products,
    of_rows,
)
from xdsl.ir import Attribute, SSAValue

from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn

pytestmark = [
    pytest.mark.skipif(
        find_spec("onnx") is None or find_spec("onnxruntime") is None,
        reason="onnx and onnxruntime are not installed",
    ),
    pytest.mark.skipif(
        "avx512vnni" not in machine_levels(),
        reason="the contract is that of a CPU with AVX-512 VNNI",
    ),
]


def _mean(x: SSAValue, y: Attribute) -> SSAValue:
    return qnn.MeanOp(x, y, axes=[1, 2], keep_dims=True).result


def layers(draw: Draw) -> Iterator[RandomLayer]:
    """A layer of every kind with parameters of `draw`."""
    alpha = 0.30000001192092896
    yield of_codes(draw, lambda x, y: qnn.LeakyReluOp(x, y, alpha=alpha).result)
    yield of_codes(draw, lambda x, y: qnn.SigmoidOp(x, y).result)
    yield of_codes(draw, lambda x, y: qnn.ConcatOp([x], y, axis=0).result)
    yield of_codes(draw, lambda x, y: qnn.ClampOp(x, y, min=-1.5, max=3.0).result)
    rows, image = (PAIRS, 2), (1, PAIRS, 2, 1)
    # Shares of a row are at most 1, however large its values.
    yield of_rows(draw, rows, rows, lambda x, y: qnn.SoftmaxOp(x, y).result, 1 / 32)
    yield of_rows(draw, (PAIRS, 2, 1, 1), (PAIRS, 1, 1, 1), _mean)
    yield of_rows(
        draw,
        image,
        (1, PAIRS, 1, 1),
        lambda x, y: qnn.AvgPool2DOp(x, y, kernel=(1, 2)).result,
    )
    yield of_pairs(draw, lambda a, b, y: qnn.AddOp(a, b, y).result)
    yield of_products(draw, lambda a, b, y: qnn.MulOp(a, b, y).result)
    yield of_columns(draw)
    yield of_accumulators(draw)
    yield of_accumulators(draw, convolved=True)


def compared(seed: int) -> int:
    draw = Draw(seed, signed=seed % 2 == 1)
    return compare("onnxruntime", layers(draw), run_onnx_runtime)


def test_a_softmax_that_overflows_is_refused() -> None:
    """148 times a row's size is the most that the table's numbers bear."""
    rule = load_contract("onnxruntime").rule("softmax_output")
    values = {
        **{"term": np.float32(0.25), "sum": np.float32(1), "row_size": np.int32(10)},
        **{"output_min": np.int32(-128), "output_max": np.int32(127)},
        "output_zero_point": np.int32(-128),
    }
    least = {**values, "output_scale": np.float32(1 / 1480.5)}
    assert rule.evaluate(least)[0] == 127
    with pytest.raises(QlowerError, match="softmax overflows"):
        rule.evaluate({**values, "output_scale": np.float32(1 / 1481.5)})


def test_all_values() -> None:
    assert compared(0) >= 100_000


@pytest.mark.long
def test_all_values_with_many_scales() -> None:
    assert sum(map(compared, range(1, 60))) >= 20_000_000
