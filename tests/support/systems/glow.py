"""Steps of Glow's source that several tests transcribe."""

from __future__ import annotations

import math
from fractions import Fraction

from support.values.formulas import F, Refused, away


def integer_scale(ratio: F) -> tuple[int, int, int]:
    """quantizeScaleOffset32To8 with its loops."""
    mantissa, exponent = math.frexp(float(ratio))
    if exponent > 31:
        raise Refused
    if exponent < -30:
        return 0, 0, 0
    if mantissa == 0.5:
        return 0, max(1 - exponent, 0), 1 << max(exponent - 1, 0)
    pre = post = 0
    while ratio < 0.5 or (ratio < 256 and post < 15):
        ratio, post = F(ratio * F(2)), post + 1
    while ratio < 255 and pre < post // 2:
        ratio, pre = F(ratio * F(2)), pre + 1
    return pre, post, away(Fraction(float(ratio)))
