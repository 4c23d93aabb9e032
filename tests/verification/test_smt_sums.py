"""Claims about sums on the way: the script and its replay, compared with the sums."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

import numpy as np
import pytest

from qlower.frontends.load import named
from qlower.text.parsing import parse_module
from qlower.verification.fit_table import Order
from qlower.verification.smt import sums
from qlower.verification.smt.claims import Claim, Claims
from qlower.verification.verify import verify

WEIGHTS, BIASES = [[5, -7, 0], [0, 1, 2], [-3, 0, 4]], [10, -20, 0]
LINEAR = f"""
!x = !quant.uniform<i8:f32, 0.5:POINT>
!w = !quant.uniform<i8:f32, 0.02>
!y = !quant.uniform<i8:f32, 1.0>
func.func @main(%x: tensor<1x3x!x>) -> tensor<1x3x!y> {{
  %w = qnn.constant dense<{WEIGHTS}> : tensor<3x3xi8> -> tensor<3x3x!w>
  %b = arith.constant dense<{BIASES}> : tensor<3xi32>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x3x!x>, tensor<3x3x!w>, tensor<3xi32>) -> tensor<1x3x!y>
  return %y : tensor<1x3x!y>
}}
"""

Term = int | str | list["Term"]

MEANS: Mapping[str, Callable[..., int]] = {
    "+": lambda *given: sum(given),
    "*": lambda a, b: a * b,
    "-": lambda a: -a,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    "and": lambda *given: all(given),
    "or": lambda *given: any(given),
}


def terms(words: Iterator[str]) -> Iterator[Term]:
    for word in words:
        if word == ")":
            return
        yield [*terms(words)] if word == "(" else word


def holds(script: str, values: Mapping[str, int]) -> bool:
    """Whether all that a script asserts is so for values of its constants."""
    known = dict(values)

    def value(term: Term) -> int:
        match term:
            case [str(name), *operands]:
                return MEANS[name](*map(value, operands))
            case str():
                return int(term) if term.isdigit() else known[term]
            case _:
                raise AssertionError(term)

    asserted: list[bool] = []
    for command in terms(iter(re.findall(r"[()]|[^\s()]+", script))):
        match command:
            case ["declare-const", str(name), "Int"]:
                assert name in values
            case ["define-fun", str(name), [], "Int", body]:
                known[name] = value(body)
            case ["assert", body]:
                asserted.append(bool(value(body)))
            case _:
                raise AssertionError(command)
    return all(asserted)


def claims_of(
    bits: int, order: Order, point: int, biases: Sequence[int] = BIASES
) -> list[Claim]:
    claims = Claims()
    text = LINEAR.replace("POINT", str(point)).replace(str(BIASES), str(list(biases)))
    model = named(parse_module(text), None)
    verify(model, accumulator_bits=bits, contract="tflite", order=order, claims=claims)
    assert [claim.of for claim in claims] == [[("y", str(n))] for n in range(3)]
    return list(claims)


@pytest.mark.parts(4)
@pytest.mark.parametrize("point", [3, -128, 127])
@pytest.mark.parametrize("order", ["any", "memory"])
def test_claims_mean_sums_on_the_way(order: Order, point: int) -> None:
    """Where one leaves its width, the script holds and the replay gives it."""
    draw = np.random.default_rng(3)
    ends = min(-128 - point, 0), max(127 - point, 0)
    seen: set[bool] = set()
    claims = claims_of(10, order, point)
    for claim, weights, bias in zip(claims, WEIGHTS, BIASES, strict=True):
        names = [f"d{n}" for n, weight in enumerate(weights) if weight]
        assert claim.variables == (names if order == "memory" else [*names, "bias"])
        for number in range(40):
            drawn = draw.integers(ends[0], ends[1], len(names), endpoint=True)
            values = dict(zip(names, drawn.tolist(), strict=True))
            products = [weights[int(name[1:])] * one for name, one in values.items()]
            if order == "any":
                values["bias"] = int(draw.choice([0, bias]))
                on_way = [sum(products) + values["bias"]]
            else:
                on_way = [*accumulate([bias, *products])]
            outside = [str(one) for one in on_way if not -512 <= one < 512]
            assert holds(claim.script, values) == bool(outside)
            if number < 4:  # which runs the layer
                assert claim.replay(values) == (outside[0] if outside else None)
                seen.add(bool(outside))
    assert seen == {True, False}


@pytest.mark.parametrize("order", ["any", "memory"])
def test_values_that_no_input_has(order: Order) -> None:
    """A difference is at most what the type and the zero point allow, and each is there
    or not; the bias is, or is not."""
    *_, claim = claims_of(5, order, 3)
    for first, last, is_there in (
        *((-131, 124, True), (124, 124, True), (-131, -131, True)),
        *((125, 124, False), (-132, 124, False)),
        *((-131, 125, False), (-131, -132, False)),
    ):
        values = {"d0": first, "d2": last, "bias": 0}
        assert holds(claim.script, values) == is_there
    first = claims_of(10, "any", 3)[0]
    inside = {"d0": 124, "d1": -100}
    for bias, is_there in ((0, True), (10, True), (5, False), (-10, False)):
        assert holds(first.script, {**inside, "bias": bias}) == is_there


@pytest.mark.parametrize("order", ["any", "memory"])
@pytest.mark.parametrize(
    ("bits", "biases", "expected"),
    [
        (13, (600, 0, 0), "unsat unsat unsat"),  # sums up to 2137
        (12, (600, 0, 0), "sat unsat unsat"),
        (12, (-600, 0, 0), "sat unsat unsat"),  # down to -2123
        (10, (0, 139, 0), "sat unsat sat"),  # up to 511
        (10, (0, 140, 0), "sat sat sat"),
        (10, (0, -119, 0), "sat unsat sat"),  # down to -512
        (10, (0, -120, 0), "sat sat sat"),
    ],
)
def test_widths_at_the_ends_of_sums(
    bits: int, biases: Sequence[int], expected: str, order: Order
) -> None:
    """Sums may leave at one end alone."""
    claims = claims_of(bits, order, 3, biases)
    assert " ".join(claim.expected for claim in claims) == expected


@pytest.mark.parametrize(("bias", "step"), [(511, 1), (-512, -1)])
def test_a_sum_at_the_end_is_no_fault(bias: int, step: int) -> None:
    """The first that leaves is the next one."""
    _, claim, _ = claims_of(10, "memory", 3, (0, bias, 0))
    assert claim.replay({"d1": 0, "d2": 0}) is None
    assert claim.replay({"d1": step, "d2": 0}) == str(bias + step)
    assert claim.replay({"d1": step, "d2": -step}) == str(bias + step)


@pytest.mark.parametrize("point", [-128, -200, 127, 200])
def test_an_input_that_is_not_there_adds_nothing(point: int) -> None:
    """Though no stored integer is the zero point; 0 is the end of what may be, then."""
    *_, claim = claims_of(10, "any", point)
    step = 1 if point > 0 else -1
    for last, is_there in ((0, True), (-step, True), (step, False)):
        values = {"d0": -250 * step, "d2": last, "bias": 0}
        assert holds(claim.script, values) == is_there


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (1, "1"), (-1, "(- 1)"), (-512, "(- 512)")]
)
def test_numbers_have_no_sign(number: int, text: str) -> None:
    assert vars(sums)["_number"](number) == text
