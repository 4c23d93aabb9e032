"""A place in a model's file, for locations and messages."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc

from qlower.diagnostics import QlowerError, make_file_location


class Site:
    """A place in the file and the words for it, such as "operator 3 CONV_2D".

    The line of the location is the operator's number; there are no columns, which is 0.
    In a file of text it is a line's number.
    """

    def __init__(
        self, filename: str, line: int, subject: str, *, column: int = 0
    ) -> None:
        self.location: FileLineColLoc = make_file_location(filename, line, column)
        self.subject = subject

    def error(self, message: str, *, help: str | None = None) -> QlowerError:
        """An error about this place; `message` names the value and the legal range."""
        return QlowerError(f"{self.subject}: {message}", self.location, help=help)

    def check_range(self, what: str, value: int, low: int, high: int) -> int:
        """`value` if it is in [low, high], else an error."""
        if not low <= value <= high:
            raise self.error(f"{what} {value} is out of range [{low}, {high}]")
        return value
