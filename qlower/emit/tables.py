"""Functions of stored integers as tables of all their values."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.interp.values import Array
from qlower.model.nests import Emitter, Nest, extract, to_index


def stored_values(type: QuantizedType) -> Array:
    """All stored integers of a type as i32, in the order of their bits."""
    codes = np.arange(1 << type.storage_width, dtype=f"u{type.storage_width // 8}")
    stored = codes.view(f"i{codes.itemsize}") if type.signed else codes
    return stored.astype(np.int32)


def looked_up(emit: Emitter, stored: SSAValue, table: SSAValue) -> SSAValue:
    """The table's entry for each integer of a tensor, whose bits are the index."""
    nest = Nest(emit, shape_of(stored))
    element = nest.input(stored, range(nest.parallel))
    code = nest.add(arith.ExtUIOp(element, i32)).result
    return nest.build_one(extract(nest, table, [to_index(nest, code)]))
