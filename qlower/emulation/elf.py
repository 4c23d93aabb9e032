"""Relocatable ELF objects: little-endian, as LLVM writes them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_SYMBOL_TABLE, _ADDED, _ZEROS, _IN_PLACE = 2, 4, 8, 9
"""Kinds of sections; relocations with an addend, or with one in what they change."""

_ALLOCATED = 2


@dataclass(frozen=True)
class Section:
    """`data` is all zeros for a section without bytes in the file."""

    name: str
    is_allocated: bool
    is_code: bool
    alignment: int
    data: bytes


@dataclass(frozen=True)
class Symbol:
    """`section` is an index, 0 for a symbol of another object."""

    name: str
    section: int
    value: int


@dataclass(frozen=True)
class Relocation:
    """At `offset` of a section: a machine-specific kind, a symbol and an addend."""

    section: int
    offset: int
    kind: int
    symbol: Symbol
    addend: int


@dataclass(frozen=True)
class ElfObject:
    """`machine` is ELF's number of the instruction set, `is_wide` with 64-bit words."""

    machine: int
    is_wide: bool
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]

    @property
    def external_symbols(self) -> set[str]:
        """The undefined symbols."""
        return {s.name for s in self.symbols if s.section == 0 and s.name}

    @property
    def defined_symbols(self) -> set[str]:
        """The others."""
        return {s.name for s in self.symbols if s.section and s.name}


def read_object(data: bytes) -> ElfObject:
    """The parts of an object. Raises ValueError for anything else."""
    if data[:4] != b"\x7fELF" or data[5] != 1:
        raise ValueError("no little-endian ELF object")
    is_wide = data[4] == 2
    (machine,) = struct.unpack_from("<H", data, 0x12)
    layout, table, counts = "<IIQQQQIIQQ", ("<Q", 0x28), 0x3A
    if not is_wide:
        layout, table, counts = "<10I", ("<I", 0x20), 0x2E
    (start,) = struct.unpack_from(table[0], data, table[1])
    size, count, names = struct.unpack_from("<HHH", data, counts)
    headers = [struct.unpack_from(layout, data, start + i * size) for i in range(count)]

    def text(table: int, position: int) -> str:
        at = headers[table][4] + position
        return data[at : data.index(b"\0", at)].decode()

    sections: list[Section] = []
    symbols: list[Symbol] = []
    for name, kind, flags, _, offset, length, link, _, alignment, _ in headers:
        body = bytes(length) if kind == _ZEROS else data[offset : offset + length]
        is_allocated = bool(flags & _ALLOCATED)
        section = Section(
            text(names, name), is_allocated, bool(flags & 4), max(alignment, 1), body
        )
        sections.append(section)
        if kind == _SYMBOL_TABLE:
            for fields in struct.iter_unpack("<IBBHQQ" if is_wide else "<IIIBBH", body):
                label, value, where = fields[0], fields[1], fields[5]
                if is_wide:
                    value, where = fields[4], fields[3]
                symbols.append(Symbol(text(link, label), where, value))
    relocations: list[Relocation] = []
    for section, header in zip(sections, headers, strict=True):
        if header[1] in (_ADDED, _IN_PLACE):
            word, shift = ("Q", 32) if is_wide else ("I", 8)
            layout = f"<{2 * word}{word.lower() if header[1] == _ADDED else ''}"
            for offset, info, *addend in struct.iter_unpack(layout, section.data):
                index, kind = int(info >> shift), int(info & (1 << shift) - 1)
                relocations.append(
                    Relocation(header[7], offset, kind, symbols[index], sum(addend))
                )
    return ElfObject(
        machine, is_wide, tuple(sections), tuple(symbols), tuple(relocations)
    )
