"""Rules as a certificate states them: the checker means by each operation what the
interpreter does, and has no other."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from qlower.contracts import Rule, contract_names, load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import RoundingMode
from qlower.interp import evaluate_function
from qlower.interp.values import Array
from qlower.text.parsing import parse_module
from qlower.verification.certificates import check_certificate
from qlower.verification.certificates.programs import program

BINARY = ("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi")
DIVIDING = ("divsi", "divui")
SHIFTING = ("shli", "shrsi", "shrui")
REAL = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge")
ORDERS = ("oeq", "olt", "ole", "ogt", "oge")

MEANINGS = [
    line
    for n in (8, 32, 64)
    for line in (
        *(f"arith.{name} %a, %b : i{n}" for name in (*BINARY, *DIVIDING, *SHIFTING)),
        *(f"arith.cmpi {name}, %a, %b : i{n}" for name in PREDICATES),
        *(f"math.{name} %a : i{n}" for name in ("absi", "ctlz")),
        *(f"fixed.shift_right %a, %b {{rounding = {m}}} : i{n}" for m in RoundingMode),
    )
] + [
    *(f"arith.{name} %a, %b : f{n}" for n in (32, 64) for name in REAL),
    *(f"arith.cmpf {name}, %a, %b : f{n}" for n in (32, 64) for name in ORDERS),
    *(f"{name} %a : f32" for name in ("math.absf", "arith.negf")),
    *(f"fixed.convert %a {{rounding = {m}}} : f32 to i8" for m in RoundingMode),
    *(f"fixed.convert %a {{rounding = {m}}} : f64 to i32" for m in RoundingMode),
    *("fixed.saturate %a : i32 to i8", "fixed.saturate %a : i64 to i32"),
    *("arith.extsi %a : i8 to i32", "arith.trunci %a : i64 to i32"),
    *("arith.trunci %a : i32 to i8", "arith.sitofp %a : i32 to f32"),
    *("arith.bitcast %a : i32 to f32", "arith.bitcast %a : f64 to i64"),
    *("arith.extf %a : f32 to f64", "arith.truncf %a : f64 to f32"),
]
"""What operations the checker means by itself."""


def operands(line: str, type: str, random: np.random.Generator) -> list[Array]:
    """Numbers of all sizes, ends and halves; none that an operation isn't for."""
    dtype = np.dtype(f"{type[0]}{int(type[1:]) // 8}")
    if type[0] == "f":
        halves = random.integers(-300, 300, 200) / 2
        sizes = random.normal(size=200) * 2.0 ** random.integers(-30, 34, 200)
        a, b = (random.choice([*halves, *sizes], 300).astype(dtype) for _ in "ab")
        if "f %a, %b" in line:  # the signs of 0 are looked at elsewhere
            a, b = (np.where(x == 0, 0.25, x).astype(dtype) for x in (a, b))
        return [a, b]
    bits = int(type[1:])
    ends = [0, 1, -1, 2, (1 << bits - 1) - 1, -(1 << bits - 1), 1 << bits - 2]
    wide = [
        int(x) >> int(n)
        for x, n in random.integers(0, 1 << 62, (99, 2)) % [1 << 62, 62]
    ]
    numbers = [check_certificate.holder(f"i{bits}")(x) for x in (*ends, *wide)]
    a, b = (np.array(random.choice(numbers, 300), dtype) for _ in "ab")
    if "sh" in line:
        b = (b % bits).astype(b.dtype)
    if "div" in line:
        b = np.where(b == 0, 7, b)
        a = np.where(a == -(1 << bits - 1), 5, a)
    return [a, b]


@pytest.mark.parts(12)
@pytest.mark.parametrize("line", MEANINGS)
def test_the_checker_means_what_the_interpreter_does(line: str) -> None:
    source, _, target = line.partition(" : ")[2].partition(" to ")
    operand_count = len(set(re.findall("%[ab]", line)))
    random = np.random.default_rng(len(line))
    given = operands(line, source, random)[:operand_count]
    check_function(f"%y = {line}", source, target or source, given)


@pytest.mark.parametrize(
    "step",
    [
        "arith.extsi %less : i1 to i64",
        "arith.extui %less : i1 to i64",
        "arith.select %less, %a, %b : i64",
    ],
)
def test_booleans_mean_the_same(step: str) -> None:
    given = [np.array([-2, 0, 3, 9]), np.array([5, 0, -7, 9])]
    body = f"%less = arith.cmpi slt, %a, %b : i64\n%y = {step}"
    check_function(body, "i64", "i64", given)


def check_function(body: str, source: str, target: str, given: list[Array]) -> None:
    """Compare the checker's evaluation of a function with the interpreter's."""
    rule = rule_of(
        body, source, "i1" if "y = arith.cmp" in body else target, len(given)
    )
    (expected,) = evaluate_function(rule.function, given)
    made = program(rule)
    found = [
        check_certificate.Program(made, dict(zip("ab", numbers, strict=False))).result
        for numbers in zip(*(x.tolist() for x in given), strict=True)
    ]
    np.testing.assert_array_equal(np.array(found, expected.dtype), expected)


