"""The first line of an element by both sides: where it is, and what it is."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("axes", "runs", "exact", "head"),
    [
        ("", 1, None, "conv[0,1]: 5 | 6"),
        ("nc", 1, None, "conv[0,1] [n,c]: 5 | 6"),
        ("", 3, None, "conv[0,1] of input 2: 5 | 6"),
        ("nc", 3, Fraction(11, 2), "conv[0,1] [n,c] of input 2: 5 | 6 | exact 5.5"),
    ],
)
def test_where_and_what(
    axes: str, runs: int, exact: Fraction | None, head: str
) -> None:
    trace = SimpleNamespace(exact=exact, chains=(1,), path="5.5 -> 5")
    chain: Any = SimpleNamespace(
        **{"place": "conv[0,1]", "run": 2, "axes": axes, "pairs": (1,)},
        values=(np.int8(5), np.int8(6)),
        traces=(trace, None),
    )
    diff: Any = SimpleNamespace(a="tflite", b="tvm", runs=runs)
    lines = vars(import_module("qlower.explain.diff_result"))["_chain_head"]
    assert list(lines(diff, chain)) == [
        head,
        "  tflite  5.5 -> 5",
        "  tvm     is not computed here, so its steps are not known",
    ]
