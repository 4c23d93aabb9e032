"""Where in a TFLite file something is, for locations and messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr

from qlower.diagnostics import QlowerError


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the file and the words for it, such as "operator 3 CONV_2D"."""

    location: LocationAttr
    subject: str

    def error(
        self, message: str, *, notes: Sequence[str] = (), help: str | None = None
    ) -> QlowerError:
        """An error about this place; `message` names the value and the legal range."""
        return QlowerError(
            f"{self.subject}: {message}", self.location, notes=notes, help=help
        )

    def check_range(self, what: str, value: int, low: int, high: int) -> int:
        """`value` if it is in [low, high], else an error."""
        if not low <= value <= high:
            raise self.error(f"{what} {value} is out of range [{low}, {high}]")
        return value
