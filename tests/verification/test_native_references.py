"""What machine code is held against: the layers by the interpreter, on all bytes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.codegen.targets.resolve import host_target
from qlower.frontends.load import named
from qlower.sides.sides import Computed
from qlower.text.parsing import parse_module
from qlower.verification.native.found import Wrong
from qlower.verification.native.reference import References
from qlower.verification.native.verdict import Mismatch
from qlower.verification.native.verify import native
from qlower.verification.sum_rule import Unfit

ROWS = vars(import_module("qlower.verification.native.on_rows"))

MODEL = """
!x = !quant.uniform<i8:f32, 5.000000e-02:3>
!u = !quant.uniform<u8:f32, 2.500000e-02:100>
!h = !quant.uniform<i16:f32, 5.000000e-03:0>
!p = !quant.uniform<i8:f32, 3.906250e-03:-128>
!w = !quant.uniform<i8:f32:0, {1.000000e-02,2.000000e-02,3.000000e-02}>
func.func @main(%a: tensor<2x3x!x>, %c: tensor<2x3x!u>, %d: tensor<2x3x!h>)
    -> (tensor<2x3x!p>, tensor<2x3x!h>, tensor<2x3x!u>, tensor<2x3x!x>) {
  %r = qnn.requantize %a : (tensor<2x3x!x>) -> tensor<2x3x!u> loc("r")
  %s = qnn.add %a, %c : (tensor<2x3x!x>, tensor<2x3x!u>) -> tensor<2x3x!x> loc("s")
  %t = qnn.sigmoid %s : (tensor<2x3x!x>) -> tensor<2x3x!p> loc("t")
  %p = qnn.softmax %s {axis = 1, beta = 1.0 : f64}
    : (tensor<2x3x!x>) -> tensor<2x3x!p> loc("p")
  %h = qnn.add %d, %d : (tensor<2x3x!h>, tensor<2x3x!h>) -> tensor<2x3x!h> loc("h")
  %w = qnn.constant dense<[[1, 2, 3], [4, -5, 6], [-7, 8, 9]]> : tensor<3x3xi8>
    -> tensor<3x3x!w>
  %y = qnn.linear %a, %w : (tensor<2x3x!x>, tensor<3x3x!w>) -> tensor<2x3x!x> loc("y")
  return %p, %h, %r, %y : tensor<2x3x!p>, tensor<2x3x!h>, tensor<2x3x!u>, tensor<2x3x!x>
}"""


@pytest.fixture(scope="module")
def references() -> References:
    model = named(parse_module(MODEL), None)
    return References(Computed("", model, "tflite"))


def stored(value: int, type: Any) -> int:
    """A byte's bits as a stored integer."""
    return int(np.uint8(value).view(type))


def real_code(code: int, other: int) -> float:
    return 0.05 * (stored(code, np.int8) - 3) + 0.025 * (other - 100)


@pytest.mark.parts(4)
def test_every_byte_and_every_pair(references: References) -> None:
    """Each is an input of some element, with the result that the layer has for it."""
    assert references.others(("r",)) == ["a"]
    assert references.others(("s", "t")) == ["a", "c"]
    seen: dict[int, int] = {}
    for trial in references.trials(("r",)):
        (codes,) = trial.inputs
        assert codes.shape == trial.result.shape == (2, 3)
        assert codes.dtype == trial.result.dtype == np.uint8
        for code, result in zip(codes.flat, trial.result.flat, strict=True):
            assert seen.setdefault(int(code), int(result)) == result
    assert [*sorted(seen)] == [*range(256)]
    for code, result in seen.items():
        exact = 2 * (stored(code, np.int8) - 3) + 100
        assert result == min(max(exact, 0), 255)
    pairs: dict[tuple[int, int], int] = {}
    for trial in references.trials(("s",)):
        one, other = trial.inputs
        pairs |= zip(
            zip(one.reshape(-1).tolist(), other.reshape(-1).tolist(), strict=True),
            trial.result.reshape(-1).tolist(),
            strict=True,
        )
    assert len(pairs) == 65_536
    for (code, other), result in pairs.items():
        steps = real_code(code, other) / 0.05 + 3
        assert abs(stored(result, np.int8) - min(max(steps, -128), 127)) <= 0.51


