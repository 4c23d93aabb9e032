"""Keys of kept code: hashes of modules, and positions of data in objects."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from qlower.codegen.targets.resolve import host_target
from qlower.kept.fingerprint import fingerprint
from qlower.text.parsing import parse_module


def inner(module: str, name: str) -> Any:
    return vars(import_module(f"qlower.{module}"))[name]


def text(
    number: str = "5", values: str = "1, 2", type: str = "2xi8", place: str = "a"
) -> Any:
    return parse_module(f"""
func.func @main() -> (i32, tensor<{type}>) {{
  %n = arith.constant {number} : i32 loc("{place}")
  %t = arith.constant dense<[{values}]> : tensor<{type}>
  return %n, %t : i32, tensor<{type}>
}}""")


CHANGES = [
    {"number": "6"},
    {"values": "1, 3"},
    {"type": "2xi16"},
    {"type": "3xi8", "values": "1, 2, 3"},
    {"place": "b"},
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_hash_of_all_that_a_module_says(change: dict[str, str]) -> None:
    assert fingerprint(text()) == fingerprint(text())
    assert fingerprint(text()) != fingerprint(text(**change))
    short = [fingerprint(one, locations=False) for one in (text(), text(**change))]
    assert (short[0] == short[1]) == ("place" in change)


@pytest.mark.parametrize("change", CHANGES)
def test_schedules_are_kept_whatever_the_weights_are(change: dict[str, str]) -> None:
    """Keys have types and all attributes but constants' numbers and locations."""
    key, target = inner("runtime.tuning", "_key"), host_target()
    is_same = key(text(), target) == key(text(**change), target)
    assert is_same == (change.keys() in ({"values"}, {"place"}))


@pytest.mark.parametrize(
    ("group", "code", "offsets"),
    [
        ([b"AA", b"BB", b"AA"], b"..AABBAA", [2, 4, 6]),
        ([b"AAA", b"AA"], b"AAAAA", [0, 3]),
        ([b"AA", b"AA", b"AA"], b"AAAAA", None),
        ([b"BB", b"AA"], b"AABB", None),
        ([], b"AA", []),
    ],
)
def test_data_lie_one_after_the_other(
    group: list[bytes], code: bytes, offsets: list[int] | None
) -> None:
    found = inner("runtime.changed", "_placed")(group, 7, code)
    if offsets is None:
        assert found is None
        return
    digest = inner("runtime.changed", "_digest")
    kept = inner("runtime.changed", "KeptData")
    assert found == [
        kept(digest(data), 7, offset, len(data))
        for data, offset in zip(group, offsets, strict=True)
    ]
