"""Errors in text, as a `QlowerError` with their position."""

from __future__ import annotations

from dataclasses import replace

from xdsl.utils.exceptions import MultipleSpansParseError, ParseError

from qlower.diagnostics import QlowerError, make_file_location
from qlower.files.digits import reason
from qlower.text.ways_out import way_out


def decode(text: str | bytes, filename: str) -> str:
    """The text in `text`, which has to be UTF-8; else the error names the byte."""
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        column = error.start - (text.rfind(b"\n", 0, error.start) + 1) + 1
        raise QlowerError(
            f"not MLIR text: byte 0x{text[error.start]:02x} is not UTF-8",
            make_file_location(filename, line, column),
            help="binary MLIR (.mlirbc) has to be printed as text by mlir-opt first"
            if text.startswith(b"ML\xefR")
            else None,
        ) from None


def located(error: ParseError, source: str, line_offset: int) -> QlowerError:
    """The `QlowerError` that says the same as a parser's error."""
    span = replace(error.span, line_offset=line_offset)
    place = span.get_location()
    notes: list[str] = []
    if isinstance(error, MultipleSpansParseError):
        notes = [
            f"{error.ref_text or 'see'} {reference.get_location()}"
            for reference, _ in error.refs
        ]
    message = error.msg.rstrip("!.")
    if message[:1] in ("", " "):  # xDSL says only where
        what = "text" if error.span.start < len(source.rstrip()) else "end of text"
        message = f"unexpected {what}{message}"
    return QlowerError(
        _lower_first(message),
        make_file_location(place.file, place.line, place.col),
        notes=notes,
        help=way_out(message),
        source_line=line_of(source, place.line - line_offset),
    )


def line_of(source: str, number: int) -> str:
    """Line `number` of `source`, counted from 1, without its end."""
    start = 0
    for _ in range(number - 1):
        start = source.find("\n", start) + 1
    end = source.find("\n", start)
    return source[start : len(source) if end < 0 else end]


def first_line(error: Exception) -> str:
    """One sentence for any exception; asserts and lookups have none of their own."""
    lines = reason(error).strip().split("\n")
    # xDSL says which operand does not verify in one line and why in the next.
    text = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    if isinstance(error, KeyError | AssertionError | IndexError) or not text:
        text = f"malformed text ({type(error).__name__}: {text})"
    return _lower_first(text)


def _lower_first(text: str) -> str:
    """Lower the first letter of a sentence, unless it begins with an acronym."""
    if len(text) > 1 and text[0].isupper() and not text[1].isupper():
        return text[0].lower() + text[1:]
    return text
