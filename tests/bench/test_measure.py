"""What is timed and how often, by a clock that the calls move on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from qlower.bench import kernels
from qlower.bench.measure import Spread, interleave
from qlower.codegen.llvm.function import Function
from qlower.codegen.targets.resolve import host_target


class Clock:
    """Calls that take given seconds, in the order in which they are made, and the
    pauses between them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.order: list[str] = []
        self.pauses: list[float] = []
        monkeypatch.setattr("time.perf_counter", lambda: self.now)
        monkeypatch.setattr("time.sleep", self.pauses.append)

    def call(self, name: str, seconds: float) -> Callable[[], None]:
        def moved() -> None:
            self.now += seconds
            self.order.append(name)

        return moved


def turns(order: list[str]) -> list[tuple[str, int]]:
    """Names with the number of calls in a row."""
    found: list[tuple[str, int]] = []
    for name in order:
        if found and found[-1][0] == name:
            found[-1] = name, found[-1][1] + 1
        else:
            found.append((name, 1))
    return found


@pytest.mark.parametrize(("threads", "warm"), [(1, (21, 6)), (2, (123, 31))])
def test_a_turn_is_warmed_and_then_timed(
    threads: int, warm: tuple[int, int], monkeypatch: pytest.MonkeyPatch
):
    """Calls of 1/4096 and 1/1024 s. Warm are the first that reach 5 ms, or 30 ms with
    several threads; a turn is the first calls that reach 0.5 ms: 3 and 1."""
    clock = Clock(monkeypatch)
    calls = {"a": clock.call("a", 2**-12), "b": clock.call("b", 2**-10)}
    timings = interleave(calls, 3, threads=threads)
    first, second = warm[0] + 3, warm[1] + 1
    # at first 5 ms of each, and one call that shows how many are needed
    opening = [("a", 21 + 1), ("b", 6 + 1)]
    rounds = [("a", first), ("b", 2 * second), ("a", 2 * first), ("b", second)]
    assert turns(clock.order) == opening + rounds
    assert clock.pauses == [0.02] * (6 if threads > 1 else 0)
    assert timings.rounds["a"].tolist() == [1e6 * 2**-12] * 3


@pytest.mark.parametrize(
    ("seconds", "repeats"),
    [(1.0, 1), (2**-11, 2), (2**-13, 5), (2**-14, 9), (2**-20, 525)],
)
def test_a_turn_takes_half_a_millisecond(
    seconds: float, repeats: int, monkeypatch: pytest.MonkeyPatch
):
    """5e-4 s over the time of a call, rounded up; 3 calls at least are warm."""
    clock = Clock(monkeypatch)
    interleave({"a": clock.call("a", seconds)}, 1)
    warm = max(3, int(np.ceil(5e-3 / seconds)))
    probed, total = 1, 1
    while probed * seconds < 1.25e-4:
        probed *= 4
        total += probed
    assert len(clock.order) == 2 * warm + total + repeats


def test_a_spread_has_the_quartiles():
    assert Spread.of(np.array([1.0, 2.0, 3.0, 4.0, 9.0])) == Spread(3.0, 2.0, 4.0)


def test_the_least_time_of_a_kernel_counts(monkeypatch: pytest.MonkeyPatch):
    """Of three calls, each from one look at the clock to the next."""
    looks = iter([0.0, 5.0, 10.0, 12.0, 20.0, 23.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(looks))

    def emit(f: Function) -> int:
        return 64

    assert kernels.least_seconds(host_target(), emit, 3) == 2.0
    assert next(looks, None) is None
