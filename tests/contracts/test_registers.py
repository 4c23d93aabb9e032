"""What registers of sums in turn hold, of a few products whose ends are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from support.layers.narrow_registers import SATURATE, WRAP
from xdsl.ir import Attribute, Operation, SSAValue

from qlower import build
from qlower.contracts import Contract, load_contract, parse_contract, registers
from qlower.contracts.contractions import Product
from qlower.contracts.registers import (
    cut_channels,
    held_sums,
    keeps_sums,
    own_bits,
    register_bits,
)
from qlower.dialects import qnn
from qlower.model.build import quantized
from qlower.model.layers import layers

NONE = np.array([0])
FULL = [127, 127, 2]
"""Weights of whose sums the least is that of 16 bits."""


def linear(*weights: Sequence[int]) -> qnn.LinearOp:
    """A layer of weights, [channel, weight], and codes from -128 to 127."""
    array = np.array(weights, np.int8)

    def body(x: SSAValue) -> list[SSAValue]:
        w = build.constant(array, quantized(array.shape, 1.0))
        y = quantized((1, len(array)), 1.0)
        return [qnn.LinearOp(x, w, None, y).results[0]]

    op = only_layer([quantized((1, array.shape[1]), 1.0)], body)
    assert isinstance(op, qnn.LinearOp)
    return op


def matmul(size: int, columns: int = 1) -> qnn.MatMulOp:
    def body(x: SSAValue, w: SSAValue) -> list[SSAValue]:
        return [qnn.MatMulOp(x, w, quantized((1, columns), 1.0)).result]

    shapes = ((1, size), (size, columns))
    op = only_layer([quantized(shape, 1.0) for shape in shapes], body)
    assert isinstance(op, qnn.MatMulOp)
    return op


def only_layer(
    inputs: Sequence[Attribute], body: Callable[..., Sequence[SSAValue]]
) -> Operation:
    (op,) = layers(build.make_model(inputs, body).module)
    return op


def device(body: str, group: int = 1, values: str = "%accumulator: i32") -> Contract:
    """A contract whose register leaves of a sum what the body says."""
    text = f"""
    func.func @accumulate({values}) -> i32 {{
    {body}
    }}
    func.func @accumulate_group() -> i32 {{ %result = arith.constant {group} : i32 }}
    func.func private @low(%accumulator: i32) -> i32 serves linear, matmul
        attributes {{contract.product = "in_turn"}} {{
      %result = arith.maxsi %accumulator, -128 : i32
    }}"""
    return parse_contract(text, "own", "own.mlir")


def bounds(low: int, high: int) -> str:
    return f"""
      %a = arith.maxsi %accumulator, {low} : i32
      %result = arith.minsi %a, {high} : i32"""


@pytest.mark.parametrize(
    ("body", "bits"),
    [
        *((SATURATE, 16), (WRAP, 16), (bounds(-(1 << 31), (1 << 31) - 1), 32)),
        *((bounds(-10, 10), 4), (bounds(-8, 3), 3), (bounds(-8, 4), 4)),
        *((bounds(-7, 7), 3), (bounds(0, 0), 1)),
    ],
)
def test_the_width_of_a_register(body: str, bits: int) -> None:
    """Its least number, and one in the upper half of the others."""
    own = device(body)
    assert register_bits(own, linear([1])) == bits
    assert own_bits(own, linear([1])) == bits


def test_registers_that_nothing_is_stated_of() -> None:
    exact = load_contract("exact")
    assert own_bits(exact, linear([1])) is None
    assert own_bits(exact, matmul(1)) is None
    assert keeps_sums(exact, linear([127] * 999), NONE)
    text = """module attributes {contract.base = "tflite"} {
    func.func @accumulator_bits() -> i32 { %result = arith.constant 20 : i32 }
    }"""
    stated = parse_contract(text, "own", "own.mlir")
    assert own_bits(stated, linear([1])) == 20
    assert own_bits(stated, matmul(1)) is None


@pytest.mark.parametrize("body", [SATURATE, WRAP])
@pytest.mark.parametrize(
    ("weights", "start", "keeps"),
    [
        ([100, 100], 0, True),
        ([100, 100, 100], 0, False),
        (FULL, 0, True),
        (FULL, -1, False),
        ([*FULL, 1], 0, False),
        ([-127, -127, -1], 127, True),
        ([-127, -127, -1], 128, False),
        ([-127, -127, -2], 0, False),
    ],
)
def test_sums_that_are_kept(
    body: str, weights: list[int], start: int, keeps: bool
) -> None:
    """Or cut, in one channel of two."""
    own = device(body)
    assert keeps_sums(own, linear(weights), np.array([start])) == keeps
    op = linear(weights, [1] * len(weights))
    assert keeps_sums(own, op, np.array([start, 0])) == keeps
    assert cut_channels(own, linear(weights), np.array([start])).tolist() == [not keeps]
    both = cut_channels(own, linear([1] * len(weights), weights), np.array([0, start]))
    assert both.tolist() == [False, not keeps]


@pytest.mark.parametrize(("size", "keeps"), [(2, True), (3, False)])
def test_sums_of_matrices_that_are_kept(size: int, keeps: bool) -> None:
    """The largest product is 128 times 128, and two are one too many."""
    wide = device(bounds(-(1 << 15) - 1, 1 << 15))
    assert keeps_sums(wide, matmul(size), NONE) == keeps
    assert not keeps_sums(device(SATURATE, 2), matmul(2), NONE)


def test_all_sums_are_tried_where_nothing_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Up to a number of them, which this layer has less one."""
    own = device("%result = arith.addi %accumulator, 0 : i32")
    assert keeps_sums(own, linear([1]), NONE)
    monkeypatch.setattr(registers, "MOST_SUMS", 256)
    assert keeps_sums(own, linear([1]), NONE)
    monkeypatch.setattr(registers, "MOST_SUMS", 255)
    assert not keeps_sums(own, linear([1]), NONE)
    assert keeps_sums(device(SATURATE), linear([1]), NONE)
    other = device("%result = arith.ori %accumulator, 1 : i32", 2)
    monkeypatch.setattr(registers, "MOST_SUMS", 1 << 25)
    assert not keeps_sums(other, linear([1]), NONE)


