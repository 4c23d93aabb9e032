"""Pass fuse-layers: an elementwise layer becomes part of the nest that it reads.

An addition to the result of a convolution, an activation or a lookup after it: the nest
of the convolution stores what they make of each of its results, which itself never
goes through memory. Of several inputs the one that is computed last is taken, so
that no tensor has to wait longer. A value that is used twice, or returned, is stored;
so is one where the nest would become too large.

The scalar arithmetic is moved, never changed. The nest has the names of all its layers,
as a fused location.

A layer that computes what one before it does, such as the quantization of the same
values for several products, is computed once.

Layers on real numbers between bytes are merged first, before anything is proved: what
they make of a byte together is one function, and often a clamp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NoneAttr,
)
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from qlower.dialects.kernel import NestOp
from qlower.dialects.types import element_type
from qlower.model.entry import defined_functions
from qlower.tally import Rewrites
from qlower.transforms.form_kernels.fuse import (
    can_merge,
    loops_of_consumer,
    merge_nests,
    without_unit_loops,
)
from qlower.transforms.form_kernels.regions import substitute
from qlower.transforms.tidying import Expression

MOST_OPERATIONS = 1024
"""Operations of the largest nest that others are merged into: each time its code is
copied and looked through, which takes the square of a chain's length."""


@dataclass(frozen=True)
class FuseLayersPass(ModulePass):
    """Merge elementwise nests into the nests of other layers that they read.

    With `real`, only elementwise nests that pass on real numbers are. With `limit`,
    only that many are merged, from the first on.
    """

    name = "fuse-layers"

    real: bool = False
    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrites = Rewrites("layers fused", self.limit)
        for function in defined_functions(op):
            fuse_layers(function.body.block, rewrites, real=self.real)


def fuse_layers(block: Block, rewrites: Rewrites, *, real: bool) -> None:
    """Merges the nests of a function's body, as far as rewrites are allowed; with
    `real` elementwise ones through values of real numbers."""
    _merge_equal(block, rewrites)
    order = {op: position for position, op in enumerate(block.ops)}
    for op, position in tuple(order.items()):
        nest = op if isinstance(op, NestOp) else None
        while nest is not None:
            nest = _fuse_one(nest, order, rewrites, real=real)
            if nest is not None:
                order[nest] = position


def _merge_equal(block: Block, rewrites: Rewrites) -> None:
    """Replaces nests by equal ones before them, which get their names too, but for
    those whose results are returned."""
    known: dict[Expression, NestOp] = {}
    for op in block.ops:
        if not isinstance(op, NestOp) or not op.inputs:
            continue
        twin = known.setdefault(Expression.of(op), op)
        uses = (use for result in op.results for use in result.uses)
        if twin is op or any(isinstance(use.operation, ReturnOp) for use in uses):
            continue
        if rewrites.allow(op):
            twin.location = fused_location(twin.location, op.location)
            for result, same in zip(op.results, twin.results, strict=True):
                result.replace_all_uses_with(same)
            block.erase_op(op)


def _fuse_one(
    nest: NestOp, order: Mapping[Operation, int], rewrites: Rewrites, *, real: bool
) -> NestOp | None:
    """Merges `nest` with one of its producers, or gives None.

    `order` has the positions of all nests; the one that is given takes that of `nest`.
    """
    producers = [
        (order[value.owner], index, value.owner)
        for index, value in enumerate(nest.inputs)
        if isinstance(value.owner, NestOp)
        and (not real or _is_real_step(value.owner, nest, index))
    ]
    for _, index, producer in sorted(producers, key=lambda entry: -entry[0]):
        if producer.reduction_bounds and not _keeps_layout(producer, nest):
            continue
        if _size(producer) + _size(nest) > MOST_OPERATIONS:
            continue
        if not can_merge(producer, nest, index) or not rewrites.allow(nest):
            continue
        location = fused_location(producer.location, nest.location)
        merged = merge_nests(producer, nest, index)
        if merged is not None:
            merged.location = location
            return merged
    return None


def _size(nest: NestOp) -> int:
    """The number of operations in a nest's code."""
    return sum(len(block.ops) for region in nest.regions for block in region.blocks)


def _is_real_step(producer: NestOp, consumer: NestOp, index: int) -> bool:
    """Whether both nests are elementwise, with real numbers between them."""
    return (
        not producer.reduction_bounds
        and not consumer.reduction_bounds
        and isinstance(element_type(consumer.inputs[index].type), AnyFloat)
    )


def _keeps_layout(producer: NestOp, consumer: NestOp) -> bool:
    """Whether the consumer stores each element where the producer would.

    Else the loops that suit the producer would write its result in another order.
    """
    loops = loops_of_consumer(producer, consumer)
    if loops is None:
        return False
    count = len(producer.bounds)
    places = [without_unit_loops(map, producer) for map in producer.result_maps]
    return all(
        without_unit_loops(substitute(map, loops, count), producer) in places
        for map in consumer.result_maps
    )


def fused_location(*locations: LocationAttr) -> LocationAttr:
    """One location for ops that become one, each part once."""
    parts = tuple(dict.fromkeys(part for one in locations for part in _parts(one)))
    return parts[0] if len(parts) == 1 else FusedLoc(ArrayAttr(parts), NoneAttr())


def _parts(location: LocationAttr) -> Iterator[LocationAttr]:
    if isinstance(location, FusedLoc) and isa(
        location.locations, ArrayAttr[LocationAttr]
    ):
        yield from location.locations
    else:
        yield location
