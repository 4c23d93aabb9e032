"""The order of a value's dimensions, which may differ from its model's.

Frameworks that number channels before rows and columns mean no transposition by it. A
value keeps its model's dimensions and the order in which they are stored: dimension p
of what is stored is the model's dimension `order[p]`. Transposing such a value changes
its order only, and reshaping it often, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Order = tuple[int, ...]


def identity(rank: int) -> Order:
    return tuple(range(rank))


def channels_last(rank: int) -> Order:
    """The order of [N, H, W, C] for the dimensions [N, C, H, W], of any rank from 2."""
    return (0, *range(2, rank), 1)


def stored_shape(shape: Sequence[int], order: Order) -> tuple[int, ...]:
    """The stored shape of a value of the model's `shape`."""
    return tuple(shape[dimension] for dimension in order)


def place(order: Order, dimension: int) -> int:
    """The stored dimension that a dimension of the model becomes."""
    return order.index(dimension)


def is_alike(shape: Sequence[int], one: Order, other: Order) -> bool:
    """Whether both orders store the elements of `shape` one after the other alike:
    they then differ by a reshape."""
    return _without_ones(shape, one) == _without_ones(shape, other)


def _without_ones(shape: Sequence[int], order: Order) -> Order:
    return tuple(dimension for dimension in order if shape[dimension] != 1)


def transposed_order(order: Order, perm: Sequence[int]) -> Order:
    """The order of a value after its model's dimensions are permuted: dimension d
    of the result is dimension `perm[d]`."""
    return tuple(perm.index(dimension) for dimension in order)


def reshaped_order(
    shape: Sequence[int], order: Order, reshaped: Sequence[int]
) -> Order | None:
    """An order of `reshaped` which stores the same elements alike, if there is one.

    Dimensions of both shapes are paired in the smallest groups of equal size. What a
    group was made of must lie together and in sequence; what it becomes does then.
    """
    before = [d for d, size in enumerate(shape) if size != 1]
    after = [d for d, size in enumerate(reshaped) if size != 1]
    groups: dict[int, tuple[list[int], list[int]]] = {}
    while before or after:
        if not (before and after):
            return None
        old, new = [before.pop(0)], [after.pop(0)]
        while (left := math.prod(shape[d] for d in old)) != (
            right := math.prod(reshaped[d] for d in new)
        ):
            source, target = (before, old) if left < right else (after, new)
            if not source:
                return None
            target.append(source.pop(0))
        groups[old[0]] = old, new
    stored = list(_without_ones(shape, order))
    found: list[int] = []
    while stored:
        old, new = groups.get(stored[0], ([], []))
        if not old or stored[: len(old)] != old:
            return None
        del stored[: len(old)]
        found += new
    return _with_ones(reshaped, found)


def _with_ones(shape: Sequence[int], order: Sequence[int]) -> Order:
    """The order with dimensions of size 1 added: the first one of a batch stays first,
    others follow the dimension before them."""
    found = list(order)
    for dimension, size in enumerate(shape):
        if size == 1:
            at = found.index(dimension - 1) + 1 if dimension else 0
            found.insert(at, dimension)
    return tuple(found)
