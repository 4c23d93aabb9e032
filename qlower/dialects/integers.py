"""Lists of integers as attributes: equal ones are made, and read, once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i32, i64


def integers(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """The property of a list of i64."""
    return _integers(tuple(values))


def values_of(array: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The integers of a list of i64."""
    return _values_of(array.data.data)


@lru_cache(maxsize=1 << 12)
def segment_sizes(*sizes: int) -> DenseArrayBase[IntegerType]:
    """The number of an operation's operands of each kind, as xDSL keeps it."""
    return DenseArrayBase.from_list(i32, sizes)


@lru_cache(maxsize=1 << 12)
def _integers(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


@lru_cache(maxsize=1 << 12)
def _values_of(data: bytes) -> tuple[int, ...]:
    return i64.unpack(data, len(data) // i64.size)
