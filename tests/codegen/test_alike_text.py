"""Functions that differ in numbers only, as text: what is read from a table."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest

from qlower.codegen.llvm.alike import join_alike
from qlower.codegen.llvm.module import Module

inner: Any = vars(import_module("qlower.codegen.llvm.alike"))

HEAD = "define internal void @NAME(ptr noalias %a0, i64 %a1) #0 {"


def function(*lines: str, head: str = HEAD) -> str:
    """A function whose name is left open."""
    return "\n".join(
        [head, "entry:", *(f"  {one}" for one in lines), "  ret void", "}"]
    )


def module_of(*functions: str) -> Module:
    """A unit with parameters for each function, which all are called once."""
    module = Module("", "", units=[])
    for number, text in enumerate(functions):
        unit = module.unit(has_parameters=True)
        unit.functions[f"f{number}"] = text.replace("NAME", f"f{number}")
    calls = [f"call void @f{n}(ptr %x, i64 {n})" for n in range(len(functions))]
    module.functions["main"] = function(*calls, "call void @other(ptr %x)")
    return module


def joined(*functions: str) -> tuple[list[str], list[bytes]]:
    """The lines of the function that is left of several, and the numbers of each."""
    module = module_of(*functions)
    names = [f"f{n}" for n in range(len(functions))]
    assert join_alike(module) == dict.fromkeys(names, "f0")
    assert module.units is not None
    (unit,) = module.units
    assert [*unit.functions] == ["f0"]
    data = {name: numbers for numbers, name in module.passed.items()}
    *calls, other = module.functions["main"].splitlines()[2:-2]
    rows: list[bytes] = []
    for n, line in enumerate(calls):
        before, _, name = line.removesuffix(")").rpartition("@")
        assert before == f"  call void @f0(ptr %x, i64 {n}, ptr "
        rows.append(data[name])
    assert other == "  call void @other(ptr %x)"
    return unit.functions["f0"].splitlines(), rows


NUMBERS = (
    (
        "%v1 = add i64 %a1, 8",
        "%v2 = mul nuw i64 %v1, 5",
        "%v7 = getelementptr inbounds i8, ptr %a0, i64 -70000",
        "%v8 = icmp slt i64 %v2, 8",
        "%v9 = fmul float %x, 0x3FF0000000000000",
        "%v10 = ashr i64 %v2, 35",
        "call void @g(i32 3, i64 4294967296)",
        "call void @llvm.assume(i64 3)",
    ),
    (
        "%v1 = add i64 %a1, 16",
        "%v2 = mul nuw i64 %v1, 5",
        "%v3 = getelementptr inbounds i8, ptr %a0, i64 -3",
        "%v4 = icmp slt i64 %v2, 16",
        "%v5 = fmul float %x, 0x3FE0000000000000",
        "%v6 = ashr i64 %v2, 40",
        "call void @g(i32 5, i64 1)",
        "call void @llvm.assume(i64 3)",
    ),
)


def test_numbers_that_differ() -> None:
    """They are stored in as few bytes as they take, the widest first, once if they are
    alike throughout; a shift of 64 bits becomes one of a word. Equal numbers stay."""
    found, rows = joined(*(function(*lines) for lines in NUMBERS))
    assert found == [
        "define internal void @f0(ptr noalias %a0, i64 %a1, "
        "ptr noalias nonnull readonly dereferenceable(22) %numbers) #0 {",
        "entry:",
        "  %n0.at = getelementptr i8, ptr %numbers, i64 0",
        "  %n0 = load i64, ptr %n0.at, align 8",
        "  %n1.at = getelementptr i8, ptr %numbers, i64 8",
        "  %n1.stored = load i32, ptr %n1.at, align 4",
        "  %n1 = sext i32 %n1.stored to i64",
        "  %n2.at = getelementptr i8, ptr %numbers, i64 12",
        "  %n2 = load float, ptr %n2.at, align 4",
        "  %n3.at = getelementptr i8, ptr %numbers, i64 16",
        "  %n3.stored = load i16, ptr %n3.at, align 2",
        "  %n3 = zext i16 %n3.stored to i64",
        "  %n4.at = getelementptr i8, ptr %numbers, i64 18",
        "  %n4.stored = load i16, ptr %n4.at, align 2",
        "  %n4 = zext i16 %n4.stored to i32",
        "  %n5.at = getelementptr i8, ptr %numbers, i64 20",
        "  %n5.stored = load i16, ptr %n5.at, align 2",
        "  %n5 = zext i16 %n5.stored to i32",
        "  %v0 = add i64 %a1, %n3",
        "  %v1 = mul nuw i64 %v0, 5",
        "  %v2 = getelementptr inbounds i8, ptr %a0, i64 %n1",
        "  %v3 = icmp slt i64 %v1, %n3",
        "  %v4 = fmul float %x, %n2",
        "  %v5.both = lshr i64 %v1, 32",
        "  %v5.high = trunc i64 %v5.both to i32",
        "  %v5.word = ashr i32 %v5.high, %n4",
        "  %v5 = sext i32 %v5.word to i64",
        "  call void @g(i32 %n5, i64 %n0)",
        "  call void @llvm.assume(i64 3)",
        "  ret void",
        "}",
    ]
    assert rows == [
        struct.pack("<qifHHH", 1 << 32, -70000, 1.0, 8, 35 - 32, 3),
        struct.pack("<qifHHH", 1, -3, 0.5, 16, 40 - 32, 5),
    ]


@pytest.mark.parametrize(
    ("numbers", "letter"),
    [
        *(((0, 65535), "H"), ((0, 65536), "i"), ((-1, 5), "i"), ((1, 2, 3), "H")),
        *(((-(1 << 31), 0), "i"), ((-(1 << 31) - 1, 0), "q")),
        *(((0, (1 << 31) - 1), "i"), ((0, 1 << 31), "q"), ((5, -7, 1 << 40), "q")),
    ],
)
def test_bytes_of_a_number(numbers: Sequence[int], letter: str) -> None:
    made = [function(f"%v1 = sub i64 {one}, %v0") for one in numbers]
    found, rows = joined(*made)
    assert rows == [struct.pack(f"<{letter}", one) for one in numbers]
    extends = {"q": "", "i": "sext i32", "H": "zext i16"}[letter]
    assert extends in "\n".join(found)
    assert "  %v0 = sub i64 %n0, %v1" in found


def test_words_are_stored_as_such() -> None:
    found, _ = joined(*(function(f"%v1 = add i32 %x, {n}") for n in (-1, 70000)))
    assert found[2:5] == [
        "  %n0.at = getelementptr i8, ptr %numbers, i64 0",
        "  %n0 = load i32, ptr %n0.at, align 4",
        "  %v0 = add i32 %x, %n0",
    ]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("  %v1 = and i32 7, %v0", ["  %v1 = and i32 "]),
        ("  %v1 = udiv i64 %v0, 12", ["  %v1 = udiv i64 %v0, "]),
        ("  %v1 = ashr exact i64 %v0, 2", ["  %v1 = ashr exact i64 %v0, "]),
        ("  %v1 = and i32 %v0, 7", []),
        ("  %v1 = shl i64 %v0, 2", []),
        ("  %v1 = add <4 x i32> %v0, 2", []),
        ("  %v1 = fadd float %v0, 0x3FF0000000000000", ["  %v1 = fadd float %v0, "]),
        ("  %v1 = fadd double %v0, 0x3FF0000000000000", []),
        ("  call void @f(i32 1, ptr %x, i64 -2)", ["  call void @f(i32 ", *[""]]),
        ("  %v2 = call i64 @llvm.umin.i64(i64 %v1, i64 9)", [""]),
        ("  %v2 = call i32 @llvm.smax.i32(i32 %v1, i32 9)", []),
        ("  %v2 = call i32 @g(i32 %v1, i32 9)", [""]),
        ("  store i32 4, ptr %x", []),
    ],
)
def test_numbers_of_a_line(line: str, parts: list[str]) -> None:
    """Where a register may stand, too."""
    found = inner["_numbers"](line)
    assert len(found) == len(parts)
    place = 0
    for (before, number), part in zip(found, parts, strict=True):
        assert before.startswith(part)
        text = f"{before}{number.text}"
        assert line[place:].startswith(text)
        place += len(text)
        assert number.type in before


ARGUMENTS: list[tuple[list[str], str]] = [
    (["ptr noalias %a, i64 %n"] * 2, "ptr noalias %a, i64 %n"),
    (["ptr noalias %a", "ptr %a"], "ptr %a"),
    (["ptr %a", "ptr noalias %a"], "ptr %a"),
    (
        [
            "ptr noalias nonnull %a, ptr nonnull %b",
            "ptr nonnull %a, ptr noalias nonnull %b",
        ],
        "ptr nonnull %a, ptr nonnull %b",
    ),
    (
        ["ptr noalias readonly %a, ptr noalias %b", "ptr readonly %a, ptr noalias %b"],
        "ptr readonly %a, ptr noalias %b",
    ),
    (
        ["ptr readonly dereferenceable(8) %a", "ptr readonly dereferenceable(4) %a"],
        "ptr readonly %a",
    ),
]


@pytest.mark.parametrize(("given", "wanted"), ARGUMENTS)
def test_attributes_that_all_have(given: list[str], wanted: str) -> None:
    """Each argument by itself: what one layer overwrites, another only reads."""
    heads = [HEAD.replace("ptr noalias %a0, i64 %a1", one) for one in given]
    made = [
        function(f"%v1 = add i64 %n, {number}", head=head)
        for number, head in enumerate(heads)
    ]
    found, _ = joined(*made)
    assert f"@f0({wanted}, ptr noalias nonnull readonly" in found[0]


@pytest.mark.parametrize(
    "other",
    [
        function("%v1 = add i64 %x, 4", head=HEAD.replace("#0", "#1")),
        function("%v1 = add i64 %x, 4", head=HEAD.replace("i64 %a1", "i32 %a1")),
        function("%v1 = add i32 %x, 4"),
        function("%v1 = sub i64 %x, 4"),
        function("%v1 = add i64 %x, 4", "%v2 = add i64 %x, 4"),
    ],
)
def test_functions_that_stay(other: str) -> None:
    """Of another head, type, instruction or length; and those of other units."""
    one = function("%v1 = add i64 %x, 3")
    module = module_of(one, other)
    module.unit().functions["alone"] = one.replace("NAME", "alone")
    before = module.all_functions
    assert join_alike(module) == {}
    assert module.all_functions == before
    assert len(module.units or ()) == 3
    assert join_alike(Module("", "")) == {}
