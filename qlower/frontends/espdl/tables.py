"""The tables of a FlatBuffers file by the numbers of their fields, each access checked.

A file may be damaged or hostile: an offset may lead anywhere, and tables may overlap.
Every access is inside of the bytes, and all that is read is charged against a budget
that grows with the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qlower.diagnostics import QlowerError, make_file_location, printable
from qlower.files.arrays import Array

SHARING_ALLOWANCE = 4
"""The average times that a byte of the file may be read through different tables."""

SMALLEST_BUDGET = 4096
TABLE_COST = 16


class File:
    """The bytes of a file from its root table's offset on."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.budget = max(SHARING_ALLOWANCE * len(data), SMALLEST_BUDGET)

    def error(self, message: str) -> QlowerError:
        return QlowerError(message, make_file_location(self.name, 0, 0))

    def at(self, form: str, place: int) -> int:
        """One number."""
        try:
            (value,) = struct.unpack_from(form, self.data, place)
        except struct.error:
            raise self.error(
                f"damaged file: an offset leads to byte {place} of {len(self.data)}"
            ) from None
        return value

    def charge(self, size: int) -> None:
        self.budget -= size
        if self.budget < 0:
            raise self.error(
                f"damaged file: its tables read {len(self.data)} bytes again and again"
            )

    def root(self) -> Table:
        """The table that all others are reached from."""
        return Table(self, self.at("<I", 0))


@dataclass(frozen=True, slots=True)
class Table:
    """One table; fields have the numbers of their order in the schema."""

    file: File
    position: int

    def place(self, field: int) -> int | None:
        """Where a field is; None if it is left out."""
        fields = self.position - self.file.at("<i", self.position)
        if fields < 0 or 4 + 2 * field + 2 > self.file.at("<H", fields):
            return None
        offset = self.file.at("<H", fields + 4 + 2 * field)
        return self.position + offset if offset else None

    def number(self, field: int, form: str = "<i") -> int:
        """A number, or a structure that is one; 0 if it is left out."""
        place = self.place(field)
        return 0 if place is None else self.file.at(form, place)

    def table(self, field: int) -> Table | None:
        place = self.place(field)
        return None if place is None else self._behind(place)

    def _behind(self, place: int) -> Table:
        self.file.charge(TABLE_COST)
        return Table(self.file, place + self.file.at("<I", place))

    def _vector(self, field: int, size: int) -> tuple[int, int]:
        """The number of elements of `size` bytes and where the first one is."""
        place = self.place(field)
        if place is None:
            return 0, 0
        start = place + self.file.at("<I", place)
        count, start = self.file.at("<I", start), start + 4
        if count * size > len(self.file.data) - start:
            raise self.file.error(
                f"damaged file: {count} elements from byte {start} of"
                f" {len(self.file.data)} on"
            )
        self.file.charge(count * size)
        return count, start

    def numbers(self, field: int, dtype: str, group: int = 1) -> Array:
        """A vector of numbers, or of structures of `group` numbers each."""
        size = np.dtype(dtype).itemsize * group
        count, start = self._vector(field, size)
        if not count:
            return np.zeros(0, dtype)
        return np.frombuffer(self.file.data, dtype, count * group, start)

    def integers(self, field: int) -> tuple[int, ...]:
        return tuple(int(value) for value in self.numbers(field, "<i8"))

    def text(self, field: int) -> str:
        """A name, with escapes for what can't be shown."""
        return _shown(self.numbers(field, "u1").tobytes())

    def tables(self, field: int) -> Iterator[Table]:
        count, start = self._vector(field, 4)
        for number in range(count):
            yield self._behind(start + 4 * number)

    def texts(self, field: int) -> list[str]:
        count, start = self._vector(field, 4)
        return [self._text(start + 4 * number) for number in range(count)]

    def _text(self, place: int) -> str:
        place += self.file.at("<I", place)
        count, place = self.file.at("<I", place), place + 4
        if count > len(self.file.data) - place:
            raise self.file.error(f"damaged file: a name of {count} bytes")
        self.file.charge(count)
        return _shown(self.file.data[place : place + count])


def _shown(name: bytes) -> str:
    return printable(name.decode("utf-8", "replace"))