UP = "%u = arith.shli %accumulator, 8 : i32\n"
LONG = "%w = arith.extsi %accumulator : i32 to i64\n"
SEEN: dict[str, bool] = {
    bounds(-128, 127): True,
    bounds(-127, 127): False,
    bounds(-128, 126): False,
    UP + "%result = arith.shrsi %u, 8 : i32": True,
    UP + "%result = arith.shrsi %u, 4 : i32": False,
    UP + "%result = arith.shrsi %u, 9 : i32": False,
    UP + "%d = arith.shrsi %u, 3 : i32\n%result = arith.shrsi %d, 5 : i32": True,
    "%u = arith.shli %accumulator, 24 : i32\n%result = arith.shrsi %u, 24 : i32": True,
    "%u = arith.shli %accumulator, 25 : i32\n%result = arith.shrsi %u, 25 : i32": False,
    UP + "%c = arith.maxsi %u, -32768 : i32\n%result = arith.shrsi %c, 8 : i32": True,
    UP + "%c = arith.maxsi %u, -32767 : i32\n%result = arith.shrsi %c, 8 : i32": False,
    UP + "%c = arith.minsi %u, 32512 : i32\n%result = arith.shrsi %c, 8 : i32": True,
    UP + "%c = arith.minsi %u, 32511 : i32\n%result = arith.shrsi %c, 8 : i32": False,
    LONG + "%result = arith.trunci %w : i64 to i32": True,
    LONG
    + "%n = arith.trunci %w : i64 to i8\n%result = arith.extsi %n : i8 to i32": True,
    LONG
    + "%n = arith.trunci %w : i64 to i7\n%result = arith.extsi %n : i7 to i32": False,
    LONG
    + "%n = fixed.saturate %w : i64 to i8\n%result = arith.extsi %n : i8 to i32": True,
    "%t = arith.cmpi slt, %accumulator, 0 : i32\n"
    "%result = arith.select %t, %accumulator, %accumulator : i32": True,
    UP + "%t = arith.cmpi slt, %accumulator, 0 : i32\n"
    "%result = arith.select %t, %accumulator, %u : i32": False,
    "%result = arith.addi %accumulator, 0 : i32": False,
}


