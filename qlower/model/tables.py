"""A model's inputs and outputs as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from qlower.model.signature import Signature, TensorSpec
from qlower.tables.table import Column, Table

Port: TypeAlias = tuple[str, TensorSpec]
"""The role of a tensor in the model, and the tensor."""


def port_table(
    title: str,
    signature: Signature,
    notes: Sequence[str] = (),
) -> Table[Port]:
    """A row an input, then a row an output, then a row a state."""
    rows: list[Port] = [("input", spec) for spec in signature.inputs]
    rows += [("output", spec) for spec in signature.outputs]
    rows += [("state", spec) for spec in signature.states]

    def shape(port: Port) -> str:
        return "x".join(map(str, port[1].shape))

    def scale(port: Port) -> str:
        return "-" if port[1].scale is None else f"{port[1].scale:.9g}"

    columns: list[Column[Port]] = [
        Column("", "role", lambda port: port[0], right=False),
        Column("tensor", "name", lambda port: port[1].name, least=12),
        Column("shape", "shape", lambda port: port[1].shape, shape, right=False),
        Column("type", "dtype", lambda port: port[1].dtype, right=False),
        Column("scale", "scale", lambda port: port[1].scale, scale),
        Column("zero point", "zero_point", lambda port: port[1].zero_point),
    ]
    return Table(title, rows, columns, notes=notes)
