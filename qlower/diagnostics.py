"""Messages about wrong input.

A user's mistake is a `QlowerError`: one sentence, the place in the source it is about,
and optional `note:` and `help:` lines. It prints as

    model.mlir:7:10: error: stride 0 is out of range [1, 65535]
      %y = qnn.conv2d %x, %w {stride = [0, 1], ...}
           ^
    note: ...
    help: ...

Any other exception is an internal error. Warnings go to the logger "qlower".

xDSL is imported where there is a location: errors in the command line don't need it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, StringAttr
    from xdsl.ir import Attribute

LOGGER = logging.getLogger("qlower")

WIDEST_SOURCE_LINE = 96
"""A longer source line (a constant in hex) is cut to this many characters."""

LARGEST_QUOTED_FILE = 64 << 20
"""Source lines are quoted from files up to this many bytes."""


class QlowerError(Exception):
    """A mistake in what the user gave us: a model, a file, an array or an option.

    `message` is one lower-case sentence that names the value and the legal range.
    `source_line` saves reading the file again when the text is at hand.
    """

    def __init__(
        self,
        message: str,
        location: LocationAttr | None = None,
        *,
        notes: Sequence[str] = (),
        help: str | None = None,
        source_line: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.notes = tuple(notes)
        self.help = help
        self.source_line = source_line

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """The whole report: place, sentence, source line, caret, notes and help.

        Names from models and of files, which may be anything, are escaped.
        """
        place = file_location(self.location)
        head = f"error: {self.message}"
        lines = [head if place is None else f"{format_location(place)}: {head}"]
        if place is not None:
            lines += _quote_source(place, self.source_line)
        layer = location_name(self.location)
        if layer is not None:
            lines.append(f"note: in layer {layer!r}")
        lines += [f"note: {note}" for note in self.notes]
        if self.help is not None:
            lines.append(f"help: {self.help}")
        return printable_lines("\n".join(lines))

    def to_dict(self) -> dict[str, object]:
        """Return the parts of the report as plain data."""
        place = file_location(self.location)
        return {
            "message": self.message,
            "file": None if place is None else place.filename.data,
            "line": None if place is None else place.line.data,
            "column": None if place is None else place.column.data,
            "layer": location_name(self.location),
            "notes": list(self.notes),
            "help": self.help,
        }


def warn(message: str, location: LocationAttr | None = None) -> None:
    """Warn the user of something that is accepted but looks wrong."""
    place = file_location(location)
    prefix = "" if place is None else f"{format_location(place)}: "
    LOGGER.warning("%s", printable_lines(f"{prefix}warning: {message}"))


@contextmanager
def without_repeats() -> Generator[None]:
    """Give each warning once."""
    told = set[str]()

    def is_new(record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        message = record.getMessage()
        if message in told:
            return False
        told.add(message)
        return True

    LOGGER.addFilter(is_new)
    try:
        yield
    finally:
        LOGGER.removeFilter(is_new)


def file_location(location: Attribute | None) -> FileLineColLoc | None:
    """The first file position inside `location`, looking through names and fusions."""
    if location is None:
        return None
    from xdsl.dialects.builtin import FileLineColLoc

    return next(
        (part for part in _parts(location) if isinstance(part, FileLineColLoc)), None
    )


def format_location(location: FileLineColLoc) -> str:
    """`file:line:column`, as editors understand it."""
    line, column = location.line.data, location.column.data
    return f"{printable(location.filename.data)}:{line}:{column}"


def location_name(location: Attribute | None) -> str | None:
    """The outermost name in `location`, or None."""
    if location is None:
        return None
    from xdsl.dialects.builtin import NameLoc

    return next(
        (part.desc.data for part in _parts(location) if isinstance(part, NameLoc)), None
    )


def location_full_name(location: Attribute | None) -> str | None:
    """The innermost of the names around the first place in `location`, or None."""
    if location is None:
        return None
    from xdsl.dialects.builtin import NameLoc

    name = None
    for part in _parts(location):
        if isinstance(part, NameLoc):
            name = part.desc.data
        elif name is not None:
            break
    return name


def make_file_location(filename: str, line: int, column: int) -> FileLineColLoc:
    """A file position; line and column count from 1."""
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr

    return FileLineColLoc(_file_name(filename), IntAttr(line), IntAttr(column))


@lru_cache(maxsize=16)
def _file_name(filename: str) -> StringAttr:
    """The name of a file, which all of its operations have."""
    from xdsl.dialects.builtin import StringAttr

    return StringAttr(printable_path(filename))


def printable(text: str) -> str:
    """The text as a terminal may show it: on one line, with escapes such as `\\x1b` for
    controls, those of bidirectional text too."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def printable_lines(text: str) -> str:
    """Lines as a terminal may show them, each `printable`."""
    return "\n".join(map(printable, text.split("\n")))


def printable_path(path: str) -> str:
    """The path as text; bytes that are not UTF-8 are escaped, such as `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _parts(location: Attribute) -> Iterator[Attribute]:
    """`location` and everything nested in it, outermost first."""
    from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FusedLoc, NameLoc
    from xdsl.ir import Attribute
    from xdsl.utils.hints import isa

    yield location
    match location:
        case NameLoc():
            yield from _parts(location.location)
        case CallSiteLoc():
            yield from _parts(location.callee)
            yield from _parts(location.caller)
        case FusedLoc():
            if isa(location.locations, ArrayAttr[Attribute]):
                for part in location.locations:
                    yield from _parts(part)
        case _:
            pass


def _quote_source(place: FileLineColLoc, source_line: str | None) -> list[str]:
    """The source line and a caret below the column; empty when there is no text."""
    if source_line is None:
        source_line = _read_line(Path(place.filename.data), place.line.data)
    column = place.column.data
    if source_line is None or not 1 <= column <= len(source_line) + 1:
        return []
    text = source_line.rstrip().replace("\t", " ")
    if not text:
        return []
    offset = column - 1
    start = 0
    if len(text) > WIDEST_SOURCE_LINE:
        start = max(0, offset - WIDEST_SOURCE_LINE // 2)
    shown = text[start : start + WIDEST_SOURCE_LINE]
    lead = "..." if start > 0 else ""
    trail = "..." if start + WIDEST_SOURCE_LINE < len(text) else ""
    return [
        f"  {lead}{shown}{trail}",
        " " * (2 + len(lead) + offset - start) + "^",
    ]


def _read_line(path: Path, number: int) -> str | None:
    """Line `number` of a text file, or None when it can't be shown."""
    if path.suffix not in (".mlir", ".param") or number < 1:
        return None
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_QUOTED_FILE:
            return None
        with path.open(encoding="utf-8") as lines:
            for index, line in enumerate(lines, start=1):
                if index == number:
                    return line
    except (OSError, UnicodeDecodeError):
        return None
    return None