@pytest.mark.parametrize("body", SEEN)
def test_what_is_seen_to_change_no_sum(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of -128 to 127, without trying any."""
    monkeypatch.setattr(registers, "MOST_SUMS", 0)
    own = device(body)
    assert keeps_sums(own, linear([1]), NONE) == SEEN[body]


def test_what_a_register_holds_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of a channel that isn't cut, or all numbers of its width; with the start."""
    own = device(SATURATE)

    def held(op: Product, *start: int) -> list[list[int]] | None:
        found = held_sums(own, op, np.array(start))
        return found and [one.tolist() for one in found]

    low, high = -(1 << 15), (1 << 15) - 1
    assert held(linear([100, 100], [127] * 2), 0, 5) == [
        [-25600, -32507],
        [25400, 32263],
    ]
    assert held(linear([*FULL, 1], [1] * 4), 0, -1) == [[low, -513], [high, 507]]
    assert held(linear([1] * 4, [*FULL, 1]), -1, 0) == [[-513, low], [507, high]]
    assert held(matmul(2, 3), 0) == [[low] * 3, [high] * 3]
    assert held(matmul(1, 2), 0) == [[-16256] * 2, [16384] * 2]
    assert held(linear([*FULL, 1]), low) == [[low], [high]]
    assert held(linear([*FULL, 1]), low - 1) is None
    assert held(linear([*FULL, 1]), high) == [[low], [high]]
    assert held(linear([*FULL, 1]), high + 1) is None
    # From the least number less a product to the largest and one.
    count = (1 << 16) - 1 + 2 * 128
    monkeypatch.setattr(registers, "MOST_SUMS", count + 1)
    assert held(linear([1]), 0) == [[-128], [127]]
    monkeypatch.setattr(registers, "MOST_SUMS", count)
    assert held(linear([1]), 0) is None


def test_rules_that_look_at_products() -> None:
    """Nothing is known of what they keep."""
    values = "%accumulator: i32, %product: i32"
    body = "%result = arith.maxsi %accumulator, -32768 : i32"
    own = device(body, values=values)
    assert not keeps_sums(own, linear([1]), NONE)
    assert held_sums(own, linear([1]), NONE) is None
    assert cut_channels(own, linear([1], [127]), np.array([0, -32768])).tolist() == [
        *(False, True),
    ]


CHANNELS = """
    %first = arith.cmpi eq, %channel, 0 : i32
    %limit = arith.select %first, 10, 100000 : i32
    %floor = arith.select %first, -16, -100000 : i32
    %a = arith.minsi %accumulator, %limit : i32
    %result = arith.maxsi %a, %floor : i32"""
PLACES = """
    %second = arith.cmpi eq, %input_channel, 1 : i32
    %limit = arith.select %second, 10, 100000 : i32
    %result = arith.minsi %accumulator, %limit : i32"""


def test_registers_that_differ_by_channel() -> None:
    """The width is that of the narrowest; numbers are those of each."""
    own = device(CHANNELS, values="%accumulator: i32, %channel: i32")
    op = linear([1], [1])
    assert register_bits(own, linear([1])) == register_bits(own, op) == 5
    assert not keeps_sums(own, op, NONE)
    assert cut_channels(own, op, NONE).tolist() == [True, False]
    found = held_sums(own, op, NONE)
    assert found is not None
    assert [one.tolist() for one in found] == [[-16, -128], [15, 127]]
    assert keeps_sums(own, linear([0], [0]), np.array([0, 5]))


def test_registers_that_differ_by_place() -> None:
    own = device(PLACES, values="%accumulator: i32, %input_channel: i32")
    assert keeps_sums(own, linear([1]), NONE)
    assert not keeps_sums(own, linear([1, 1]), NONE)
    assert register_bits(own, linear([1, 1])) == 5
    assert [cut_channels(own, linear([1] * n), NONE).item() for n in (1, 2)] == [
        *(False, True),
    ]
    assert held_sums(own, linear([1]), NONE) is None


def test_weights_that_are_inputs() -> None:
    """Nothing is known of their sums."""

    def body(x: SSAValue, w: SSAValue) -> list[SSAValue]:
        return [qnn.LinearOp(x, w, None, quantized((1, 1), 1.0)).results[0]]

    op = only_layer([quantized((1, 2), 1.0), quantized((1, 2), 1.0)], body)
    assert isinstance(op, qnn.LinearOp)
    assert not keeps_sums(device(SATURATE), op, NONE)
    assert held_sums(device(SATURATE), op, NONE) is None
