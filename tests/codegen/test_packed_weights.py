"""Constant weights as steps read them: the identity of the sums, the bytes, the parts,
by numpy alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.windows import Window, build
from support.machines.product_steps import STEPS

from qlower.codegen.llvm.values import I64, Value, constant
from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.recognise import Contraction, recognise
from qlower.codegen.skeletons.products.packing import (
    Weights,
    are_nibbles,
    constant_factors,
    weight_bounds,
)
from qlower.codegen.skeletons.products.partial_sums import (
    Parts,
    is_narrow,
    plan_parts,
)
from qlower.dialects.kernel import NestOp
from qlower.text.parsing import parse_module

Integers = np.ndarray[Any, np.dtype[np.int64]]

PLAIN = Window(3, 4, 11, 7, (2, 3))
CASES = {
    "plain": PLAIN,
    "zero of activations": replace(PLAIN, zero_x=-9),
    "zero of weights": replace(PLAIN, zero_w=3, zero_x=5),
    "zeros by channel": replace(PLAIN, zero_w=None, zero_x=-128),
    "unsigned": replace(PLAIN, unsigned_x=True, unsigned_w=True, zero_x=200, zero_w=99),
    "groups": replace(PLAIN, channels=12, outputs=9, groups=3, zero_w=None, zero_x=2),
    "nibbles": replace(PLAIN, nibbles=True, zero_x=1),
    "unsigned nibbles": replace(PLAIN, nibbles=True, unsigned_w=True, zero_w=8),
    "row": Window(1, 1, 21, 5, zero_w=None, zero_x=7),
    "points": Window(2, 2, 3, 4, zero_w=-128),
}
NAMES = (
    *("singles", "pairs", "loaded pairs", "unsigned bytes", "signed bytes", "matrices"),
    *("narrow scalars", "halves of nibbles", "whole bytes", "nibbles"),
)


@cache
def recognised(case: Window) -> Contraction:
    text, _, _ = build(case, 3)
    (op,) = (op for op in parse_module(text).walk() if isinstance(op, NestOp))
    found = recognise(analyse(op))
    assert isinstance(found, Contraction)
    return found


def elements(data: bytes | None, type: str, shape: tuple[int, ...]) -> Integers:
    assert data is not None
    return np.frombuffer(data, type).reshape(shape).astype(np.int64)


@pytest.mark.parts(4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", CASES)
def test_sums(case: str, name: str) -> None:
    """Of moved numbers, with what is added to them, are those of the model."""
    window, (step, _) = CASES[case], STEPS[name]
    contraction = recognised(window)
    if step.weight_bits == 4 and not window.nibbles:
        assert not are_nibbles(contraction.weight)
        return
    factors = constant_factors(contraction, step)
    groups, vectors, lanes, taps, chunks, depth = factors.weights.shape
    assert (lanes, depth) == (step.lanes, step.depth)
    channels = window.outputs // window.groups
    length = window.channels // window.groups * np.prod(window.kernel) // taps
    shape = (groups, channels, taps, int(length))
    type = "u1" if window.unsigned_w else "i1"
    weights = elements(contraction.weight.operand.data, type, shape)
    zero: Any = contraction.weight.offset
    if not isinstance(zero, int):
        zero = elements(zero.data, "i4", (groups, channels, 1, 1))
    low, high = step.weight_range
    assert low <= factors.weights.min() <= factors.weights.max() <= high
    random = np.random.default_rng(6)
    first = 0 if window.unsigned_x else -128
    x = random.integers(first, first + 256, (groups, taps, int(length)))
    centred = (weights - zero) * (x - window.zero_x)[:, None]
    assert factors.initial is not None
    moved = x + step.activation_bias(not window.unsigned_x)
    positions = step.positions(int(length))
    spread = np.where(positions < 0, 0, moved[..., positions])
    assert (factors.weights[..., positions < 0] == 0).all()
    products = factors.weights * spread[:, None, None]
    sums = products.sum((3, 4, 5)).reshape(groups, vectors * lanes)
    assert (
        factors.weights.reshape(groups, vectors * lanes, -1)[:, channels:] == 0
    ).all()
    sums = sums[:, :channels] + factors.correction
    sums -= factors.row_factor * moved.sum((1, 2))[:, None]
    assert sums.tolist() == centred.sum((2, 3)).tolist()
    assert factors.has_row_factor is bool(factors.row_factor.any())
    assert factors.vectors == -(-channels // lanes) == vectors
    assert (factors.parts, chunks) == (None, len(positions))


def test_weights_are_packed_once() -> None:
    contraction = recognised(PLAIN)
    weights = Weights(contraction)
    step, other = STEPS["unsigned bytes"][0], STEPS["singles"][0]
    assert weights.factors(step) is weights.factors(step)
    assert weights.factors(other) is not weights.factors(step)
    assert (weights.count, weights.uses) == (7 * 2 * 3 * 11, 2 * 2)
    assert weights.are_nibbles is False
    assert Weights(recognised(CASES["nibbles"])).are_nibbles is True


class Data:
    """Constants in the order in which they came, whose addresses count them."""

    def __init__(self) -> None:
        self.found: list[bytes] = []

    def add_constant(self, data: bytes) -> Value:
        self.found.append(data)
        return constant(I64, len(self.found))


@pytest.mark.parametrize("block", [1, 2, 3, 4])
def test_bytes(block: int) -> None:
    """Blocks of vectors, whose numbers lie side by side in each chunk of each tap."""
    step, _ = STEPS["unsigned bytes"]
    contraction = recognised(replace(CASES["groups"], outputs=27))
    factors, data = constant_factors(contraction, step), Data()
    packed = factors.pack(data, step, block)
    weights, starts, rows = data.found
    groups, vectors, lanes, taps, chunks, depth = factors.weights.shape
    assert (groups, vectors, lanes) == (3, 3, 4)
    expected = [
        factors.weights[group, first + vector, :, tap, chunk].tolist()
        for group in range(groups)
        for first in range(0, vectors, block)
        for tap in range(taps)
        for chunk in range(chunks)
        for vector in range(min(block, vectors - first))
    ]
    assert elements(weights, "i1", (-1, lanes, depth)).tolist() == expected
    assert factors.initial is not None
    total = np.zeros((groups, vectors * lanes), np.int64)
    total[:, :9] = factors.correction + factors.initial
    wrapped = (total + (1 << 31)) % (1 << 32) - (1 << 31)
    assert elements(starts, "i4", total.shape).tolist() == wrapped.tolist()
    assert elements(rows, "i4", total.shape)[:, :9].tolist() == (
        factors.row_factor.tolist()
    )
    assert (packed.vectors, packed.chunks, packed.taps) == (vectors, chunks, taps)
    assert (packed.block, packed.starts_from_initial) == (block, True)
    assert packed.weights == constant(I64, 1)
    assert packed.correction == constant(I64, 2)
    assert packed.row_factor == constant(I64, 3)


@pytest.mark.parametrize(("case", "factor"), [("plain", None), ("points", -128)])
def test_one_factor_of_rows(case: str, factor: int | None) -> None:
    """It is a number; without an initial accumulator the correction stays as it is."""
    step, _ = STEPS["unsigned bytes"]
    window = replace(CASES[case], unsigned_w=case == "points", zero_w=0)
    factors = replace(constant_factors(recognised(window), step), initial=None)
    data = Data()
    packed = factors.pack(data, step, 1)
    assert packed.row_factor == factor
    assert packed.starts_from_initial is False
    (_, starts) = data.found
    columns = factors.vectors * step.lanes
    found = elements(starts, "i4", (1, columns))[:, : factors.correction.shape[1]]
    assert found.tolist() == factors.correction.tolist()


@pytest.mark.parametrize(
    ("is_given", "signed", "offset", "bounds"),
    [
        (False, True, 0, (-5, 7)),
        (True, True, 0, (-128, 127)),
        (True, False, 0, (0, 255)),
        (True, True, 3, (-131, 124)),
        (True, False, np.array([3, 200]), (-200, 252)),
        (True, True, np.array([-3, 2]), (-130, 130)),
    ],
)
def test_bounds_of_weights(
    is_given: bool, signed: bool, offset: Any, bounds: tuple[int, int]
) -> None:
    """Those that are given later may be all of their type."""
    operand = SimpleNamespace(packed=(0,) if is_given else None)
    weight: Any = SimpleNamespace(operand=operand, signed=signed)
    assert weight_bounds(weight, np.array([7, -5, 2]), offset) == bounds


@pytest.mark.parametrize(
    ("scalar", "signed", "numbers", "wanted"),
    [
        *(("i8", True, [-8, 7], True), ("i8", True, [-9, 7], False)),
        *(("i8", True, [-8, 8], False), ("i8", False, [0, 15], True)),
        *(("i8", False, [0, 16], False), ("i8", False, [-1, 3], False)),
        *(("i4", True, None, True), ("i8", True, None, False)),
    ],
)
def test_weights_of_4_bits(
    scalar: str, signed: bool, numbers: list[int] | None, wanted: bool
) -> None:
    data = None if numbers is None else np.array(numbers, np.int8).tobytes()
    operand = SimpleNamespace(packed=(0,) if numbers is None else None, data=data)
    weight: Any = SimpleNamespace(operand=operand, signed=signed, scalar=scalar)
    assert are_nibbles(weight) is wanted


def test_sums_that_an_i32_holds() -> None:
    """2^15 times the sum of magnitudes, and what a channel starts from, below 2^31."""
    weights = np.zeros((1, 2, 2, 128), np.int64)
    weights[0, 1] = -256
    assert not is_narrow(weights)
    weights[0, 1, 1, 5] = -255
    assert is_narrow(weights)
    assert is_narrow(weights, np.array([[(1 << 31) - 1, 32767]]))
    assert not is_narrow(weights, np.array([[0, -32768]]))
    assert not is_narrow(weights, np.array([[-(1 << 31), 0]]))


@pytest.mark.parametrize(
    ("taps", "run", "each", "parts"),
    [
        ((), 64, 1000, None),
        ((), 64, 1024, Parts((), 0, 32)),
        ((), 64, 2047, Parts((), 0, 32)),
        ((), 60, 8191, Parts((), 0, 8)),
        ((4,), 32, 1023, Parts((), 0, 2)),
        ((3, 5), 8, 4095, Parts((0,), 1, 2)),
        ((3, 5), 8, 1000, Parts((), 0, 1)),
        ((2, 2), 32, 3000, Parts((0, 1), 2, 16)),
    ],
)
def test_parts_of_a_reduction(
    taps: tuple[int, ...], run: int, each: int, parts: Parts | None
) -> None:
    """The fewest equal ones, of whole steps of an outer loop where these fit."""
    bounds = [*taps, run]
    loops = tuple(range(len(taps)))
    weights = np.full((1, 2, int(np.prod(taps)), run), each)
    weights[0, 0] = -each
    contraction: Any = SimpleNamespace(
        accumulator="i64",
        taps=loops,
        run=len(taps),
        nest=SimpleNamespace(bounds=bounds),
    )
    assert plan_parts(contraction, weights) == parts
    contraction.accumulator = "i32"
    assert plan_parts(contraction, weights) is None
