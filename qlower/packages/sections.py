"""The parts of a program that come from an object: code, constants, variables, in
bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from qlower.packages.wasm_module import CODE, DATA, sections

_WRITABLE, _ALLOCATED, _EXECUTABLE = 1, 2, 4
"""Flags of an ELF section."""


@dataclass(frozen=True)
class Sections:
    """Bytes by what they are for."""

    code: int
    constants: int
    variables: int


def sections_of(data: bytes) -> Sections:
    """The sizes of an object's sections: a little-endian ELF object, or WebAssembly."""
    if data.startswith(b"\0asm"):
        sizes = {number: len(body) for number, body in sections(data)}
        return Sections(sizes.get(CODE, 0), sizes.get(DATA, 0), 0)
    found = {"code": 0, "constants": 0, "variables": 0}
    for flags, size in _elf_sections(data):
        if flags & _EXECUTABLE:
            found["code"] += size
        elif flags & _WRITABLE:
            found["variables"] += size
        elif flags & _ALLOCATED:
            found["constants"] += size
    return Sections(**found)


def _elf_sections(data: bytes) -> Iterator[tuple[int, int]]:
    """Flags and bytes of each section."""
    is_wide = data[4] == 2
    word, start_at, size_at = ("Q", 0x28, 0x3A) if is_wide else ("I", 0x20, 0x2E)
    (start,) = struct.unpack_from(f"<{word}", data, start_at)
    size, count = struct.unpack_from("<HH", data, size_at)
    for header in range(start, start + count * size, size):
        flags, _, _, length = struct.unpack_from(f"<4{word}", data, header + 8)
        yield flags, length
