"""Pass drop-channels: leaves out channels that are constant, or that nobody reads.

Training leaves channels behind whose weights are zero, or whose activation cuts all
that their weights can give to one bound. Such a channel has one value for all inputs of
the model, which is known from the stored weights (spans.py): what it adds to later sums
is a number, and goes into what these start from. A channel that meets zero weights only
isn't read at all. Neither has to be computed (needs.py), nor the layers that only pass
it on: weights, biases and products of it go (rewrite.py).

The bits of the function's results stay the same: sums wrap, and what a constant adds to
a sum modulo 2^32 doesn't depend on when it is added. Where padding with another value
makes the sum depend on the place, the channel isn't constant to those that read it, and
stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from qlower.codegen.nests.content import classes_of_equal
from qlower.codegen.targets.resolve import Target
from qlower.codegen.targets.set_target import target_of
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import NestOp
from qlower.model.entry import defined_functions
from qlower.model.layers import layer_title
from qlower.tally import Rewrites, count
from qlower.transforms.drop_channels.needs import Needs
from qlower.transforms.drop_channels.rewrite import Narrowing
from qlower.transforms.drop_channels.spans import Spans, find_spans

DROPPED = "channels dropped"
"""The count of channels of tensors that are left out."""

_SUM_BITS, _BYTE_BITS = 32, 8


@dataclass(frozen=True)
class Dropped:
    """The parts that a nest of sums of products does without.

    `kept` of its `channels` are needed; `constant` of them have one value for all
    inputs. `products` are multiplied as the model is written, `needed` of them matter;
    likewise `weights`.
    """

    layer: str | None
    channels: int
    kept: int
    constant: int
    products: int
    needed: int
    weights: int
    weights_needed: int


@dataclass(frozen=True)
class DropChannelsPass(ModulePass):
    """Leave out channels that don't change any result.

    The module says which machine it is for, and so how many channels are computed at
    once: a rest of them is kept if leaving it out saves nothing; `unit` is another such
    number. Only the first `limit` tensors lose channels.
    """

    name = "drop-channels"

    unit: int | None = None
    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrites = Rewrites("tensors narrowed", self.limit)
        for function in defined_functions(op):
            unit = unit_of(target_of(op)) if self.unit is None else self.unit
            if unit < 1:
                raise QlowerError(f"unit must be at least 1, not {unit}", op.location)
            drop_channels(function.body.block, unit, rewrites)


def unit_of(target: Target) -> int:
    """The channels that a machine computes together: as many sums as fit a vector, or
    the four bytes of a register."""
    return max(target.vector_bits // _SUM_BITS, _SUM_BITS // _BYTE_BITS)


def drop_channels(block: Block, unit: int, rewrites: Rewrites) -> None:
    """Narrows what a function's body computes to multiples of `unit` channels, as far
    as rewrites are allowed."""
    equal = _equal_nests(block)
    spans = find_spans(block, equal)
    needs = Needs(block, spans, equal, unit)
    narrowed = [
        op.results[0]
        for op in block.ops
        if isinstance(op, NestOp) and not all(needs[value].all() for value in op.res)
    ]
    if not narrowed:
        return
    stay = [value for value in narrowed if not rewrites.allow(_maker(value))]
    if stay:
        needs = Needs(block, spans, equal, unit, stay)
    dropped = sum(int((~needs[value]).sum()) for value in narrowed)
    count(DROPPED, dropped)
    Narrowing(needs).rewrite(block)


def dropped_channels(module: ModuleOp) -> list[Dropped]:
    """The dropped parts of each nest of sums of products in a kernel-level module."""
    found: list[Dropped] = []
    for function in defined_functions(module):
        block = function.body.block
        equal = _equal_nests(block)
        spans = find_spans(block, equal)
        needs = Needs(block, spans, equal)
        for op in block.ops:
            if isinstance(op, NestOp) and needs.summed(op) is not None:
                found.append(_dropped(op, needs, spans))
    return found


def _dropped(nest: NestOp, needs: Needs, spans: Spans) -> Dropped:
    masks = [needs.loop(nest, loop) for loop in range(len(nest.bounds))]
    sizes = [
        bound if mask is None else int(mask.sum())
        for bound, mask in zip(nest.bounds, masks, strict=True)
    ]
    summed = needs.summed(nest)
    assert summed is not None
    extents = summed.products.weights.shape
    result = nest.res[0]
    low, high = spans.get(result, (np.zeros(1), np.ones(1)))
    return Dropped(
        layer_title(nest),
        len(needs[result]),
        int(needs[result].sum()),
        int((low == high).sum()),
        prod(nest.bounds),
        prod(sizes),
        prod(extents),
        prod(size for size, extent in zip(sizes, extents, strict=True) if extent > 1),
    )


def _equal_nests(block: Block) -> dict[NestOp, int]:
    return classes_of_equal(op for op in block.ops if isinstance(op, NestOp))


def _maker(value: SSAValue) -> Operation:
    assert isinstance(value.owner, Operation)
    return value.owner
