"""The contract `tflite` on vectors worked out by hand, step by step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from qlower.contracts import load_contract
from qlower.interp import evaluate_function


def helper(name: str) -> FuncOp:
    """A private function of the contract."""
    module = load_contract("tflite").rule("conv2d").function.parent_op()
    assert module is not None
    return next(
        op
        for op in module.walk()
        if isinstance(op, FuncOp) and op.sym_name.data == name
    )


def multiply(x: list[int], multiplier: int, exponent: int) -> list[int]:
    """x * multiplier * 2^(exponent - 31), rounded as LiteRT does."""
    (result,) = evaluate_function(
        helper("multiply_by_quantized_multiplier"),
        [np.array(x, np.int32), multiplier, exponent],
    )
    return result.tolist()


@pytest.mark.parametrize(
    ("real", "multiplier", "exponent"),
    [
        (1.0, 1 << 30, 1),
        (0.5, 1 << 30, 0),
        (0.25, 1 << 30, -1),
        (1 - 2.0**-40, 1 << 30, 1),
        (2.0**-32, 1 << 30, -31),
        (2.0**-40, 0, 0),
        (0.0, 0, 0),
        (-0.25, -(1 << 30), -1),
        (1607255613 * 2.0**-32, 1607255613, -1),
    ],
)
def test_quantize_multiplier(real: float, multiplier: int, exponent: int):
    results = evaluate_function(helper("quantize_multiplier"), [np.float64(real)])
    assert [int(value) for value in results] == [multiplier, exponent]


def test_quantize_multiplier_rounds_half_away():
    random = np.random.default_rng(0)
    reals = np.exp2(random.uniform(-30, 29, 1000))
    multipliers, exponents = evaluate_function(helper("quantize_multiplier"), [reals])
    for real, multiplier, exponent in zip(reals, multipliers, exponents, strict=True):
        exact = Fraction(float(real)) * Fraction(2) ** int(31 - exponent)
        assert abs(exact - int(multiplier)) <= Fraction(1, 2)
        assert 1 << 30 <= int(multiplier) < 1 << 31


def test_a_quarter_rounds_twice():
    """-7 ... 10 times 1/4: the row that tells all families of rounding apart."""
    assert multiply(list(range(-7, 11)), 1 << 30, -1) == [
        *(-2, -2, -1, -1, -1, -1, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3)
    ]


def test_double_rounding_lifts_a_value_over_a_tie():
    """tensorflow/tensorflow#25087: 11.4991 becomes 12."""
    assert multiply([7984], 1583594044, -9) == [12]
    third = 1431655765
    assert multiply([100, -100, 127, -127], third, -1) == [34, -34, 43, -43]


def test_a_half_rounds_up():
    """Without a second shift only the first rounding acts, and ties go up."""
    assert multiply([-3, -1, 1, 3], 1 << 30, 0) == [-1, 0, 1, 2]


def test_the_left_shift_wraps():
    assert multiply([1 << 30], 1 << 30, 1) == [-(1 << 30)]


def test_linear_rounds_once_in_float64():
    """acc = 2^24 + 1 at 2^-25: a float32 product would lose the 1 and give 0."""
    values = {
        "accumulator": np.array([(1 << 24) + 1, -3, -1, 1, 3], np.int32),
        "input_scale": np.float32(0.5),
        "weight_scale": np.float32(1),
        "output_scale": np.float32(1),
        "output_zero_point": np.int32(0),
        "output_min": np.int32(-128),
        "output_max": np.int32(127),
    }
    linear = load_contract("tflite").rule("linear")
    assert linear.evaluate(values)[0].tolist() == [127, -2, -1, 1, 2]
    tiny = {**values, "input_scale": np.float32(2.0**-25)}
    assert linear.evaluate(tiny)[0].tolist()[0] == 1


def test_add_rounds_three_times():
    """(0.1, 0.3) -> 0.2 with zero points (3, -5, 7): -30.5 becomes -31."""
    values = {
        "lhs": np.array([-126, -126], np.int32),
        "rhs": np.array([13, 15], np.int32),
        "lhs_scale": np.float32(0.1),
        "lhs_zero_point": np.int32(3),
        "rhs_scale": np.float32(0.3),
        "rhs_zero_point": np.int32(-5),
        "output_scale": np.float32(0.2),
        "output_zero_point": np.int32(7),
        "output_min": np.int32(-128),
        "output_max": np.int32(127),
    }
    add = load_contract("tflite").rule("add")
    assert add.evaluate(values)[0].tolist() == [-31, -28]


def test_scales_that_litert_refuses_are_refused():
    softmax = load_contract("tflite").rule("softmax_output")
    values = {
        "term": np.array([1], np.int32),
        "sum": np.array([1 << 19], np.int32),
        "output_scale": np.float32(1 / 255),
        "output_zero_point": np.int32(-128),
        "output_min": np.int32(-128),
        "output_max": np.int32(127),
    }
    with pytest.raises(Exception, match="output scale must be 1/256"):
        softmax.evaluate(values)
