"""Functions of machine code, for the few loops that need registers by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Routine:
    """A function of machine code, in 16-bit units, that takes `stack_bytes` of its
    caller's frame, with its arguments from the fifth on."""

    name: str
    code: tuple[int, ...]
    stack_bytes: int


@dataclass(frozen=True)
class RowsRoutine(Routine):
    """Sums the products of `rows` of activations with all columns of `columns`
    channels:

        name(sums, x, weights, starts, end of x's blocks of MANY activations, end of x,
             columns, bytes between the rows' sums)

    `starts` has the number that the sums of each channel start from. A row of x has a
    multiple of FEW activations, at least one. The target's file says in which order the
    routine reads activations and weights.
    """

    MANY: ClassVar = 16
    FEW: ClassVar = 4

    rows: int
    columns: int


@dataclass(frozen=True)
class WindowStep:
    """An activation of a line of a window: its offset in bytes, None for padding, and
    the pixels whose sums it is added to, each with the tap of the line that it is
    multiplied by."""

    offset: int | None
    uses: Sequence[tuple[int, int]]
