"""WebAssembly objects, executed by wasmtime.

An object runs once its functions are exported. No linker is needed as long as it calls
no function of another's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from math import prod
from typing import Protocol, cast

import numpy as np

from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.model.signature import Array, Signature
from qlower.packages.wasm_module import (
    EXPORTS,
    FUNCTION,
    PAGE,
    assembled,
    data_bytes,
    exports_section,
    functions,
)

_STACK_BYTES = 1 << 18


def _with_exports(object_bytes: bytes) -> bytes:
    """An object that exports all of its functions."""
    found = functions(object_bytes).items()
    exported = {name: (FUNCTION, index) for name, index in found}
    return assembled(object_bytes, {EXPORTS: exports_section(exported)})


class Memory(Protocol):
    """wasmtime.Memory, the little of it that we use."""

    def read(self, store: object, start: int, stop: int) -> bytearray: ...
    def write(self, store: object, value: bytes, start: int) -> int: ...


class WasmEngine:
    """An instance of one object, with `size` bytes of memory after data and stack."""

    def __init__(self, object_bytes: bytes, size: int):
        wasmtime = import_module("wasmtime")
        self._store = wasmtime.Store()
        module = wasmtime.Module(self._store.engine, _with_exports(object_bytes))
        stack_end = -(-(data_bytes(object_bytes) + _STACK_BYTES) // PAGE) * PAGE
        self.start = stack_end
        pages = stack_end // PAGE - -size // PAGE
        self.end = pages * PAGE
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
