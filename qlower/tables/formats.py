"""Writing tables: plain text, markdown, CSV, JSON and HTML.

Names in a table may come from a model file, so none of the writers lets a cell leave
its place: control characters are escaped, and so is what the format gives a meaning.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import chain, zip_longest
from typing import TypeAlias

from qlower.diagnostics import QlowerError, printable
from qlower.tables.table import FORMATS, Cell, Column, Row, Table

Lines: TypeAlias = list[list[str]]
"""Cells as texts: the titles, the rows, and the sums where there are any."""

GAP = "  "

_MARKDOWN = re.compile(r"[\\|`<>*\[\]]|(?<!\w)_|_(?!\w)")


def write(table: Table[Row], format: str, width: int | None = None) -> str:
    """The table in one of `FORMATS`; `width` limits "plain"."""
    match format:
        case "plain":
            return plain(table, width)
        case "markdown":
            return markdown(table)
        case "csv":
            return csv(table)
        case "json":
            return json(table)
        case "html":
            return html(table)
        case _:
            raise QlowerError(
                f"there is no format {format!r}: choose of {', '.join(FORMATS)}"
            )


def plain(table: Table[Row], width: int | None = None) -> str:
    """Aligned columns, within `width` characters if possible; without rows, only the
    notes."""
    if table.notes and not table.rows:
        return "\n".join(_within(table.notes, width))
    columns, left_out = _fitting(table, width)
    lines = _lines(table, columns)
    widths = _widths(lines, width)
    if width is not None:
        widths = _shortened(columns, widths, width)
    head, *body = (
        _row(columns, widths, line, is_head=number == 0)
        for number, line in enumerate(lines)
    )
    rule = "-" * max(len(line) for part in (head, *body) for line in part)
    if table.total is not None:
        body[-1:] = [[rule], body[-1]]
    below = [*table.notes, *_legend(table, lines)]
    if left_out:
        titles = ", ".join(dict.fromkeys(column.head for column in left_out))
        below.append(f"Hidden on a narrow terminal: {titles}; {table.whole} has all.")
    below = _within(below, width)
    rows = chain.from_iterable(body)
    return "\n".join([*head, rule, *rows, *([""] if below else []), *below])


def _within(texts: Sequence[str], width: int | None) -> Sequence[str]:
    """The lines of texts, of at most `width` characters if there is a limit."""
    if width is None:
        return texts
    return [line for text in texts for line in _wrap(text, width)]


def _row(
    columns: Sequence[Column[Row]],
    widths: Sequence[int],
    line: Sequence[str],
    *,
    is_head: bool,
) -> list[str]:
    """The lines of a row, each cell as wide as its column."""
    cells = [
        [
            shorten(part, size)
            for part in (
                _wrap(text, size)
                if is_head or (column.wraps and len(text) > size)
                else [text]
            )
        ]
        for column, size, text in zip(columns, widths, line, strict=True)
    ]
    return [
        GAP.join(
            text.rjust(size) if column.is_right else text.ljust(size)
            for column, size, text in zip(columns, widths, parts, strict=True)
        ).rstrip()
        for parts in zip_longest(*cells, fillvalue="")
    ]


def markdown(table: Table[Row]) -> str:
    """A table that lines up as text as well."""
    columns = _for_people(table)
    lines = [[_escape_markdown(text) for text in line] for line in _lines(table)]
    widths = [
        max(2 if column.is_right else 1, width)
        for column, width in zip(columns, _widths(lines), strict=True)
    ]
    rules = [
        f"{'-' * (width - 1)}{':' if column.is_right else '-'}"
        for column, width in zip(columns, widths, strict=True)
    ]
    shown = [
        " | ".join(
            text.rjust(width) if column.is_right else text.ljust(width)
            for column, width, text in zip(columns, widths, line, strict=True)
        )
        for line in (lines[0], rules, *lines[1:])
    ]
    below = [f"- {text}" for text in (*table.notes, *_legend(table, _lines(table)))]
    return "\n".join(
        [*(f"| {line} |" for line in shown), *([""] if below else []), *below]
    )


def csv(table: Table[Row]) -> str:
    """All rows, without sums, with the columns' keys above; lists are joined by `;`."""
    import csv

    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.key for column in table.columns if column.key is not None)
    for record in table.records():
        writer.writerow(_csv_cell(cell) for cell in record.values())
    return text.getvalue().rstrip("\n")


def json(table: Table[Row]) -> str:
    """An object with an object for each row."""
    from qlower.tables.json_text import json_text

    return json_text({"rows": table.records()})


