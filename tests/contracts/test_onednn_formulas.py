"""oneDNN's kernels for AVX2 and its reference, step by step in float32: which of them
stores a sum depends on the channels of a group."""

from __future__ import annotations

import numpy as np
import pytest
from support.values.formulas import F

from qlower.contracts import load_contract
from qlower.interp.values import Array

SUMS = np.arange(-400, 400, dtype=np.int32)
INPUT, WEIGHT, OUTPUT = F(0.3), F(0.01), F(0.006)
"""Half of a sum is a code, so that odd sums are next to ties."""

BIAS, ZERO = F(0), np.int32(77)


def through_reciprocal(scale: F) -> F:
    return F(F(1) / F(F(1) / scale))


def by_kernel() -> Array:
    """The scales combine first, and the output's is multiplied by."""
    x, y = through_reciprocal(INPUT), F(F(1) / through_reciprocal(OUTPUT))
    real = SUMS.astype(F) * F(x * WEIGHT) + BIAS
    return np.clip(np.rint(real * y + F(ZERO)), 0, 255)


def by_reference() -> Array:
    """One scale after another, and a division."""
    real = SUMS.astype(F) * through_reciprocal(INPUT) * WEIGHT + BIAS
    return np.clip(np.rint(real / through_reciprocal(OUTPUT) + F(ZERO)), 0, 255)


@pytest.mark.parametrize(
    ("rule", "groups", "inputs", "outputs", "has_kernel"),
    [
        *(("conv2d", 1, 3, 5, True), ("conv2d", 2, 8, 16, True)),
        *(("conv2d", 6, 6, 6, True), ("conv2d", 2, 6, 16, False)),
        *(("conv2d", 2, 8, 6, False), ("conv2d", 3, 3, 6, False)),
        *(("depthwise_conv2d", 3, 3, 3, True), ("depthwise_conv2d", 3, 3, 6, False)),
    ],
)
def test_who_stores_a_sum(
    rule: str, groups: int, inputs: int, outputs: int, has_kernel: bool
) -> None:
    """Whole vectors of 4 channels, one group or one channel a group have a kernel."""
    values = {
        **{"accumulator": SUMS, "real_bias": BIAS, "weights_symmetric": np.True_},
        **{"input_scale": INPUT, "weight_scale": WEIGHT, "output_scale": OUTPUT},
        **{"output_unsigned": np.True_, "output_zero_point": ZERO},
        **{"output_min": np.int32(0), "output_max": np.int32(255)},
        **{"groups": np.int32(groups), "input_channels": np.int32(inputs)},
        "channel_count": np.int32(outputs),
    }
    (found,) = load_contract("pytorch-onednn-avx2").rule(rule).evaluate(values)
    kernel, reference = by_kernel(), by_reference()
    assert (kernel != reference).any()
    np.testing.assert_array_equal(found, kernel if has_kernel else reference)
