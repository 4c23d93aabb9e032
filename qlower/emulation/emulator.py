"""Objects for other machines under emulation: relocated here, executed by unicorn."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module

import numpy as np

from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.diagnostics import QlowerError
from qlower.emulation.aarch64 import AARCH64
from qlower.emulation.arm_m import ARM_M
from qlower.emulation.elf import read_object
from qlower.emulation.image import link
from qlower.emulation.processor import BlockHook, Machine
from qlower.emulation.riscv import RISCV32, RISCV64
from qlower.model.signature import Array, Signature

PROCESSORS = {
    (40, False): ARM_M,
    (183, True): AARCH64,
    (243, False): RISCV32,
    (243, True): RISCV64,
}
"""By ELF's number of the instruction set, and whether words have 64 bits."""

_PAGE = 1 << 12
_CODE, BUFFERS, STACK_END = 1 << 20, 1 << 30, 3 << 30
_STACK_BYTES = 1 << 22
_LIBRARY, _ENTRY_BYTES = 1 << 16, 16
"""Addresses: of the object, of arrays, of the stack's end, of library functions."""


class EmulationError(Exception):
    """The code did what it must not, or what the emulator has no way to do."""


class Emulator:
    """A machine with one object in its memory.

    `hwcap` is what getauxval says of it, by the number that is asked for.
    """

    def __init__(self, object_bytes: bytes, hwcap: Mapping[int, int] | None = None):
        self._hwcap = hwcap or {}
        elf = read_object(object_bytes)
        self.processor = processor = PROCESSORS[elf.machine, elf.is_wide]
        self._functions = ("memcpy", "memset", "getauxval", *processor.library)
        addresses = {
            name: _LIBRARY + _ENTRY_BYTES * index
            for index, name in enumerate(self._functions, 1)
        }
        image = link(elf, _CODE, addresses, processor.relocate)
        self.symbols = image.symbols
        self._machine = processor.start()
        self.map(_CODE, len(image.data))
        self.write(_CODE, image.data)
        self.map(_LIBRARY, _PAGE)
        for address in addresses.values():
            self.write(address, processor.return_code)
        self.map(STACK_END - _STACK_BYTES, _STACK_BYTES)
        code_hook = import_module("unicorn").UC_HOOK_CODE
        end = _LIBRARY + _PAGE - 1
        self._machine.hook_add(code_hook, self._call_library, None, _LIBRARY, end)

    def on_blocks(self, hook: BlockHook) -> None:
        """Have a function called with the address and size of each block of the object
        that is about to run."""
        kind = import_module("unicorn").UC_HOOK_BLOCK
        self._machine.hook_add(kind, hook, None, _CODE, BUFFERS - 1)

    def map(self, start: int, length: int) -> int:
        """Make whole pages accessible; gives their size."""
        size = -(-max(length, 1) // _PAGE) * _PAGE
        self._machine.mem_map(start, size)
        return size

    def map_buffers(self, lengths: Iterable[int]) -> list[tuple[int, int]]:
        """Pages for buffers of these lengths, with one that can't be touched behind
        each; gives their addresses and sizes."""
        start = BUFFERS
        pages: list[tuple[int, int]] = []
        for length in lengths:
            pages.append((start, self.map(start, length)))
            start += pages[-1][1] + _PAGE
        return pages

    def unmap(self, start: int, size: int) -> None:
        self._machine.mem_unmap(start, size)

    def write(self, address: int, data: bytes) -> None:
        self._machine.mem_write(address, data)

    def read(self, address: int, size: int) -> bytes:
        return bytes(self._machine.mem_read(address, size))

    def pointers(self, addresses: Sequence[int]) -> bytes:
        """An array of pointers."""
        return struct.pack(f"<{len(addresses)}{self.processor.pointer}", *addresses)

    def read_register(self, name: str) -> int:
        return self._machine.reg_read(self.processor.register(name))

    def write_register(self, name: str, value: int) -> None:
        self._machine.reg_write(self.processor.register(name), value)

    def call(self, function: str, *words: int) -> int:
        """The i32 that a function returns. Raises EmulationError where it stops."""
        processor = self.processor
        register = processor.register
        count = len(processor.arguments)
        on_stack = self.pointers(words[count:])
        stack = STACK_END - -(-len(on_stack) // 16) * 16
        self.write(stack, on_stack)
        thumb = int(processor.is_thumb)
        before = {"SP": stack, processor.link: _LIBRARY | thumb}
        before |= dict(zip(processor.arguments, words, strict=False))
        for name, value in before.items():
            self._machine.reg_write(register(name), value)
        try:
            self._machine.emu_start(self.symbols[function] | thumb, _LIBRARY)
        except Exception as error:
            at = self._machine.reg_read(register("PC"))
            raise EmulationError(f"{error} at offset {at - _CODE:#x}") from error
        return self._machine.reg_read(register(processor.result)) & 0xFFFFFFFF

    def _call_library(
        self, machine: Machine, address: int, size: int, data: None
    ) -> None:
        """A library function, before the return instruction at its address."""
        index, rest = divmod(address - _LIBRARY, _ENTRY_BYTES)
        if rest or not index:
            return
        registers = [self.processor.register(r) for r in self.processor.arguments[:4]]
        words = [machine.reg_read(register) for register in registers]
        target, source, length = words[:3]
        match self._functions[index - 1]:
            case "memcpy":
                if length:
                    machine.mem_write(target, self.read(source, length))
            case "memset":
                machine.mem_write(target, bytes([source & 0xFF]) * length)
            case "getauxval":
                machine.reg_write(registers[0], self._hwcap.get(target, 0))
            case name:
                results = self.processor.library[name](words)
                for register, result in zip(registers, results, strict=False):
                    machine.reg_write(register, result)


def _has_emulator(compiled: CompiledObject) -> bool:
    # unicorn knows neither MVE nor RVV 1.0, and Thumb alone is run of 32-bit Arm
    if compiled.target.widens_in_memory or compiled.target.triple.startswith("armv"):
        return False
    try:
        elf = read_object(compiled.object_bytes)
    except ValueError:  # WebAssembly has a format of its own
        return False
    return (elf.machine, elf.is_wide) in PROCESSORS


class EmulatedExecutable:
    """A compiled model in an emulator, with the interface of `runtime.jit.Executable`.
    Raises QlowerError for a target without an emulator.

    Arrays lie against pages that can't be touched: before them, after them, or both;
    or `in_arena`, each input and output at an offset.
    """

    def __init__(self, compiled: CompiledObject, in_arena: Sequence[int] = ()):
        if not _has_emulator(compiled):
            raise QlowerError(
                f"there is no emulator for {compiled.target.triple}",
                help="--target: AArch64, thumbv7em, riscv64 or riscv32im",
            )
        self.compiled = compiled
        self.in_arena = in_arena
        self.emulator = Emulator(compiled.object_bytes)

    @property
    def signature(self) -> Signature:
        return self.compiled.signature

    def __call__(self, inputs: Sequence[Array], *, at_end: bool = True) -> list[Array]:
        """The outputs; every array ends at such a page, or else starts there."""
        ports = self.signature.arguments
        given = [p.check(x) for p, x in zip(ports, inputs, strict=True)]
        outputs: list[Array] = [
            np.empty(port.shape, port.numpy_dtype) for port in self.signature.results
        ]
        call, mapped = self._placed(given, outputs, at_end)
        try:
            call()
        finally:
            for start, size in mapped:
                self.emulator.unmap(start, size)
        return outputs

    def bind(
        self, inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> Callable[[], None]:
        """A call that reads these arrays as they are then, and overwrites outputs."""
        return self._placed(inputs, outputs, at_end=True)[0]

    def _placed(
        self, inputs: Sequence[Array], outputs: Sequence[Array], at_end: bool
    ) -> tuple[Callable[[], None], list[tuple[int, int]]]:
        """A call, and the pages that it needs."""
        emulator = self.emulator
        lengths = [array.nbytes for array in (*inputs, *outputs)]
        lengths += [self.compiled.arena_bytes, len(emulator.pointers(lengths))]
        addresses, mapped = self._place(lengths, at_end)
        arrays, (arena, table) = addresses[:-2], addresses[-2:]
        if self.in_arena:
            arrays = [arena + offset for offset in self.in_arena]
        results = table + len(emulator.pointers(arrays[: len(inputs)]))

        def call() -> None:
            for array, address in zip(inputs, arrays, strict=False):
                emulator.write(address, array.tobytes())
            emulator.write(table, emulator.pointers(arrays))
            emulator.call(ENTRY, table, results, arena)
            for array, address in zip(outputs, arrays[len(inputs) :], strict=True):
                data = emulator.read(address, array.nbytes)
                array[...] = np.frombuffer(data, array.dtype).reshape(array.shape)

        return call, mapped

    def _place(
        self, lengths: Sequence[int], at_end: bool
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Addresses of buffers, those that are no arrays 64-byte aligned; the pages."""
        mapped = self.emulator.map_buffers(lengths)
        arrays = len(self.signature.arguments + self.signature.results)
        addresses = [
            start + (size - length if at_end and position < arrays else 0)
            for position, ((start, size), length) in enumerate(
                zip(mapped, lengths, strict=True)
            )
        ]
        return addresses, mapped
