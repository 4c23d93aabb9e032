"""Which numbers are asked about, and inputs that reach one, against enumeration."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.contracts import load_contract
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.observe.layer_run import Evaluation
from qlower.text.parsing import parse_module
from qlower.verification.functions import Given, Variable
from qlower.verification.reach import (
    all_over,
    filled,
    is_inside,
    reach_average,
    solve,
)

QUESTIONS = vars(import_module("qlower.verification.questions"))

TYPES = """
!x = !quant.uniform<i8:f32, 5.000000e-02:3>
!u = !quant.uniform<u8:f32, 5.000000e-02:128>
"""


def operation(arguments: str, line: str, result: str, types: str = "") -> Any:
    """The operation of a line, in a module of its own."""
    head = f"func.func @main({arguments}) -> {result} {{"
    text = f"{TYPES}{types}{head}\n  %y = {line}\n  return %y : {result}\n}}"
    module = parse_module(text)
    return next(op for op in module.walk() if isinstance(op, qnn.QnnOp))


# Inputs that reach a sum


@pytest.mark.parametrize("reach", [2, 20, 127])
def test_factors_of_every_sum_of_drawn_weights(reach: int) -> None:
    draw = np.random.default_rng(reach)
    for _ in range(20):
        weights = draw.integers(-reach, reach, draw.integers(1, 5), endpoint=True)
        low = int(draw.integers(-6, 1))
        high = low + int(draw.integers(1, 9))
        each = product(range(low, high + 1), repeat=len(weights))
        sums = sorted({int(weights @ factors) for factors in each})
        for wanted in draw.permutation(sums)[:20].tolist():
            found = solve(weights, low, high, wanted, wanted)
            assert found is not None
            assert weights @ found == wanted
            assert low <= found.min() <= found.max() <= high


@pytest.mark.parametrize(
    "weights",
    [[1, 2, 3], [-1, 5, 0], [2, -3, 1], [2, 4, -6], [0, 0, 0], [3], [1, 1, 1], []],
)
@pytest.mark.parametrize("bounds", [(-3, 3), (0, 4), (-4, -1), (2, 2)])
def test_factors_of_every_sum(weights: list[int], bounds: tuple[int, int]) -> None:
    """Those that are found have the sum; for a few small weights all sums are found
    that there are."""
    array = np.array(weights, np.int64)
    factors = range(bounds[0], bounds[1] + 1)
    sums = {
        sum(w * f for w, f in zip(weights, chosen, strict=True))
        for chosen in product(factors, repeat=len(weights))
    }
    for target in range(min(sums) - 2, max(sums) + 3):
        found = solve(array, *bounds, target, target)
        assert (found is not None) == (target in sums), target
        if found is not None:
            assert int(array @ found) == target
            assert all(bounds[0] <= factor <= bounds[1] for factor in found)
    whole = solve(array, *bounds, min(sums) - 5, max(sums) + 5)
    assert whole is not None
    assert bounds[0] <= min(whole, default=bounds[0])


def test_sums_of_many_weights_are_mended() -> None:
    """By two of the smallest, where the largest come near alone."""
    random = np.random.default_rng(1)
    for _ in range(60):
        weights = random.integers(-128, 128, 30)
        target = int(random.integers(-60_000, 60_000))
        found = solve(weights, -131, 124, target, target)
        assert found is not None
        assert int(weights @ found) == target
        assert found.min() >= -131
        assert found.max() <= 124
    assert solve(np.array([2, 4, 6]), -9, 9, 7, 7) is None
    assert solve(np.array([2, 4, 6]), -9, 9, 7, 8) is not None


POOLS = {
    "pool": operation(
        "%a: tensor<1x4x5x2x!x>",
        "qnn.avg_pool2d %a {kernel = [3, 2], stride = [2, 1], pad = [1, 1, 1, 0]} : "
        "(tensor<1x4x5x2x!x>) -> tensor<1x2x5x2x!x>",
        "tensor<1x2x5x2x!x>",
    ),
    "mean": operation(
        "%a: tensor<2x3x4x!x>",
        "qnn.mean %a {axes = [0, 2]} : (tensor<2x3x4x!x>) -> tensor<3x!x>",
        "tensor<3x!x>",
    ),
    "mean with its axes": operation(
        "%a: tensor<2x3x4x!u>",
        "qnn.mean %a {axes = [1], keep_dims} : (tensor<2x3x4x!u>) -> tensor<2x1x4x!u>",
        "tensor<2x1x4x!u>",
    ),
    "adaptive": operation(
        "%a: tensor<1x5x3x2x!x>",
        "qnn.adaptive_avg_pool2d %a : (tensor<1x5x3x2x!x>) -> tensor<1x2x2x2x!x>",
        "tensor<1x2x2x2x!x>",
    ),
}


def window(name: str, index: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The places that an element of a result is made of, by its definition."""
    if name == "pool":
        _, y, x, c = index
        return [
            (0, row, column, c)
            for row in range(2 * y - 1, 2 * y + 2)
            for column in range(x - 1, x + 1)
            if 0 <= row < 4 and 0 <= column < 5
        ]
    if name == "mean":
        return [(a, index[0], c) for a in range(2) for c in range(4)]
    if name == "mean with its axes":
        return [(index[0], b, index[2]) for b in range(3)]
    _, y, x, c = index
    rows = range(y * 5 // 2, -(-(y + 1) * 5 // 2))
    columns = range(x * 3 // 2, -(-(x + 1) * 3 // 2))
    return [(0, row, column, c) for row in rows for column in columns]


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("padded", [False, True])
def test_stored_integers_of_every_sum_of_a_pool(name: str, padded: bool) -> None:
    """Where padding counts, it adds the zero point."""
    op = POOLS[name]
    (source,) = op.operands
    type = quantized_element(source.type)
    shape = op.results[0].type.get_shape()
    full = max(len(window(name, index)) for index in np.ndindex(*shape))
    counts = np.array(
        [full if padded else len(window(name, index)) for index in np.ndindex(*shape)]
    ).reshape(shape)
    run: Any = SimpleNamespace(
        op=op, evaluations=[SimpleNamespace(values={"count": counts})]
    )
    reach = reach_average(run)
    least, most = type.storage_min, type.storage_max
    for index in np.ndindex(*shape):
        places = window(name, index)
        more = (int(counts[index]) - len(places)) * type.zero_point
        low, high = len(places) * least + more, len(places) * most + more
        for total in (low, low + 1, (low + high) // 2, high - 1, high):
            found = reach(index, total, total + 9)
            assert found is not None
            ((key, stored),) = found[0].items()
            assert key is source
            assert found[1] == total
            assert least <= stored.min() <= stored.max() <= most
            assert sum(int(stored[place]) for place in places) + more == total
        assert reach(index, low - 1, low - 1) is None
        assert reach(index, high + 1, high + 1) is None


def test_one_number_everywhere() -> None:
    op = operation(
        "%a: tensor<2x!x>, %c: tensor<3x1x!u>",
        "qnn.add %a, %c : (tensor<2x!x>, tensor<3x1x!u>) -> tensor<3x2x!x>",
        "tensor<3x2x!x>",
    )
    a, c = op.operands[:2]
    assert filled(a, -5).tolist() == [-5, -5]
    assert filled(c, 200).tolist() == 3 * [[200]]
    assert filled(c, 200).dtype == np.uint8
    found = all_over([a, c], lambda x: [x, x + 1])((0, 0), 7, 9)
    assert found is not None
    assert found[1] == 7
    assert [array.tolist() for array in found[0].values()] == [[7, 7], [[8]] * 3]
    alone = all_over([a])((0,), 4, 4)
    assert alone is not None
    assert [*alone[0]] == [a]
    places = [(-1, 0), (0, -1), (0, 0), (2, 0), (3, 0), (0, 1)]
    inside = [False, False, True, True, False, False]
    assert [is_inside(c, place) for place in places] == inside


# What is asked


@pytest.mark.parametrize(
    ("low", "high", "first"),
    [(-128, 127, 0), (-129, 127, 0), (-128, 128, 5), (-700, 900, -3), (130, 300, 7)],
)
def test_sums_are_cut_where_they_wrap(low: int, high: int, first: int) -> None:
    """In a register of eight bits."""
    side = SimpleNamespace(values={"accumulator": np.zeros((), np.int8)})
    ends = np.array([low, high]), np.array([low, high])
    found = [int(c) for c in QUESTIONS["_wraps"](side, *ends, np.array(first))]
    sums = np.arange(low, high + 1)
    wrapped = sums.astype(np.int8).astype(int)
    falls = [
        int(sums[i]) + first
        for i in range(1, len(sums))
        if wrapped[i] != wrapped[i - 1] + 1
    ]
    assert found == falls


@pytest.mark.parametrize(("most", "count"), [(8, 8), (9, 0)])
def test_sums_that_wrap_more_often_are_not_cut(most: int, count: int) -> None:
    side = SimpleNamespace(values={"accumulator": np.zeros((), np.int16)})
    ends = np.array([0]), np.array([most << 16])
    assert len([*QUESTIONS["_wraps"](side, *ends, np.array(0))]) == count


def addend(dtype: Any, step: int = 0) -> Any:
    """A rule of addends: the difference from zero point 3, or something else."""

    def evaluate(given: Any) -> tuple[Any]:
        return (
            (given["input"] - given["zero"] + step * (given["input"] == 9)).astype(
                dtype
            ),
        )

    return SimpleNamespace(
        rule=SimpleNamespace(evaluate=evaluate), values={"zero": np.int32(3)}
    )


@pytest.mark.parametrize(
    ("dtype", "count", "exact"),
    [
        # The largest difference is 131 = -128 - 3.
        (np.int32, ((1 << 31) - 1) // 131, True),
        (np.int32, (1 << 31) // 131 + 1, False),
        (np.float32, ((1 << 24) - 1) // 131, True),
        (np.float32, (1 << 24) // 131 + 1, False),
    ],
)
def test_addends_whose_sums_are_exact(dtype: Any, count: int, exact: bool) -> None:
    type = QuantizedType.per_tensor(8, True, 0.05, 3)
    found = QUESTIONS["_exact_addends"](addend(dtype), type, count)
    assert found == (np.dtype(dtype) if exact else None)
    assert QUESTIONS["_exact_addends"](addend(dtype, 1), type, 1) is None


@pytest.mark.parametrize(("dtype", "bits"), [(np.int32, 31), (np.float32, 24)])
def test_sums_that_just_leave_a_type(dtype: Any, bits: int) -> None:
    """128 * 2^n is the least magnitude that isn't below the limit."""
    type = QuantizedType.per_tensor(8, True, 0.05, 0)
    one = addend(dtype)
    one.values["zero"] = np.int32(0)
    limit = 1 << (bits - 7)
    for count, exact in ((limit - 1, True), (limit, False)):
        found = QUESTIONS["_exact_addends"](one, type, count)
        assert (found is not None) == exact


NAMES = ("lhs", "rhs")
X, U = "tensor<2x3x!x>", "tensor<2x3x!u>"
BINARY = {
    "pairs": (f"%a: {X}, %c: {U}", "%a, %c", f"{X}, {U}", 65_536),
    "square": (f"%a: {X}", "%a, %a", f"{X}, {X}", 256),
}


@pytest.mark.parametrize("name", BINARY)
def test_every_pair_of_stored_integers(name: str) -> None:
    """Each number of the domain is one pair, and operands that have it everywhere; the
    two of a square are the same."""
    arguments, operands, types, count = BINARY[name]
    op = operation(arguments, f"qnn.add {operands} : ({types}) -> {X}", X)
    of = [quantized_element(value.type) for value in (op.lhs, op.rhs)]
    own = quantized_element(op.result.type)
    values: dict[str, Any] = {
        "output_scale": own.scale,
        "output_zero_point": own.zero_point,
    }
    values |= {"output_min": own.storage_min, "output_max": own.storage_max}
    for side, type in zip(NAMES, of, strict=True):
        values |= {f"{side}_scale": type.scale, f"{side}_zero_point": type.zero_point}
        values[side] = np.zeros((2, 3), np.int32)
    # Scales are float32, all else integers of 32 bits.
    types_of = {n: np.float32 if n.endswith("scale") else np.int32 for n in values}
    rules = [load_contract(name).rules["add"] for name in ("tflite", "exact")]
    sides = [
        Evaluation(rule, {n: np.array(values[n], types_of[n]) for n in rule.values})
        for rule in rules
    ]
    runs: Any = tuple(SimpleNamespace(evaluations=[side]) for side in sides)
    (asked,) = QUESTIONS["_binary"](runs, op)
    assert (asked.domain.low.tolist(), asked.domain.high.tolist()) == ([0], [count - 1])
    low = [type.storage_min for type in of]
    numbers = np.random.default_rng(0).integers(0, count, 40)
    if name == "pairs":
        pairs = [(low[0] + x // 256, low[1] + x % 256) for x in numbers]
    else:
        pairs = [(low[0] + x, low[0] + x) for x in numbers]
    lanes = np.zeros(len(numbers), np.int64)
    for function, side in zip(asked.functions, sides, strict=True):
        given = {n: v for n, v in side.values.items() if n not in NAMES}
        stored = np.array(pairs, np.int32)
        given |= {n: stored[:, k] for k, n in enumerate(NAMES)}
        (wanted,) = side.rule.evaluate_each(given, (len(numbers),))
        np.testing.assert_array_equal(function(lanes, numbers), wanted)
    for number, pair in zip(numbers.tolist(), pairs, strict=True):
        found = asked.reach((0, 0), number, number)
        assert found is not None
        wanted = dict(zip(op.operands[:2], pair, strict=True))
        assert {v: set(a.flat) for v, a in found[0].items()} == {
            v: {n} for v, n in wanted.items()
        }


def test_numbers_of_two_variables_and_back() -> None:
    """A number stands for a pair of stored integers; each pair has one."""
    left, right = Variable(-3, 5, 4), Variable(10, 1, 5)
    seen = {(int(left(np.array(x))), int(right(np.array(x)))) for x in range(20)}
    assert seen == set(product(range(-3, 1), range(10, 15)))
    for x in range(20):
        a, b = int(left(np.array(x))), int(right(np.array(x)))
        assert left.number(a) + right.number(b) == x
    assert Variable()(np.array([7])).tolist() == [7]
    assert Variable().number(-9) == -9


def test_what_rules_are_given() -> None:
    """A variable with each lane's offset, wrapped in its type."""
    given = Given(
        (Variable(-3, 5, 4), Variable(10, 1, 5)),
        {
            "a": (0, np.array([0, 100]), np.dtype(np.int32)),
            "b": (1, np.array(120), np.dtype(np.int8)),
        },
    )
    found = given(np.array([0, 1, 1]), np.array([0, 7, 19]))
    assert found["a"].tolist() == [-3, 98, 100]
    assert found["b"].tolist() == [-126, -124, -122]
    assert (found["a"].dtype, found["b"].dtype) == (np.int32, np.int8)


def test_a_sum_less_the_zero_points_of_its_taps() -> None:
    given = QUESTIONS["_centred_sum"](np.dtype(np.float32), 3)
    lanes: Any = SimpleNamespace(
        columns={(0, "taps"): np.array([4, 9]), (1, "taps"): np.array([1, 1])}
    )
    for side, expected in enumerate(([-12, -27], [-3, -3])):
        ((name, (index, offset, dtype)),) = given(lanes, side).values.items()
        assert (name, index, dtype) == ("sum", 0, np.dtype(np.float32))
        assert np.asarray(offset).tolist() == expected
