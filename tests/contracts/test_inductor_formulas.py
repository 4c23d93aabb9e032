"""What PyTorch's Inductor does after sums that it does not store at once, in float32,
step by step: qconv2d_pointwise and qlinear_pointwise of oneDNN."""

from __future__ import annotations

import numpy as np
import pytest
from support.values.formulas import F

from qlower.contracts import load_contract
from qlower.interp import evaluate_function
from qlower.interp.values import Array

RANDOM = np.random.default_rng(0)
SUMS = RANDOM.integers(-(1 << 20), 1 << 20, 3000).astype(np.int32)
BIASES = RANDOM.normal(0, 30, 3000).astype(F)
INPUT, WEIGHT, OTHER, OUTPUT = F(0.0123), F(0.0471), F(0.37), F(1.9)


def evaluate(function: str, *operands: Array | np.generic) -> Array:
    found = load_contract("pytorch-inductor").definition.function(function)
    (result,) = evaluate_function(found.function, operands)
    return result


def real_sums() -> Array:
    return SUMS.astype(F) * INPUT * WEIGHT + BIASES


def test_a_real_result() -> None:
    found = evaluate("real_contraction", SUMS, INPUT, WEIGHT, BIASES)
    np.testing.assert_array_equal(found, real_sums())


@pytest.mark.parametrize("output", [OUTPUT, F(2 * OTHER)])
def test_a_sum_with_what_was_stored(output: F) -> None:
    """With a RELU and without; products with another's codes are not rounded. Twice
    their scale makes ties where there is no sum."""
    codes = RANDOM.integers(0, 256, 3000).astype(np.int32)
    zero, z = np.int32(77), F(31)
    is_some = (np.arange(3000) % 2).astype(np.int32)
    sums, biases = SUMS * is_some, BIASES * is_some.astype(F)
    real = sums.astype(F) * INPUT * WEIGHT + biases
    exact = (codes - zero) * float(OTHER) + real.astype(float)
    for floor in (F(0), F(-np.inf)):
        steps = np.maximum(exact.astype(F), floor) * F(F(1) / output)
        expected = np.clip(np.rint(steps + z), 0, 255)
        found = evaluate(
            "store_residual",
            *(sums, codes, INPUT, WEIGHT, biases, OTHER, zero, floor, output, z),
        )
        np.testing.assert_array_equal(found, expected)
