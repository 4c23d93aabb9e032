"""The plane nearest to a function, and whether it rounds to the function everywhere."""

from __future__ import annotations

import numpy as np

from qlower.transforms.prove_epilogues.lines import Doubles
from qlower.transforms.prove_epilogues.steps import Integers

_BOX = 2.0**24
"""A bound of the coefficients: those of functions between bytes are far smaller."""

_ROUNDS = 200
"""The most exchanges of one case by another; about thirty are needed."""

_EXACT = 1e-9
"""Far below the distances that decide."""


def best_plane(columns: Doubles, values: Integers) -> tuple[Doubles, float] | None:
    """The coefficients c whose columns @ c is nearest to all values, and how near.

    A case with the least value may be below it, one with the greatest above. `columns`:
    [case, coefficient]. None where nothing is found soon. A distance below 1/2 says
    that rounded and limited the sum is the value everywhere, in unlimited precision.

    This is the linear programme of the least e with -e <= columns @ c - values <= e,
    by its dual simplex method: as many cases as unknowns determine c and e, and the
    case that is farthest off takes the place of one of them.
    """
    count = columns.shape[1]
    may_exceed = values == values.max()
    may_fall_short = values == values.min()
    # rows @ (c, e) <= limits holds with equality; at first for the sides of a box
    rows = -np.eye(count + 1)
    limits = np.append(np.full(count, _BOX), 0.0)
    cost = np.append(np.zeros(count), 1.0)
    for _ in range(_ROUNDS):
        solution = np.linalg.solve(rows, limits)
        off = columns @ solution[:count] - values
        above = np.where(may_exceed, -np.inf, off)
        below = np.where(may_fall_short, -np.inf, -off)
        high, low = int(above.argmax()), int(below.argmax())
        if max(above[high], below[low]) <= solution[count] + _EXACT:
            return solution[:count], float(solution[count])
        case, sign = (high, 1.0) if above[high] >= below[low] else (low, -1.0)
        entering = np.append(sign * columns[case], -1.0)
        prices = np.linalg.solve(rows.T, -cost)
        share = np.linalg.solve(rows.T, entering)
        ratios = np.full(count + 1, np.inf)
        np.divide(prices, share, out=ratios, where=share > _EXACT)
        leaving = int(ratios.argmin())
        if not np.isfinite(ratios[leaving]):
            return None
        rows[leaving], limits[leaving] = entering, sign * values[case]
    return None
