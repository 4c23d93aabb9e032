"""Functions of machine code, for the few loops that need registers by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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

        name(sums, x, weights, starts, end of x, bytes of steps that are left out,
             columns, bytes between the rows' sums)

    `starts` has the number that the sums of each channel start from. A row of x has a
    positive multiple of 4 activations. A step takes two of each row; it is `step_bytes`
    of code in a loop of `steps`, the first time without those that `left_out` counts.
    The target's file says in which order the routine reads activations and weights.
    """

    rows: int
    columns: int
    steps: int = 1
    step_bytes: int = 0

    def left_out(self, activations: int) -> int:
        """Bytes of the steps that are left out for a row of this many activations."""
        return -(activations // 2) % self.steps * self.step_bytes


@dataclass(frozen=True)
class WindowStep:
    """An activation of a line of a window: its offset in bytes, None for padding, and
    the pixels whose sums it is added to, each with the tap of the line that it is
    multiplied by."""

    offset: int | None
    uses: Sequence[tuple[int, int]]
