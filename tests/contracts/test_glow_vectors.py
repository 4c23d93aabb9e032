"""The contracts of Glow against its source, transcribed: what no recording has."""

from __future__ import annotations

import numpy as np
import pytest
from support.systems.glow import integer_scale
from xdsl.dialects.func import FuncOp

from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.interp import evaluate_function
from qlower.interp.values import Array

CODES = np.arange(-128, 128, dtype=np.int32)
LHS, RHS = np.tile(CODES, 256), np.repeat(CODES, 256)
INT8 = {"output_min": np.int32(-128), "output_max": np.int32(127)}


def helper(name: str) -> FuncOp:
    """A private function of the CPU back end's contract."""
    module = load_contract("glow-cpu").rule("conv2d").function.parent_op()
    assert module is not None
    return next(
        op
        for op in module.walk()
        if isinstance(op, FuncOp) and op.sym_name.data == name
    )


def evaluate(contract: str, rule: str, **values: Array | np.generic) -> Array:
    """What a rule gives for int8 tensors."""
    signs = {"input_unsigned": np.bool_(False), "output_unsigned": np.bool_(False)}
    (result,) = load_contract(contract).rule(rule).evaluate({**INT8, **signs, **values})
    return result


def away(real: Array) -> Array:
    return np.copysign(np.floor(np.abs(real.astype(np.float64)) + 0.5), real)


def scale(x: Array, ratio: np.float32) -> Array:
    """libjit_scale for values that don't overflow."""
    pre, post, factor = integer_scale(ratio)
    return ((x.astype(np.int64) >> pre) * factor + ((1 << post) >> 1)) >> post


def test_integer_scales():
    random = np.random.default_rng(0)
    ratios = np.exp2(random.uniform(-31, 30, 3000)).astype(np.float32)
    powers = np.exp2(np.arange(-31, 31)).astype(np.float32)
    beside = np.concatenate([np.nextafter(powers[1:], 0), np.nextafter(powers, 1e30)])
    nearly_255 = (powers * np.float32(255 / 256))[9:-9]
    ratios = np.concatenate([ratios, powers, beside, nearly_255])
    results = evaluate_function(helper("integer_scale"), [ratios])
    expected = [integer_scale(ratio) for ratio in ratios]
    np.testing.assert_array_equal(np.stack(results, axis=1), expected)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [(0.1, (0, 12, 410)), (0.001, (3, 15, 262)), (0.03125, (0, 5, 1)), (2, (0, 0, 2))],
)
def test_integer_scales_by_hand(ratio: float, expected: tuple[int, int, int]):
    results = evaluate_function(helper("integer_scale"), [np.float32(ratio)])
    assert tuple(int(result) for result in results) == expected


def test_the_first_shift_floors():
    x = np.array([1000, 500, 1500, 1504, -499], np.int32)
    (scaled,) = evaluate_function(helper("scale"), [x, np.float32(0.001)])
    assert scaled.tolist() == [1, 0, 1, 2, -1]


def test_ratios_without_an_integer_scale():
    tiny = np.array([2.0**-32, 1e-38, 1e-40], np.float32)
    x = np.array([(1 << 31) - 1] * 3, np.int32)
    (scaled,) = evaluate_function(helper("scale"), [x, tiny])
    assert scaled.tolist() == [0, 0, 0]
    with pytest.raises(Exception, match="the ratio of the scales is 2\\^31 or more"):
        evaluate_function(helper("integer_scale"), [np.float32(2.0**31)])


def test_the_interpreter_has_the_zero_point_inside_but_for_linear_layers():
    """-256 * 2^-9 is -0.5: with zero point 5 that is 4.5 or -1 + 5."""
    layer = {
        "accumulator": np.array([-256], np.int32),
        "bias": np.int32(0),
        "input_scale": np.float32(2.0**-9),
        "weight_scale": np.float32(1),
        "output_scale": np.float32(1),
        "output_zero_point": np.int32(5),
    }
    per_tensor, per_channel = np.bool_(False), np.bool_(True)
    interpreter = "glow-interpreter"
    linear = evaluate(interpreter, "linear", **layer, per_channel=per_tensor)
    rows = evaluate(interpreter, "linear", **layer, per_channel=per_channel)
    conv = evaluate(interpreter, "conv2d", **layer)
    assert [int(linear[0]), int(rows[0]), int(conv[0])] == [4, 5, 5]


