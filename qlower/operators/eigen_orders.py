"""Orders in which Eigen adds the products of constant matrices and rows of float32,
where its packets have four numbers and it has no FMAs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from qlower.operators.orders import Summing

T = TypeVar("T")

PACKET = 4

CHAINS = 4
"""Packets of sums in a product of vectors."""


def of_vectors(sums: Summing[T]) -> T:
    """Eigen/src/Core/InnerProduct.h: one sum for each lane of four packets, which take
    the products in turn. The packets are added from the last to the first, then the
    lanes crosswise, then the products that fill no packet."""
    packets = sums.count // PACKET
    total: list[T] = []
    if packets:
        stride = min(CHAINS, packets) * PACKET
        end = packets * PACKET // stride * stride
        lanes = list(sums.lanes(stride))
        for lane, place in enumerate(range(end, packets * PACKET)):
            lanes[lane] = sums.add(lanes[lane], sums.term(place))
        a, b, c, d = (_from_last(sums, lanes[lane::PACKET]) for lane in range(PACKET))
        total = [sums.add(sums.add(a, c), sums.add(b, d))]
    rest = map(sums.term, range(packets * PACKET, sums.count))
    return sums.add_in_turn([*total, *rest])


def _from_last(sums: Summing[T], parts: list[T]) -> T:
    """The parts added from the last to the first."""
    return sums.add_in_turn(parts[::-1])


def of_panels(chains: int, period: int) -> Callable[[Summing[T]], T]:
    """Eigen/src/Core/products/GeneralBlockPanelKernel.h: sums in turn of the columns of
    whole periods, then the others."""

    def build(sums: Summing[T]) -> T:
        end = sums.count - sums.count % period
        parts = list(sums.lanes(chains, range(end))) if end else [sums.zero()]
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [sums.add(*pair) for pair in pairs]
        return sums.add_in_turn([*parts, *map(sums.term, range(end, sums.count))])

    return build
