"""Rules as functions of arrays: what each value that a rule asks for is, and what is
refused, by rules that return what they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qlower.contracts import parse_contract
from qlower.contracts.rule_function import RuleFunction, rule
from qlower.diagnostics import QlowerError


def function(value: str, type: str = "i32", rest: str = "") -> RuleFunction:
    """Of accumulators: the value itself, reals in thousandths."""
    steps = {
        "i32": f"%result = arith.addi %{value}, 0 : i32",
        "i1": f"%result = arith.extui %{value} : i1 to i32",
        "f32": f"%m = arith.mulf %{value}, 1000.0 : f32\n"
        "%result = arith.fptosi %m : f32 to i32",
    }
    text = f"""
    func.func @linear(%accumulator: i32, %{value}: {type}) -> i32 {{
      {steps[type]}
    }}
    {rest}"""
    return RuleFunction(parse_contract(text, "own", "own.mlir"), "linear")


SUMS: Any = np.array([[5, 6, 7], [8, 9, 10]], np.int32)
WEIGHTS: dict[str, Any] = {"weight_scale": [0.5, 0.25, 0.5]}
CASES: list[tuple[str, str, dict[str, Any], Any]] = [
    ("channel", "i32", {}, [[0, 1, 2], [0, 1, 2]]),
    ("channel_count", "i32", {}, 3),
    ("element", "i32", {}, [[0, 1, 2], [3, 4, 5]]),
    ("per_channel", "i1", {"weight_scale": 0.5}, 0),
    ("per_channel", "i1", WEIGHTS, 1),
    ("weights_symmetric", "i1", {}, 1),
    ("weights_symmetric", "i1", {"weight_zero_point": [0, 1, 0]}, 0),
    ("one_weight_scale", "i1", {}, 1),
    ("one_weight_scale", "i1", WEIGHTS, 0),
    ("one_weight_scale", "i1", {"weight_scale": [0.5, 0.5, 0.5]}, 1),
    ("first_weight_scale", "f32", {}, 1000),
    ("first_weight_scale", "f32", WEIGHTS, 500),
    ("weight_scale", "f32", WEIGHTS, [[500, 250, 500]] * 2),
    ("input_scale", "f32", {"input_scale": 0.25}, 250),
    ("input_zero_point", "i32", {"input_scale": 1, "input_zero_point": -3}, -3),
    ("input_zero_point", "i32", {"input_scale": 1}, 0),
    ("input_unsigned", "i1", {"input_scale": 1}, 0),
    ("input_unsigned", "i1", {"input_scale": 1, "dtype": "uint8"}, 1),
    ("weight_unsigned", "i1", {"weight_scale": 1, "dtype": "uint8"}, 0),
    ("weight_unsigned", "i1", {"weight_scale": 1, "weight_unsigned": True}, 1),
    ("output_unsigned", "i1", {"output_scale": 1, "dtype": "uint8"}, 1),
    ("output_min", "i32", {"output_scale": 1}, -128),
    ("output_max", "i32", {"output_scale": 1}, 127),
    ("output_max", "i32", {"output_scale": 1, "dtype": "uint8"}, 255),
    ("output_min", "i32", {"output_scale": 1, "output_zero_point": -3}, -128),
    *(
        (name, "i1", {}, 0)
        for name in ("in_sequence", "in_qdq", "one_bias", "transposed", "half_scales")
    ),
    *(("input_rank", "i32", {}, 2), ("groups", "i32", {}, 1), ("bias", "i32", {}, 0)),
    *(("groups", "i32", {"groups": 4}, 4), ("in_qdq", "i1", {"in_qdq": True}, 1)),
    ("input_channels", "i32", {"input_channels": 7}, 7),
    ("bias", "i32", {"bias": [1, 2, 3]}, [[1, 2, 3]] * 2),
    ("real_bias", "f32", {}, 0),
    ("real_bias", "f32", {"bias": [0.5, 1.5, -2.0]}, [[500, 1500, -2000]] * 2),
]


@pytest.mark.parametrize(("value", "type", "given", "expected"), CASES)
def test_values_of_a_rule(
    value: str, type: str, given: dict[str, Any], expected: Any
) -> None:
    found = function(value, type)(SUMS, **given)
    assert found.dtype == np.int32
    assert found.tolist() == np.broadcast_to(expected, (2, 3)).tolist()


FORMS = """
func.func @quantize_bias(%real_bias: f32, %input_scale: f32, %weight_scale: f32)
    -> i32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %q = arith.divf %real_bias, %step : f32
  %result = arith.fptosi %q : f32 to i32
}
func.func @dequantize_bias(%bias: i32, %input_scale: f32, %weight_scale: f32)
    -> f32 {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %r = arith.sitofp %bias : i32 to f32
  %result = arith.mulf %r, %step : f32
}"""
SCALES: dict[str, Any] = {"input_scale": 0.5, "weight_scale": 0.5}


@pytest.mark.parametrize(
    ("value", "type", "bias", "expected"),
    [
        ("bias", "i32", [1.0, 2.0, 3.0], [4, 8, 12]),
        ("bias", "i32", [1, 2, 3], [1, 2, 3]),
        ("real_bias", "f32", [4, 8, 12], [1000, 2000, 3000]),
        ("real_bias", "f32", [4.0, 8.0, 12.0], [4000, 8000, 12000]),
    ],
)
def test_biases_in_the_rules_form(
    value: str, type: str, bias: Any, expected: list[int]
) -> None:
    found = function(value, type, FORMS)(SUMS, bias=bias, **SCALES)
    assert found.tolist() == [expected] * 2


@pytest.mark.parametrize(("bias", "steps"), [([1, 2, -3], 1), ([1.0, 2.0, -3.0], 4)])
def test_biases_that_are_added_before(bias: list[float], steps: int) -> None:
    """Where the rule takes none; sums wrap."""
    text = f"func.func @linear(%accumulator: i32) -> i32 {{ {SAME} }}{FORMS}"
    own = RuleFunction(parse_contract(text, "own", "own.mlir"), "linear")
    sums: Any = np.array([[5, 6, -(1 << 31)]], np.int32)
    wrapped = (1 << 31) - 3 * steps
    assert own(sums, bias=bias, **SCALES).tolist() == [
        [5 + steps, 6 + 2 * steps, wrapped],
    ]


SAME = "%result = arith.addi %accumulator, 0 : i32"
PLAIN = f"func.func @linear(%accumulator: i32) -> i32 {{ {SAME} }}"
TWO = """func.func @add(%lhs: i32, %rhs: i32) -> i32 {
  %result = arith.addi %lhs, %rhs : i32
}"""
REFUSED: list[tuple[str, list[Any], dict[str, Any], str, str | None]] = [
    (
        "linear",
        [SUMS],
        {"dtype": "int4"},
        "dtype 'int4' is not one of int8, uint8, int16",
        None,
    ),
    (
        "linear",
        [SUMS],
        {"activation": "tanh"},
        "activation 'tanh' is not one of relu, relu6, relu_n1_to_1",
        None,
    ),
    (
        "linear",
        [SUMS, SUMS],
        {},
        "linear of contract own takes accumulator: 2 arrays are given",
        None,
    ),
    (
        "linear",
        [SUMS],
        {"input_scal": 1},
        "linear of contract own has no value 'input_scal'",
        "did you mean input_scale?",
    ),
    ("linear", [SUMS], {"xyz": 1}, "linear of contract own has no value 'xyz'", None),
    (
        "linear",
        [SUMS * 0.5],
        {},
        "accumulator has type float64, integers are needed",
        None,
    ),
    ("add", [SUMS, SUMS * 100], {}, "rhs 500 is not int8", None),
    ("add", [SUMS - 20, SUMS], {"dtype": "uint8"}, "lhs -15 is not uint8", None),
    ("add", [SUMS, SUMS], {"bias": 1}, "add of contract own takes no bias", None),
    (
        "linear",
        [SUMS],
        {"input_scale": 0.0},
        "input_scale must be positive and finite: 0.0",
        None,
    ),
    (
        "linear",
        [SUMS],
        {"input_scale": np.inf},
        "input_scale must be positive and finite: inf",
        None,
    ),
]


@pytest.mark.parametrize(("op", "arrays", "values", "message", "help"), REFUSED)
def test_calls_that_are_refused(
    op: str, arrays: list[Any], values: dict[str, Any], message: str, help: str | None
) -> None:
    own = RuleFunction(parse_contract(f"{PLAIN}\n{TWO}", "own", "own.mlir"), op)
    with pytest.raises(QlowerError) as caught:
        own(*arrays, **values)
    assert (caught.value.message, caught.value.help) == (message, help)


def test_values_that_are_missing() -> None:
    for own, message in (
        (function("input_scale", "f32"), "input_scale, which is not given"),
        (function("weight_sum"), "weight_sum, which is not given"),
    ):
        with pytest.raises(QlowerError) as caught:
            own(SUMS)
        assert caught.value.message == f"linear of contract own asks for {message}"


def test_codes_at_the_ends_of_their_type() -> None:
    own = RuleFunction(parse_contract(TWO, "own", "own.mlir"), "add")
    ends: Any = np.array([-128, 127])
    assert own(ends, ends[::-1]).tolist() == [-1, -1]
    assert own(ends + 128, ends + 128, dtype="uint8").tolist() == [0, 510]


def test_operations_that_are_not_of_elements() -> None:
    for op, help in (("conv2", "did you mean conv2d?"), ("softmx", "did you mean")):
        with pytest.raises(QlowerError) as caught:
            rule("tflite", op)
        assert caught.value.message == (
            f"contract tflite has no operation {op!r} of arrays"
        )
        assert (caught.value.help or "").startswith((help, "it has ["))
