"""Copies of operations, made in one walk.

xDSL's `clone` first copies all operations of a region and then, in a second walk, gives
them their operands: what is used may come later. In a region of one block it doesn't.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from qlower.dialects.copying import copy_operation

OpT = TypeVar("OpT", bound=Operation)


def clone_in_order(
    op: OpT, values: dict[SSAValue, SSAValue], location: LocationAttr | None = None
) -> OpT:
    """A copy of an operation in which each value is defined before it is used.

    Other operands are taken from `values`, or stay; what is copied is added there. The
    copy, and all inside it, has its own location unless another is given.
    """
    if any([region.first_block is not region.last_block for region in op.regions]):
        copy = op.clone(values)
        for inner in copy.walk():
            inner.location = inner.location if location is None else location
        return copy
    if op.regions:
        copy = op.clone_without_regions(values)
    else:
        copy = copy_operation(op, values)
    if location is not None:
        copy.location = location
    for source, region in zip(op.regions, copy.regions, strict=True):
        for block in source.blocks:
            arguments = block.args
            new = Block(arg_types=[argument.type for argument in arguments])
            for argument, taken in zip(arguments, new.args, strict=True):
                taken.location = argument.location
                taken.name_hint = argument.name_hint
                values[argument] = taken
            inner = block.first_op
            while inner is not None:
                new.add_op(clone_in_order(inner, values, location))
                inner = inner.next_op
            region.add_block(new)
    return copy
