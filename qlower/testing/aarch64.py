"""AArch64 objects under emulation: relocated here, executed by unicorn.

Unicorn's QEMU knows DOTPROD but not I8MM: the dot products of mixed signs are replaced
by branches to equal sequences of signed ones.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import prod
from typing import Protocol, cast

import numpy as np

from qlower.codegen.module import ENTRY, CompiledObject
from qlower.codegen.target import Target, resolve_target
from qlower.signature import Array, Signature
from qlower.testing.elf import ElfObject, Relocation, read_object

TRIPLE = "aarch64-linux-gnu"

_PAGE = 1 << 12
_CODE, _BUFFERS, _STACK_END = 1 << 20, 1 << 30, 1 << 40
_STACK_BYTES = 1 << 22
_LIBRARY = 1 << 16
"""Addresses: of the object, of arrays, of the stack's end, of library functions."""

_RETURN = 0xD65F03C0


@cache
def aarch64_levels() -> dict[str, Target]:
    """The feature levels of generic CPUs."""
    levels = {"baseline": None, "dotprod": "+dotprod", "i8mm": "+dotprod,+i8mm"}
    return {
        name: resolve_target(TRIPLE, "generic", features)
        for name, features in levels.items()
    }


class EmulationError(Exception):
    """The code did what it must not, or what the emulator has no way to do."""


