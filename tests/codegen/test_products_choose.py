"""Which step multiplies vectors, by what a target's instruction takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from qlower.codegen.skeletons.products.choose import (
    narrow_step,
    vector_step,
    wide_step,
)
from qlower.codegen.targets.resolve import Dot, DotKind


def target(dot: Dot, bits: int = 128, halves: object = None) -> Any:
    return SimpleNamespace(vector_bits=bits, dot=lambda _, signed: dot, halves=halves)


SINGLES, PAIRS = DotKind.SINGLES, DotKind.PAIRS


@pytest.mark.parametrize(
    ("dot", "bits", "scalar", "wanted"),
    [
        (Dot(SINGLES, loads_bytes=True), 128, "i8", "LoadedSingles"),
        (Dot(SINGLES, selects_lane=True), 128, "i8", "SelectedSingles"),
        (Dot(SINGLES, takes_scalar=True), 128, "i16", "SplatScalars"),
        (Dot(SINGLES), 64, "i8", "Singles"),
        (Dot(SINGLES), 32, "i8", "Scalars"),
        (Dot(PAIRS), 128, "i8", "Pairs"),
        (Dot(PAIRS, loads_bytes=True), 128, "i8", "LoadedPairs"),
        (Dot(PAIRS, loads_bytes=True), 256, "i16", "PairedWords"),
        (Dot(DotKind.SIGNED_BYTES, selects_lane=True), 128, "i8", "SelectedBytes"),
        (Dot(DotKind.UNSIGNED_BYTES), 1024, "i8", "BroadcastBytes"),
    ],
)
def test_a_step(dot: Dot, bits: int, scalar: str, wanted: str) -> None:
    """With a sum of 32 bits in each lane."""
    step = vector_step(target(dot, bits), scalar, signed=True)
    assert type(step).__name__ == wanted
    assert (step.lanes, step.vector_lanes) == (bits // 32, bits // 32)
    assert step.dot == dot
    assert getattr(step, "extends", False) is (wanted == "LoadedSingles")


def test_the_step_of_narrow_weights() -> None:
    """Only where two products are in a register, and one is computed at a time."""
    one, several = (
        vector_step(target(Dot(SINGLES), bits), "i8", signed=True) for bits in (32, 64)
    )
    with_halves = target(Dot(SINGLES), 32, object())
    assert narrow_step(target(Dot(SINGLES), 32), one) is one
    assert narrow_step(with_halves, several) is several
    found: Any = narrow_step(with_halves, one)
    assert type(found).__name__ == "NarrowScalars"
    assert (found.lanes, found.vector_lanes, found.scalar) == (1, 1, "i8")


@pytest.mark.parametrize(
    ("dot", "channels", "lanes"),
    [
        (Dot(SINGLES, selects_lane=True), 7, 4),
        (Dot(SINGLES, selects_lane=True), 8, 8),
        (Dot(SINGLES, selects_lane=True), 15, 8),
        (Dot(SINGLES, selects_lane=True), 99, 16),
        (Dot(PAIRS, loads_bytes=True), 7, 4),
        (Dot(PAIRS, loads_bytes=True), 8, 8),
        (Dot(PAIRS, loads_bytes=True), 99, 8),
        (Dot(PAIRS), 99, 4),
    ],
)
def test_several_registers(dot: Dot, channels: int, lanes: int) -> None:
    step = wide_step(target(dot), channels, "i8", signed=True)
    assert (step.lanes, step.vector_lanes) == (lanes, 4)
