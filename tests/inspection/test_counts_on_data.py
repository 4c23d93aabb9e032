"""Sums of given codes that leave a register, at its two ends; and a layer's finding."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.ir import SSAValue

import qlower
from qlower import build
from qlower.dialects import qnn
from qlower.model.build import quantized
from qlower.model.layers import layer_name, layers

LINT: Any = vars(import_module("qlower.inspection.lint"))


def model(*weights: Sequence[int], bias: Any = None) -> tuple[qlower.Model, Any]:
    """A layer of weights, [channel, weight], on whole codes."""
    array = np.array(weights, np.int8)

    def body(x: SSAValue) -> list[SSAValue]:
        w = build.constant(array, quantized(array.shape, 1.0))
        b = None if bias is None else build.constant(bias)
        y = quantized((1, len(array)), 1.0)
        return [qnn.LinearOp(x, w, b, y).results[0]]

    made = build.make_model([quantized((1, array.shape[1]), 1.0)], body)
    (op,) = layers(made.module)
    return made, op


def codes(made: qlower.Model, *rows: Sequence[int]) -> list[dict[str, Any]]:
    (spec,) = made.inputs
    return [{spec.name: np.array([row], np.int8)} for row in rows]


@pytest.mark.parametrize(
    ("row", "start", "out"),
    [
        ([-64, -64], 0, 0),
        ([-64, -64], -1, 1),
        ([64, 63], 0, 0),
        ([64, 63], 1, 1),
        ([64, 64], 0, 1),
        ([0, 0], 128, 1),
        ([0, 0], -128, 0),
    ],
)
def test_sums_at_the_ends_of_a_register(row: list[int], start: int, out: int) -> None:
    """Of 8 bits; the other channel's are zero, and counted, too."""
    made, op = model([1, 1], [0, 0])
    starts = np.array([start, 0])
    count = LINT["_accumulators_on_data"]
    assert count(made, op, starts, 8, codes(made, row)) == (out, 2)
    assert count(made, op, starts, 8, codes(made, row, [0, 0], row)) == (
        2 * out + (start == 128),
        6,
    )
    assert count(made, op, starts, 8, []) is None


def test_pairs_that_saturate() -> None:
    """255 times 127 twice is beyond 16 bits, once isn't."""
    made, op = model([127, 127, 127, 0])
    given = codes(made, [127, 127, 127, 127], [127, -128, 127, 127], [0, 0, 0, 0])
    found = LINT["_pairs_on_data"](made, op, "u8_pairs", given)
    assert found == (1, 3)


def test_counts_of_nothing() -> None:
    counts = LINT["_counts"]
    assert counts([]) is None
    assert counts([np.array([True, False]), np.array([True])]) == (2, 3)


@pytest.mark.parametrize(
    ("least", "most", "found"),
    [
        ([-128, -5], [127, 5], None),
        ([-129, -5], [127, 5], (2, 1, 0, -129, 127)),
        ([-128, -5], [127, 128], (2, 1, 1, -5, 128)),
        ([-130, -200], [127, 130], (2, 2, 1, -200, 130)),
    ],
)
def test_the_worst_channel_is_told(
    least: list[int], most: list[int], found: tuple[int, ...] | None
) -> None:
    _, op = model([1], [1])
    out = LINT["_outside"]((np.array(least), np.array(most)), 8)
    if found is None:
        assert out is None
        return
    width: Any = SimpleNamespace(bits=8, owner="me")
    told = LINT["_finding"](op, "sums", out, width, (3, 4))
    assert tuple(vars(told).values()) == (
        *(layer_name(op), "linear", "sums", *found, 8, (3, 4), "me"),
    )


@pytest.mark.parametrize(
    ("bias", "start"),
    [
        (None, 0),
        (np.array([5, -7], np.int32), [5, -7]),
        (np.array([0.5, 1.0], np.float32), None),
    ],
)
def test_where_sums_start_without_a_contract(bias: Any, start: Any) -> None:
    """At a bias of integers; nothing is known of real ones."""
    _, op = model([1], [1], bias=bias)
    found = LINT["_start"](op, None)
    assert (None if found is None else found.tolist()) == start
