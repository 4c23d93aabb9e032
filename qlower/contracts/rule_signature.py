"""Signatures of rules: the values that one may ask for, by name, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Attribute

Values = Mapping[str, Attribute]


@dataclass(frozen=True)
class RuleSignature:
    """The values that a rule may ask for, and its result (`None`: types of its own
    choice). A rule on rows may have helpers that look at all elements of one
    (`rows.py`)."""

    runtime: Values
    constants: Values
    results: tuple[Attribute, ...] | None = (i32,)
    of_rows: bool = False

    @property
    def values(self) -> Values:
        return {**self.runtime, **self.constants}


def operand(prefix: str) -> Values:
    """Scale and zero point of an operand, and whether its storage is unsigned."""
    return {
        f"{prefix}_scale": f32,
        f"{prefix}_zero_point": i32,
        f"{prefix}_unsigned": i1,
    }


INPUT = operand("input")

OUTPUT = {
    **operand("output"),
    # The storage range, narrowed by a fused activation through the rule `bound`.
    "output_min": i32,
    "output_max": i32,
    # The storage range itself, and the real bounds of the activation, infinite where it
    # has none: for an operation whose bounds aren't those of the rule `bound`.
    "storage_min": i32,
    "storage_max": i32,
    "activation_min": f32,
    "activation_max": f32,
}


WINDOW: Values = {
    f"{name}_{side}": i32
    for name, sides in {
        "kernel": ("height", "width"),
        "stride": ("height", "width"),
        "pad": ("top", "bottom", "left", "right"),
    }.items()
    for side in sides
}
DILATED = {**WINDOW, "dilation_height": i32, "dilation_width": i32}


def inlined(
    runtime: Values, constants: Values, result: Attribute = i32
) -> RuleSignature:
    """A rule that becomes the body of a loop nest.

    It may ask where in the tensor its result is, because a vector body and a scalar
    tail differ. For concat the tensor is the input that is rescaled.
    """
    return RuleSignature(
        # The position in row-major order.
        {**runtime, "element": i32},
        {
            **constants,
            # The position along the last dimension, its size, the product of all sizes.
            "channel": i32,
            "channel_count": i32,
            "element_count": i32,
            # Whether the operation has tosa.rounding_mode = "DOUBLE_ROUND".
            "double_round": i1,
        },
        (result,),
    )
