"""The tables of a FlatBuffers file, whose every field is checked and paid for."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

from qlower.diagnostics import QlowerError, make_file_location
from qlower.files.arrays import Array

from .accessors import TFLitePackage, UntypedTable

MAX_TABLES = 1 << 16
"""Tensors, operators, operator codes or buffers in one file."""

SHARING_ALLOWANCE = 4
"""The average times that a byte of the file may be read through different tables."""

SMALLEST_BUDGET = 4096

ACCESSOR_ERRORS = (struct.error, TypeError, ValueError, OverflowError)
"""Out-of-range unpacking, numbers and views: all that the accessors raise."""

T = TypeVar("T")

_NEEDED = re.compile(r"requires a buffer of at least (\d+) bytes")
"""Python's message on an access behind the end of a file."""


class File:
    """The bytes of a file, and how many more of them may be read."""

    def __init__(self, data: bytes, name: str, package: TFLitePackage) -> None:
        self.data = data
        self.name = name
        self.package = package
        self.budget = max(SHARING_ALLOWANCE * len(data), SMALLEST_BUDGET)

    def error(self, message: str) -> QlowerError:
        return QlowerError(message, make_file_location(self.name, 0, 0))

    def get(self, what: str, accessor: Callable[[], T]) -> T:
        """Call one accessor."""
        try:
            return accessor()
        except ACCESSOR_ERRORS as error:
            if needed := _NEEDED.search(str(error)):
                raise self.error(
                    f"damaged file: {what}: the file ends after {len(self.data):,} of"
                    f" at least {int(needed[1]):,} bytes"
                ) from error
            raise self.error(f"damaged file: {what}: {error}") from error

    def charge(self, what: str, size: int) -> None:
        if size > self.budget:
            raise self.error(
                f"damaged file: {what}: {size} bytes in a file of {len(self.data)}"
            )
        self.budget -= size

    def behind(self, what: str, start: int, size: int) -> bytes:
        """Bytes that lie at a place of the file, outside of its tables."""
        end = start + size
        if end > len(self.data):
            raise self.error(
                f"damaged file: {what}: the file ends after {len(self.data):,} of at"
                f" least {end:,} bytes"
            )
        self.charge(what, size)
        return self.data[start:end]

    def root(self) -> Table:
        """The table that all others are reached from."""
        model = self.get("model", lambda: self.package.Model.GetRootAs(self.data))
        return Table(self, "model", model)


@dataclass(frozen=True, slots=True)
class Table:
    """One table; fields have the names of the schema. `what` describes it."""

    file: File
    what: str
    raw: object
    """The generated package's object for it."""

    def number(self, field: str) -> int:
        """A number, or a float where the schema has one."""
        return cast(int, self._get(field))

    def plain(self, field: str) -> int | float | str | None:
        """A number or a name; None for anything else."""
        value = self._get(field)
        if isinstance(value, int | float):
            return value
        return self.text(field) if isinstance(value, bytes) else None

    def text(self, field: str) -> str:
        """A name: printable characters only, whatever the bytes are."""
        label = f"{field} of {self.what}"
        raw = cast("bytes | None", self._get(field)) or b""
        self.file.charge(label, len(raw))
        decoded = raw.decode("utf-8", "replace")
        return "".join(c if c.isprintable() else "\ufffd" for c in decoded)

    def vector(self, field: str, item_size: int) -> Array | None:
        """A view of a vector of numbers, or None when it is empty."""
        count = cast(int, self._get(field, "Length"))
        self.file.charge(f"{field} of {self.what}", count * item_size)
        return cast(Array, self._get(field, "AsNumpy")) if count else None

    def integers(self, field: str, item_size: int = 4) -> tuple[int, ...]:
        return cast("tuple[int, ...]", self._numbers(field, item_size))

    def reals(self, field: str) -> tuple[float, ...]:
        return cast("tuple[float, ...]", self._numbers(field, 4))

    def _numbers(self, field: str, item_size: int) -> tuple[object, ...]:
        values = self.vector(field, item_size)
        return () if values is None else tuple(values.tolist())

    def table(self, field: str) -> Table | None:
        """A table in a field; None where it is left out."""
        raw = self._get(field)
        return None if raw is None else Table(self.file, f"{field} of {self.what}", raw)

    def typed(self, kind: str) -> Table:
        """A table that may be of several kinds as one of that kind."""
        position = cast(UntypedTable, self.raw).Pos
        typed = getattr(self.file.package, kind)()
        self.file.get(self.what, lambda: typed.Init(self.file.data, position))
        return Table(self.file, self.what, typed)

    def tables(self, field: str, what: str) -> Iterator[Table]:
        """The elements of a vector of tables, described by `what` and a number."""
        label = f"{what} table"
        accessor = _accessor(field)
        count = self.file.get(label, getattr(self.raw, f"{accessor}Length"))
        if count > MAX_TABLES:
            raise self.file.error(
                f"damaged file: {count} {what}s are out of range [0, {MAX_TABLES}]"
            )
        self.file.charge(label, 4 * count)
        element: Callable[[int], object] = getattr(self.raw, accessor)
        for index in range(count):
            description = f"{what} {index}"
            raw = self.file.get(description, lambda index=index: element(index))
            if raw is None:
                raise self.file.error(f"damaged file: {description} is missing")
            yield Table(self.file, description, raw)

    def _get(self, field: str, end: str = "") -> object:
        accessor = getattr(self.raw, f"{_accessor(field)}{end}")
        return self.file.get(f"{field} of {self.what}", accessor)


def _accessor(field: str) -> str:
    return "".join(word.capitalize() for word in field.split("_"))