class EmulatedExecutable:
    """A compiled model in an emulator, with the interface of `runtime.jit.Executable`.

    Arrays lie against pages that can't be touched: before them, after them, or both.
    """

    def __init__(self, compiled: CompiledObject):
        self.compiled = compiled
        self._object = read_object(compiled.object_bytes)
        image = _link(self._object)
        self._entry = image.symbols[ENTRY]
        self._machine = _machine()
        self._map(_CODE, len(image.data))
        self._machine.mem_write(_CODE, image.data)
        self._map(_LIBRARY, _PAGE)
        for address in _FUNCTIONS.values():
            self._machine.mem_write(address, struct.pack("<I", _RETURN))
        self._map(_STACK_END - _STACK_BYTES, _STACK_BYTES)
        code_hook = import_module("unicorn").UC_HOOK_CODE
        end = _LIBRARY + _PAGE - 1
        self._machine.hook_add(code_hook, _call_library, None, _LIBRARY, end)

    @property
    def signature(self) -> Signature:
        return self.compiled.signature

    def __call__(self, inputs: Sequence[Array], *, at_end: bool = True) -> list[Array]:
        """The outputs; every array ends at such a page, or else starts there."""
        ports = self.signature.inputs
        given = [p.check(x) for p, x in zip(ports, inputs, strict=True)]
        sizes = [
            port.numpy_dtype.itemsize * prod(port.shape)
            for port in self.signature.outputs
        ]
        pointers = 8 * (len(given) + len(sizes))
        lengths = [
            *(x.nbytes for x in given),
            *sizes,
            self.compiled.arena_bytes,
            pointers,
        ]
        addresses, mapped = self._place(lengths, at_end)
        try:
            for x, address in zip(given, addresses, strict=False):
                self._machine.mem_write(address, x.tobytes())
            arrays, (arena, table) = addresses[:-2], addresses[-2:]
            self._machine.mem_write(table, struct.pack(f"<{len(arrays)}Q", *arrays))
            self._run(table, table + 8 * len(given), arena)
            return [
                np.frombuffer(
                    bytes(self._machine.mem_read(address, size)), port.numpy_dtype
                ).reshape(port.shape)
                for port, address, size in zip(
                    self.signature.outputs, arrays[len(given) :], sizes, strict=True
                )
            ]
        finally:
            for start, size in mapped:
                self._machine.mem_unmap(start, size)

    def _place(
        self, lengths: Iterable[int], at_end: bool
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Addresses of buffers, those that are no arrays 64-byte aligned; the pages."""
        start = _BUFFERS
        addresses: list[int] = []
        mapped: list[tuple[int, int]] = []
        for position, length in enumerate(lengths):
            size = self._map(start, length)
            mapped.append((start, size))
            is_array = position < len(self.signature.inputs + self.signature.outputs)
            addresses.append(start + (size - length if at_end and is_array else 0))
            start += size + _PAGE
        return addresses, mapped

    def _map(self, start: int, length: int) -> int:
        size = -(-max(length, 1) // _PAGE) * _PAGE
        self._machine.mem_map(start, size)
        return size

    def _run(self, *arguments: int) -> None:
        machine, register = self._machine, _register
        machine.reg_write(register("SP"), _STACK_END)
        machine.reg_write(register("LR"), _LIBRARY)
        for index, argument in enumerate(arguments):
            machine.reg_write(register(f"X{index}"), argument)
        try:
            machine.emu_start(self._entry, _LIBRARY)
        except Exception as error:
            at = machine.reg_read(register("PC"))
            raise EmulationError(f"{error} at offset {at - _CODE:#x}") from error


class _Machine(Protocol):
    """unicorn.Uc, the little of it that we use."""

    def ctl_set_cpu_model(self, model: int) -> None: ...
    def mem_map(self, address: int, size: int) -> None: ...
    def mem_unmap(self, address: int, size: int) -> None: ...
    def mem_write(self, address: int, data: bytes) -> None: ...
    def mem_read(self, address: int, size: int) -> bytearray: ...
    def reg_write(self, register: int, value: int) -> None: ...
    def reg_read(self, register: int) -> int: ...
    def hook_add(
        self,
        kind: int,
        hook: Callable[[_Machine, int, int, None], None],
        data: None,
        begin: int,
        end: int,
    ) -> int: ...
    def emu_start(self, begin: int, until: int) -> None: ...


def _register(name: str) -> int:
    return int(getattr(import_module("unicorn.arm64_const"), f"UC_ARM64_REG_{name}"))


def _machine() -> _Machine:
    """A processor with every feature unicorn has, floating point switched on."""
    unicorn = import_module("unicorn")
    constants = import_module("unicorn.arm64_const")
    machine = cast(_Machine, unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM))
    machine.ctl_set_cpu_model(constants.UC_CPU_ARM64_MAX)
    machine.reg_write(_register("CPACR_EL1"), 3 << 20)
    return machine


# ---------------------------------------------------------------------------- linking


@dataclass(frozen=True)
class _Image:
    """An object's bytes from `_CODE` on, and the addresses of its symbols."""

    data: bytes
    symbols: dict[str, int]


def _link(elf: ElfObject) -> _Image:
    """All allocated sections, one after another, relocated."""
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
    for relocation in elf.relocations:
        if relocation.section in starts:
            symbol = relocation.symbol
            if symbol.section:
                address = _CODE + starts[symbol.section] + symbol.value
            elif symbol.name in _FUNCTIONS:
                address = _FUNCTIONS[symbol.name]
            else:
                raise EmulationError(
                    f"the object needs {symbol.name}, which is not here"
                )
            _relocate(image, starts[relocation.section], relocation, address)
    symbols = {
        symbol.name: _CODE + starts[symbol.section] + symbol.value
        for symbol in elf.symbols
        if symbol.section in starts
    }
    for index, start in starts.items():
        if elf.sections[index].is_code:
            end = start + len(elf.sections[index].data)
            for at in range(start, end, 4):
                _replace_mixed_product(image, at)
    return _Image(bytes(image), symbols)


_LOAD_SCALES = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
"""R_AARCH64_ADD_ABS_LO12_NC and LDST<8|16|32|64|128>_ABS_LO12_NC: low 12 bits of an
address, over the size of what is loaded."""


def _relocate(
    image: bytearray, start: int, relocation: Relocation, symbol: int
) -> None:
    """ "ELF for the Arm 64-bit Architecture", 5.7."""
    at = start + relocation.offset
    place, value = _CODE + at, symbol + relocation.addend
    (word,) = struct.unpack_from("<I", image, at)
    match relocation.kind:
        case 257:  # ABS64
            struct.pack_into("<Q", image, at, value)
            return
        case 260:  # PREL64
            struct.pack_into("<q", image, at, value - place)
            return
        case 261:  # PREL32
            struct.pack_into("<i", image, at, value - place)
            return
        case 274 | 275:  # ADR_PREL_LO21, ADR_PREL_PG_HI21
            distance = value - place
            if relocation.kind == 275:
                distance = (value >> 12) - (place >> 12)
            assert -(1 << 20) <= distance < 1 << 20
            word |= (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5
        case 282 | 283:  # JUMP26, CALL26
            distance = value - place
            assert -(1 << 27) <= distance < 1 << 27
            word |= distance >> 2 & 0x3FFFFFF
        case kind if kind in _LOAD_SCALES:
            low, scale = value & 0xFFF, _LOAD_SCALES[kind]
            assert low % (1 << scale) == 0
            word |= low >> scale << 10
        case kind:
            raise EmulationError(
                f"unknown relocation {kind} to {relocation.symbol.name}"
            )
    struct.pack_into("<I", image, at, word)


# --------------------------------------------------------------- what the machine lacks


def _replace_mixed_product(image: bytearray, at: int) -> None:
    """Branch to an equal sequence where a USDOT or SUDOT is.

    With u = s + 128 for the unsigned factors, and -128 <= s < 128,
    sum(u w) = sum(s w) + 2 sum(64 w). Encodings: "Arm Architecture Reference Manual",
    C7.2.
    """
    (word,) = struct.unpack_from("<I", image, at)
    d, n, m = word & 31, word >> 5 & 31, word >> 16 & 31
    unsigned_is_n = True
    if word & 0xFFE0FC00 == 0x4E809C00:  # USDOT by vector
        product = 0x4E809400
    elif word & 0xFFC0F400 == 0x4F80F000:  # USDOT by element
        product = 0x4F80E000 | word & 0x00200800
    elif word & 0xFFC0F400 == 0x4F00F000:  # SUDOT by element
        product, unsigned_is_n = 0x4F80E000 | word & 0x00200800, False
    else:
        return
    spare = next(register for register in range(4) if register not in (d, n, m))
    unsigned = n if unsigned_is_n else m
    product |= spare << 5 | m << 16 if unsigned_is_n else n << 5 | spare << 16
    sequence = [
        0x3C9F0FE0 | spare,  # str q, [sp, #-16]!
        0x4F04E400 | spare,  # movi v.16b, #128
        0x6E201C00 | spare << 16 | unsigned << 5 | spare,  # eor
        product | d,  # sdot
        0x4F02E400 | spare,  # movi v.16b, #64
        product | d,
        product | d,
        0x3CC107E0 | spare,  # ldr q, [sp], #16
    ]
    start = len(image)
    sequence.append(_branch(start + 4 * len(sequence), at + 4))
    struct.pack_into("<I", image, at, _branch(at, start))
    image += struct.pack(f"<{len(sequence)}I", *sequence)


def _branch(place: int, target: int) -> int:
    return 0x14000000 | (target - place) >> 2 & 0x3FFFFFF


_FUNCTIONS = {"memcpy": _LIBRARY + 16, "memset": _LIBRARY + 32}


def _call_library(machine: _Machine, address: int, size: int, data: None) -> None:
    """memcpy or memset, before the return instruction at its address."""
    target, source, length = (machine.reg_read(_register(f"X{i}")) for i in range(3))
    if address == _FUNCTIONS["memcpy"] and length:
        machine.mem_write(target, bytes(machine.mem_read(source, length)))
    elif address == _FUNCTIONS["memset"]:
        machine.mem_write(target, bytes([source & 0xFF]) * length)
