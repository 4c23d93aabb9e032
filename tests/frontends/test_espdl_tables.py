"""The tables of an ESP-DL file by themselves: bytes that are laid out here."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from qlower.diagnostics import QlowerError
from qlower.frontends.espdl.tables import (
    SHARING_ALLOWANCE,
    SMALLEST_BUDGET,
    TABLE_COST,
    File,
    Table,
)

PLACE = 24
"""Of the table; before it are its offset and up to eight fields' places."""


def file(*fields: bytes | None, behind: bytes = b"") -> File:
    """A table of these fields, each at a multiple of 4, then `behind`.
    A field that is None is left out."""
    body, places = struct.pack("<i", PLACE - 4), list[int]()
    for one in fields:
        places.append(0 if one is None else len(body))
        body += one or b""
        body += bytes(-len(body) % 4)
    layout = struct.pack("<HH", 4 + 2 * len(fields), 0)
    layout += struct.pack(f"<{len(places)}H", *places)
    head = (struct.pack("<I", PLACE) + layout).ljust(PLACE, b"\xee")
    return File(head + body + behind, "f")


def word(number: int) -> bytes:
    return struct.pack("<I", number)


def vector(count: int, data: bytes) -> bytes:
    """An offset to what follows it at once: a number of elements, and these."""
    return word(4) + word(count) + data


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises(QlowerError) as caught:
        read()
    assert str(caught.value.location) == 'loc("f":0:0)'
    return caught.value.message


def test_numbers() -> None:
    table = file(word(7), None, struct.pack("<f", 1.5), word(0xFFFFFFFF)).root()
    assert table.position == PLACE
    assert [table.place(field) for field in range(6)] == [28, None, 32, 36, None, None]
    assert [table.number(field) for field in (0, 1, 3, 4)] == [7, 0, -1, 0]
    assert table.number(3, "<I") == 0xFFFFFFFF
    assert table.number(2, "<f") == 1.5


def test_vectors() -> None:
    numbers = struct.pack("<2q", 3, -4)
    table = file(vector(2, numbers), None, vector(1, bytes(range(6))), vector(0, b""))
    root = table.root()
    assert root.integers(0) == (3, -4)
    assert root.integers(1) == root.integers(3) == ()
    assert root.numbers(2, "<u2", 3).tolist() == [0x100, 0x302, 0x504]
    assert root.numbers(1, "<u2").dtype == "u2"


def test_names() -> None:
    root = file(vector(3, b"a\xc3\xa9"), vector(2, b"\x1b\xff")).root()
    assert root.text(0) == "a\N{LATIN SMALL LETTER E WITH ACUTE}"
    assert root.text(1) == "\\x1b\N{REPLACEMENT CHARACTER}"
    assert root.text(2) == ""
    several = vector(2, word(8) + word(9) + word(1) + b"x" + word(2) + b"yz")
    assert file(several).root().texts(0) == ["x", "yz"]


def test_tables_of_a_table() -> None:
    """A vector of offsets, each from its own place."""
    inner = file(word(5)).data[4:]
    built = file(vector(2, word(8) + word(4)), behind=inner)
    for one in built.root().tables(0):
        assert one.position == PLACE + 4 + 8 + 8
    assert file(None).root().table(0) is None
    found = file(word(4), behind=inner).root().table(0)
    assert found is not None
    assert found.position == PLACE + 8


def test_what_leads_out_of_a_file() -> None:
    short = File(word(100), "f")
    message = "damaged file: an offset leads to byte 100 of 4"
    assert refusal(lambda: short.root().number(0)) == message
    assert refusal(lambda: File(b"abc", "f").root()) == (
        "damaged file: an offset leads to byte 0 of 3"
    )
    assert File(bytes(4), "f").at("<I", 0) == 0
    # a table whose fields would lie before the file has none
    assert Table(File(struct.pack("<i", 1), "f"), 0).place(0) is None


@pytest.mark.parametrize("count", [2, 3])
def test_vectors_up_to_the_end(count: int) -> None:
    root = file(vector(count, bytes(16))).root()
    if count == 2:
        assert root.integers(0) == (0, 0)
    else:
        assert refusal(lambda: root.integers(0)) == (
            "damaged file: 3 elements from byte 36 of 52 on"
        )


@pytest.mark.parametrize("count", [4, 5])
def test_names_up_to_the_end(count: int) -> None:
    root = file(vector(1, word(4) + word(count) + b"name")).root()
    if count == 4:
        assert root.texts(0) == ["name"]
    else:
        assert refusal(lambda: root.texts(0)) == "damaged file: a name of 5 bytes"


def test_bytes_that_are_read_again_and_again() -> None:
    least = File(bytes(1), "f")
    assert least.budget == SMALLEST_BUDGET
    size = SMALLEST_BUDGET
    assert File(bytes(size), "f").budget == SHARING_ALLOWANCE * size
    least.charge(SMALLEST_BUDGET)
    assert refusal(lambda: least.charge(1)) == (
        "damaged file: its tables read 1 bytes again and again"
    )
    built = file(vector(2, bytes(16)), word(4), behind=file().data[4:])
    before = built.budget
    built.root().integers(0)
    assert before - built.budget == 16
    built.root().table(1)
    assert before - built.budget == 16 + TABLE_COST
    named = file(vector(1, word(4) + word(4) + b"name"))
    before = named.budget
    named.root().texts(0)
    assert before - named.budget == 4 + 4