def test_tables_of_layers_after_a_first_one(references: References) -> None:
    """By the bits of the first one's result, in the rows; then by another's."""
    single = references.table(("s", "t"))
    assert single.shape == (256,)
    x = np.arange(256, dtype=np.uint8).view(np.int8)
    wanted = np.round(256 / (1 + np.exp(-0.05 * (x.astype(float) - 3)))) - 128
    found = single.astype(np.uint8).view(np.int8)
    assert (np.abs(found - np.clip(wanted, -128, 127)) <= 1).all()
    double = references.table(("a", "s"))
    assert double.shape == (256, 256)
    for code, other in [(0, 0), (5, 200), (250, 3), (128, 255)]:
        steps = real_code(code, other) / 0.05 + 3
        result = stored(int(double[code, other]), np.int8)
        assert abs(result - min(max(steps, -128), 127)) <= 0.51


def test_trials_of_every_word(references: References) -> None:
    trials = references.trials(("h",))
    codes = np.concatenate([trial.inputs[0].reshape(-1) for trial in trials])
    assert codes.dtype == np.uint16
    assert np.array_equal(np.unique(codes), np.arange(1 << 16))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda one: one.trials(("s", "r", "h")),
            "it reads more than two bytes for an element",
        ),
        (lambda one: one.rows(("s",)), "several functions compute the layer"),
        (lambda one: one.rows(("p", "t")), "several functions compute the layer"),
        (
            lambda one: one.sums("t", frozenset({"s"}), 0),
            "its sum isn't one of stored integers",
        ),
        (
            lambda one: one.sums("y", frozenset({"c"}), 0),
            "it doesn't read what the layer does",
        ),
    ],
)
def test_what_is_not_looked_at(ask: Any, message: str, references: References) -> None:
    with pytest.raises(Unfit, match=message):
        ask(references)


@pytest.mark.parts(4)
def test_sums_of_products(references: References) -> None:
    """Of drawn inputs, by the definition."""
    values, sums = references.sums("y", frozenset({"a"}), 0)
    weight = np.array([[1, 2, 3], [4, -5, 6], [-7, 8, 9]])
    wanted = (values["a"].astype(int) - 3) @ weight.T
    np.testing.assert_array_equal(sums, wanted)
    assert references.is_exact("y")
    assert [*values] == ["a"]


def test_rows_of_a_softmax(references: References) -> None:
    """Quotients of tables are those of the interpreter, and at both sides of a step
    they differ, for sums that follow each other."""
    contract = ROWS["_Contract"](references.rows(("p",)))
    random = np.random.default_rng(0)
    rows = random.integers(-128, 128, (40, 3)).astype(np.int8)
    rows[:3] = [[127, 127, 127], [-128, -128, -128], [-128, 127, 0]]
    model = named(parse_module(SOFTMAX), None)
    wanted = qlower.interpret(model, rows, contract="tflite")
    np.testing.assert_array_equal(contract.of_rows(rows).view(np.int8), wanted)
    position, sums = contract.steps()
    assert len(position) == len(sums) > 200
    half = len(position) // 2
    np.testing.assert_array_equal(position[:half], position[half:])
    np.testing.assert_array_equal(sums[:half] + 1, sums[half:])
    results = contract.quotients(position, sums)
    assert (results[:half] != results[half:]).all()


SOFTMAX = """
!x = !quant.uniform<i8:f32, 5.000000e-02:3>
!p = !quant.uniform<i8:f32, 3.906250e-03:-128>
func.func @main(%s: tensor<40x3x!x>) -> tensor<40x3x!p> {
  %p = qnn.softmax %s {axis = 1, beta = 1.0 : f64}
    : (tensor<40x3x!x>) -> tensor<40x3x!p>
  return %p : tensor<40x3x!p>
}"""


