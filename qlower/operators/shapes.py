"""Rules of shapes that operators share, and what is checked of numbers for axes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from xdsl.utils.exceptions import VerifyException

Shape: TypeAlias = tuple[int, ...]
"""The sizes of a tensor's axes."""

MOST_SHOWN = 8
"""Numbers of the longest list that a message repeats."""


def broadcast(*shapes: Shape) -> Shape:
    """The shape of an elementwise result: axes of one element are repeated, and those
    that a shape lacks at its front.

    Raises VerifyException for shapes that differ otherwise.
    """
    rank = max(map(len, shapes))
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = tuple(
        next((size for size in sizes if size != 1), 1)
        for sizes in zip(*aligned, strict=True)
    )
    if any(
        size not in (1, wanted)
        for shape in aligned
        for size, wanted in zip(shape, result, strict=True)
    ):
        given = " and ".join(str(list(shape)) for shape in shapes)
        raise VerifyException(f"shapes {given} don't broadcast")
    return result


def reduced(shape: Shape, axes: Collection[int], keep: bool = False) -> Shape:
    """The shape when elements along `axes` have become one; with `keep` such an axis
    stays. Raises VerifyException for an axis that there isn't, or that is named twice.
    """
    for axis in axes:
        check_axis(axis, len(shape))
    if len(set(axes)) != len(axes):
        raise VerifyException(f"axes {list(axes)} repeat a dimension")
    return tuple(
        1 if axis in axes else size
        for axis, size in enumerate(shape)
        if keep or axis not in axes
    )


def check_axis(axis: int, rank: int) -> None:
    """Refuses an axis that a tensor of this rank doesn't have."""
    if not 0 <= axis < rank:
        raise VerifyException(f"axis {axis} is outside [0, {rank})")


def check_count(name: str, given: Sequence[int], expected: int) -> None:
    """Refuses a list of another length."""
    if len(given) != expected:
        shown = f" {list(given)}" if len(given) <= MOST_SHOWN else ""
        raise VerifyException(
            f"{name}{shown} has length {len(given)}, expected {expected}"
        )


def check_one_each(name: str, given: Sequence[int], shape: Shape) -> None:
    """Refuses a list that doesn't have one number for each axis."""
    check_count(name, given, len(shape))


def check_least(name: str, given: Sequence[int], least: int) -> None:
    """Refuses a number below the least one that is legal."""
    for number in given:
        if number < least:
            raise VerifyException(f"{name} {number} is less than {least}")
