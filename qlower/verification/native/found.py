"""Results for one function of machine code, and their form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import i8
from xdsl.dialects.func import ReturnOp
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import BlockArgument, SSAValue

from qlower.dialects.types import element_type
from qlower.interp import Array
from qlower.verification.native.verdict import Mismatch

PAIRS = "every pair of bytes"

SIGN = 128
"""The bit of a byte that may be stored flipped between functions (`match-signs`)."""


@dataclass(frozen=True)
class Found:
    """The result: `numbers` checked in `channels`, and the first difference.

    Bytes are stored with the bits of `flip` flipped. Where not all numbers were looked
    at, no difference decides nothing.
    """

    how: str
    numbers: int
    channels: int = 0
    difference: Mismatch | None = None
    flip: int = 0
    is_decided: bool = True


Given: TypeAlias = tuple[int | None, tuple[int, ...]]
"""The channel and the numbers that a result is made of."""


@dataclass(frozen=True)
class Wrong:
    """The number of wrong results, and the first of them."""

    count: int = 0
    first: Mismatch | None = None

    def and_of(self, wanted: Array, got: Array, given: Callable[[int], Given]) -> Wrong:
        """Combine this with other results, in memory order; `given` names the operands
        of each."""
        wanted = wanted.reshape(-1)
        got = got.view(wanted.dtype).reshape(-1)
        apart = np.flatnonzero(wanted != got)
        first = self.first
        if first is None and len(apart):
            place = int(apart[0])
            first = Mismatch(*given(place), int(wanted[place]), int(got[place]))
        return Wrong(self.count + len(apart), first)


def flips(value: SSAValue) -> Sequence[int]:
    """The bits by which a stored value of the kernel level may differ from the layer's.

    The model's inputs and outputs are visible to callers, so their bits never differ.
    """
    if element_type(value.type) != i8 or is_input(value) or _is_returned(value):
        return (0,)
    return (0, SIGN)


def is_input(value: SSAValue) -> bool:
    """Whether a value is an input of the model."""
    return isinstance(without_reshapes(value), BlockArgument)


def without_reshapes(value: SSAValue) -> SSAValue:
    """The value that `value` was before it was reshaped."""
    while isinstance(value.owner, ExpandShapeOp | CollapseShapeOp):
        value = value.owner.operands[0]
    return value


def _is_returned(value: SSAValue) -> bool:
    return any(
        isinstance(user, ReturnOp)
        or (
            isinstance(user, ExpandShapeOp | CollapseShapeOp)
            and _is_returned(user.results[0])
        )
        for user in (use.operation for use in value.uses)
    )