@pytest.mark.parts(40)
@pytest.mark.parametrize("name", contract_names())
def test_whole_rules_mean_what_the_interpreter_computes(name: str) -> None:
    """The steps of a contract's rules on drawn operands, inlined calls and all."""
    contract = load_contract(name)
    compared = 0
    for own, _, _ in check_certificate.RULES.values():
        if own not in contract.rules:
            continue
        rule = contract.rule(own)
        try:
            made: Any = program(rule)
        except QlowerError:
            continue  # refused by name
        random = np.random.default_rng(len(rule.values))
        found: list[float] = []
        kept: list[list[Any]] = []
        for _ in range(24):
            given = [drawn(one, type, random) for one, type in made["arguments"]]
            try:
                values = dict(zip(rule.values, given, strict=True))
                run = check_certificate.Program(made, values)
            except (ValueError, LookupError):
                continue  # the contract asserts, or the checker rejects
            found.append(run.result)
            kept.append(given)
        if not kept:
            continue
        types = rule.function.function_type.inputs.data
        columns = [
            np.array(column, numpy_type(str(type)))
            for column, type in zip(zip(*kept, strict=True), types, strict=True)
        ]
        (expected,) = evaluate_function(rule.function, columns)
        np.testing.assert_array_equal(found, expected, own)
        compared += len(kept)
    assert (compared == 0) == (name in NOT_COMPARED)


NOT_COMPARED = {
    *("ncnn", "ncnn-arm64", "ncnn-avx2", "openvino", "openvino-avx2"),
    "tvm-relay-shift",
    *("pytorch-fbgemm", "pytorch-fbgemm-avx2", "pytorch-nchw", "pytorch-x86"),
}
"""Contracts whose rules have operations that the checker rejects, or assert what drawn
scales don't have."""


def numpy_type(type: str) -> str:
    return {"i1": "?", "f32": "f4", "f64": "f8"}.get(type, f"i{int(type[1:]) // 8}")


def drawn(name: str, type: str, random: np.random.Generator) -> Any:
    """A likely value of a rule's argument."""
    if type == "i1":
        return bool(random.integers(2))
    if type[0] == "f":
        value = 2.0 ** random.uniform(-12, 1)
        return float(np.float32(value))
    if name.endswith("min"):
        return -(1 << 20) if name.startswith("accumulator") else -128
    if name.endswith("max"):
        return (1 << 20) - 1 if name.startswith("accumulator") else 127
    if name == "accumulator":
        return int(random.integers(-(1 << 18), 1 << 18))
    if name in ("count", "channel_count"):
        return int(random.integers(1, 50))
    return int(random.integers(-128, 128))


def rule_of(body: str, source: str, target: str, count: int) -> Rule:
    names = tuple("ab"[:count])
    given = ", ".join(f"%{name}: {source}" for name in names)
    text = f"""func.func @f({given}) -> {target} {{
      {body}
      return %y : {target}
    }}"""
    (function,) = parse_module(text, "f.mlir").body.ops
    assert isinstance(function, FuncOp)
    return Rule("f", function, names, ())


@pytest.mark.parametrize(
    ("body", "source", "target"),
    [
        ("%y = math.fma %a, %b, %a : f32", "f32", "f32"),
        ("%y = arith.cmpi ult, %a, %b : i32", "i32", "i1"),
        ("%y = arith.cmpf une, %a, %b : f32", "f32", "i1"),
        ("%y = arith.extui %a : i8 to i32", "i8", "i32"),
    ],
)
def test_what_the_checker_does_not_have_is_refused(
    body: str, source: str, target: str
) -> None:
    with pytest.raises(QlowerError, match=r"the checker has no (arith|math)"):
        program(rule_of(body, source, target, 2))


def test_a_step_that_may_turn_or_wrap_is_rejected() -> None:
    for body, why in {
        "%y = math.absi %a : i32": "abs may turn",
        "%y = arith.muli %a, %a : i32": "mul may wrap",
        "%y = arith.shrsi %b, %a : i32": "a shift by",
        "%y = arith.addi %a, %b : i32": "isn't constant",
    }.items():
        rule = program(rule_of(body, "i32", "i32", 2))
        made = check_certificate.Program(rule, {"b": 1}, "a")
        with pytest.raises(ValueError, match=why):
            made.value(-3, 1 << 20)


def test_a_step_that_is_infinite_at_one_end_is_rejected() -> None:
    body = """%r = arith.sitofp %a : i32 to f64
    %s = arith.sitofp %b : i32 to f64
    %large = arith.constant 1.0e+307 : f64
    %scaled = arith.mulf %s, %large : f64
    %y = arith.mulf %r, %scaled : f64"""
    made = check_certificate.Program(
        program(rule_of(body, "i32", "f64", 2)), {"b": 10}, "a"
    )
    with pytest.raises(ValueError, match="isn't constant"):
        made.value(0, 1)
    with pytest.raises(ValueError, match="isn't finite"):
        made.value(0, 1 << 20)


def test_how_many_elements_are_added_up() -> None:
    """All of a mean's axes, and of a pool's window, which must be the whole image."""

    def array(shape: tuple[int, ...], numbers: tuple[int, ...] = ()) -> Any:
        return SimpleNamespace(shape=shape, numbers=lambda: numbers)

    def options(height: int, width: int) -> Any:
        return SimpleNamespace(number=lambda at, kind: {4: height, 3: width}[at])

    pooled: Any = vars(check_certificate)["pooled"]
    image = array((2, 4, 5, 3))
    for axes, count in (((1, 2), 20), ((2,), 5), ((0, 1, 2, 3), 120), ((3, 1), 12)):
        found = pooled("mean", options(0, 0), [image, array((2,), axes)], None)
        assert found == count
    assert pooled("pool", options(4, 5), [image], array((2, 1, 1, 3))) == 20
    for height, width, shape in ((4, 4, (2, 1, 1, 3)), (4, 5, (2, 1, 2, 3))):
        with pytest.raises(Exception, match="a pool that isn't of the whole image"):
            pooled("pool", options(height, width), [image], array(shape))
