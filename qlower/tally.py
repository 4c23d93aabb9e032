"""Counts of a pass while it runs, and a limit to its rewrites.

    count("nests merged")                  anywhere in a pass
    with timed_layer(op): ...              time that is one layer's
    rewrites = Rewrites("merged", limit)   if rewrites.allow(op): rewrite

Code that applies passes collects it: `with tallied() as tally`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from xdsl.ir import Operation

from qlower.diagnostics import LOGGER
from qlower.model.layers import is_constant, is_layer, layer_title
from qlower.process.ambient import Ambient


@dataclass(eq=False)
class Tally:
    """The numbers that a pass has counted, by what they are of; the seconds that it
    spent on each layer; and the layer of each rewrite, in order."""

    counts: Counter[str] = field(default_factory=Counter[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    rewrites: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return ", ".join(f"{number} {what}" for what, number in self.counts.items())


_TALLY: Ambient[Tally | None] = Ambient("tally", None)


@contextmanager
def tallied() -> Generator[Tally]:
    """Collect the counts of passes while the block runs; an enclosing block counts
    them, too."""
    tally, outer = Tally(), _TALLY.get()
    try:
        with _TALLY.within(tally):
            yield tally
    finally:
        if outer is not None:
            outer.counts.update(tally.counts)


def count(what: str, number: int = 1) -> None:
    """Add to a number, which has a name in the plural: `nests merged`."""
    tally = _TALLY.get()
    if tally is not None and number:
        tally.counts[what] += number


@contextmanager
def timed_layer(*ops: Operation) -> Generator[None]:
    """The time of the block is spent on the layers of operations, equally: that of a
    constant on those that read it."""
    tally = _TALLY.get()
    if tally is None:
        yield
        return
    start = perf_counter()
    try:
        yield
    finally:
        seconds = perf_counter() - start
        readers = [reader for op in ops for reader in _readers(op)]
        for op in readers:
            layer = layer_title(op) or op.name
            spent = tally.seconds.get(layer, 0.0)
            tally.seconds[layer] = spent + seconds / len(readers)


def _readers(op: Operation) -> Sequence[Operation]:
    """The operation, if it is no constant, or the layers that a constant is for."""
    if not is_constant(op):
        return [op]
    uses = (use for result in op.results for use in result.uses)
    return [use.operation for use in uses if is_layer(use.operation)]


class Rewrites:
    """The rewrites of one run of a pass, counted as `what`.

    With a limit, only that many are done, from the first on: a wrong one is found by
    halving.
    """

    def __init__(self, what: str, limit: int | None) -> None:
        self._what = what
        self._left = limit

    def allow(self, op: Operation) -> bool:
        """Whether the next rewrite, which is of `op`, is done; it is counted then."""
        if self._left is not None:
            if self._left <= 0:
                return False
            self._left -= 1
        tally = _TALLY.get()
        if tally is not None:
            layer = layer_title(op) or op.name
            tally.rewrites.append(layer)
            tally.counts[self._what] += 1
            LOGGER.debug("%s: %s", self._what, layer)
        return True
