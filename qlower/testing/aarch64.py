"""AArch64 objects under emulation: relocated here, executed by unicorn.
Instructions that unicorn lacks are replaced, see `aarch64_image`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from math import prod
from typing import Protocol, cast

import numpy as np

from qlower.codegen.module import ENTRY, CompiledObject
from qlower.codegen.target import Target, resolve_target
from qlower.signature import Array, Signature
from qlower.testing.aarch64_image import link
from qlower.testing.elf import read_object

TRIPLE = "aarch64-linux-gnu"

_PAGE = 1 << 12
_CODE, BUFFERS, _STACK_END = 1 << 20, 1 << 30, 1 << 40
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


class Emulator:
    """A machine with one object in its memory.

    `hwcap` is what getauxval says of it, by the number that is asked for.
    """

    def __init__(self, object_bytes: bytes, hwcap: Mapping[int, int] | None = None):
        image = link(read_object(object_bytes), _CODE, _FUNCTIONS)
        self._symbols = image.symbols
        self._machine = _machine()
        self.map(_CODE, len(image.data))
        self.write(_CODE, image.data)
        self.map(_LIBRARY, _PAGE)
        for address in _FUNCTIONS.values():
            self.write(address, struct.pack("<I", _RETURN))
        self.map(_STACK_END - _STACK_BYTES, _STACK_BYTES)
        code_hook = import_module("unicorn").UC_HOOK_CODE
        end = _LIBRARY + _PAGE - 1
        self._machine.hook_add(code_hook, _call_library, hwcap or {}, _LIBRARY, end)

    def map(self, start: int, length: int) -> int:
        """Make whole pages accessible; gives their size."""
        size = -(-max(length, 1) // _PAGE) * _PAGE
        self._machine.mem_map(start, size)
        return size

    def unmap(self, start: int, size: int) -> None:
        self._machine.mem_unmap(start, size)

    def write(self, address: int, data: bytes) -> None:
        self._machine.mem_write(address, data)

    def read(self, address: int, size: int) -> bytes:
        return bytes(self._machine.mem_read(address, size))

    def call(self, function: str, *arguments: int) -> int:
        """The i32 that a function returns. Raises EmulationError where it stops."""
        machine, register = self._machine, _register
        machine.reg_write(register("SP"), _STACK_END)
        machine.reg_write(register("LR"), _LIBRARY)
        for index, argument in enumerate(arguments):
            machine.reg_write(register(f"X{index}"), argument)
        try:
            machine.emu_start(self._symbols[function], _LIBRARY)
        except Exception as error:
            at = machine.reg_read(register("PC"))
            raise EmulationError(f"{error} at offset {at - _CODE:#x}") from error
        return machine.reg_read(register("W0"))


class EmulatedExecutable:
    """A compiled model in an emulator, with the interface of `runtime.jit.Executable`.

    Arrays lie against pages that can't be touched: before them, after them, or both.
    """

    def __init__(self, compiled: CompiledObject):
        self.compiled = compiled
        self._emulator = Emulator(compiled.object_bytes)

    @property
    def signature(self) -> Signature:
        return self.compiled.signature

    def __call__(self, inputs: Sequence[Array], *, at_end: bool = True) -> list[Array]:
        """The outputs; every array ends at such a page, or else starts there."""
        emulator, ports = self._emulator, self.signature.inputs
        given = [p.check(x) for p, x in zip(ports, inputs, strict=True)]
        sizes = [
            port.numpy_dtype.itemsize * prod(port.shape)
            for port in self.signature.outputs
        ]
        pointers = 8 * (len(given) + len(sizes))
        lengths = [*(x.nbytes for x in given), *sizes]
        lengths += [self.compiled.arena_bytes, pointers]
        addresses, mapped = self._place(lengths, at_end)
        try:
            for x, address in zip(given, addresses, strict=False):
                emulator.write(address, x.tobytes())
            arrays, (arena, table) = addresses[:-2], addresses[-2:]
            emulator.write(table, struct.pack(f"<{len(arrays)}Q", *arrays))
            emulator.call(ENTRY, table, table + 8 * len(given), arena)
            return [
                np.frombuffer(emulator.read(address, size), port.numpy_dtype).reshape(
                    port.shape
                )
                for port, address, size in zip(
                    self.signature.outputs, arrays[len(given) :], sizes, strict=True
                )
            ]
        finally:
            for start, size in mapped:
                emulator.unmap(start, size)

    def _place(
        self, lengths: Iterable[int], at_end: bool
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Addresses of buffers, those that are no arrays 64-byte aligned; the pages."""
        start = BUFFERS
        addresses: list[int] = []
        mapped: list[tuple[int, int]] = []
        for position, length in enumerate(lengths):
            size = self._emulator.map(start, length)
            mapped.append((start, size))
            is_array = position < len(self.signature.inputs + self.signature.outputs)
            addresses.append(start + (size - length if at_end and is_array else 0))
            start += size + _PAGE
        return addresses, mapped


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
        hook: Callable[[_Machine, int, int, Mapping[int, int]], None],
        data: Mapping[int, int],
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


_FUNCTIONS = {
    name: _LIBRARY + 16 * number
    for number, name in enumerate(("memcpy", "memset", "getauxval"), 1)
}


def _call_library(
    machine: _Machine, address: int, size: int, hwcap: Mapping[int, int]
) -> None:
    """A library function, before the return instruction at its address."""
    target, source, length = (machine.reg_read(_register(f"X{i}")) for i in range(3))
    if address == _FUNCTIONS["memcpy"] and length:
        machine.mem_write(target, bytes(machine.mem_read(source, length)))
    elif address == _FUNCTIONS["memset"]:
        machine.mem_write(target, bytes([source & 0xFF]) * length)
    elif address == _FUNCTIONS["getauxval"]:
        machine.reg_write(_register("X0"), hwcap.get(target, 0))
