"""A staircase as a rounded line: round(scale * x + offset), computed in float32.

Rounded to the nearest integer, a line reaches a level where it passes the level less
1/2. So with q the last x below a step, and t = level - 1/2,

    offset + scale * q < t < offset + scale * (q + 1)

for all steps. For a given scale that is an interval of offsets: below the least
t - scale * q, above the greatest t - scale * (q + 1). The former is a minimum of
functions that are linear in the scale, the latter a maximum, so that the gap between
them is concave, and piecewise linear. The best scale has the widest gap, which leaves
the most room for the errors of float32.

Nothing here is believed: a pair is found in float64, it and its neighbours in float32
are run in the interpreter at all points that decide (steps.py), and mistakes that are
left become exceptions or the line's end. A poor search costs speed, no bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qlower.transforms.prove_epilogues.forms import (
    Doubles,
    Form,
    Kind,
    Lines,
    Singles,
)
from qlower.transforms.prove_epilogues.steps import Integers, SeenSteps, Steps

HOPELESS = 12
"""Points of a channel where a line is wrong, beyond which no neighbour is tried."""

_NEAR = 32
"""Points of a channel at which neighbours are compared: more than may be wrong."""

_BLOCK = 256
"""Channels whose points are looked at in one step: enough that calls cost little."""

_FEW = 4
"""Channels of each of several that are looked at first: often these have no lines."""

_TOGETHER = 1024
"""Channels whose lines are looked for together: if these have none, no others have."""

_LIMIT = 2.0**30
"""The bound of the real number that is rounded to an i32, and then shifted a little."""

_SCALE_STEPS = (0, 1, -1, 2, -2, 3, -3)
"""The scales in float32 that are tried, as their distance from the best one."""

_PARTS = np.array([[0.5], [0.25], [0.75], [0.0], [1.0]])
"""Where in the gap of the best scale an offset is tried."""

_ROUNDS = 40
"""The most rounds of looking for the best scale; about seven are needed."""

_LEFT_OUT = 0.75
"""The part of the channels that is worth being looked at without the others."""

_NEGLIGIBLE = 2.0**-40
"""The change of a scale, in relation to it, that a float32 can't hold by far."""


