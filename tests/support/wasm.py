"""WebAssembly objects, executed by wasmtime.

An object of LLVM is a module whose addresses count from 0, without exports: once these
are added, it runs. No linker is needed as long as it calls no function of another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from math import prod
from typing import Protocol, cast

import numpy as np

from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.model.signature import Array, Signature

_CUSTOM, _EXPORTS, _CODE, _DATA, _DATA_COUNT = 0, 7, 10, 11, 12
"""Sections; those of exports come before code and the number of data segments."""

_SYMBOL_TABLE, _FUNCTION, _UNDEFINED, _HAS_NAME = 8, 0, 0x10, 0x40
"""Of the section "linking": "WebAssembly Object File Linking"."""

_PAGE = 1 << 16
_STACK_BYTES = 1 << 18


class _Reader:
    """Numbers and names of the binary format."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def number(self) -> int:
        """An unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def bytes(self) -> bytes:
        """So many bytes as a number says."""
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at]


def sections(object_bytes: bytes) -> Iterator[tuple[int, bytes]]:
    """The sections of a module, with their numbers."""
    if object_bytes[:8] != b"\0asm\1\0\0\0":
        raise ValueError("no WebAssembly object")
    reader = _Reader(object_bytes[8:])
    while reader:
        yield reader.number(), reader.bytes()


def functions(object_bytes: bytes) -> dict[str, int]:
    """The functions that an object defines, by name."""
    found: dict[str, int] = {}
    for number, body in sections(object_bytes):
        reader = _Reader(body)
        if number != _CUSTOM or reader.bytes() != b"linking":
            continue
        reader.number()  # the version
        while reader:
            kind, part = reader.number(), _Reader(reader.bytes())
            for _ in range(part.number() if kind == _SYMBOL_TABLE else 0):
                found |= _function(part)
    return found


def _function(part: _Reader) -> dict[str, int]:
    """The next symbol, if it is a function that the object defines."""
    kind, flags = part.number(), part.number()
    if kind == 3:  # a section
        part.number()
        return {}
    if kind == 1:  # data
        part.bytes()
        if not flags & _UNDEFINED:
            for _ in range(3):
                part.number()
        return {}
    index = part.number()
    if flags & _UNDEFINED and not flags & _HAS_NAME:
        return {}
    name = part.bytes().decode()
    return {} if kind != _FUNCTION or flags & _UNDEFINED else {name: index}


def _data_bytes(object_bytes: bytes) -> int:
    """No less than what the data's segments need, each of them 64-byte aligned."""
    bodies = (body for number, body in sections(object_bytes) if number == _DATA)
    return sum(len(body) + 64 * _Reader(body).number() for body in bodies)


def with_exports(object_bytes: bytes) -> bytes:
    """A module that exports all functions of an object."""
    exported = functions(object_bytes)
    body = _leb(len(exported)) + b"".join(
        _leb(len(name)) + name.encode() + b"\0" + _leb(index)
        for name, index in exported.items()
    )
    module, pending = object_bytes[:8], [(_EXPORTS, body)]
    for number, data in sections(object_bytes):
        if number in (_CODE, _DATA_COUNT) and pending:
            module += _section(*pending.pop())
        module += _section(number, data)
    return module


def _section(number: int, body: bytes) -> bytes:
    return bytes([number]) + _leb(len(body)) + body


def _leb(value: int) -> bytes:
    encoded = b""
    while value >= 128:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


class Memory(Protocol):
    """wasmtime.Memory, the little of it that we use."""

    def read(self, store: object, start: int, stop: int) -> bytearray: ...
    def write(self, store: object, value: bytes, start: int) -> int: ...


class WasmEngine:
    """An instance of one object, with `size` bytes of memory after data and stack."""

    def __init__(self, object_bytes: bytes, size: int):
        wasmtime = import_module("wasmtime")
        self._store = wasmtime.Store()
        module = wasmtime.Module(self._store.engine, with_exports(object_bytes))
        stack_end = -(-(_data_bytes(object_bytes) + _STACK_BYTES) // _PAGE) * _PAGE
        self.start = stack_end
        pages = stack_end // _PAGE - -size // _PAGE
        self.end = pages * _PAGE
        limits = wasmtime.MemoryType(wasmtime.Limits(pages, pages))
        memory = wasmtime.Memory(self._store, limits)
        self._memory = cast(Memory, memory)
        pointer = wasmtime.Global(
            self._store,
            wasmtime.GlobalType(wasmtime.ValType.i32(), True),
            wasmtime.Val.i32(stack_end),
        )
        provided = {"__linear_memory": memory, "__stack_pointer": pointer}
        imports = [provided[part.name] for part in module.imports]
        instance = wasmtime.Instance(self._store, module, imports)
        self._exports = instance.exports(self._store)

    def write(self, address: int, data: bytes) -> None:
        self._memory.write(self._store, data, address)

    def read(self, address: int, size: int) -> bytes:
        return bytes(self._memory.read(self._store, address, address + size))

    def call(self, function: str, *arguments: int) -> int:
        """The i32 that a function returns."""
        code = cast(Callable[..., int], self._exports[function])
        return code(self._store, *arguments)


class WasmExecutable:
    """A compiled model in wasmtime, with the interface of `runtime.jit.Executable`.

    What lies outside of outputs and arena must stay as it is.
    """

    def __init__(self, compiled: CompiledObject):
        self.compiled = compiled

    @property
    def signature(self) -> Signature:
        return self.compiled.signature

    def __call__(self, inputs: Sequence[Array], *, at_end: bool = True) -> list[Array]:
        """The outputs; the first input ends where memory does, or is in its midst."""
        ports = self.signature
        given = [p.check(x) for p, x in zip(ports.inputs, inputs, strict=True)]
        sizes = [p.numpy_dtype.itemsize * prod(p.shape) for p in ports.outputs]
        lengths = [*(x.nbytes for x in given), *sizes, self.compiled.arena_bytes]
        table_bytes = 4 * (len(lengths) - 1)
        # the first input has two places
        parts = (lengths[0], *lengths, table_bytes)
        room = sum(-(-n // 64) * 64 + 64 for n in parts)
        engine = WasmEngine(self.compiled.object_bytes, room)
        addresses: list[int] = []
        free = engine.start
        for length in lengths:
            addresses.append(free + 64)
            free += 64 + -(-length // 64) * 64
        if at_end:
            addresses[0] = engine.end - lengths[0]
        for x, address in zip(given, addresses, strict=False):
            engine.write(address, x.tobytes())
        *arrays, arena = addresses
        engine.write(free, np.array(arrays, "<u4").tobytes())
        before = self._memory(engine, addresses, lengths)
        engine.call(ENTRY, free, free + 4 * len(given), arena)
        assert self._memory(engine, addresses, lengths) == before
        return [
            np.frombuffer(engine.read(address, size), port.numpy_dtype).reshape(
                port.shape
            )
            for port, address, size in zip(
                ports.outputs, arrays[len(given) :], sizes, strict=True
            )
        ]

    def _memory(
        self, engine: WasmEngine, addresses: Sequence[int], lengths: Sequence[int]
    ) -> bytes:
        """All that the code must not write, its stack aside."""
        memory = bytearray(engine.read(engine.start, engine.end - engine.start))
        written = list(zip(addresses, lengths, strict=True))
        for address, length in written[len(self.signature.inputs) :]:
            first = address - engine.start
            memory[first : first + length] = bytes(length)
        return bytes(memory)
