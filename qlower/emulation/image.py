"""Objects as the bytes that a machine's memory holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from qlower.emulation.elf import ElfObject


class LinkError(Exception):
    """An object that needs what is not there."""


@dataclass(frozen=True)
class Image:
    """An object's bytes from its base on, and the addresses of its symbols."""

    data: bytes
    symbols: dict[str, int]


@dataclass(frozen=True)
class Fixup:
    """A relocation: of a kind, at an offset of the image that has the address `place`.

    `value` is the address it is to give; `name` that of the symbol.
    """

    kind: int
    at: int
    place: int
    value: int
    name: str

    @property
    def distance(self) -> int:
        return self.value - self.place

    def unknown(self) -> LinkError:
        return LinkError(f"unknown relocation {self.kind} to {self.name}")


Relocate = Callable[[bytearray, Sequence[Fixup], Sequence[range]], None]
"""Changes an image as an instruction set's relocations say; may replace what the
emulator lacks, in the ranges that hold code, and append to the image."""


def link(
    elf: ElfObject, base: int, functions: Mapping[str, int], relocate: Relocate
) -> Image:
    """All allocated sections, one after another from `base` on, relocated.

    `functions` are the addresses of what the object may call.
    """
    starts: dict[int, int] = {}
    size = 0
    for index, section in enumerate(elf.sections):
        if section.is_allocated:
            size = -(-size // section.alignment) * section.alignment
            starts[index] = size
            size += len(section.data)
    image = bytearray(-(-size // 4) * 4)
    for index, start in starts.items():
        data = elf.sections[index].data
        image[start : start + len(data)] = data
    fixups: list[Fixup] = []
    for relocation in elf.relocations:
        if relocation.section in starts:
            symbol = relocation.symbol
            if symbol.section:
                address = base + starts[symbol.section] + symbol.value
            elif symbol.name in functions:
                address = functions[symbol.name]
            elif symbol.name:
                raise LinkError(f"the object needs {symbol.name}, which is not here")
            else:
                continue  # a remark of the assembler
            at = starts[relocation.section] + relocation.offset
            value = address + relocation.addend
            fixups.append(Fixup(relocation.kind, at, base + at, value, symbol.name))
    code = [
        range(start, start + len(elf.sections[index].data))
        for index, start in starts.items()
        if elf.sections[index].is_code
    ]
    relocate(image, fixups, code)
    symbols = {
        symbol.name: base + starts[symbol.section] + symbol.value
        for symbol in elf.symbols
        if symbol.section in starts
    }
    return Image(bytes(image), symbols)
