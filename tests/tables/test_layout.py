"""How tables are laid out, letter by letter: each bound of widths at its edge."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest

from qlower.tables.formats import markdown, shorten, wrapped
from qlower.tables.json_text import json_text
from qlower.tables.table import Cell, Column, Table, Tabled, counted, show_cell

Record = tuple[Cell, ...]


def column(index: int, title: str | None, **given: object) -> Column[Record]:
    key = f"k{index}" if given.pop("keyed", True) else None
    return Column(title, key, lambda row: row[index], **given)  # pyright: ignore


def table(
    rows: Sequence[Record], *columns: Column[Record], **given: object
) -> Table[Record]:
    return Table("t", rows, columns, **given)  # pyright: ignore


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 7, "abcdef"),
        ("abcdef", 5, "ab…ef"),
        ("abcdef", 4, "ab…f"),
        ("abcdef", 3, "a…f"),
        ("abcdef", 2, "a…"),
        ("abcdef", 1, "…"),
        ("", 0, ""),
    ],
)
def test_texts_are_shortened_in_the_middle(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short


WIDE = [(1, "abc", "words of some length")]
COLUMNS = (
    column(0, "n"),
    column(1, "name", least=2, rank=1),
    column(2, "why", right=False, rank=2),
)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (29, ["n", "name", "why"]),
        (28, ["n", "name", "why"]),
        (27, ["n", "name", "why"]),
        (26, ["n", "name"]),
        (7, ["n", "name"]),
        (5, ["n", "name"]),
        (4, ["n"]),
        (1, ["n"]),
    ],
)
def test_columns_are_left_out_where_they_do_not_fit(
    width: int, shown: list[str]
) -> None:
    """Each needs its width, or the least, and a gap; what was left out is said."""
    lines = table(WIDE, *COLUMNS).render(width=width).splitlines()
    assert " ".join(lines[0].split()).startswith(shown[0])
    text = " ".join(" ".join(lines).split())
    left = [title for title in ("name", "why") if title not in shown]
    if left:
        said = f"Hidden on a narrow terminal: {', '.join(left)}; --format csv has all."
        assert said in text
    else:
        assert "Hidden" not in text


def test_a_lower_rank_is_kept_where_a_higher_one_has_no_room() -> None:
    """And a later, narrower column of a higher rank may still fit."""
    rows = [(1, "0123456789", "ab")]
    columns = (column(0, "n"), column(1, "x", rank=1), column(2, "y", rank=2))
    head = table(rows, *columns).render(width=6).splitlines()[0]
    assert head.split() == ["n", "y"]
    head = table(rows, *columns[:1], column(2, "y", rank=2), column(1, "x", rank=1))
    assert head.render(width=13).splitlines()[0].split() == ["n", "x"]


def test_the_longest_texts_become_shorter_first() -> None:
    rows = [("aaaaaaaaaaaa", "bbbbbbbb", "cccc")]
    columns = (
        column(0, "a", least=3, wraps=False),
        column(1, "b", least=6, wraps=False),
        column(2, "c", right=False),
    )
    widths = {
        28: (12, 8, 4),
        27: (11, 8, 4),
        24: (8, 8, 4),
        22: (7, 7, 4),
        20: (6, 6, 4),
        17: (3, 6, 4),
        10: (3, 6, 4),
    }
    for width, sizes in widths.items():
        *_, line = table(rows, *columns).render(width=width).splitlines()
        assert tuple(map(len, line.split())) == sizes, width


def test_titles_and_texts_go_on_in_the_next_line() -> None:
    rows = [(7, "some words here"), (12345, "few")]
    columns = (column(0, "a long title"), column(1, "why", least=5))
    lines = table(rows, *columns).render(width=18).splitlines()
    assert lines == [
        *("a long  why", " title", "------------------"),
        *("     7  some words", "        here", "12,345  few"),
    ]


def test_notes_alone_where_there_are_no_rows() -> None:
    notes = ["nothing at all was found", "x"]
    empty = table([], column(0, "n"), notes=notes)
    assert empty.render() == "nothing at all was found\nx"
    assert empty.render(width=10) == "nothing at\nall was\nfound\nx"
    full = table([(1,)], column(0, "n"), notes=notes)
    assert full.render() == "n\n-\n1\n\nnothing at all was found\nx"
    assert table([], column(0, "n")).render() == "n\n-"


def test_sums_are_of_whole_numbers() -> None:
    rows: list[Record] = [(1, 2.5, "x", True), (1000, 1.5, "y", None)]
    summed = table(
        rows,
        column(0, "a", sums=True),
        column(1, "b"),
        column(2, "c", right=False),
        column(3, "d", sums=True),
        total="all",
    )
    last = summed.render().splitlines()[-1].split()
    assert last == ["1,001", "all", "1"]
    right = table([(1,), (2,)], column(0, "a", sums=True), total="all")
    assert right.render().splitlines()[-1].strip() == "all"
    assert table([], column(0, "a", right=False), total="all").render().endswith("all")


def test_a_total_stands_first_where_all_columns_are_on_the_right() -> None:
    summed = table([(1, 2)], column(0, "abc"), column(1, "b", sums=True), total="all")
    assert summed.render().splitlines()[-1] == "all  2"


def test_a_column_without_a_title() -> None:
    """Also without rows, and on a terminal."""
    columns = (column(0, ""), column(1, "two words"))
    for width, lines in (
        (None, ["  two words", "-----------"]),
        (11, ["    two", "  words", "-------"]),
    ):
        assert table([], *columns).render(width=width).splitlines() == lines
    assert [one.head for one in (*columns, column(2, None))] == ["", "two words", ""]


def test_spaces_at_the_end_of_a_text_that_fits_stay() -> None:
    lines = table([("ab ",)], column(0, "n")).render().splitlines()
    assert lines == ["  n", "---", "ab"]


def test_markdown_ends_with_its_last_row() -> None:
    assert markdown(table([(1,)], column(0, "n"))) == "|  n |\n| -: |\n|  1 |"


def test_long_words_stay_whole() -> None:
    """Also at hyphens, as in names; later lines are indented."""
    lines = ["  abcdefghij", "      bcd-ef"]
    assert wrapped("  abcdefghij bcd-ef", 10) == lines
    text = table([("abcdef bcd-e d",)], column(0, "n", least=4)).render(width=4)
    assert text.splitlines()[2:] == ["ab…f", "bc…e", "d"]


def test_words_are_explained_where_they_occur() -> None:
    legend = {"fma": "one step", "mul, add": "two", "a+b": "three"}
    for text, said in (
        ("fma", ["fma: one step"]),
        ("x fma (mul, add)", ["fma: one step", "mul, add: two"]),
        ("fmab xfma fma_", []),
        ("aab a+b", ["a+b: three"]),
        ("aab", []),
    ):
        found = table([(text,)], column(0, "n", right=False), legend=legend)
        assert found.render().splitlines()[4:] == said
        listed = [line for line in markdown(found).splitlines() if line[:2] == "- "]
        assert listed == [f"- {one}" for one in said]
        assert found.render("html").count("<p>") == len(said)


def test_marks_of_markdown_are_escaped() -> None:
    text = r"a|b*c`d<e>f[g]\ _h_ i_j"
    lines = markdown(table([(text,)], column(0, "n", right=False))).splitlines()
    escaped = r"a\|b\*c\`d\<e\>f\[g\]\\ \_h\_ i_j"
    assert lines[2] == f"| {escaped} |"
    assert lines[1] == f"| {'-' * len(escaped)} |"


def test_cells_of_csv() -> None:
    rows: list[Record] = [
        (None, True, 1.5, "a,b\n", ("x", 2)),
        (3, False, -0.0, "", ()),
    ]
    whole = table(
        rows, *(column(n, None) for n in range(5)), column(0, "t", keyed=False)
    )
    assert whole.render("csv").splitlines() == [
        "k0,k1,k2,k3,k4",
        r',True,1.5,"a,b\n",x;2',
        "3,False,-0.0,,",
    ]
    assert list(whole.records()[0]) == ["k0", "k1", "k2", "k3", "k4"]


def test_html_is_escaped() -> None:
    text = table([("<&'\">",)], column(0, "<n>", right=False), notes=["a<b"])
    lines = text.render("html").splitlines()
    assert "<tr><td>&lt;&amp;&#x27;&quot;&gt;</td></tr>" in lines
    assert "<tr><th>&lt;n&gt;</th></tr>" in lines
    assert lines[-1] == "<p>a&lt;b</p>"


def test_json_has_no_infinities() -> None:
    data = {
        "a": math.inf,
        "b": [math.nan, {"c": (-math.inf, 1.5)}],
        "d": "x",
        "e": None,
    }
    assert json.loads(json_text(data)) == {
        "schema": 1,
        **{"a": None, "b": [None, {"c": [None, 1.5]}], "d": "x", "e": None},
    }
    assert json_text({}) == '{\n "schema": 1\n}'


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        *((None, "-"), (True, "yes"), (False, "no"), ("", ""), (0, "0")),
        *((-1234, "-1,234"), (1.0, "1"), (12345.678, "1.235e+04"), ((), "-")),
        *(([], "-"), ((1000, "a", 0.5), "1,000, a, 0.5"), (("",), "-")),
    ],
)
def test_cells_for_people(cell: Cell, text: str) -> None:
    assert show_cell(cell) == text


def test_numbers_of_things() -> None:
    assert [counted(n, "x") for n in (0, 1, 2, 1000)] == [
        *("0 xs", "1 x", "2 xs", "1,000 xs"),
    ]


def test_a_result_is_its_table() -> None:
    class Result(Tabled[Record]):
        @property
        def table(self) -> Table[Record]:
            return table([(1, "words of it")], column(0, "n"), column(1, "w", least=3))

    result = Result()
    own = result.table
    assert str(result) == repr(result) == str(own) == own.render()
    assert result.render(9) == own.render(width=9) != own.render()
    assert vars(Tabled)["_repr_html_"](result) == own.render("html")
    assert result.to_dict() == {"rows": [{"k0": 1, "k1": "words of it"}]}


def test_heads_go_on_in_the_next_line_where_texts_are_cut() -> None:
    name = column(0, "two words", least=5, wraps=False)
    lines = table([("some text",)], name).render(width=5).splitlines()
    assert lines == ["two", "words", "-----", "so…xt"]
