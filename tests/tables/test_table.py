"""One table, in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass

import pytest

from qlower.diagnostics import QlowerError, printable
from qlower.tables.formats import wrapped
from qlower.tables.table import (
    FORMATS,
    Column,
    Table,
    counted,
    percentage,
    show_cell,
)


@dataclass(frozen=True)
class Layer:
    name: str
    work: int | None
    share: float


HOSTILE = "</td><script>|*a*\n\x1b[31m"
LAYERS = [
    Layer("conv", 12000, 0.25),
    Layer("a_name_that_nobody_can_read/and/it/goes/on/and/on", None, 1 / 3),
]


def make_table(*rows: Layer) -> Table[Layer]:
    return Table(
        "layers",
        rows or LAYERS,
        [
            Column("MACs", "macs", lambda row: row.work, sums=True),
            Column("share", "share", lambda row: row.share, rank=1),
            Column("layer", "layer", lambda row: row.name, least=12),
            Column(None, "is_first", lambda row: row.name == "conv"),
        ],
        total="total",
        legend={"conv": "a convolution", "pool": "a pool"},
    )


def test_plain():
    assert make_table(LAYERS[0]).render().splitlines() == [
        "  MACs  share  layer",
        "--------------------",
        "12,000   0.25  conv",
        "--------------------",
        "12,000         total",
        "",
        "conv: a convolution",
    ]


@pytest.mark.parametrize("width", [24, 30, 40, 79, 80])
def test_plain_fits_a_terminal(width: int):
    lines = make_table().render(width=width).split("\n\n")[0].splitlines()
    assert max(map(len, lines)) <= width
    assert lines[-2].count("-") == len(lines[-2])
    assert ("share" in lines[0]) == (width >= 30)


def test_a_column_that_is_left_out_is_named():
    text = " ".join(make_table().render(width=24).split())
    assert "Hidden on a narrow terminal: share" in text
    assert "0.25" not in text


def test_words_go_on_in_the_next_line():
    """No word of a sentence is lost in a terminal; what stays in a line is cut."""

    def shown(wraps: bool) -> str:
        why = Column[str]("why", "why", str, right=False, least=12, wraps=wraps)
        size = Column[str]("size", "size", len)
        return Table("reasons", [sentence], [size, why]).render(width=30)

    sentence = "the sums of pairs saturate where both are at an end"
    assert " ".join(shown(wraps=True).split()[4:]) == sentence
    assert max(map(len, shown(wraps=True).splitlines())) <= 30
    *_, row = shown(wraps=False).splitlines()
    assert len(row) <= 30
    assert "\N{HORIZONTAL ELLIPSIS}" in row


def test_a_title_takes_a_line_for_each_word():
    table = Table("lengths", ["ab"], [Column[str]("letters of words", "letters", len)])
    assert table.render(width=10).splitlines() == [
        *("letters", "     of", "  words", "-------", "      2")
    ]


def test_csv_and_json_have_every_row_as_it_is():
    table = make_table()
    assert json.loads(table.render("json")) == {
        "schema": 1,
        "rows": [
            {"macs": 12000, "share": 0.25, "layer": "conv", "is_first": True},
            {"macs": None, "share": 1 / 3, "layer": LAYERS[1].name, "is_first": False},
        ],
    }
    head, *rows = csv.reader(io.StringIO(table.render("csv")))
    assert head == ["macs", "share", "layer", "is_first"]
    assert rows[0] == ["12000", "0.25", "conv", "True"]
    assert float(rows[1][1]) == 1 / 3


def test_markdown():
    assert make_table(LAYERS[0]).render("markdown").splitlines() == [
        "|   MACs | share | layer |",
        "| -----: | ----: | ----- |",
        "| 12,000 |  0.25 | conv  |",
        "| 12,000 |       | total |",
        "",
        "- conv: a convolution",
    ]


def test_html():
    right = ' style="text-align: right"'
    assert make_table(LAYERS[0]).render("html").splitlines() == [
        *("<table>", "<caption>layers</caption>", "<thead>"),
        f"<tr><th{right}>MACs</th><th{right}>share</th><th>layer</th></tr>",
        *("</thead>", "<tbody>"),
        f"<tr><td{right}>12,000</td><td{right}>0.25</td><td>conv</td></tr>",
        *("</tbody>", "<tfoot>"),
        f"<tr><td{right}>12,000</td><td{right}></td><td>total</td></tr>",
        *("</tfoot>", "</table>", "<p>conv: a convolution</p>"),
    ]
    without = Table("t", [1], [Column("a", "a", lambda row: row)]).render("html")
    assert "tfoot" not in without


def test_a_column_that_nobody_fills_takes_no_room():
    columns: list[Column[int]] = [
        Column("a", "a", lambda row: row),
        Column("", "b", lambda row: "", right=False),
        Column("c", "c", lambda row: row),
    ]
    table = Table("t", [1], columns)
    assert table.render().splitlines() == ["a    c", "------", "1    1"]
    assert table.render("markdown").splitlines() == [
        *("|  a |   |  c |", "| -: | - | -: |", "|  1 |   |  1 |"),
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a few words", ["a few", "    words"]),
        ("  a few words", ["  a few", "      words"]),
        ("    ", [""]),
        ("averylongword b-c", ["averylongword", "    b-c"]),
    ],
)
def test_lines_are_indented_by_four_more(text: str, lines: list[str]):
    assert wrapped(text, 9) == lines


@pytest.mark.parametrize("format", FORMATS)
def test_hostile_names_stay_in_their_cell(format: str):
    table = make_table(Layer(HOSTILE, 1, 0.5))
    text = table.render("csv") if format == "csv" else write(table, format)
    if format == "json":
        assert json.loads(text)["rows"][0]["layer"] == HOSTILE
    if format == "csv":
        assert next(csv.DictReader(io.StringIO(text)))["layer"] == printable(HOSTILE)
        return
    assert "\x1b" not in text
    if format == "html":
        assert "<script" not in text
        assert table._repr_html_() == text  # pyright: ignore[reportPrivateUsage]
    if format == "markdown":
        row = text.splitlines()[2]
        assert len(re.findall(r"(?<!\\)\|", row)) == 4
        assert "\\<script\\>" in row


def write(table: Table[Layer], format: str) -> str:
    from qlower.tables.formats import write

    return write(table, format)


def test_an_unknown_format():
    with pytest.raises(QlowerError, match="no format 'xml': choose of plain, markdown"):
        write(make_table(), "xml")


def test_no_rows():
    empty = Table("layers", [], make_table().columns, "total")
    assert json.loads(empty.render("json"))["rows"] == []
    assert empty.render(width=80).splitlines()[0] == "MACs  share  layer"


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.0, 2, "0.00%"),
        (1.0, 0, "100%"),
        (0.5, 1, "50.0%"),
        (0.99996, 2, "99.996%"),
        (0.999, 0, "99.9%"),
        (0.00001, 1, "0.001%"),
        (1 - 2**-53, 2, "99.99999999999999%"),
        (1e-12, 0, "0.0000000001%"),
    ],
)
def test_a_part_is_neither_none_nor_all(share: float, digits: int, text: str):
    assert percentage(share, digits) == text


def test_cells_and_counts_in_words():
    cells = (None, True, 1234567, 0.00123456, ("a", 2))
    assert [show_cell(cell) for cell in cells] == [
        "-",
        "yes",
        "1,234,567",
        "0.001235",
        "a, 2",
    ]
    assert [counted(n, "layer") for n in (0, 1, 2)] == [
        "0 layers",
        "1 layer",
        "2 layers",
    ]
