"""Writing the tables of FlatBuffers by the names of their schema.

Needs `flatbuffers`, and the package that was generated of the schema. Tables are
written children first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray


class _Builder(Protocol):
    """The part of `flatbuffers.Builder` that is used here."""

    def CreateString(self, s: str | bytes) -> int: ...
    def CreateNumpyVector(self, x: NDArray[np.generic]) -> int: ...
    def StartVector(self, elemSize: int, numElems: int, alignment: int) -> int: ...
    def PrependUOffsetTRelative(self, off: int) -> None: ...
    def EndVector(self) -> int: ...
    def Finish(self, rootTable: int, file_identifier: bytes) -> int: ...
    def Output(self) -> bytearray: ...


class TableWriter:
    """Writes tables of a schema; each method returns where its table is."""

    def __init__(self, schema: ModuleType) -> None:
        make = cast(Callable[[int], _Builder], import_module("flatbuffers").Builder)
        self.builder, self.schema = make(1024), schema

    def table(self, kind: str, **fields: bool | float) -> int:
        """Write a table with fields by their schema names."""
        self._call(f"{kind}Start")
        for name, value in fields.items():
            words = "".join(word.capitalize() for word in name.split("_"))
            self._call(f"{kind}Add{words}", value)
        return self._call(f"{kind}End")

    def constant(self, enum: str, name: str) -> int:
        """The number of an enumeration's member."""
        return cast(int, getattr(getattr(self.schema, enum), name))

    def text(self, text: str | bytes) -> int:
        return self.builder.CreateString(text)

    def numbers(
        self, values: Sequence[float] | NDArray[np.generic], dtype: type[np.generic]
    ) -> int:
        return self.builder.CreateNumpyVector(np.asarray(values, dtype))

    def vector(self, tables: Sequence[int]) -> int:
        """A list of tables."""
        self.builder.StartVector(4, len(tables), 4)
        for table in reversed(tables):
            self.builder.PrependUOffsetTRelative(table)
        return self.builder.EndVector()

    def file(self, root: int, identifier: bytes) -> bytes:
        """The whole file, with its root table."""
        self.builder.Finish(root, identifier)
        return bytes(self.builder.Output())

    def _call(self, function: str, *arguments: bool | float) -> int:
        generated = cast(Callable[..., int], getattr(self.schema, function))
        return generated(self.builder, *arguments)