def html(table: Table[Row]) -> str:
    """A fragment of a page: a table, and below it notes and legend."""
    columns = _for_people(table)
    head, *body = _lines(table)
    below = [*table.notes, *_legend(table, [head, *body])]
    foot = [body.pop()] if table.total is not None else []
    parts = ["<table>", f"<caption>{_escape_html(table.title)}</caption>"]
    for group, cell, lines in (("thead", "th", [head]), ("tbody", "td", body)):
        parts.append(f"<{group}>")
        parts += [_html_line(columns, line, cell) for line in lines]
        parts.append(f"</{group}>")
    for line in foot:
        parts += ["<tfoot>", _html_line(columns, line, "td"), "</tfoot>"]
    parts.append("</table>")
    return "\n".join([*parts, *(f"<p>{_escape_html(text)}</p>" for text in below)])


def shorten(text: str, width: int) -> str:
    """The text within `width` characters: its beginning and its end."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def _for_people(table: Table[Row]) -> list[Column[Row]]:
    return [column for column in table.columns if column.title is not None]


def _lines(table: Table[Row], columns: Sequence[Column[Row]] | None = None) -> Lines:
    shown = _for_people(table) if columns is None else columns
    lines = [[printable(column.head) for column in shown]]
    lines += [[printable(column.text(row)) for column in shown] for row in table.rows]
    if table.total is not None:
        sums = [_sum(table, column) for column in shown]
        words = (i for i, column in enumerate(shown) if not column.is_right)
        sums[next(words, 0)] = table.total
        lines.append(sums)
    return lines


def _sum(table: Table[Row], column: Column[Row]) -> str:
    if not column.sums:
        return ""
    cells = (column.value(row) for row in table.rows)
    return f"{sum(cell for cell in cells if isinstance(cell, int)):,}"


def _widths(lines: Lines, limit: int | None = None) -> list[int]:
    """The characters of each column; with a limit, titles may take several lines."""
    return [
        max(map(len, (*([title] if limit is None else title.split()), *texts, "")))
        for title, *texts in zip(*lines, strict=True)
    ]


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines, the later ones indented by four more than the first."""
    indent = " " * (len(text) - len(text.lstrip()))
    return textwrap.wrap(
        text.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, max(width, 1), break_long_words=False, break_on_hyphens=False
    )


def _fitting(
    table: Table[Row], width: int | None
) -> tuple[list[Column[Row]], list[Column[Row]]]:
    """The columns that fit, and those left out: the lowest ranks come first."""
    columns = _for_people(table)
    if width is None:
        return columns, []
    widths = _widths(_lines(table, columns), width)
    least = [
        size if column.least is None else min(size, column.least)
        for column, size in zip(columns, widths, strict=True)
    ]
    room = width + len(GAP)
    shown: set[int] = set()
    for index in sorted(range(len(columns)), key=lambda index: columns[index].rank):
        needed = least[index] + len(GAP)
        if columns[index].rank == 0 or needed <= room:
            shown.add(index)
            room -= needed
    kept = [column for index, column in enumerate(columns) if index in shown]
    return kept, [column for column in columns if column not in kept]


def _shortened(
    columns: Sequence[Column[Row]], widths: Sequence[int], width: int
) -> list[int]:
    """The widths, those of texts made smaller, the longest first, until all fit."""
    sizes = list(widths)
    room = width - len(GAP) * (len(columns) - 1)
    while sum(sizes) > room:
        longest = max(
            (
                index
                for index, column in enumerate(columns)
                if column.least is not None and sizes[index] > column.least
            ),
            key=lambda index: sizes[index],
            default=None,
        )
        if longest is None:
            break
        sizes[longest] -= 1
    return sizes


def _legend(table: Table[Row], lines: Lines) -> Iterator[str]:
    """Explanations of words that occur in the table."""
    texts = " ".join(text for line in lines for text in line)
    for word, meaning in table.legend.items():
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", texts):
            yield f"{word}: {meaning}"


def _escape_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", text)


def _escape_html(text: str) -> str:
    import html

    return html.escape(text)


def _html_line(columns: Sequence[Column[Row]], line: Sequence[str], cell: str) -> str:
    right = ' style="text-align: right"'
    cells = (
        f"<{cell}{right if column.is_right else ''}>{_escape_html(text)}</{cell}>"
        for column, text in zip(columns, line, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _csv_cell(cell: Cell) -> str | int | float | bool:
    if cell is None:
        return ""
    if isinstance(cell, int | float):
        return cell
    return printable(cell if isinstance(cell, str) else ";".join(map(str, cell)))
