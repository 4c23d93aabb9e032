"""The plane nearest to a function, and whether it rounds to the function everywhere."""

from __future__ import annotations

import numpy as np

from qlower.transforms.prove_epilogues.forms import Doubles
from qlower.transforms.prove_epilogues.steps import Integers

_BOX = 2.0**24
"""A bound of the coefficients: those of functions between bytes are far smaller."""

_ROUNDS = 200
"""The most exchanges of one case by another; about thirty are needed."""

_EXACT = 1e-9
"""Far below the distances that decide."""

_FEW = 1 << 12
"""Cases that are all looked at from the beginning."""

_SPARSE = 17
"""The stride of the cases that are looked at first, if there are more than `_FEW`: in a
grid of 256 x 256 these are skew lines."""


def best_plane(
    columns: Doubles, values: Integers, limit: float = np.inf
) -> tuple[Doubles, float] | None:
    """The coefficients c whose columns @ c is nearest to all values, and how near.

    A case with the least value may be below it, one with the greatest above. `columns`:
    [case, coefficient]. None where nothing is found soon, or nothing nearer than the
    limit. A distance below 1/2 says that rounded and limited the sum is the value
    everywhere, in unlimited precision.

    This is the linear programme of the least e with -e <= columns @ c - values <= e,
    by its dual simplex method: as many cases as unknowns determine c and e, and the
    case that is farthest off takes the place of one of them. It begins with few.

    Each solution is the optimum of the cases that determine it, and so a lower bound of
    the distance of all. A distance at the limit ends the search, and so does one that
    no case exceeds.
    """
    count = columns.shape[1]
    least, most = values.min(), values.max()
    # rows @ (c, e) <= limits holds with equality; at first for the sides of a box
    rows = -np.eye(count + 1)
    limits = np.append(np.full(count, _BOX), 0.0)
    cost = np.append(np.zeros(count), 1.0)
    step = _SPARSE if len(values) > _FEW else 1
    some, above_most, below_least = _cases(columns, values, least, most, step)
    for _ in range(_ROUNDS):
        solution = np.linalg.solve(rows, limits)
        if solution[count] >= limit:  # the distance of some cases: that of all is more
            return None
        found = some @ solution[:count]
        above, below = found + above_most, below_least - found
        high, low = int(above.argmax()), int(below.argmax())
        if max(above[high], below[low]) <= solution[count] + _EXACT:
            if step == 1:
                return solution[:count], float(solution[count])
            step = 1
            some, above_most, below_least = _cases(columns, values, least, most, step)
            continue
        is_above = above[high] >= below[low]
        case, sign = (high * step, 1.0) if is_above else (low * step, -1.0)
        # The case whose price is the first to get to 0, as the new one's grows, leaves:
        # with any other a price would be negative, and the solution no optimum.
        entering = np.append(sign * columns[case], -1.0)
        prices, share = np.linalg.solve(rows.T, np.stack([-cost, entering], 1)).T
        ratios = np.full(count + 1, np.inf)
        np.divide(prices, share, out=ratios, where=share > _EXACT)
        leaving = int(ratios.argmin())
        if not np.isfinite(ratios[leaving]):
            return None
        rows[leaving], limits[leaving] = entering, sign * values[case]
    return None


def _cases(
    columns: Doubles, values: Integers, least: np.int64, most: np.int64, step: int
) -> tuple[Doubles, Doubles, Doubles]:
    """Every `step`-th case: its column, the negative of its upper limit, and its lower
    limit."""
    some = values[::step].astype(float)
    return (
        np.ascontiguousarray(columns[::step]),
        np.where(some == most, -np.inf, -some),
        np.where(some == least, -np.inf, some),
    )
