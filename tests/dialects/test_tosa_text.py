"""Properties of `tosa` operations as text: with and without types, quotes and
clauses."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from qlower.dialects.tosa.text import parse_clauses, parse_dictionary
from qlower.text.context import make_context


def read(text: str) -> Attribute:
    return Parser(make_context(), text).parse_attribute()


WORDS = {
    "rounding_mode = DOUBLE_ROUND": "#tosa.rounding_mode<DOUBLE_ROUND>",
    'rounding_mode = "SINGLE_ROUND"': "#tosa.rounding_mode<SINGLE_ROUND>",
    "rounding_mode = #tosa.rounding_mode<INEXACT_ROUND>": (
        "#tosa.rounding_mode<INEXACT_ROUND>"
    ),
    "nan_mode = IGNORE": "#tosa.nan_mode<IGNORE>",
    "mode = BILINEAR": "#tosa.resize_mode<BILINEAR>",
}
LISTS = {
    "perms = [2, 0, 1]": "array<i32: 2, 0, 1>",
    "perms = array<i32: 0>": "array<i32: 0>",
    "kernel = [3, 3]": "array<i64: 3, 3>",
    "pad = [0, 1, -1, 2]": "array<i64: 0, 1, -1, 2>",
    "names = []": "array<i64>",
    'names = ["a"]': '["a"]',
}


@pytest.mark.parametrize(("text", "wanted"), {**WORDS, **LISTS}.items())
def test_values_in_a_dictionary(text: str, wanted: str) -> None:
    found = parse_dictionary(Parser(make_context(), f"{{{text}}}"))
    assert found == {text.partition(" ")[0]: read(wanted)}


def test_a_dictionary() -> None:
    text = '{scale32 = true, "axis" = 1 : i32, local_bound, group = 2}'
    assert parse_dictionary(Parser(make_context(), text)) == {
        "scale32": BoolAttr.from_bool(True),
        "axis": IntegerAttr(1, i32),
        "local_bound": UnitAttr(),
        "group": IntegerAttr(2, i64),
    }
    assert parse_dictionary(Parser(make_context(), ": i32")) == {}


def test_clauses() -> None:
    text = "axis = 3, kernel<[2, 2]>, perms([1, 0]), mode = BILINEAR scale32 : (i8)"
    parser = Parser(make_context(), text)
    assert parse_clauses(parser) == {
        "axis": IntegerAttr(3, i32),
        "kernel": read("array<i64: 2, 2>"),
        "perms": read("array<i32: 1, 0>"),
        "mode": read("#tosa.resize_mode<BILINEAR>"),
        "scale32": BoolAttr.from_bool(True),
    }
    parser.parse_punctuation(":")


REFUSED = {
    "{mode = NEAREST}": "mode NEAREST is not one of NEAREST_NEIGHBOR, BILINEAR",
    "{a, b = 1, a = 2}": "a is given twice",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_dictionary(Parser(make_context(), text))
