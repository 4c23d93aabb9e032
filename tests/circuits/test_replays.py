"""Counterexamples of solvers, replayed with a simulator that is played: by the port's
sign, and against the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.circuits.functions import Argument
from qlower.circuits.rtl import verify
from qlower.circuits.rtl.verify import (
    Counterexample,
    FunctionStep,
    LaneVerdict,
    RtlEquality,
)
from qlower.circuits.simulate import Pins
from qlower.diagnostics import QlowerError
from qlower.text.parsing import parse_module

WORK: Any = vars(verify)["_Work"]
TEXT = """func.func @f(%a: i8, %b: i8) -> i8 {
  %sum = arith.addi %a, %b : i8
  return %sum : i8
}"""


def ints(*values: int) -> Any:
    return np.array(values)


def work(*, bits: int = 8, signed: bool = True, latency: int = 0, **of: Any) -> Any:
    """a + b, where b is 1 or 2 by channel."""
    (function,) = parse_module(TEXT).body.block.ops
    arguments = (
        Argument("a", ints(-9), ints(9)),
        Argument("b", ints(1, 2), ints(1, 2), True),
    )
    subject = SimpleNamespace(
        **{"function": function, "arguments": arguments, "selector": "channel"},
        **{"lanes": 2, "title": "layer l", **of.pop("subject", {})},
    )
    output = SimpleNamespace(name="q", bits=bits, is_signed=signed)
    ports = {name: SimpleNamespace(bits=8) for name in ("x", "y", "ch")}
    inputs = of.pop("inputs", {"x": "a", "ch": "channel"})
    binding = SimpleNamespace(inputs=inputs, held={"en": 1}, output=output)
    design = SimpleNamespace(top="top", ports=ports, clock=of.pop("clock", "clk"))
    return WORK(Path("m.sv"), design, binding, subject, latency, 9.0)


@pytest.mark.parametrize(
    ("signed", "found", "shown"),
    [
        *((True, 7, 7), (True, 8, -8), (True, 15, -1), (True, None, None)),
        *((False, 8, 8), (False, 15, 15), (True, 0, 0)),
    ],
)
def test_outputs_have_their_ports_sign(
    signed: bool, found: int | None, shown: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    def simulate(files: Any, top: str, pins: Pins, values: Any) -> list[int | None]:
        calls.append((top, pins, {name: one.tolist() for name, one in values.items()}))
        return [found]

    monkeypatch.setattr(verify, "copy_source", lambda *_: None)
    monkeypatch.setattr(verify, "simulate", simulate)
    own = work(bits=4, signed=signed, latency=3)
    assert own._simulated(1, {"a": 5, "b": 2}) == shown
    ((top, pins, values),) = calls
    assert (top, values) == ("top", {"x": [5], "ch": [1]})
    assert pins == Pins({"x": 8, "ch": 8}, {"en": 1}, "q", 4, "clk", 3)


@pytest.mark.parametrize(
    ("shown", "verdict", "why"),
    [
        (7, "undecided", "the solver's counterexample isn't one in the simulator"),
        (7 + 16, "undecided", "the solver's counterexample isn't one in the simulator"),
        (8, "differs", ""),
        (None, "differs", ""),
        (QlowerError("iverilog is not installed"), "differs", ""),
        (QlowerError("takes too long"), "undecided", "takes too long"),
    ],
)
def test_what_a_replay_shows(
    shown: int | QlowerError | None,
    verdict: str,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numbers that are equal in the output's four bits are no difference."""

    def simulated(*_: object) -> int | None:
        if isinstance(shown, QlowerError):
            raise shown
        return shown

    monkeypatch.setattr(WORK, "_simulated", simulated)
    found = work(bits=4)._replayed(1, {"a": 5, "b": 2}, 0.5)
    steps = (FunctionStep("sum", "arith.addi", 7),)
    number = None if isinstance(shown, QlowerError) else shown
    example = Counterexample({"a": 5, "b": 2}, number, 7, steps)
    expected = None if verdict == "undecided" else example
    assert found == LaneVerdict(1, verdict, 0.5, why, expected)
    assert example.confirmed == (number is not None)


@pytest.mark.parametrize("channel", [-1, 2])
def test_lanes_that_are_not_there(channel: int) -> None:
    with pytest.raises(QlowerError) as caught:
        work().check(channel)
    assert caught.value.message == f"channel {channel} is not in [0, 1]"


CHECKS: list[tuple[dict[str, Any], int | None, str | None]] = [
    ({}, None, None),
    ({}, 0, None),
    ({}, 1, None),
    ({"inputs": {"x": "a"}}, 1, None),
    ({"inputs": {"x": "a", "y": "b"}}, None, None),
    (
        {"inputs": {"x": "a"}},
        None,
        "b of layer l differ from channel to channel, and no port of top is for them",
    ),
    ({"clock": None}, None, None),
    (
        {"clock": None, "latency": 1},
        None,
        "module top has no registers, --latency is 0",
    ),
    ({"latency": 1}, None, None),
    (
        {"bits": 4},
        None,
        "port q of top has 4 bits, the results of layer l in [-128, 127] need 8",
    ),
]


@pytest.mark.parametrize(("given", "channel", "message"), CHECKS)
def test_what_cannot_be_asked(
    given: dict[str, Any], channel: int | None, message: str | None
) -> None:
    own = work(**given)
    if message is None:
        own.check(channel)
        return
    with pytest.raises(QlowerError) as caught:
        own.check(channel)
    assert caught.value.message == message


def test_the_range_of_a_lane() -> None:
    """An argument has one for each, or one for all."""
    range_of: Any = vars(verify)["_range"]
    one, two = Argument("a", ints(-9), ints(9)), Argument("b", ints(1, 2), ints(3, 4))
    assert [range_of(one, lane) for lane in (0, 1)] == [(-9, 9)] * 2
    assert [range_of(two, lane) for lane in (0, 1)] == [(1, 3), (2, 4)]


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        (["equal", "equal"], "equal"),
        (["equal", "undecided"], "undecided"),
        (["undecided", "differs", "equal"], "differs"),
    ],
)
def test_the_verdict_of_all_lanes(verdicts: Sequence[str], verdict: str) -> None:
    lanes = [LaneVerdict(n, one, 0.0) for n, one in enumerate(verdicts)]
    found = RtlEquality("f", "top", "s", "channel", lanes, "z3")
    assert (found.verdict, found.holds) == (verdict, verdict == "equal")
