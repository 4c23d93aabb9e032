"""The intervals in which rules differ that have a sum of some element's weights."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from verification.test_questions import operation

from qlower.interp import InterpretationError
from qlower.verification import possible
from qlower.verification.possible import apart, possible_differences, shared_factor

ROWS = np.array([[4, -6, 0], [3, 9, 6], [0, 0, 0], [4, -6, 0]])


def question(of: Any, rows: Any = ROWS, **more: Any) -> Any:
    lanes = SimpleNamespace(of=np.array(of))
    return SimpleNamespace(rows=rows, lanes=lanes, **more)


@pytest.mark.parametrize(
    ("of", "lane", "factor"),
    [
        ([[[0, 1, 2, 0]]], 0, 2),
        ([[[0, 1, 2, 0]]], 1, 3),
        ([[[0, 1, 2, 0]]], 2, 1),  # zeros alone
        ([[[0, 1, 0, 0]]], 0, 2),
        ([[[0, 0, 0, 0]]], 0, 1),
        ([[[5]]], 5, 1),  # all channels alike
        ([[[0, 0, 0, 0]], [[0, 1, 0, 0]]], 1, 3),
    ],
)
def test_factors_of_all_numbers(of: Any, lane: int, factor: int) -> None:
    assert shared_factor(question(of), lane) == factor
    assert shared_factor(question(of, None), lane) == 1
    assert shared_factor(question([[[0, 1]]], ROWS[:2]), 1) == 3
    assert shared_factor(question([[[5]]], 6 * ROWS[:, :1]), 5) == 6


def pieces(name: str) -> Any:
    return SimpleNamespace(apart=lambda other, high: (name, other, high))


@pytest.mark.parametrize(
    ("found", "is_known"),
    [
        ({"a": "too wide", "b": pieces("b")}, False),
        ({"a": pieces("a"), "b": "too wide"}, False),
        ({"a": InterpretationError("no"), "b": pieces("b")}, False),
        ({"a": pieces("a"), "b": InterpretationError("no")}, False),
        ({"a": pieces("a"), "b": pieces("b")}, True),
    ],
)
def test_where_rules_differ(
    found: Mapping[str, Any], is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nowhere that is known if either rule isn't a function of steps."""

    def pieces_of(function: str, of: object, bits: int) -> Any:
        assert (of, bits) == (domain, 32)
        if isinstance(found[function], InterpretationError):
            raise found[function]
        return found[function]

    monkeypatch.setattr(possible, "pieces_of", pieces_of)
    domain = SimpleNamespace(high="high")
    asked = question([[[0]]], functions=("a", "b"), domain=domain)
    assert apart(asked) == (("a", found["b"], "high") if is_known else None)


WEIGHTS = "!w = !quant.uniform<i8:f32, 5.000000e-01>\n"
CONV = (
    "qnn.conv2d %a, %w {{stride = [1, 1], pad = [{}], dilation = [1, 1]}} : "
    "(tensor<1x3x3x1x!x>, tensor<4x2x2x1x!w>) -> {}"
)
LINEAR = "qnn.linear %a, %w : (tensor<1x3x!u>, tensor<4x3x!w>) -> tensor<1x4x!x>"


def conv(pad: str, result: str) -> Any:
    types = "%a: tensor<1x3x3x1x!x>, %w: tensor<4x2x2x1x!w>"
    return operation(types, CONV.format(pad, result), result, WEIGHTS)


LAYERS = {
    "plain": (conv("0, 0, 0, 0", "tensor<1x2x2x4x!x>"), (-131, 124), False),
    "padded": (conv("0, 1, 0, 0", "tensor<1x3x2x4x!x>"), (-131, 124), True),
    "linear": (
        operation(
            "%a: tensor<1x3x!u>, %w: tensor<4x3x!w>", LINEAR, "tensor<1x4x!x>", WEIGHTS
        ),
        (-128, 127),
        False,
    ),
}
INTERVALS = np.array([[0, 1, 9], [1, -22, -20], [0, -5, 5], [1, 30, 30]])
"""Lane, first and last number."""


@pytest.mark.parametrize("name", LAYERS)
def test_intervals_with_a_sum(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest first; elements of equal weights are one, the last of them."""
    op, ends, with_zero = LAYERS[name]
    asked: list[Any] = []

    def are_sums(weights: Any, *given: Any, **more: Any) -> Any:
        intervals = given[1]
        asked.append((weights.tolist(), given[0], intervals.tolist(), more))
        return (intervals[:, 0] != 30) & (weights.any() | (intervals[:, 0] < 0))

    monkeypatch.setattr(possible, "apart", lambda _: INTERVALS)
    monkeypatch.setattr(possible, "are_sums", are_sums)
    of = [[[0, 1, 0, 0]]]
    run: Any = SimpleNamespace(op=op)
    assert possible_differences(question(of), run) == [
        *(((0, 0, 3), -5, 5), ((0, 0, 2), -5, 5)),
        *(((0, 0, 3), 1, 9), ((0, 0, 1), -22, -20)),
    ]
    more = {"with_zero": with_zero}
    assert asked == [
        ([4, -6, 0], ends, [[1, 9], [-5, 5]], more),
        ([0, 0, 0], ends, [[1, 9], [-5, 5]], more),
        ([3, 9, 6], ends, [[-22, -20], [30, 30]], more),
    ]
    # One lane for all channels: an element for each that has other weights.
    asked.clear()
    monkeypatch.setattr(possible, "apart", lambda _: np.array([[7, 0, 1]]))
    found = possible_differences(question([[[7]], [[7]]]), run)
    assert found == [((0, 0, 3), 0, 1), ((0, 0, 1), 0, 1)]
    assert len(asked) == 3


def test_what_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    run: Any = SimpleNamespace(op=LAYERS["plain"][0])
    assert possible_differences(question([[[0]]], None), run) is None
    monkeypatch.setattr(possible, "apart", lambda _: None)
    assert possible_differences(question([[[0]]]), run) is None
    monkeypatch.setattr(possible, "apart", lambda _: INTERVALS[:0])
    assert possible_differences(question([[[0]]]), run) == []
