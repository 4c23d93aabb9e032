"""Objects as bytes of memory: what is read of ELF, where sections lie, and what each
relocation makes of an instruction, decoded again by its manual's picture."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import pytest

from qlower.emulation.aarch64 import AARCH64
from qlower.emulation.arm_m import ARM_M
from qlower.emulation.elf import (
    ElfObject,
    Relocation,
    Section,
    Symbol,
    read_object,
)
from qlower.emulation.image import Fixup, LinkError, link
from qlower.emulation.riscv import RISCV32, RISCV64


def elf(is_wide: bool, *, in_place: bool = False) -> bytes:
    """An object with code, zeros, a remark, symbols and two relocations."""
    names = b"\0.text\0.bss\0.note\0.symtab\0.rel\0"
    labels = b"\0here\0there\0"
    word = "Q" if is_wide else "I"
    symbols = b""
    for label, value, where in ((0, 0, 0), (1, 4, 1), (6, 0, 0)):
        if is_wide:
            symbols += struct.pack("<IBBHQQ", label, 0, 0, where, value, 0)
        else:
            symbols += struct.pack("<IIIBBH", label, value, 0, 0, 0, where)
    shift = 32 if is_wide else 8
    relocations = b""
    for offset, symbol, kind, addend in ((0, 2, 28, -4), (8, 1, 255, 6)):
        relocations += struct.pack(f"<2{word}", offset, symbol << shift | kind)
        if not in_place:
            relocations += struct.pack(f"<{word.lower()}", addend)
    code, note = bytes(range(12)), b"remark"
    rows = (  # name, kind, flags, data or a length, link, info, alignment
        (0, 0, 0, b"", 0, 0, 0),
        (1, 1, 6, code, 0, 0, 16),
        (7, 8, 3, 5, 0, 0, 8),
        (12, 1, 0, note, 0, 0, 1),
        (18, 2, 0, symbols, 6, 0, 8),
        (26, 9 if in_place else 4, 0, relocations, 4, 1, 8),
        (0, 3, 0, labels, 0, 0, 1),
        (0, 3, 0, names, 0, 0, 1),
    )
    body, at = b"", 64
    headers = b""
    for name, kind, flags, data, linked, info, alignment in rows:
        length = data if isinstance(data, int) else len(data)
        form = "<IIQQQQIIQQ" if is_wide else "<10I"
        fields = (name, kind, flags, 0, at, length, linked, info, alignment, 0)
        headers += struct.pack(form, *fields)
        if isinstance(data, bytes):
            body += data
            at += len(data)
    head = bytearray(64)
    head[:6] = b"\x7fELF" + bytes([2 if is_wide else 1, 1])
    struct.pack_into("<H", head, 0x12, 183)
    struct.pack_into(f"<{word}", head, 0x28 if is_wide else 0x20, at)
    sizes = len(headers) // len(rows), len(rows), 7
    struct.pack_into("<HHH", head, 0x3A if is_wide else 0x2E, *sizes)
    return bytes(head) + body + headers


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("in_place", [False, True])
def test_objects_are_read(is_wide: bool, in_place: bool) -> None:
    found = read_object(elf(is_wide, in_place=in_place))
    assert (found.machine, found.is_wide) == (183, is_wide)
    assert found.sections[:4] == (
        Section("", False, False, 1, b""),
        Section(".text", True, True, 16, bytes(range(12))),
        Section(".bss", True, False, 8, bytes(5)),
        Section(".note", False, False, 1, b"remark"),
    )
    here, there = Symbol("here", 1, 4), Symbol("there", 0, 0)
    assert found.symbols == (Symbol("", 0, 0), here, there)
    assert found.relocations == (
        Relocation(1, 0, 28, there, 0 if in_place else -4),
        Relocation(1, 8, 255, here, 0 if in_place else 6),
    )
    assert found.external_symbols == {"there"}
    assert found.defined_symbols == {"here"}


@pytest.mark.parametrize(
    "change", [(0, 0), (3, ord("G")), (5, 2)], ids=["magic", "last", "big-endian"]
)
def test_other_files_are_no_objects(change: tuple[int, int]) -> None:
    data = bytearray(elf(True))
    data[change[0]] = change[1]
    with pytest.raises(ValueError, match=r"^no little-endian ELF object$"):
        read_object(bytes(data))


def linked(*relocations: Relocation) -> tuple[list[Fixup], object]:
    sections = (
        Section("", False, False, 1, b""),
        Section("a", True, True, 4, b"\1" * 5),
        Section("note", False, True, 64, b"\2" * 9),
        Section("b", True, False, 16, b"\3" * 3),
        Section("c", True, True, 2, b"\4" * 2),
    )
    symbols = (Symbol("x", 3, 2), Symbol("y", 2, 0), Symbol("z", 0, 0))
    given: list[tuple[bytes, list[Fixup], list[range]]] = []

    def relocate(
        image: bytearray, fixups: Sequence[Fixup], code: Sequence[range]
    ) -> None:
        given.append((bytes(image), [*fixups], [*code]))
        image[0] = 9

    whole = ElfObject(1, False, sections, symbols, relocations)
    image = link(whole, 0x1000, {"f": 0x500, "x": 0x600}, relocate)
    ((before, fixups, code),) = given
    # each at its alignment, the whole in words
    layout = b"\1" * 5 + bytes(11) + b"\3" * 3 + bytes(1) + b"\4" * 2 + bytes(2)
    assert before == layout
    assert code == [range(0, 5), range(20, 22)]
    assert image.data == b"\t" + layout[1:]
    assert image.symbols == {"x": 0x1012}
    return fixups, image


def test_sections_lie_one_after_another() -> None:
    own, other, none = Symbol("x", 3, 2), Symbol("f", 0, 0), Symbol("", 0, 7)
    fixups, _ = linked(
        Relocation(3, 1, 7, own, -5),
        Relocation(1, 4, 8, other, 3),
        Relocation(1, 0, 9, none, 0),  # a remark
        Relocation(2, 0, 9, own, 0),  # in what isn't there
    )
    assert fixups == [
        Fixup(7, 17, 0x1011, 0x1012 - 5, "x"),
        Fixup(8, 4, 0x1004, 0x503, "f"),
    ]
    assert [fixup.distance for fixup in fixups] == [-4, 0x503 - 0x1004]
    with pytest.raises(LinkError, match=r"^the object needs z, which is not here$"):
        linked(Relocation(1, 0, 7, Symbol("z", 0, 0), 0))


Decode = Callable[[bytes], int]


def signed(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> bits - 1 & 1 else number


def word(data: bytes | bytearray) -> int:
    return int.from_bytes(data[:4], "little")


def adr(data: bytes | bytearray) -> int:
    found = word(data)
    return signed((found >> 5 & 0x7FFFF) << 2 | found >> 29 & 3, 21)


def branch26(data: bytes) -> int:
    return 4 * signed(word(data) & 0x3FFFFFF, 26)


def movw(data: bytes | bytearray) -> int:
    upper, lower = struct.unpack("<HH", data[:4])
    return (
        (upper & 15) << 12
        | (upper >> 10 & 1) << 11
        | (lower >> 12 & 7) << 8
        | lower & 255
    )


def thumb_branch(data: bytes) -> int:
    upper, lower = struct.unpack("<HH", data[:4])
    sign, j1, j2 = upper >> 10 & 1, lower >> 13 & 1, lower >> 11 & 1
    i1, i2 = 1 - (j1 ^ sign), 1 - (j2 ^ sign)
    high = sign << 24 | i1 << 23 | i2 << 22
    return signed(high | (upper & 0x3FF) << 12 | (lower & 0x7FF) << 1, 25) + 4


PLACE = 0x123458

RANGES: dict[str, tuple[object, int, bytes, Decode, Sequence[int], int]] = {
    # of a processor: kind, instruction, what is decoded, distances, changed bits
    "ABS64": (
        AARCH64,
        257,
        bytes(8),
        lambda d: int.from_bytes(d, "little") - PLACE,
        (0, 1, -5, 1 << 40),
        (1 << 64) - 1,
    ),
    "PREL64": (
        AARCH64,
        260,
        bytes(8),
        lambda d: int.from_bytes(d, "little", signed=True),
        (0, 1, -5, 1 << 40, -(1 << 40)),
        (1 << 64) - 1,
    ),
    "PREL32": (
        AARCH64,
        261,
        bytes(4),
        lambda d: signed(word(d), 32),
        (0, 1, -5, (1 << 31) - 1, -(1 << 31)),
        (1 << 32) - 1,
    ),
    "ADR": (
        AARCH64,
        274,
        struct.pack("<I", 0x1000001E),
        adr,
        (0, 1, 2, 3, 4, -1, -4, (1 << 20) - 1, -(1 << 20)),
        0x60FFFFE0,
    ),
    "JUMP26": (
        AARCH64,
        282,
        struct.pack("<I", 0x14000000),
        branch26,
        (0, 4, -4, (1 << 27) - 4, -(1 << 27)),
        0x3FFFFFF,
    ),
    "CALL26": (
        AARCH64,
        283,
        struct.pack("<I", 0x94000000),
        branch26,
        (0, 4, -4, (1 << 27) - 4, -(1 << 27)),
        0x3FFFFFF,
    ),
    "THM_CALL": (
        ARM_M,
        10,
        struct.pack("<HH", 0xF7FF, 0xFFFE),
        thumb_branch,
        (
            4,
            0,
            -4,
            1 << 22,
            1 << 23,
            -(1 << 22),
            -(1 << 23),
            (1 << 24) + 2,
            4 - (1 << 24),
        ),
        0x2FFF07FF,
    ),
    "THM_JUMP24": (
        ARM_M,
        30,
        struct.pack("<HH", 0xF7FF, 0xBFFE),
        thumb_branch,
        (4, 0, -4, 1 << 20, -(1 << 20)),
        0x2FFF07FF,
    ),
    "CALL32": (
        RISCV32,
        19,
        struct.pack("<II", 0x97, 0x80E7),
        lambda d: signed(
            (word(d) & 0xFFFFF000) + signed(word(d[4:]) >> 20, 12) & 0xFFFFFFFF, 32
        ),
        (0, 2, -2, 0x7FE, 0x800, 0xFFE, 0x1000, -0x800, -0x802, 1 << 30),
        0xFFF00000_FFFFF000,
    ),
}


@pytest.mark.parametrize("name", RANGES)
def test_distances_in_instructions(name: str) -> None:
    processor, kind, before, decode, distances, changed = RANGES[name]
    for distance in distances:
        image = bytearray(4) + before + bytes(4)
        fixup = Fixup(kind, 4, PLACE, PLACE + distance, "s")
        processor.relocate(image, [fixup], [])  # pyright: ignore
        found = bytes(image[4 : 4 + len(before)])
        assert decode(found) == distance
        assert image[:4] == image[-4:] == bytes(4)
        kept = ~changed & (1 << 8 * len(before)) - 1
        assert int.from_bytes(found, "little") & kept == (
            int.from_bytes(before, "little") & kept
        )


@pytest.mark.parametrize(
    ("kind", "distances"),
    [
        (274, (1 << 20, -(1 << 20) - 1)),
        (275, (1 << 32, -(1 << 32) - (1 << 12))),
        (282, (1 << 27, -(1 << 27) - 4)),
        (283, (1 << 27, -(1 << 27) - 4)),
    ],
)
def test_what_is_too_far(kind: int, distances: Sequence[int]) -> None:
    for distance in distances:
        fixup = Fixup(kind, 0, 1 << 34, (1 << 34) + distance, "s")
        with pytest.raises(AssertionError):
            AARCH64.relocate(bytearray(4), [fixup], [])


def test_pages_and_their_low_bits() -> None:
    """ADRP counts pages from that of the instruction; loads count in their own size."""
    for value in (0, 0xFFF, 0x1000, PLACE, PLACE - 0x458, PLACE + 0xBA8, 1 << 31):
        image = bytearray(struct.pack("<I", 0x9000001E))
        AARCH64.relocate(image, [Fixup(275, 0, PLACE, value, "s")], [])
        assert (PLACE & ~0xFFF) + (adr(image) << 12) == value & ~0xFFF
    for kind, scale in {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}.items():
        for low in (0, 16, 0x7F0, 0xFF0):
            image = bytearray(struct.pack("<I", 0x91000041))
            AARCH64.relocate(image, [Fixup(kind, 0, PLACE, 0x5000 + low, "s")], [])
            assert (word(image) >> 10 & 0xFFF) << scale == low
            assert word(image) & ~(0xFFF << 10) == 0x91000041
        if scale:
            fixup = Fixup(kind, 0, PLACE, (1 << scale) - 1, "s")
            with pytest.raises(AssertionError):
                AARCH64.relocate(bytearray(4), [fixup], [])


def test_words_of_arm_have_addends_in_place() -> None:
    for before, value in ((5, 0x1000), (0xFFFFFFFF, 3), (0, 0xFFFFFFFF)):
        image = bytearray(struct.pack("<I", before))
        ARM_M.relocate(image, [Fixup(2, 0, PLACE, value, "s")], [])
        assert word(image) == (before + value) & 0xFFFFFFFF
    image = bytearray(b"\x55" * 4)
    ARM_M.relocate(image, [Fixup(42, 0, PLACE, PLACE + 8, "s")], [])
    assert image == b"\x55" * 4  # tables for unwinding


@pytest.mark.parametrize("addend", [0, 1, 0x7FF, 0x800, 0x7FFF, 0x8000, 0xFFFF, 0xABCD])
def test_halves_of_an_address(addend: int) -> None:
    """movw and movt, with an addend in all of their bits."""
    upper = 0xF240 | addend >> 12 | (addend >> 11 & 1) << 10
    lower = 0x0300 | (addend >> 8 & 7) << 12 | addend & 255
    before = struct.pack("<HH", upper, lower)
    assert movw(before) == addend
    for kind, shift in ((47, 0), (48, 16)):
        for value in (0, 1, 0x8000, 0x12345678, 0xFFFF0000, 0x7FFFFFFF):
            image = bytearray(before)
            ARM_M.relocate(image, [Fixup(kind, 0, PLACE, value, "s")], [])
            assert movw(image) == (value + signed(addend, 16)) >> shift & 0xFFFF
            fixed = struct.pack("<HH", 0xFBF0, 0x8F00)
            for byte, old, mask in zip(image, before, fixed, strict=True):
                assert byte & mask == old & mask


@pytest.mark.parametrize(
    "distance", [0, 4, 0x7FF, 0x800, -1, -0x800, -0x801, 0x12345FFF]
)
def test_parts_of_a_distance(distance: int) -> None:
    """auipc, and a load and a store that take the rest: they name its place."""
    image = bytearray(struct.pack("<III", 0x517, 0x52503, 0xA52023))
    at = 0x2000
    fixups = [
        Fixup(23, 0, at, at + distance, "s"),
        Fixup(24, 4, at + 4, at, ".L"),
        Fixup(25, 8, at + 8, at, ".L"),
    ]
    for processor in (RISCV32, RISCV64):
        changed = bytearray(image)
        processor.relocate(changed, fixups, [])
        upper, load, store = struct.unpack("<III", changed)
        high = signed(upper & 0xFFFFF000, 32)
        assert high + signed(load >> 20, 12) == distance
        low = (store >> 25) << 5 | store >> 7 & 31
        assert high + signed(low, 12) == distance
        assert (upper & 0xFFF, load & 0xFFFFF) == (0x517, 0x52503)
        assert store & 0x1FFF07F == 0xA52023 & 0x1FFF07F


@pytest.mark.parametrize("processor", [AARCH64, ARM_M, RISCV32])
def test_other_relocations_are_named(processor: object) -> None:
    fixup = Fixup(999, 0, PLACE, PLACE, "name")
    with pytest.raises(LinkError, match=r"^unknown relocation 999 to name$"):
        processor.relocate(bytearray(4), [fixup], [])  # pyright: ignore
