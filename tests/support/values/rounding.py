"""What the rounding modes mean, on fractions."""

from __future__ import annotations

import math
from fractions import Fraction

from qlower.dialects.fixed import RoundingMode


def rounded(value: Fraction, mode: RoundingMode) -> int:
    """The definition of the modes, in words of the two integers around a number."""
    around = math.floor(value), math.ceil(value)
    low, high = around
    near_low, near_high = value - low, high - value
    match mode:
        case RoundingMode.FLOOR:
            return low
        case RoundingMode.CEIL:
            return high
        case RoundingMode.TOWARD_ZERO:
            return min(around, key=abs)
        case _ if near_low != near_high:
            return low if near_low < near_high else high
        case RoundingMode.HALF_UP:
            return high
        case RoundingMode.HALF_DOWN:
            return low
        case RoundingMode.HALF_AWAY:
            return max(around, key=abs)
        case RoundingMode.HALF_TOWARD_ZERO:
            return min(around, key=abs)
        case RoundingMode.HALF_EVEN:
            return low if low % 2 == 0 else high
