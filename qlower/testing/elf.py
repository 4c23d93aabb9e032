"""Relocatable ELF objects: 64-bit, little-endian, as LLVM writes them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_SYMBOL_TABLE, _RELOCATIONS, _ZEROS = 2, 4, 8
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
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    relocations: tuple[Relocation, ...]

    @property
    def external_symbols(self) -> set[str]:
        """The undefined symbols."""
        return {s.name for s in self.symbols if s.section == 0 and s.name}


def read_object(data: bytes) -> ElfObject:
    """The parts of an object. Raises ValueError for anything else."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit little-endian ELF object")
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [
        struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)
    ]

    def text(table: int, position: int) -> str:
        at = headers[table][4] + position
        return data[at : data.index(b"\0", at)].decode()

    sections: list[Section] = []
    symbols: list[Symbol] = []
    for name, kind, flags, _, offset, length, link, _, alignment, entry in headers:
        body = bytes(length) if kind == _ZEROS else data[offset : offset + length]
        is_allocated = bool(flags & _ALLOCATED)
        section = Section(
            text(names, name), is_allocated, bool(flags & 4), max(alignment, 1), body
        )
        sections.append(section)
        if kind == _SYMBOL_TABLE:
            for position in range(0, length, entry):
                label, _, _, where, value, _ = struct.unpack_from(
                    "<IBBHQQ", body, position
                )
                symbols.append(Symbol(text(link, label), where, value))
    relocations: list[Relocation] = []
    for index, header in enumerate(headers):
        if header[1] == _RELOCATIONS:
            for offset, info, addend in struct.iter_unpack(
                "<QQq", sections[index].data
            ):
                symbol = symbols[info >> 32]
                relocations.append(
                    Relocation(header[7], offset, info & 0xFFFFFFFF, symbol, addend)
                )
    return ElfObject(tuple(sections), tuple(symbols), tuple(relocations))
