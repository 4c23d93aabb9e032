"""Exact numbers: what operations and rules stand for, as numbers written out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

from qlower.observe.exact import exact_result, fraction, ideal
from qlower.text.parsing import parse_module

HALF = Fraction(1, 2)


def binary(name: str, type: str = "i32") -> Operation:
    module = parse_module(
        f"func.func @f(%a: {type}, %b: {type}) -> {type} {{\n"
        f"  %r = {name} %a, %b : {type}\n  return %r : {type}\n}}"
    )
    return next(op for op in module.walk() if op.name == name)


RUN, KNOWN = True, False


@pytest.mark.parametrize(
    ("name", "type", "given", "exact"),
    [
        ("arith.addi", "i32", (7, HALF), Fraction(15, 2)),
        ("arith.addf", "f32", (7, HALF), Fraction(15, 2)),
        ("arith.subi", "i32", (7, HALF), Fraction(13, 2)),
        ("arith.subf", "f32", (HALF, 7), Fraction(-13, 2)),
        ("arith.muli", "i32", (7, HALF), Fraction(7, 2)),
        ("arith.mulf", "f32", (-7, HALF), Fraction(-7, 2)),
        ("arith.divsi", "i32", (7, 2), Fraction(7, 2)),
        ("arith.floordivsi", "i32", (-7, 2), Fraction(-7, 2)),
        ("arith.ceildivsi", "i32", (7, -2), Fraction(-7, 2)),
        ("arith.divf", "f32", (1, 3), Fraction(1, 3)),
        ("arith.divf", "f32", (1, 0), None),
        ("arith.shli", "i32", (HALF, 3), 4),
        ("arith.shrsi", "i32", (5, 3), Fraction(5, 8)),
        ("arith.andi", "i32", (5, 3), None),
        ("arith.addi", "i32", (None, 3), None),
        ("arith.addi", "i32", (3, None), None),
    ],
)
def test_operations(name: str, type: str, given: Any, exact: Any) -> None:
    operands = [None if one is None else Fraction(one) for one in given]
    values: Any = (np.int32(0), np.int32(0))
    assert ideal(binary(name, type), operands, (RUN, RUN), values) == exact


@pytest.mark.parametrize(
    ("name", "type", "least"),
    [
        *[("arith.minsi", "i32", True), ("arith.maxsi", "i32", False)],
        *[("arith.minimumf", "f32", True), ("arith.maximumf", "f32", False)],
        *[("arith.minnumf", "f32", True), ("arith.maxnumf", "f32", False)],
    ],
)
def test_bounds(name: str, type: str, least: bool) -> None:
    """A bound on a number of run time doesn't bound the exact one."""
    op, pair = binary(name, type), (Fraction(3), Fraction(-5))
    values: Any = (np.int32(0), np.int32(0))
    for is_runtime, wanted in [
        ((RUN, KNOWN), 3),
        ((KNOWN, RUN), -5),
        ((RUN, RUN), -5 if least else 3),
        ((KNOWN, KNOWN), -5 if least else 3),
    ]:
        assert ideal(op, pair, is_runtime, values) == wanted


def test_a_selection_is_decided_by_the_values() -> None:
    module = parse_module(
        "func.func @f(%c: i1, %a: i32, %b: i32) -> i32 {\n"
        "  %r = arith.select %c, %a, %b : i32\n  return %r : i32\n}"
    )
    op = next(op for op in module.walk() if op.name == "arith.select")
    given = (None, Fraction(3), None)
    for chosen, exact in ((True, 3), (False, None)):
        values: Any = 3 * (np.bool_(chosen),)
        assert ideal(op, given, (RUN,) * 3, values) == exact


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (np.float32(0.1), Fraction(13421773, 1 << 27)),
        (np.float64(-0.0), 0),
        (np.int64(-(2**62) - 1), -(2**62) - 1),
        (np.uint8(255), 255),
        (np.float32("inf"), None),
        (np.float64("nan"), None),
    ],
)
def test_numbers_of_values(value: Any, exact: Any) -> None:
    assert fraction(value) == exact


