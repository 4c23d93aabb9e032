"""Counts: exact sums, which no order of adding changes."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from qlower.model.signature import TensorSpec
from qlower.validation.counts import (
    TICKS,
    Counts,
    Partial,
    Signal,
    Spread,
    exact_mcnemar,
    paired_interval,
    to_ticks,
    wilson_interval,
)

SPEC = TensorSpec("y", (1, 4), "int8", (0.5,), (3,))


def drawn(seed: int) -> Partial:
    """What a chunk of a few random examples may have given."""
    generator = np.random.default_rng(seed)
    counts = Counts()
    own, other = generator.integers(-128, 128, (2, 5, 12), np.int8)
    counts.count_classes(own, [frozenset([int(c)]) for c in own[:, 0] % 12])
    counts.count_against(SPEC, own, SPEC, other)
    counts.count_custom({"loss": float(generator.standard_normal())})
    counts.layers["conv"] = Signal()
    counts.layers["conv"].count(own.astype(np.int64), other.astype(np.int64))
    partial = Partial({"tflite": counts}, rows=5)
    if seed % 3 == 0:
        partial.fail(seed, "no picture")
    return partial


def test_any_order_of_adding_gives_the_same():
    seeds = list(range(40))
    total = Partial()
    for seed in seeds:
        total.add(drawn(seed))
    for attempt in range(3):
        random.Random(attempt).shuffle(seeds)
        halves = [Partial(), Partial()]
        for index, seed in enumerate(seeds):
            halves[index % 2].add(drawn(seed))
        halves[1].add(halves[0])
        assert halves[1] == total


def test_counts_survive_json():
    partial = drawn(3)
    text = json.dumps(partial.to_json())
    assert Partial.from_json(json.loads(text)) == partial


def test_hits_as_argsort_has_them():
    generator = np.random.default_rng(0)
    scores = generator.integers(0, 6, (200, 20), np.uint8)  # many are equal
    labels = generator.integers(0, 20, 200)
    counts = Counts()
    found = counts.count_classes(scores, [frozenset([int(c)]) for c in labels])
    order = np.argsort(-scores.astype(int), axis=1, kind="stable")
    assert (found == order[:, 0]).all()
    assert counts.top1 == np.count_nonzero(order[:, 0] == labels)
    assert counts.top5 == np.count_nonzero(order[:, :5] == labels[:, None])
    assert sum(met for _, met in counts.by_class.values()) == counts.top1


def test_several_right_classes_and_none():
    scores = np.array([[0, 9, 1], [5, 0, 1], [0, 0, 7]], np.uint8)
    counts = Counts()
    counts.count_classes(scores, [frozenset([1, 2]), None, frozenset()])
    assert (counts.examples, counts.labelled, counts.top1) == (3, 1, 1)


def test_signal_is_exact():
    signal = Signal()
    own, reference = np.array([3, -(1 << 40)]), np.array([1, 1 << 40])
    signal.count(own, reference)
    assert signal.noise == 4 + (1 << 82)
    assert signal.power == 1 + (1 << 80)
    assert signal.largest == 1 << 41
    assert signal.product == 3 - (1 << 80)


def test_equal_is_infinitely_better_than_noise():
    signal = Signal()
    signal.count(np.array([5]), np.array([5]))
    assert signal.decibels == math.inf
    assert signal.cosine == 1


def test_ticks_of_a_float_reference():
    real = TensorSpec("r", (1, 4), "float32")
    values = np.array([[0.5, -1.0, np.nan, np.inf]], np.float32)
    ticks = to_ticks(SPEC, real, values)
    assert ticks[0, :3].tolist() == [TICKS, -2 * TICKS, 0]
    assert to_ticks(SPEC, SPEC, np.array([4], np.int8)).tolist() == [TICKS]


def test_custom_sums_are_exact():
    counts = Counts()
    for value in (1e16, 1.0, -1e16):
        counts.count_custom({"x": value})
    assert counts.custom["x"] == Fraction(1)


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (45, 50, 0.7864, 0.9565)],
)
def test_interval(hits: int, count: int, low: float, high: float):
    """Figures of E. B. Wilson's interval as statistics packages give them."""
    found = wilson_interval(hits, count)
    assert found == pytest.approx((low, high), abs=5e-5)


def test_answers_that_only_one_side_has_right() -> None:
    """McNemar's counts, test and the interval of the difference."""
    counts = Counts()
    own = np.eye(4, dtype=np.int8)[[0, 1, 2, 3, 0]]
    reference = np.eye(4, dtype=np.int8)[[0, 1, 1, 1, 3]]
    classes = [frozenset({c}) for c in (0, 2, 1, 3)]
    counts.count_pairs(own, reference, [*classes, None])
    assert (counts.lost, counts.gained) == (1, 1)
    # both sides right or wrong alike: no loss, whatever the number
    low, high = paired_interval(3, 3, 100)
    assert low == -high
    # 8 against 1: 2 * (1 + 9) / 2^9
    assert exact_mcnemar(8, 1) == exact_mcnemar(1, 8) == 20 / 512
    assert exact_mcnemar(0, 0) == exact_mcnemar(4, 4) == 1
    # Bonett and Price, by hand: (9 - 2) / 102 and its deviation
    half = 1.959963984540054 * math.sqrt((11 / 102 - (7 / 102) ** 2) / 102)
    found = paired_interval(8, 1, 100)
    assert found == pytest.approx((7 / 102 - half, 7 / 102 + half))


def test_what_is_saturated() -> None:
    """An end that stands for 0 isn't: a RELU stores it exactly."""
    stored = np.array([-128, -128, -127, 0, 127], np.int8)
    ticks = np.array([-300, 0, 0, 5, 900])
    for zero_point, saturated in ((-128, 1), (0, 3)):
        spec = TensorSpec("x", (5,), "int8", (0.1,), (zero_point,))
        spread = Spread()
        spread.count(spec, stored, ticks)
        assert spread.saturated == saturated
        assert (spread.bins[0], spread.bins[8], spread.bins[15]) == (3, 1, 1)
        assert (spread.least, spread.most) == (-300, 900)
        spread.add(spread)
        assert (spread.elements, sum(spread.bins)) == (10, 10)
