"""The attribute by which reshapes of tensors name the axes that they join or split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i64

Reassociation: TypeAlias = ArrayAttr[ArrayAttr[IntegerAttr]]


def reassociation(groups: Sequence[Sequence[int]]) -> Reassociation:
    """For each axis of the collapsed shape, the axes of the expanded one, in order."""
    return ArrayAttr(
        ArrayAttr(IntegerAttr(axis, i64) for axis in group) for group in groups
    )
