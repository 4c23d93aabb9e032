"""Timing calls side by side.

On a shared machine the speed changes from second to second, and a call that was made
before another has its data in the cache. So the contestants take turns, in an order
that changes from round to round, and what is compared are their times within a round.

What is timed is the steady state, with calls back to back: a turn begins with calls
that aren't timed, which fill the caches and wake threads (the first call after a pause
may take several times as long, and some runtimes need five calls). With several threads
a pause goes before them: those of some runtimes wait busily after a call, and would
take a core from the next contestant.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import repeat

import numpy as np

SHORTEST_SECONDS = 5e-4
"""A contestant's turn is as many calls as take about this long."""

_WARM_SECONDS = 5e-3
_WARM_CALLS = 3
"""A turn begins with at least these calls and seconds, which aren't counted."""

_THREADS_WARM_SECONDS = 0.03
"""Seconds that several threads run before a turn is measured: one that wakes may run
on the core of the one that woke it, and the system takes up to 20 milliseconds to
move it to a core of its own."""

_THREADS_SETTLE_SECONDS = 0.02
"""After which the waiting threads of the contestant before no longer occupy a core."""


@dataclass(frozen=True)
class Spread:
    """The median and the quartiles of some numbers."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Spread:
        low, median, high = (float(np.quantile(values, q)) for q in (0.25, 0.5, 0.75))
        return Spread(median, low, high)


@dataclass(frozen=True)
class Timings:
    """Microseconds a call of each contestant, one for each round."""

    rounds: Mapping[str, np.ndarray[tuple[int], np.dtype[np.float64]]]

    def time(self, name: str) -> Spread:
        return Spread.of(self.rounds[name])

    def ratio(self, name: str, base: str) -> Spread:
        """The time of `name` over that of `base` in the same round."""
        return Spread.of(self.rounds[name] / self.rounds[base])


def interleave(
    calls: Mapping[str, Callable[[], object]], rounds: int, *, threads: int = 1
) -> Timings:
    """The times of the calls; each may use its number of threads."""
    warm_seconds = _THREADS_WARM_SECONDS if threads > 1 else _WARM_SECONDS
    repeats = {name: _repeats(call) for name, call in calls.items()}
    names = list(calls)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            if threads > 1:
                time.sleep(_THREADS_SETTLE_SECONDS)
            _warm(calls[name], warm_seconds)
            taken[name].append(_seconds(calls[name], repeats[name]) * 1e6)
    return Timings({name: np.array(values) for name, values in taken.items()})


def _warm(call: Callable[[], object], seconds: float = _WARM_SECONDS) -> None:
    start = time.perf_counter()
    count = 0
    while count < _WARM_CALLS or time.perf_counter() - start < seconds:
        call()
        count += 1


def _repeats(call: Callable[[], object]) -> int:
    _warm(call)
    count = 1
    while (total := _seconds(call, count) * count) < SHORTEST_SECONDS / 4:
        count *= 4
    return max(1, math.ceil(count * SHORTEST_SECONDS / total))


def _seconds(call: Callable[[], object], count: int) -> float:
    """Seconds a call, of `count` calls."""
    start = time.perf_counter()
    for _ in repeat(None, count):
        call()
    return (time.perf_counter() - start) / count
