"""Accumulators that show what roundings do, chosen of a few by hand."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.explain.targets import Aim, Coverage, candidates, choose, count
from qlower.interp.values import Array

targets: Any = import_module("qlower.explain.targets")


def ints(values: Any) -> Any:
    return np.array(values, np.int64)


def test_all_accumulators_are_looked_at_where_they_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each channel's own, its last one again where another has more; else some at even
    distances, and those beside edges."""
    low, high, edges = ints([-2, 5]), ints([1, 6]), np.array([[0.5, 99.0]])
    every = [[-2, 5], [-1, 6], [0, 6], [1, 6]]
    monkeypatch.setattr(targets, "FEW_SUMS", 8)
    found, is_all = candidates(low, high, edges)
    assert (found.tolist(), is_all) == (every, True)
    monkeypatch.setattr(targets, "FEW_SUMS", 7)
    monkeypatch.setattr(targets, "SAMPLES", 3)
    low, high = ints([-20, 5]), ints([20, 6])
    found, is_all = candidates(low, high, np.array([[7.5, 99.0], [-99.0, 5.2]]))
    assert is_all is False
    assert found.tolist() == [
        *([-20, 5], [0, 5], [20, 6]),
        *([6, 5], [-20, 5], [7, 6], [-20, 5], [8, 6], [-19, 6], [9, 6], [-18, 6]),
    ]


def lanes(*distances: Any, negative: Any = False) -> Any:
    distance = np.array(distances)
    shape = distance.shape
    rounding = SimpleNamespace(
        name="round", distance=distance, negative=np.broadcast_to(negative, shape)
    )
    low, high = np.zeros(shape, np.bool_), np.ones(shape, np.bool_)
    return SimpleNamespace(roundings=[rounding], low=low, high=high)


def test_cases_of_a_rounding_by_sign() -> None:
    found = lanes(
        [0.0], [-0.1], [0.25], [0.0], negative=[[False], [True], [False], [True]]
    )
    cases = {
        what: (fits.ravel().tolist(), badness.ravel().tolist())
        for what, fits, badness in targets._cases(found)
    }
    far = [0.0, 0.1, 0.25, 0.0]
    no, yes = False, True
    assert cases == {
        "round tie +": ([yes, no, no, no], far),
        "round below +": ([no, no, no, no], far),
        "round above +": ([no, no, yes, no], far),
        "round tie -": ([no, no, no, yes], far),
        "round below -": ([no, yes, no, no], far),
        "round above -": ([no, no, no, no], far),
        "saturates low": ([no] * 4, [0, -1, -2, -3]),
        "saturates high": ([yes] * 4, [0, -1, -2, -3]),
    }


def test_the_nearest_sums_are_chosen_for_each_channel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four at most, where the last one fits; the first again where fewer do."""
    sums = ints([[10, 20], [11, 21], [12, 22], [13, 23], [14, 24], [15, 25]])
    distance = [[0.5, 0.0], [0.1, -1], [0.3, -1], [0.2, -1], [0.4, -1], [0.6, -1]]
    given: list[Any] = []

    def analyse(rule: Any, values: dict[str, Array]) -> Any:
        given.append((rule, values))
        return lanes(*distance)

    monkeypatch.setattr(targets, "analyse", analyse)
    rule: Any = "rule"
    aims = {aim.what: aim for aim in choose(rule, {"shift": np.array(3)}, sums)}
    ((asked, values),) = given
    assert (asked, values["shift"].item()) == ("rule", 3)
    assert values["accumulator"].dtype == np.int32
    assert values["accumulator"].tolist() == sums.tolist()
    above = aims["round above +"]
    assert above.exists.tolist() == [True, False]
    assert above.sums[:, 0].tolist() == [11, 13, 12, 14]
    tie = aims["round tie +"]
    assert tie.exists.tolist() == [False, True]
    assert tie.sums[:, 1].tolist() == [20] * 4
    assert aims["saturates high"].sums[:, 0].tolist() == [15, 14, 13, 12]
    assert not aims["saturates low"].exists.any()
    assert list(aims)[-2:] == ["saturates low", "saturates high"]


def test_channels_in_which_a_target_is_shown() -> None:
    yes = np.array([True, True, False])
    aims = [
        Aim("tie", ints([[1, 2, 3], [4, 5, 6]]), yes),
        Aim("below", ints([[9, 9, 9]]), yes),
        Aim("none", ints([[1, 2, 3]]), np.zeros(3, np.bool_)),
    ]
    shown = np.array([[[4, 7, 3]], [[0, 1, 6]]])
    found = count(aims, shown, True)
    assert (found.channels, found.is_exhaustive) == (3, True)
    assert found.possible == {"tie": 2, "below": 2}
    assert found.shown == {"tie": 1, "below": 0}
    assert found.total == (1, 4)
    assert found.missing == ["tie in 1 channel", "below in 2 channels"]
    assert Coverage(1, False, {"a": 2}, {"a": 2}).missing == []
    assert Coverage(1, False, {"a": 2}).missing == ["a in 2 channels"]