def fit_lines(forms: Sequence[Form], steps: Sequence[SeenSteps]) -> list[Lines | None]:
    """For each of some steps, with as many columns and a form of the same kind, lines
    that are wrong at few of the points around the steps; None if at many.

    None of their operations wraps or saturates: the lines are non-decreasing.
    """
    hopeful = list(range(len(steps)))
    if len(steps) > 1:
        few = [some.of(slice(None, None, len(some.low) // _FEW + 1)) for some in steps]
        hopeful = [own for own, lines in enumerate(_fit_all(forms, few)) if lines]
    found: list[Lines | None] = [None] * len(steps)
    if hopeful:
        some = [forms[own] for own in hopeful], [steps[own] for own in hopeful]
        for own, lines in zip(hopeful, _fit_all(*some), strict=True):
            found[own] = lines
    return found


def _fit_all(forms: Sequence[Form], steps: Sequence[SeenSteps]) -> list[Lines | None]:
    """`fit_lines` by a look at all channels."""
    counts = [len(some.low) for some in steps]
    owners = np.repeat(np.arange(len(steps)), counts)
    integers = np.array([form.integers for form in forms], np.int32)[owners]
    shift = np.array([form.shift for form in forms])[owners]
    found: list[_Fit] = []
    for part in SeenSteps.joined(steps).parts(_TOGETHER):
        some = slice(len(found) * _TOGETHER, len(found) * _TOGETHER + len(part.low))
        kinds = _Forms(forms[0].kind, integers[some], shift[some])
        fit = _fit(kinds, part, owners[some])
        found.append(fit)
        if not np.any(fit.fits):
            break
    fits, scale, offset, wrong = map(np.concatenate, zip(*found, strict=True))
    last = np.cumsum(counts)
    return [
        Lines(form, (scale[own], offset[own]), wrong[own])
        if own.stop <= len(fits) and np.all(fits[own])
        else None
        for form, own in zip(forms, map(slice, last - counts, last), strict=True)
    ]


def best_scale(steps: SeenSteps, *, odd: bool, middle: int) -> Doubles:
    """The slope of each channel's line, in float64, that leaves the most room: of a
    line that is odd around the value `middle`, if it is."""
    kind, channels = Kind(fused=False, odd=odd, shifted=odd), len(steps.low)
    shift = np.full(channels, middle if odd else 0)
    forms = _Forms(kind, np.zeros((channels, 0), np.int32), shift)
    return _crossings(forms, steps).best_scale(*_scale_bounds(steps))


class _Fit(NamedTuple):
    """Lines, and which of them will do, each of [channel]."""

    fits: NDArray[np.bool_]
    scale: Singles
    offset: Singles
    wrong: Integers


@dataclass(frozen=True)
class _Forms:
    """Forms of one kind: integers [channel, any] and the shift [channel]."""

    kind: Kind
    integers: NDArray[np.int32]
    shift: Integers

    def of(self, rows: Integers) -> _Forms:
        """The part for some channels."""
        return _Forms(self.kind, self.integers[rows], self.shift[rows])

    def differs(
        self, scale: Singles, offset: Singles, x: Integers, value: Integers
    ) -> NDArray[np.bool_]:
        """A mask of the points at which lines, one or more for each row of points, miss
        the values."""
        lanes = [column[:, np.newaxis] for column in self.integers.T]
        single = scale[..., np.newaxis], offset[..., np.newaxis]
        return self.kind.values(*single, x, lanes) != value


def _fit(forms: _Forms, steps: SeenSteps, owners: Integers) -> _Fit:
    """`fit_lines` for few channels, whose line is none if one of their owner's is."""
    x, value = steps.points
    crossings = _crossings(forms, steps)
    best = crossings.best_scale(*_scale_bounds(steps))
    scale, offset = (pair.copy() for pair in crossings.singles(best, 0, 0.5))
    is_wrong = np.concatenate(
        [
            forms.of(some).differs(scale[some], offset[some], x[some], value[some])
            for some in np.array_split(np.arange(len(x)), len(x) // _BLOCK + 1)
        ]
    )
    mistakes = np.count_nonzero(is_wrong, axis=1)
    fits = ~np.isin(owners, owners[mistakes > HOPELESS])
    rows = np.flatnonzero(fits & (mistakes > 0))
    if len(rows):
        pair = scale[rows], offset[rows]
        columns = _near_points(forms.kind, *pair, x[rows], is_wrong[rows])
        forms = forms.of(rows)
        x, value = x[rows], value[rows]
        near = (np.take_along_axis(points, columns, 1) for points in (x, value))
        pair = _neighbours(
            forms, crossings.of(rows), best[rows], pair, mistakes[rows], *near
        )
        is_new = (pair[0] != scale[rows]) | (pair[1] != offset[rows])
        changed, (scales, offsets) = np.flatnonzero(is_new), pair
        pair = scales[changed], offsets[changed]
        wrong = forms.of(changed).differs(*pair, x[changed], value[changed])
        left, rows = np.count_nonzero(wrong, axis=1), rows[changed]
        better = left < mistakes[rows]
        for old, new in zip((scale, offset, mistakes), (*pair, left), strict=True):
            old[rows[better]] = new[better]
    # With a scale of 0 or more the line is non-decreasing, and below the limit nothing
    # saturates or wraps: what the lemma of points (steps.py) asks of a function.
    reach = np.maximum(-steps.low.astype(float), steps.high)
    fits &= (scale >= 0) & (scale * reach + np.abs(offset) < _LIMIT)
    return _Fit(fits, scale, offset, mistakes)


def _near_points(
    kind: Kind,
    scale: Singles,
    offset: Singles,
    x: Integers,
    is_wrong: NDArray[np.bool_],
) -> Integers:
    """The points of each row that decide between nearly equal lines: those where this
    one is wrong, and then those where it comes closest to rounding differently."""
    start = offset[:, np.newaxis].astype(np.float64)
    if kind.odd:
        start = np.copysign(start, x)
    real = scale[:, np.newaxis] * x + start
    distance = np.abs(real - np.floor(real) - 0.5)
    distance[is_wrong] = -1
    count = min(_NEAR, x.shape[1])
    return np.argpartition(distance, count - 1, axis=1)[:, :count]


def _neighbours(
    forms: _Forms,
    crossings: _Crossings,
    best: Doubles,
    pair: tuple[Singles, Singles],
    mistakes: Integers,
    x: Integers,
    value: Integers,
) -> tuple[Singles, Singles]:
    """The pair of scale and offset with the fewest mistakes at x, among a pair and its
    neighbours."""
    near = (crossings.singles(best, step, _PARTS) for step in _SCALE_STEPS)
    scales, offsets = map(np.concatenate, zip(*near, strict=True))
    differs = forms.differs(scales, offsets, x, value)
    tried = np.count_nonzero(differs, axis=-1)
    choice = tried.argmin(axis=0), np.arange(len(best))
    better = tried[choice] < mistakes
    scale, offset = (
        np.where(better, new[choice], old)
        for new, old in zip((scales, offsets), pair, strict=True)
    )
    return scale, offset


@dataclass(frozen=True)
class _Crossings:
    """t - scale * (q + 1) < offset < t - scale * q for all columns of a channel."""

    t: Doubles
    q: Doubles

    def of(self, rows: Integers) -> _Crossings:
        """Some of the channels, in order."""
        if len(rows) == len(self.t):
            return self
        return _Crossings(self.t[rows], self.q[rows])

    def at(self, scale: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """The bounds of the offset, and the slope of the gap between them."""
        upper = scale[:, np.newaxis] * self.q
        np.subtract(self.t, upper, out=upper)
        # upper[i] = t[i] - scale * q[i]. The offset lies below the least of them, and
        # above the greatest less the scale, as t - scale * (q + 1) = upper - scale.
        rows = np.arange(len(scale))
        greatest, least = upper.argmax(axis=1), upper.argmin(axis=1)
        slope = 1 + self.q[rows, greatest] - self.q[rows, least]
        return upper[rows, greatest] - scale, upper[rows, least], slope

    def best_scale(self, left: Doubles, right: Doubles) -> Doubles:
        """The scale in left ... right with the widest gap, a concave function of it.

        A concave function lies below the lines that touch it. Of two, one touching left
        of its maximum and one right, the maximum lies between the points where they
        touch; the next scale to look at is where the lines meet. As there are finitely
        many lines, both touch at the maximum in the end.
        """
        low, high, left_slope = self.at(left)
        left_gap = high - low
        low, high, right_slope = self.at(right)
        right_gap = high - low
        scale = np.where(left_slope <= 0, left, right)
        rows = np.flatnonzero((left_slope > 0) & (right_slope < 0))
        some = self.of(rows)
        for _ in range(_ROUNDS):
            if not len(rows):
                break
            a, b = left_slope[rows], right_slope[rows]
            rise = right_gap[rows] - b * right[rows] - left_gap[rows] + a * left[rows]
            before = scale[rows]
            scale[rows] = meet = rise / (a - b)
            low, high, slope = some.at(meet)
            up, down = rows[slope > 0], rows[slope < 0]
            left[up], right[down] = scale[up], scale[down]
            gap = high - low
            left_gap[up], right_gap[down] = gap[slope > 0], gap[slope < 0]
            left_slope[up], right_slope[down] = slope[slope > 0], slope[slope < 0]
            # at the maximum both lines touch at the same scale, but for rounding
            closer = (slope != 0) & (left[rows] < right[rows])
            closer &= (slope != a) & (slope != b)
            closer &= np.abs(meet - before) > _NEGLIGIBLE * meet
            if np.count_nonzero(closer) < _LEFT_OUT * len(rows):
                rows, some = rows[closer], some.of(np.flatnonzero(closer))
        return scale

    def singles(
        self, scale: Doubles, scale_step: int, part: Doubles | float
    ) -> tuple[Singles, Singles]:
        """Pairs in float32: a few numbers from the scale, `part` up the gap there."""
        single = scale.astype(np.float32)
        for _ in range(abs(scale_step)):
            single = np.nextafter(single, np.float32(np.copysign(np.inf, scale_step)))
        low, high, _ = self.at(single.astype(np.float64))
        offset = (low + part * (high - low)).astype(np.float32)
        return np.broadcast_to(single, offset.shape), offset


def _crossings(forms: _Forms, steps: Steps) -> _Crossings:
    shift = forms.shift[:, np.newaxis]
    t = steps.levels - (shift + 0.5)
    q = steps.places - 1.0
    if forms.kind.odd:  # the image of a step says the same
        negative = steps.places <= 0
        np.negative(t, out=t, where=negative)
        np.negative(steps.places, out=q, where=negative)
    # a column that is none repeats the first; a channel without steps is a constant
    if not steps.valid.all():
        none = ~steps.valid
        constant = steps.bottom == steps.top
        for column in (t, q):
            np.copyto(column, column[:, :1], where=none)
        t[constant] = (steps.bottom[:, np.newaxis] - shift)[constant]
        q[constant] = 0
    return _Crossings(t, q)


def _scale_bounds(steps: Steps) -> tuple[Doubles, Doubles]:
    """Bounds on the slope by the distance between the first and the last step.

    An offset with the sign of x adds a jump at zero, of up to a level.
    """
    # Between the first and the last of `rises` steps, `width` apart, the line climbs by
    # rises - 1, give or take one accumulator at each of them; a jump at zero takes one
    # level away from the least.
    rises = steps.top - steps.bottom
    ends = np.stack([np.zeros_like(rises), np.maximum(rises - 1, 0)], axis=1)
    width = np.zeros_like(rises)
    if steps.places.shape[1]:
        width = np.diff(np.take_along_axis(steps.places, ends, axis=1))[:, 0]
    left = np.maximum(rises - 2, 0) / (width + 1)
    return left, rises / np.maximum(width - 1, 1)
