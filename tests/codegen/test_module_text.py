"""The texts of a module of LLVM IR: one for people, one that LLVM reads sooner."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from qlower.codegen.llvm.binding import parse
from qlower.codegen.llvm.module import Module, data_groups
from qlower.codegen.llvm.values import I32, POINTER, constant, symbol

EVERY_BYTE = bytes(range(256))


def test_all_bytes_of_a_constant_arrive():
    module = Module("x86_64-unknown-linux-gnu", "nounwind")
    for data in (EVERY_BYTE, EVERY_BYTE[::-1], b'\\00"\\', b"\xc3\xa9\0"):
        module.add_constant(data)
    readable, dense = str(module), module.dense_text()
    assert readable.isascii()
    assert len(dense) < len(readable) / 2
    assert str(parse(dense)) == str(parse(readable))
    assert str(parse(dense)).count("constant_") == 4


HALF = 1 << 18


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], []),
        ([1], [[0]]),
        ([HALF, HALF, 1], [[0, 1], [2]]),
        ([HALF, HALF - 1, 1, 1], [[0, 1, 2], [3]]),
        ([4 * HALF, 1, 4 * HALF, 1], [[0], [1, 2], [3]]),
        ([0, 2 * HALF - 1, 0, 1, 0], [[0, 1, 2, 3], [4]]),
    ],
)
def test_data_that_is_compiled_together(
    sizes: Sequence[int], groups: list[list[int]]
) -> None:
    """What begins in the same half of a megabyte."""
    assert data_groups(sizes) == groups


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("@", "$"))]


SMALL, LARGE, OTHER = bytes(32), bytes(range(33)), bytes(range(1, 34))


def test_constants_of_units() -> None:
    """Large ones that several have are there once, small ones in each."""
    whole = Module("x", "nounwind", units=[])
    units = [whole.unit() for _ in range(2)]
    for unit in units:
        unit.add_constant(SMALL)
        unit.add_constant(LARGE)
    units[1].add_constant(OTHER)
    first, second, rest = (lines(text) for text in whole.separate_texts())
    name = units[0].add_constant(LARGE).text
    assert len(first) == 2
    assert first[0].startswith("@constant_")
    assert "private unnamed_addr constant [32 x i8] c" in first[0]
    assert first[1] == f"{name} = external constant [33 x i8], align 64"
    assert second[1].startswith(f"{units[1].add_constant(OTHER).text} = private")
    assert second[2] == first[1]
    (shared,) = rest
    assert shared.startswith(f"{name} = unnamed_addr constant [33 x i8] c")


def test_parameters_of_a_unit() -> None:
    """Large data and numbers, each once; small data is the unit's own."""
    unit = Module("x", "nounwind", units=[]).unit(has_parameters=True)
    assert unit.add_constant(SMALL).text.startswith("@constant_")
    data, number = unit.add_constant(LARGE), unit.add_number(7)
    assert (data.type, data.text) == (POINTER, "%p0")
    assert (number.type, number.text) == (I32, "%p1")
    assert unit.add_constant(LARGE) == data
    assert unit.add_number(7) == number
    assert unit.add_number(8).text == "%p2"
    unit.digest = "d"
    other = Module("x", "nounwind", units=[]).unit(has_parameters=True)
    other.restore(unit.saved())
    assert (other.parameters, other.digest) == (unit.parameters, "d")
    assert Module("x", "").add_number(7) == constant(I32, 7)


def test_bytes_that_are_all_the_same() -> None:
    module = Module("x", "")
    same, mixed = module.add_constant(b"\5\5\5"), module.add_constant(b"\5\6")
    assert module.repeated_byte(same) == 5
    assert module.repeated_byte(mixed) is None
    assert module.repeated_byte(symbol("elsewhere")) is None


def test_sections_of_large_constants() -> None:
    """Passed data has a name by its content there, and by its number elsewhere."""
    module = Module("x", "", section=".flash")
    module.add_constant(SMALL)
    name = module.pass_constant(LARGE).text
    first, group, second = lines(str(module))
    assert "section" not in first
    assert name.startswith("@constant_")
    assert group == f"${name[1:]} = comdat any"
    assert second.startswith(f"{name} = linkonce_odr hidden unnamed_addr constant")
    assert second.endswith(', section ".flash", comdat, align 64')
    plain = Module("x", "")
    assert [plain.pass_constant(one).text for one in (LARGE, OTHER, LARGE)] == [
        *("@data_0", "@data_1", "@data_0")
    ]
