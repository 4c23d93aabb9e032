"""Facts of a region that decide how a nest with it is run."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
)
from xdsl.ir import Block, Operation, Region

from qlower.codegen.values.elements import scalar_type, storage_bytes
from qlower.dialects.operations import operations_in


def indexed_loops(region: Region) -> set[int]:
    """The loops whose index the region asks for."""
    return {loop_of(op) for op in operations_in(region) if op.name == "kernel.index"}


def loop_of(op: Operation) -> int:
    dim = op.properties["dim"]
    assert isinstance(dim, IntegerAttr)
    return dim.value.data


def widest_scalar(block: Block) -> int:
    """Bits of the widest number that the block computes, as it would lie in memory.

    An index counts as none.
    """
    types = [argument.type for argument in block.args if argument.uses]
    for op in block.ops:
        types += op.result_types
    widths = [
        8 * storage_bytes(scalar_type(type))
        for type in types
        if not isinstance(type, IndexType)
    ]
    return max(widths, default=8)


def divides(region: Region) -> bool:
    """Whether how large numbers can get decides how the region divides."""
    return any(isinstance(op, arith.DivSIOp) for op in region.block.ops)
