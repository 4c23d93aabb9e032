"""Which elements of a layer the page shows, and why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, f32

from qlower.contracts import load_contract
from qlower.model.build import quantized
from qlower.model.signature import Array
from qlower.observe.layer_run import Evaluation
from qlower.report.elements import choose_elements, cut_of, lanes_of
from qlower.report.measures import Cut

RESULT = np.array([[[4, 9], [7, 0]], [[3, 3], [9, 5]], [[1, 2], [6, 8]]], np.int8)
"""[3, 2, 2]: the least at (0, 1, 1), the greatest first at (0, 0, 1)."""


def run(result: Array = RESULT, type: Any = None) -> Any:
    held = SimpleNamespace(type=type or quantized(result.shape, 0.5, 4))
    op = SimpleNamespace(results=[held])
    return SimpleNamespace(result=result, evaluations=[1], op=op)


def lanes(distances: list[Array]) -> Any:
    roundings = [
        SimpleNamespace(name=f"r{n}", distance=one) for n, one in enumerate(distances)
    ]
    low, high = np.zeros(RESULT.shape, bool), np.zeros(RESULT.shape, bool)
    low[1, 0], high[2, 1, 1] = True, True
    return SimpleNamespace(roundings=roundings, low=low, high=high)


def test_a_rule_of_steps_has_no_lanes() -> None:
    """A real average: its sum is no value of the evaluation."""
    count = {"count": np.full((3, 2, 2), 4)}
    last: Any = Evaluation(
        load_contract("pytorch-inductor").rule("real_average_pool"), count
    )
    held: Any = SimpleNamespace(evaluations=[last], result=np.zeros((3, 2, 2), "f4"))
    assert lanes_of(held) is None


def shown(*given: Any) -> dict[tuple[int, ...], tuple[str, ...]]:
    return {one.index: one.why for one in choose_elements(*given)}


def test_extremes_and_channels_in_the_middle() -> None:
    assert shown(run(), None, None, 4) == {
        **{(0, 1, 1): ("least",), (0, 0, 1): ("greatest",)},
        **{(0, 1, 0): ("channel 0",), (0, 1, 1): ("least", "channel 1")},
    }
    assert shown(run(), None, None, 3) == {
        **{(0, 1, 1): ("least",), (0, 0, 1): ("greatest",), (0, 1, 0): ("channel 0",)},
    }
    every = shown(run(), None, None, 12)
    assert len(every) == 12
    assert every[0, 0, 0] == ("any",)
    assert every[0, 1, 1] == ("least", "any")
    nothing: Any = SimpleNamespace(evaluations=[])
    assert choose_elements(nothing, None, None, 9) == []
    scalar = run(np.array(3, np.int8))
    assert shown(scalar, None, None, 0) == {}


def test_differences_and_ties_come_first() -> None:
    """The first of five roundings that have a finite distance; what is found when there
    is no room is left, but another reason of a shown element is said."""
    apart = np.zeros(RESULT.shape)
    apart[0, 1, 0], apart[2, 0, 0] = -1, -3
    distance = np.full(RESULT.shape, 0.5)
    distance[1, 1, 0], distance[2, 0, 1] = -0.25, np.nan
    tie = np.full(RESULT.shape, 0.5)
    tie[0, 1, 0] = 0
    infinite = np.full(RESULT.shape, np.inf)
    given = lanes([distance, tie, infinite, distance, tie])
    assert shown(run(), given, apart, 5) == {
        (0, 1, 0): ("first that differs", "a tie of r1"),
        (2, 0, 0): ("differs the most",),
        (1, 1, 0): ("nearest to a tie of r0", "nearest to a tie of r3"),
        **{(0, 1, 1): ("least",), (0, 0, 1): ("greatest",)},
    }
    ends = shown(run(), given, None, 6)
    assert ends[1, 0, 0] == ("cut at the low end",)
    assert ends[2, 1, 1] == ("cut at the high end",)


def test_what_a_rule_cuts() -> None:
    """Of three that are cut below or above, none is the zero point, 4; then two are."""
    given = lanes([])
    assert cut_of(run(), given) == Cut(12, 2, 1, 0)
    zeros = RESULT.copy()
    zeros[1, 0], zeros[2, 1, 1] = 4, 4
    assert cut_of(run(zeros), given) == Cut(12, 2, 1, 2)
    assert cut_of(run(), None) is None
    real = run(type=TensorType(f32, RESULT.shape))
    assert cut_of(real, given) is None
