"""Checked access to an operator of any format, for its importer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import cast

from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array

from .site import Site


class Attributes(Site, ABC):
    """The attributes of an operator by name: numbers, words and lists of numbers.

    Every accessor takes a default for an attribute that is left out, without which that
    is an error, and raises a `QlowerError` that names the attribute, its value and the
    legal values.
    """

    noun = "attribute"
    """The format's word for one."""

    largest = 1 << 30
    """Where nothing narrower is asked for, integers are in [-largest, largest]."""

    @property
    @abstractmethod
    def attributes(self) -> Mapping[str, object]:
        """Attributes that are given, by their names."""

    def integer(
        self,
        name: str,
        default: int | None = None,
        low: int | None = None,
        high: int | None = None,
    ) -> int:
        """An integer in [low, high]."""
        value = self._given(name, default)
        if not isinstance(value, int):
            raise self.bad(name, "an integer")
        return self._in_range(name, value, low, high)

    def flag(self, name: str, default: bool | None = None) -> bool:
        return bool(self.integer(name, default, 0, 1))

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number."""
        value = self._given(name, default)
        if not isinstance(value, int | float):
            raise self.bad(name, "a number")
        if not math.isfinite(value):
            raise self.error(f"{name} {value} is not finite")
        return float(value)

    def text(
        self, name: str, default: str | None = None, legal: Sequence[str] = ()
    ) -> str:
        """A word, one of the legal ones if any are listed."""
        value = self._given(name, default)
        if not isinstance(value, str):
            raise self.bad(name, "text")
        if legal and value not in legal:
            raise self.unsupported(name, value, *legal)
        return value

    def integer_list(
        self,
        name: str,
        default: Sequence[int] | None = None,
        low: int | None = None,
        high: int | None = None,
    ) -> list[int]:
        """A list of integers in [low, high], as long as a default with any is."""
        value = self._given(name, default)
        if not isinstance(value, tuple | list):
            raise self.bad(name, "a list of integers")
        found: list[int] = []
        for item in cast(Sequence[object], value):
            if not isinstance(item, int):
                raise self.bad(name, "a list of integers")
            found.append(self._in_range(name, item, low, high))
        if default and len(found) != len(default):
            raise self.error(f"{name} {found}: expected {len(default)} numbers")
        return found

    def number_list(self, name: str) -> list[float]:
        """A list of finite numbers."""
        value = self._given(name, None)
        items = cast(Sequence[object], value if isinstance(value, tuple | list) else ())
        found = [float(item) for item in items if isinstance(item, int | float)]
        if not items or len(found) != len(items) or not all(map(math.isfinite, found)):
            raise self.bad(name, "a list of numbers")
        return found

    def expect(self, name: str, *supported: object) -> None:
        """Refuse any value but these; the first is the default."""
        value = self.attributes.get(name, supported[0])
        if value not in supported:
            raise self.unsupported(name, value, *supported)

    def unsupported(self, what: str, value: object, *legal: object) -> QlowerError:
        """The error for a value that isn't one of the legal ones."""
        listed = [repr(one) if isinstance(one, str) else str(one) for one in legal]
        shown = repr(value) if isinstance(value, str) else value
        return self.error(f"{what} {shown} is not supported; expected {either(listed)}")

    def bad(self, name: str, what: str) -> QlowerError:
        """The error for an attribute that is left out, or of another kind."""
        value = self.attributes.get(name)
        if isinstance(value, int | float | str):
            return self.error(f"{self.noun} {name} is {value!r}, expected {what}")
        return self.error(f"{self.noun} {name} is missing or not {what}")

    def _in_range(
        self, name: str, value: int, low: int | None, high: int | None
    ) -> int:
        low = -self.largest if low is None else low
        high = self.largest if high is None else high
        return self.check_range(name, int(value), low, high)

    def _given(self, name: str, default: object) -> object:
        value = self.attributes.get(name)
        return default if value is None else value


class Operands(Attributes):
    """The values that an operator takes, by their numbers in the file."""

    operator_name: str

    count: int
    """The number of operands, including those that are left out."""

    result_count: int

    @abstractmethod
    def has(self, number: int) -> bool:
        """Whether an optional operand is there."""

    @abstractmethod
    def type_name(self, number: int) -> str:
        """The type of an operand's elements, in the words of the format."""

    @abstractmethod
    def described(self, number: int) -> str:
        """The words for an operand in messages."""

    @abstractmethod
    def shape(self, number: int, rank: int | None = None) -> tuple[int, ...]:
        """The shape of an operand, which must have `rank` dimensions."""

    @abstractmethod
    def plain_array(self, number: int, what: str) -> tuple[str, Array]:
        """A constant of plain numbers, and its type in the words of the format."""

    def integers(self, number: int, what: str, count: int | None = None) -> list[int]:
        """The elements of a constant operand of INT32 or INT64."""
        type, array = self.plain_array(number, what)
        if type not in ("INT32", "INT64"):
            raise self.error(
                f"{self.described(number)}: {what} of type {type} is not supported;"
                " expected INT32 or INT64"
            )
        if count is not None and array.size != count:
            raise self.error(
                f"{self.described(number)}: {array.size} elements of {what}, expected"
                f" {count}"
            )
        return cast(list[int], array.reshape(-1).tolist())

    def axis(self, value: int, rank: int, what: str = "axis") -> int:
        """A dimension's number, counted from the end when negative."""
        return self.check_range(what, value, -rank, rank - 1) % rank

    def axis_at(self, number: int, rank: int) -> int:
        """A dimension that a constant operand names, of the given number."""
        (axis,) = self.integers(number, "axis", count=1)
        return self.axis(axis, rank)

    def check_shape(self, number: int, *legal: Sequence[int]) -> None:
        """Refuse an operand of another shape."""
        shape = self.shape(number)
        if shape not in map(tuple, legal):
            raise self.error(
                f"{self.described(number)}: shape {list(shape)}, expected"
                f" {either([str(list(one)) for one in legal])}"
            )

    def expect_type(self, number: int, *legal: str, where: str = "here") -> None:
        """Refuse an operand of another type; `where` else it may have some."""
        type = self.type_name(number)
        if type not in legal:
            raise self.error(
                f"{self.described(number)}: type {type} is not supported by"
                f" {self.operator_name} {where}; expected {either(legal)}"
            )

    def checked_rank(self, shape: Sequence[int], number: int, rank: int | None) -> None:
        """Refuse an operand of another rank, if one is asked for."""
        if rank is not None and len(shape) != rank:
            raise self.error(
                f"{self.described(number)}: rank {len(shape)}, expected {rank}"
            )


def either(words: Sequence[str]) -> str:
    """The words, the last one behind "or"."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