STORED = {
    **{"input": 9, "input_zero_point": 3, "input_scale": 0.5, "weight_scale": 0.25},
    **{"lhs": 9, "lhs_zero_point": 3, "lhs_scale": 0.5},
    **{"rhs": -2, "rhs_zero_point": 2, "rhs_scale": 0.25},
    **{"accumulator": 40, "count": 8, "sum": 40.0, "alpha": 0.125},
}
SUMMED = {"bias": 8, "real_bias": 0.75}
RULES: list[tuple[str, dict[str, float], Any]] = [
    *[(name, {}, 5) for name in ("conv2d", "depthwise_conv2d", "linear")],
    ("conv2d", SUMMED, Fraction(27, 4)),
    ("linear", {"bias": -8}, 4),
    ("matmul", {}, 5),
    *[(f"real_{name}", {}, 40) for name in ("conv2d", "depthwise_conv2d", "linear")],
    ("real_matmul", {"real_bias": -0.5}, Fraction(79, 2)),
    ("real_linear", {"activation_min": 41.0, "activation_max": 50.0}, 41),
    ("real_linear", {"activation_min": 0.0, "activation_max": 39.0}, 39),
    ("real_linear", {"activation_min": 0.0, "activation_max": 50.0}, 40),
    ("real_linear", {"activation_max": 6.0}, 6),
    *[(f"hybrid_{name}", {}, 5) for name in ("conv2d", "depthwise_conv2d", "linear")],
    ("hybrid_linear", {"real_bias": 0.75, "activation_max": 5.5}, Fraction(11, 2)),
    ("hybrid_linear", {"real_bias": 0.75}, Fraction(23, 4)),
    *[(name, {}, 1) for name in ("avg_pool2d", "adaptive_avg_pool2d", "mean")],
    *[("add", {}, 2), ("sub", {}, 4), ("mul", {}, -3)],
    *[(name, {}, 3) for name in ("requantize", "clamp", "concat", "dequantize")],
    ("quantize", {"input": 0.1}, Fraction(0.1)),
    *[("leaky_relu", {}, 3), ("leaky_relu", {"input": 1}, Fraction(-1, 8))],
    ("leaky_relu", {"input": 3}, 0),
    *[("hard_swish", {"input": n}, Fraction(x)) for n, x in ((9, 3), (1, "-1/3"))],
    *[("hard_swish", {"input": n}, x) for n, x in ((-3, 0), (-9, 0), (11, 4))],
    *[("softmax_output", {}, None), ("tanh", {}, None)],
    *[("mean", {"count": 0}, None), ("conv2d", {"input_scale": np.inf}, None)],
]


@pytest.mark.parametrize("number", range(len(RULES)))
@pytest.mark.parametrize("is_stored", [False, True])
def test_real_numbers_of_rules(number: int, is_stored: bool) -> None:
    """And as an integer that would be stored, without rounding."""
    rule, more, exact = RULES[number]
    numbers: dict[str, float] = {**STORED, **more}
    if is_stored:
        numbers |= {"output_scale": 0.125, "output_zero_point": -7}
        exact = exact if exact is None else exact * 8 - 7
    values = {name: np.array(value) for name, value in numbers.items()}
    assert exact_result(rule, values) == exact


def test_what_a_rule_was_not_given() -> None:
    assert exact_result("linear", {"accumulator": np.array(3)}) is None


@pytest.mark.parametrize(
    ("line", "types", "given", "exact"),
    [
        ("math.fma %a, %b, %c : f32", ["f32"] * 3, (7, HALF, 2), Fraction(11, 2)),
        ("arith.negf %a : f32", ["f32"], (HALF,), -HALF),
        ("math.absf %a : f32", ["f32"], (-HALF,), HALF),
        ("math.absf %a : f32", ["f32"], (HALF,), HALF),
        ("math.floor %a : f32", ["f32"], (HALF,), HALF),
        ("arith.extsi %a : i8 to i32", ["i8"], (-3,), -3),
        ("arith.extsi %a : i1 to i32", ["i1"], (-1,), None),
        ("arith.trunci %a : i32 to i8", ["i32"], (300,), 300),
        ("arith.sitofp %a : i32 to f32", ["i32"], (2**30 + 1,), 2**30 + 1),
    ],
)
def test_operations_of_other_operands(
    line: str, types: list[str], given: Any, exact: Any
) -> None:
    result = line.rpartition(" ")[2]
    names = [f"%{name}: {type}" for name, type in zip("abc", types, strict=False)]
    module = parse_module(
        f"func.func @f({', '.join(names)}) -> {result} {{\n"
        f"  %r = {line}\n  return %r : {result}\n}}"
    )
    op = next(op for op in module.walk() if op.name == line.split()[0])
    kinds: Any = {"i1": np.bool_(True), "i8": np.int8(0)}
    values: Any = [kinds.get(type, np.int32(0)) for type in types]
    operands = [Fraction(one) for one in given]
    assert ideal(op, operands, [RUN] * len(types), values) == exact
