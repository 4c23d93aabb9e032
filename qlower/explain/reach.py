"""Inputs of a contraction that give chosen accumulators."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


ATTEMPTS = 12
"""Beginnings that are tried: with nothing, then with drawn inputs."""


def inputs_for(
    weights: Integers, sums: Integers, low: int, high: int
) -> tuple[Integers, NDArray[np.bool_]]:
    """Inputs in [low, high] whose products with the weights have the given sums.

    The result has a row for each sum, and a flag for each that it is met. Large weights
    are used first; the remainder is met by two small ones without a common divisor, for
    which every input is tried. Where that fails, other beginnings and other pairs are
    tried; a sum may be missed though there are inputs for it.
    """
    random = np.random.default_rng(0)
    taps = [int(tap) for tap in np.argsort(-np.abs(weights), kind="stable")]
    taps = [tap for tap in taps if weights[tap]]
    pairs = list(itertools.islice(_pairs(weights, taps[::-1]), ATTEMPTS))
    start = min(max(0, low), high)
    best = np.full((len(sums), len(weights)), start, np.int64)
    met = best @ weights == sums
    for attempt in range(ATTEMPTS if taps else 0):
        open_rows = np.flatnonzero(~met)
        inputs = np.full((len(open_rows), len(weights)), start, np.int64)
        if attempt:
            inputs[:] = random.integers(low, high, inputs.shape, endpoint=True)
        last = pairs[attempt % len(pairs)] if pairs else (taps[-1],)
        _approach(weights, inputs, sums[open_rows], taps, last, low, high)
        best[open_rows] = inputs
        met[open_rows] = inputs @ weights == sums[open_rows]
    return best, met


def _pairs(weights: Integers, small: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Pairs of weights without a common divisor, the smallest first."""
    for place, tap in enumerate(small):
        for other in small[:place]:
            if gcd(int(weights[tap]), int(weights[other])) == 1:
                yield tap, other


def _approach(
    weights: Integers,
    inputs: Integers,
    sums: Integers,
    taps: Sequence[int],
    last: Sequence[int],
    low: int,
    high: int,
) -> None:
    """Change inputs until their products have the sums, as far as that succeeds."""
    rest = sums - inputs @ weights
    for tap in taps:
        if tap in last:
            continue
        wanted = inputs[:, tap] + np.rint(rest / weights[tap]).astype(np.int64)
        chosen = np.clip(wanted, low, high)
        rest -= (chosen - inputs[:, tap]) * weights[tap]
        inputs[:, tap] = chosen
    _finish(weights, inputs, rest, last, low, high)


def _finish(
    weights: Integers,
    inputs: Integers,
    rest: Integers,
    last: Sequence[int],
    low: int,
    high: int,
) -> None:
    """Set the last one or two inputs so that nothing is left, where that can be."""
    *others, tap = last
    rest = rest + inputs[:, list(last)] @ weights[list(last)]
    codes = np.arange(low, high + 1)
    tried = codes * weights[others[0]] if others else np.zeros(1, np.int64)
    left = rest[:, None] - tried
    quotient = np.clip(np.rint(left / weights[tap]).astype(np.int64), low, high)
    misses = np.abs(left - quotient * weights[tap])
    best = np.argmin(misses, axis=1)
    rows = np.arange(len(rest))
    inputs[:, tap] = quotient[rows, best]
    if others:
        inputs[:, others[0]] = codes[best]
