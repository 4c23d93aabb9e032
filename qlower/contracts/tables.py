"""Helpers of a contract that are tables: what a function of a small index gives.

    func.func private @entry(%index: i32, %scale: f32) -> i32
        attributes {contract.table = 513} {

Its text says what entry `index` is; a compiled model that only knows the index when it
runs holds all entries, computed for the model's scales, and looks them up.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    i32,
)
from xdsl.dialects.func import FuncOp

from qlower.diagnostics import QlowerError

TABLE = "contract.table"
"""The attribute of a function that is a table: how many entries it has. Its first
argument is the index, from 0, others are what the entries depend on."""

NUMBERS = (IntegerType, Float32Type, Float64Type)
"""The types that entries may have."""

LARGEST_TABLE = 1 << 16
"""Entries that a table may have."""


def table_size(function: FuncOp) -> int:
    """The number of entries of a function that is a table."""
    size = function.attributes[TABLE]
    if not isinstance(size, IntegerAttr) or not 1 <= size.value.data <= LARGEST_TABLE:
        raise QlowerError(
            f"{TABLE} must be an integer in [1, {LARGEST_TABLE}], not {size}",
            function.location,
        )
    return size.value.data


def check_table(function: FuncOp) -> None:
    """Refuse a table that isn't one number for each index."""
    if TABLE not in function.attributes:
        return
    table_size(function)
    type = function.function_type
    if type.inputs.data[:1] != (i32,) or not (
        len(type.outputs) == 1 and isinstance(type.outputs.data[0], NUMBERS)
    ):
        raise QlowerError(
            f"function {function.sym_name.data} has {TABLE}: its first argument is an "
            "index of i32, and its one result is an integer or a float",
            function.location,
        )
