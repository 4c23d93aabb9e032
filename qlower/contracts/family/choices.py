"""The choices that make up an arithmetic, and their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qlower.contracts.products import EXACT, FLAT, PIXEL
from qlower.dialects.fixed import RoundingMode

MODES = tuple(mode.value for mode in RoundingMode)

FIXED = "fixed point"

ONCE, INSIDE, AFTER, BYTE = "once", "inside", "after", "after, saturated before"

SYMMETRIC = "after, within 127 before"

FUSED = "fused with the product"

FUSED_INSIDE = "inside, fused with the product"

GIVEN, RANGES, RECIPROCALS = "given", "ranges", "reciprocals"

TURNS = {"in turn": 1, **{f"in turn by {group}": group for group in (2, 4, 8, 16)}}
"""After how many products the accumulator saturates."""

CHOICES: Mapping[str, Sequence[str]] = {
    "products": (EXACT, FLAT, PIXEL, *TURNS),
    "accumulator": (
        "32 bits",
        *(
            f"{bits} bits, {how}"
            for how in ("wrap", "saturate")
            for bits in reversed(range(12, 32))
        ),
    ),
    "bias": ("integer", "in steps", "real", FUSED),
    "scaling": (
        FIXED,
        *("multiply f32", "divide f32", "reciprocal f32"),
        *("multiply f64", "divide f64", "reciprocal f64"),
    ),
    "scales": (GIVEN, RANGES, RECIPROCALS),
    "ratio": (
        *("f32_product_first", "f32_weight_first", "f32_input_first"),
        *("f32_reciprocal", "f64", "f64_of_f32_product"),
    ),
    "multiplier": (
        *(
            f"{width} bits, {mode}"
            for mode in ("half_up", "half_even", "floor", "ceil")
            for width in (*reversed(range(8, 33)), 2)
        ),
        "2 bits, nearest in log2",
    ),
    "first": (ONCE, *MODES),
    "rounding": MODES,
    "zero_point": (AFTER, INSIDE, FUSED_INSIDE, BYTE, SYMMETRIC),
}
"""The options of each choice; the first one is taken where the choice makes no
difference.

products: of pairs, or in turn (`products.py`), where the accumulator saturates after
each product or each group of them. bias: an integer in the accumulator; real, and added
to a float sum in its steps; or added to real numbers, in float32 by one FMA if it is
fused. scaling: by an integer and a
shift; by a float ratio; or by the scales one after the other, divided by the output's
or multiplied by its reciprocal. scales: as they are given, or in float32 as computed
from ranges of real numbers, or from reciprocals. ratio: of the scales, in the order in
which they combine. multiplier: of fixed point, and how it is rounded; one of 2 bits is
a power of two, which may be the nearest in its logarithm. first: the rounding to the
high half of the product, if there is one before `rounding`. zero_point: of the output,
added after rounding or before, by one FMA with the product if fused, or to what is
saturated to 8 bits already, without -128 if it is within 127.
"""

TOGETHER = (
    ("accumulator", "bias"),
    ("accumulator", "products"),
    ("first", "rounding"),
    ("first", "multiplier"),
    ("ratio", "multiplier"),
    ("rounding", "zero_point"),
    ("scaling", "ratio"),
    ("scaling", "bias"),
    ("scaling", "rounding"),
    ("scaling", "scales"),
    ("scales", "zero_point"),
)
"""Choices that have to be right together before either explains more."""