def test_a_bias_is_a_float32_in_the_interpreter():
    values = {
        "accumulator": np.array([0], np.int32),
        "bias": np.array([(1 << 24) + 1], np.int32),
        "input_scale": np.float32(1),
        "weight_scale": np.float32(1),
        "output_scale": np.float32(1),
        "output_zero_point": np.int32(-(1 << 24)),
        "output_min": np.int32(-128),
    }
    assert evaluate("glow-interpreter", "conv2d", **values).tolist() == [0]


OPERANDS = {"lhs": 0, "rhs": 1, "input": 0, "weight": 1}
"""The names of both; a product has those of a contraction too."""


@pytest.mark.parametrize("rule", ["sub", "mul"])
@pytest.mark.parametrize("seed", range(3))
def test_binary_operations_on_all_pairs(rule: str, seed: int):
    random = np.random.default_rng(seed)
    scales = np.exp2(random.uniform(-8, -2, 3)).astype(np.float32)
    if rule == "mul":
        scales[2] *= np.float32(0.5)
    zero_points = random.integers(-30, 30, 3).astype(np.int32)
    operands = {
        f"{name}{suffix}": value
        for name, i in (*OPERANDS.items(), ("output", 2))
        for suffix, value in (("_scale", scales[i]), ("_zero_point", zero_points[i]))
    }
    operands |= {"lhs": LHS, "rhs": RHS}
    z = zero_points[2]
    left, right = LHS - zero_points[0], RHS - zero_points[1]
    ratios = scales[:2] / scales[2]
    if rule == "mul":
        ratio = scales[0] * scales[1] / scales[2]
        real = (left * right).astype(np.float32) * ratio
        expected = {
            "glow-interpreter": away(real) + z,
            "glow-cpu": scale(left * right, ratio) + z,
        }
    else:
        steps = [
            x.astype(np.float32) * r for x, r in zip((left, right), ratios, strict=True)
        ]
        expected = {
            "glow-interpreter": away(steps[0] - steps[1] + np.float32(z)),
            "glow-cpu": scale(left, ratios[0]) - scale(right, ratios[1]) + z,
        }
    for contract, answer in expected.items():
        result = evaluate(contract, rule, **operands)
        np.testing.assert_array_equal(result, np.clip(answer, -128, 127), contract)


@pytest.mark.parts(3)
def test_tables_end_at_the_ends():
    """On their own grids the tables are seen as they are."""
    grids = {"sigmoid": (12 / 255, 1 / 255, -128), "tanh": (6 / 255, 2 / 255, 0)}
    entries = {"sigmoid": [-128, -127, -1, 127], "tanh": [-128, -127, 0, 127]}
    for contract in ("glow-interpreter", "glow-cpu"):
        for name, (input_scale, output_scale, zero_point) in grids.items():
            table = evaluate(
                contract,
                name,
                input=CODES,
                input_scale=np.float32(input_scale),
                input_zero_point=np.int32(0),
                output_scale=np.float32(output_scale),
                output_zero_point=np.int32(zero_point),
            )
            assert table[[0, 1, 128, 255]].tolist() == entries[name]
            assert (np.diff(table) >= 0).all()


def test_bilinear_resizing_truncates():
    """Half way between two codes, toward zero."""
    half = np.array(0.5, np.float32).view(np.int32)
    corners = {
        "top_left": np.array([3, -3, 3], np.int32),
        "top_right": np.array([4, -4, -4], np.int32),
    }
    bottom = {name.replace("top", "bottom"): value for name, value in corners.items()}
    weights = {"y_weight": np.int32(0), "x_weight": half}
    for contract in ("glow-interpreter", "glow-cpu"):
        result = evaluate(contract, "resize_bilinear", **corners, **bottom, **weights)
        assert result.tolist() == [3, -3, 0]


def test_what_the_cpu_back_end_has_no_kernel_for_is_refused():
    with pytest.raises(QlowerError, match="has no rule hard_swish"):
        load_contract("glow-cpu").rule("hard_swish")
    pool = {
        "accumulator": np.array([10], np.int32),
        "count": np.int32(2),
        "kernel_height": np.int32(1),
        "kernel_width": np.int32(2),
        "input_scale": np.float32(1),
        "input_zero_point": np.int32(0),
        "output_scale": np.float32(1),
        "output_zero_point": np.int32(0),
    }
    rule = "adaptive_avg_pool2d"
    one, four = np.int32(1), np.int32(4)
    assert evaluate("glow-cpu", rule, **pool, output_size=one).tolist() == [5]
    assert evaluate("glow-interpreter", rule, **pool, output_size=four).tolist() == [5]
    with pytest.raises(Exception, match="no int8 kernel for more than 1x1"):
        evaluate("glow-cpu", rule, **pool, output_size=four)
