"""Results as JSON, and JSON that is read."""

from __future__ import annotations

import math
from typing import Any

import pytest

from qlower.files.json_text import parse_json
from qlower.tables.json_text import SCHEMA, json_text


def test_an_object_has_the_version_of_its_keys_first() -> None:
    assert SCHEMA == 1
    assert json_text({}) == '{\n "schema": 1\n}'
    data = {"b": (1, 2.5), "a": [None, True, "é"], "c": {"d": {}, "e": []}}
    assert json_text(data) == (
        '{\n "schema": 1,\n "b": [\n  1,\n  2.5\n ],\n'
        ' "a": [\n  null,\n  true,\n  "\\u00e9"\n ],\n'
        ' "c": {\n  "d": {},\n  "e": []\n }\n}'
    )
    assert json_text({"schema": 7}) == '{\n "schema": 7\n}'


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_has_not_are_null(number: float) -> None:
    found = parse_json(json_text({"a": number, "b": [number, {"c": (number, 1.0)}]}))
    assert found == {"schema": 1, "a": None, "b": [None, {"c": [None, 1.0]}]}


READ: dict[str, Any] = {
    '{"a": 1, "b": [1, {"a": 2}]}': {"a": 1, "b": [1, {"a": 2}]},
    "[]": [],
    "3": 3,
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert parse_json(text) == READ[text]
    assert parse_json(text.encode()) == READ[text]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "b": 2, "b": 3}', "the key 'b' is there twice"),
        ('[{"x": {"c": 1, "c": 1, "d": 1, "d": 1}}]', "the key 'c' is there twice"),
        ("[" * 100_000, "it is nested too deeply"),
        ("{", "Expecting property name"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse_json(text)
    assert str(caught.value).startswith(reason)
