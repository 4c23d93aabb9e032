"""Functions of machine code, for the few loops that need registers by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Routine:
    """Machine code that sums the products of `rows` of activations with all columns of
    `columns` channels:

        name(sums, x, weights, starts, end of x's blocks of MANY activations, end of x,
             columns, bytes between the rows' sums)

    `starts` has the number that the sums of each channel start from. A row of x has a
    multiple of FEW activations, at least one. The routine takes `stack_bytes` of its
    caller's frame, with its last four arguments. Its `code` are 16-bit units. The
    target's file says in which order it reads activations and weights.
    """

    MANY: ClassVar = 16
    FEW: ClassVar = 4

    name: str
    rows: int
    columns: int
    code: tuple[int, ...]
    stack_bytes: int
