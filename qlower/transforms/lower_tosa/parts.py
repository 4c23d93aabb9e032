"""Operations of TOSA that form a layer together.

TOSA takes a layer of a network apart: a convolution gives sums in 32 bits, a RESCALE
makes bytes of them, a CLAMP follows. Operations that pass wide values on to each other
are parts of one layer; so is a clamp, of the layer whose only use it is. Their nests
may merge then, and what is proved of a layer's bytes is proved of all of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import FixedBitwidthType, LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from qlower.dialects import tosa
from qlower.dialects.tosa.base import is_constant
from qlower.dialects.types import element_type
from qlower.transforms.fuse_layers import fused_location

WIDEST_STORED = 16
"""Bits of the widest elements that a layer hands to the next one."""


def locations_by_layer(block: Block) -> Mapping[Operation, LocationAttr]:
    """The location of each operation of TOSA: its layer's last part's, then its own."""
    layers: dict[Operation, list[Operation]] = {}
    for op in block.ops:
        if not isinstance(op, tosa.TosaOp) or is_constant(op):
            continue
        layers[op] = [op]
        for operand in op.operands:
            producer = operand.owner
            if not isinstance(producer, Operation) or not _is_inside(operand, op):
                continue
            parts = layers.get(producer)
            if parts is not None and parts is not layers[op]:
                # The operation at hand stays the last part.
                parts += layers[op]
                layers.update(dict.fromkeys(layers[op], parts))
    return {
        op: fused_location(parts[-1].location, op.location)
        for op, parts in layers.items()
    }


def _is_inside(value: SSAValue, user: tosa.TosaOp) -> bool:
    """Whether a value is no more than a step on the way to what a layer stores."""
    if isinstance(user, tosa.ClampOp):
        return value.has_one_use()
    element = element_type(value.type)
    return isinstance(element, FixedBitwidthType) and element.bitwidth > WIDEST_STORED
