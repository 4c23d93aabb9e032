"""How errors and warnings read."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import CallSiteLoc, FusedLoc, NameLoc, NoneAttr, StringAttr

from qlower.diagnostics import (
    LOGGER,
    QlowerError,
    location_name,
    make_file_location,
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
