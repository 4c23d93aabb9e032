"""How errors and warnings read."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute

from qlower import diagnostics
from qlower.diagnostics import (
    LOGGER,
    QlowerError,
    file_location,
    location_full_name,
    location_name,
    make_file_location,
    printable,
    printable_lines,
    printable_path,
    warn,
    without_repeats,
)
from qlower.model.layers import layer_name


def test_without_a_place():
    error = QlowerError("no such thing", notes=["one", "two"], help="try another")
    assert str(error) == (
        "error: no such thing\nnote: one\nnote: two\nhelp: try another"
    )


def test_source_line_and_caret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text("first\n\t%x = op\n")
    error = QlowerError("bad op", make_file_location("m.mlir", 2, 7))
    assert str(error) == "m.mlir:2:7: error: bad op\n   %x = op\n        ^"


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (1, "  01...\n  ^"),
        (3, "  ...12...\n      ^"),
        (9, "  ...78...\n      ^"),
        (10, "  ...89\n      ^"),
    ],
)
def test_a_part_of_a_long_line_is_quoted(
    column: int, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("qlower.diagnostics.WIDEST_SOURCE_LINE", 2)
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text("0123456789\n")
    error = QlowerError("bad op", make_file_location("m.mlir", 1, column))
    assert str(error) == f"m.mlir:1:{column}: error: bad op\n{shown}"


def test_only_text_is_quoted(tmp_path: Path):
    path = tmp_path / "m.tflite"
    path.write_text("text")
    error = QlowerError("bad", make_file_location(str(path), 1, 1))
    assert str(error) == f"{path}:1:1: error: bad"
    missing = QlowerError("bad", make_file_location(str(tmp_path / "m.mlir"), 1, 1))
    assert "\n" not in str(missing)


def test_long_lines_are_cut_around_the_caret():
    line = "a" * 5000 + "!" + "b" * 5000
    error = QlowerError("bad", make_file_location("m.mlir", 1, 5001), source_line=line)
    _, text, caret = str(error).splitlines()
    assert len(text) < 120
    assert text[caret.index("^")] == "!"


def test_names_in_locations():
    place = make_file_location("a.tflite", 3, 0)
    named = NameLoc(StringAttr("conv"), place)
    outer = NameLoc(StringAttr("outer"), named)
    assert location_name(outer) == "outer"
    assert location_name(FusedLoc((place, named), NoneAttr())) == "conv"
    assert location_name(CallSiteLoc(named, outer)) == "conv"
    assert location_name(place) is None
    op = test.TestOp()
    assert layer_name(op) is None
    op.location = named
    assert layer_name(op) == "conv"
    assert str(QlowerError("bad", named)) == (
        "a.tflite:3:0: error: bad\nnote: in layer 'conv'"
    )


def test_warnings_go_to_the_log(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, logger="qlower"):
        warn("odd", make_file_location("m.mlir", 1, 2))
    assert caplog.messages == ["m.mlir:1:2: warning: odd"]


def test_a_warning_is_told_once_and_a_state_each_time(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, logger="qlower"), without_repeats():
        for _ in range(2):
            warn("odd")
            LOGGER.info("compiling")
    assert caplog.messages == ["warning: odd", "compiling", "compiling"]


def place_in(file: str) -> FileLineColLoc:
    return make_file_location(file, 1, 2)


def called(name: str, inner: LocationAttr) -> NameLoc:
    return NameLoc(StringAttr(name), inner)


UNKNOWN = UnknownLoc()
A, B = place_in("a.tflite"), place_in("b.tflite")
FUSED = FusedLoc(ArrayAttr([UNKNOWN, called("c", A), called("d", B)]), NoneAttr())
LOCATIONS: list[tuple[Attribute | None, object, str | None, str | None]] = [
    # a place, the outermost name, and the innermost around the first place
    (None, None, None, None),
    (UNKNOWN, None, None, None),
    (A, A, None, None),
    (called("x", UNKNOWN), None, "x", "x"),
    (called("x", A), A, "x", "x"),
    (called("x", called("y", A)), A, "x", "y"),
    (FUSED, A, "c", "c"),
    (called("x", FUSED), A, "x", "x"),
    (FusedLoc(ArrayAttr([A, called("d", B)]), NoneAttr()), A, "d", "d"),
    (CallSiteLoc(called("e", B), called("x", A)), B, "e", "e"),
    (CallSiteLoc(UNKNOWN, called("x", A)), A, "x", "x"),
]


@pytest.mark.parametrize(("location", "place", "outer", "inner"), LOCATIONS)
def test_places_and_names_within_locations(
    location: Attribute | None, place: object, outer: str | None, inner: str | None
) -> None:
    assert file_location(location) == place
    assert location_name(location) == outer
    assert location_full_name(location) == inner


def test_an_error_as_plain_data() -> None:
    place = make_file_location("m.mlir", 3, 5)
    error = QlowerError("bad", called("conv", place), notes=["n"], help="h")
    assert error.to_dict() == {
        **{"message": "bad", "file": "m.mlir", "line": 3, "column": 5},
        **{"layer": "conv", "notes": ["n"], "help": "h"},
    }
    assert QlowerError("bad").to_dict() == {
        **{"message": "bad", "file": None, "line": None, "column": None},
        **{"layer": None, "notes": [], "help": None},
    }


LINES = "one\ntwo\n\nfour\n"


@pytest.mark.parametrize(
    ("line", "column", "quoted"),
    [
        (1, 1, "  one\n  ^"),
        (1, 4, "  one\n     ^"),
        (1, 5, "  one\n      ^"),  # the end of the line counts
        (1, 6, ""),
        (1, 0, ""),
        (2, 2, "  two\n   ^"),
        (3, 1, ""),
        (4, 1, "  four\n  ^"),
        (5, 1, ""),
        (0, 1, ""),
    ],
)
def test_the_line_of_a_file(
    line: int, column: int, quoted: str, tmp_path: Path
) -> None:
    for suffix in (".mlir", ".param"):
        path = tmp_path / f"m{suffix}"
        path.write_text(LINES)
        error = QlowerError("bad", make_file_location(str(path), line, column))
        assert str(error).partition("bad")[2] == (f"\n{quoted}" if quoted else "")


def test_the_place_in_a_line_that_is_given() -> None:
    for text, column, quoted in (
        ("abc", 4, "  abc\n     ^"),
        ("abc", 5, ""),
        ("abc", 0, ""),
        ("\tabc  ", 2, "   abc\n   ^"),
        ("   ", 1, ""),
    ):
        error = QlowerError("bad", make_file_location("x", 1, column), source_line=text)
        assert str(error).partition("bad")[2] == (f"\n{quoted}" if quoted else "")


def test_lines_of_files_that_are_too_large_or_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.mlir"
    path.write_bytes(b"abcd\n")
    error = QlowerError("bad", make_file_location(str(path), 1, 1))
    monkeypatch.setattr(diagnostics, "LARGEST_QUOTED_FILE", 5)
    assert "abcd" in str(error)
    monkeypatch.setattr(diagnostics, "LARGEST_QUOTED_FILE", 4)
    assert "abcd" not in str(error)
    monkeypatch.undo()
    path.write_bytes(b"ab\xff\n")
    assert "\n" not in str(error)
    path.unlink()
    path.mkdir()
    assert "\n" not in str(error)


def test_names_are_shown_on_a_line() -> None:
    text = "a\x1b[31m\u202e\n\u00e9"
    assert printable(text) == "a\\x1b[31m\\u202e\\n\u00e9"
    assert printable_lines("a\x07\nb") == "a\\x07\nb"
    assert printable_path("a\udcff") == "a\\xff"
    error = QlowerError("b\x1b\nnote", place_in("m\x1b"), notes=["\x07"], help="\x08")
    assert str(error) == ("m\\x1b:1:2: error: b\\x1b\nnote\nnote: \\x07\nhelp: \\x08")


def test_warnings_are_given_once_within_the_block(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="qlower"):
        with without_repeats():
            for text in ("a", "b", "a"):
                warn(text)
        for text in ("a", "a"):
            warn(text)
    assert caplog.messages == [f"warning: {text}" for text in "abaa"]


def test_an_error_has_its_message_alone_as_an_argument() -> None:
    error = QlowerError("no", UnknownLoc(), help="yes")
    assert error.args == ("no",)
    assert repr(error) == "QlowerError('no')"
