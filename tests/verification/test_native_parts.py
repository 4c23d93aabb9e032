"""What machine code is run on: sums in blocks, and rows with every pair of bytes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.interp.values import Array
from qlower.verification.native.sweep import Code


def inner(module: str, name: str) -> Any:
    return vars(import_module(f"qlower.verification.native.{module}"))[name]


LOW = np.array([-9, 0, 5, -40, 7, 1, 2, -3])
HIGH = np.array([30, 0, 44, -2, 6 + 9, 33, 2, 3])


def waves(x: Array, column: Array) -> Array:
    """Steps of several lengths, up and down."""
    return ((x // 5) % (2 + column % 3) + column).astype(np.uint8)


def code(rows: int, base: int = 0) -> Code:
    """The waves, which are given sums with `base` added; of 64 bits if that takes
    them."""
    sums = np.zeros((rows, len(LOW)), np.int64 if base else np.int32)
    results = np.zeros((rows, len(LOW)), np.uint8)

    def call() -> None:
        results[...] = waves(sums - base, np.arange(len(LOW)))

    return Code(call, np.full(len(LOW), base), sums, [], results)


@pytest.mark.parametrize("base", [0, 1 << 50])
@pytest.mark.parametrize("rows", [1, 2, 8, 16, 64])
def test_pieces_of_every_sum(rows: int, base: int) -> None:
    """However many are run at a time."""
    found, end = code(rows, base).pieces(LOW, HIGH, 1000)
    assert (end == HIGH).all()
    for column, (low, high) in enumerate(zip(LOW, HIGH, strict=True)):
        x = np.arange(low, high + 1)
        values = waves(x, np.array(column))
        begins = np.append(True, values[1:] != values[:-1])
        own = found.channel == column
        assert found.x[own].tolist() == x[begins].tolist()
        assert found.value[own].tolist() == values[begins].tolist()


def test_a_sweep_that_ends_early() -> None:
    """Behind the block in which there are too many; no column goes beyond its end."""
    whole, _ = code(8).pieces(LOW, HIGH, 1000)
    found, end = code(8).pieces(LOW, HIGH, 10)
    assert (end == np.minimum(LOW + 7, HIGH)).all()
    known = whole.up_to(end)
    assert np.array_equal(found.x, known.x)
    assert np.array_equal(found.value, known.value)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 20])
def test_results_of_any_sums(count: int) -> None:
    sums = np.random.default_rng(count).integers(-99, 99, (count, len(LOW)))
    expected = waves(sums, np.arange(len(LOW)))
    assert np.array_equal(code(8).at(sums), expected)
    assert np.array_equal(code(8, -1 << 50).at(sums), expected)


@pytest.mark.parts(8)
@pytest.mark.parametrize("dtype", ["i1", "u1"])
@pytest.mark.parametrize("size", [2, 3, 10, 300])
def test_rows_have_every_byte_beside_every_maximum(size: int, dtype: str) -> None:
    like = np.zeros((4, size), dtype)
    rows = inner("on_rows", "_pairs")(like)
    assert rows.dtype == like.dtype
    assert rows.shape[1] == size
    tops = rows.max(axis=1)
    pairs = {*zip(np.repeat(tops, size).tolist(), rows.ravel().tolist(), strict=True)}
    ends = range(np.iinfo(dtype).min, np.iinfo(dtype).max + 1)
    assert pairs == {(top, byte) for top in ends for byte in ends if byte <= top}
    places = {int(place) for place in rows.argmax(axis=1)}
    assert len(places) == min(size, len(rows)) or size > 100


@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_drawn_rows_are_near_their_maximum_or_anywhere(dtype: str) -> None:
    rows = inner("on_rows", "_drawn")(np.zeros((4, 50), dtype))
    assert rows.dtype == np.dtype(dtype)
    assert rows.shape[1] == 50
    assert len(rows) >= 16
    wide = rows.astype(int)
    spread = np.ptp(wide, axis=1)
    assert (spread == 0).any()
    assert (spread > 100).any()
    assert (wide.min(), wide.max()) == (np.iinfo(dtype).min, np.iinfo(dtype).max)


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_tell_rows_apart(seed: int) -> None:
    """As well as all do, and none for nothing."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 2 + seed, (30, 6))
    chosen = [*inner("on_sums", "_separating")(rows)]

    def classes(columns: list[int]) -> int:
        return len(np.unique(rows[:, columns], axis=0)) if columns else 1

    counts = [classes(chosen[:number]) for number in range(len(chosen) + 1)]
    assert counts[-1] == classes([*range(6)])
    assert (np.diff(counts) > 0).all()
    assert counts[1] == max(classes([column]) for column in range(6))
