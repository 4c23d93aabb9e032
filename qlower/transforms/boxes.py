"""Nests that can store their result where a copy would put it: in a part of another
tensor.

The copies of a concatenation write one tensor, each into its own box; a copy that pads
writes a box and the border around it. A nest whose result only such a copy uses can
write the box itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from xdsl.ir import Block
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects.integers import values_of
from qlower.dialects.kernel import CopyOp, NestOp


def writable_boxes(block: Block) -> list[tuple[CopyOp, list[CopyOp]]]:
    """The copies of a function that nests can do instead, with the first of each chain.

    A chain is the copies that write one tensor. Its boxes are apart, so that it doesn't
    matter which is written first.
    """
    found: list[tuple[CopyOp, list[CopyOp]]] = []
    for op in block.ops:
        if isinstance(op, CopyOp) and op.destination is None:
            chain = _chain(op)
            pairs = itertools.combinations(chain, 2)
            if len(chain) > 1 and (
                op.fill is not None or any(_overlap(a, b) for a, b in pairs)
            ):
                continue
            found.append((op, [copy for copy in chain if _is_writable(copy)]))
    return [(first, copies) for first, copies in found if copies]


def _chain(first: CopyOp) -> list[CopyOp]:
    chain = [first]
    while chain[-1].result.has_one_use():
        (use,) = chain[-1].result.uses
        user = use.operation
        if not isinstance(user, CopyOp) or user.destination is not chain[-1].result:
            break
        chain.append(user)
    return chain


def _is_writable(copy: CopyOp) -> bool:
    producer = copy.source.owner
    return (
        isinstance(producer, NestOp)
        and len(producer.res) == 1
        and copy.source.has_one_use()
        and copy.is_stored
        and copy.takes_whole_source
        and (copy.fill is None or _works_by_rows(producer))
    )


def _works_by_rows(nest: NestOp) -> bool:
    """Whether the nest's loops stay the same when its rows are apart.

    The loops of a matrix product, which takes all pixels in one row, don't.
    """
    return nest.family.data == "map" or not all(
        isinstance(index, AffineDimExpr | AffineConstantExpr)
        for map in nest.input_maps
        for index in map.results
    )


def _overlap(a: CopyOp, b: CopyOp) -> bool:
    def ends(copy: CopyOp) -> Sequence[tuple[int, int]]:
        return [
            (offset, offset + (size - 1) * stride)
            for offset, size, stride in zip(
                values_of(copy.offsets),
                values_of(copy.sizes),
                values_of(copy.strides),
                strict=True,
            )
        ]

    return all(
        first <= other_last and other_first <= last
        for (first, last), (other_first, other_last) in zip(
            ends(a), ends(b), strict=True
        )
    )