def test_rows_that_code_is_given() -> None:
    """Of unsigned codes in the bytes of signed ones, whose bits are flipped; as many
    again as a call takes."""
    given, results = np.zeros((7, 2), np.int8), np.zeros((7, 2), np.uint8)
    seen: list[Any] = []
    calls = [
        lambda: seen.append(given.view(np.uint8).copy()),
        lambda: np.copyto(results, given.view(np.uint8) + sums[:, np.newaxis]),
    ]
    sums = np.zeros(7, np.uint8)
    code = ROWS["_Code"](calls, None, given, sums, results)
    rows = code.filled(np.array([[0, 255], [7, 8], [9, 9]], np.uint8))
    assert rows[:, 0].tolist() == [0, 7, 9, 0, 7, 9, 0]
    assert code.filled(np.arange(8)).tolist() == [*range(8), *range(6)]
    got = code.quotients(rows, np.arange(7, dtype=np.uint8), 255, 0x80)
    assert (seen[0] == 0x7F).all()
    np.testing.assert_array_equal(got, (rows ^ 0x80) + np.arange(7)[:, np.newaxis])


@pytest.mark.long
@pytest.mark.parametrize("rows", [3, 120_000])
def test_softmaxes_of_unsigned_codes(rows: int) -> None:
    text = SOFTMAX.replace("i8:", "u8:").replace(":-128>", ":0>")
    model = named(parse_module(text.replace("40x", f"{rows}x")), None)
    (row,) = native(model, {"host": host_target()}, contract="tflite").layers
    assert row.verdict == "undecided"
    assert "sides of steps of the quotient" in row.how


def test_the_first_row_that_differs() -> None:
    rows = np.array([[1, 2], [3, -4], [5, 6]], np.int8)
    wanted = np.array([[7, 8], [9, 10], [11, 12]], np.uint8)
    assert ROWS["_apart"](wanted, wanted.copy(), rows) is None
    got = wanted.copy()
    got[1, 1], got[2, 0] = 0, 0
    found = ROWS["_apart"](wanted, got, rows)
    assert found.numbers == 6
    assert found.difference == Mismatch(None, (1, 3, -4), 10, 0, of="element")


def test_wrong_results_are_counted_and_the_first_kept() -> None:
    """In memory order, over several runs; bits are compared, whatever the types."""
    one = np.array([[1, 2], [3, 255]], np.uint8)
    none = Wrong().and_of(one, one.view(np.int8), lambda place: (None, (place,)))
    assert none == Wrong(0, None)
    other = np.array([[1, 9], [3, 0]], np.uint8)
    first = none.and_of(one, other, lambda place: (4, (place, 7)))
    assert first == Wrong(2, Mismatch(4, (1, 7), 2, 9))
    more = first.and_of(other, one, lambda place: (5, (place,)))
    assert more == Wrong(4, first.first)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((None, (5,), 255, 1), "at 5: 0xff | 0x1"),
        ((3, (1200, -7), 16, 0), "channel 3 at 1,200, -7: 0x10 | 0x0"),
        ((0, (1,), 2, 3), "channel 0 at 1: 0x2 | 0x3"),
        ((None, (1234, 5), 1000, -2, "sum"), "sum 1,234: 1,000 | -2"),
    ],
)
def test_mismatches_in_words(given: Any, text: str) -> None:
    assert str(Mismatch(*given)) == text


def test_elements_of_other_bits() -> None:
    differing = vars(import_module("qlower.verification.native.whole"))["_differing"]
    one = np.array([[0.0, np.nan], [1.0, -2.0]], np.float32)
    other = np.array([[-0.0, np.nan], [1.0, 2.0]], np.float32)
    assert differing(one, one.copy()) == 0
    assert differing(one, other) == 2
    assert differing(one.T, other.T) == 2
    assert differing(np.zeros(3, np.int16), np.array([0, 256, 257], np.int16)) == 2
    assert differing(np.zeros(0), np.zeros(0)) == 0
