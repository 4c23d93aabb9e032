"""The cheapest operations that are proved to compute a function between bytes.

Of one byte: nothing at all, a bit flip, a clamp, a look at a table of all results where
the machine has an instruction for that, or a plane. Of two: a plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    i8,
    i32,
)
from xdsl.ir import Operation

from qlower.model.nests import dense
from qlower.transforms.prove_epilogues.byte_functions import ByteFunction, numbers_of
from qlower.transforms.prove_epilogues.costs import cost
from qlower.transforms.prove_epilogues.proved_before import prove_plane_once


@dataclass(frozen=True)
class Substitute:
    """A substitute for a function; `name` is for people.

    The last of `ops` has the result; without any, the source is the result. `table` is
    a tensor that they read.
    """

    name: str
    ops: Sequence[Operation]
    table: arith.ConstantOp | None = None


def find_substitute(
    function: ByteFunction, *, fused: bool, tables: int, rounds_fast: bool
) -> Substitute | None:
    """The cheapest that is known, None if that is the function as it is. A look at a
    table costs `tables`, 0 where there is none.

    Raises InterpretationError where the function has no result in some case.
    """
    limit = cost(function.ops, rounds_fast=rounds_fast)
    table: Substitute | None = None
    if len(function.sources) == 1:
        found = _flip(function) or _clamp(function)
        if found is not None:
            return found if len(found.ops) < limit else None
        if 0 < tables < limit:
            table, limit = look_up(function), tables
            if tables <= len(table.ops):
                return table
    plane = prove_plane_once(function, fused=fused, limit=limit)
    return table if plane is None else Substitute(str(plane), plane.write())


def _flip(function: ByteFunction) -> Substitute | None:
    """Bits that are always the same or always others: a change of signedness."""
    changed = function.lanes[0] ^ function.bits
    if np.any(changed != changed[0]):
        return None
    if changed[0] == 0:
        return Substitute("copy", ())
    mask = arith.ConstantOp(IntegerAttr(int(changed[0]), i8))
    return Substitute("xor", (mask, arith.XOrIOp(function.sources[0], mask)))


def _clamp(function: ByteFunction) -> Substitute | None:
    """The number itself, limited to what the function gives."""
    unsigned = function.is_unsigned
    least, most = int(function.numbers.min()), int(function.numbers.max())
    number = numbers_of(function.lanes[0], unsigned=unsigned)
    if not np.array_equal(np.clip(number, least, most), function.numbers):
        return None
    low, high = (
        arith.ConstantOp(IntegerAttr(end - 256 if end > 127 else end, i8))
        for end in (least, most)
    )
    raised = (arith.MaxUIOp if unsigned else arith.MaxSIOp)(function.sources[0], low)
    lowered = (arith.MinUIOp if unsigned else arith.MinSIOp)(raised, high)
    return Substitute("clamp", (low, raised, high, lowered))


def look_up(function: ByteFunction) -> Substitute:
    """The result at the sources' bits, read as unsigned: one table, of two dimensions
    for two sources."""
    count = len(function.sources)
    order = np.lexsort([lane.view(np.uint8) for lane in reversed(function.lanes)])
    results = function.bits[order].reshape((256,) * count)
    table = arith.ConstantOp(dense(results, i8))
    codes = [arith.ExtUIOp(source, i32) for source in function.sources]
    indices = [arith.IndexCastOp(code, IndexType()) for code in codes]
    element = tensor.ExtractOp(table.result, [index.result for index in indices], i8)
    return Substitute("table", (*codes, *indices, element), table)
