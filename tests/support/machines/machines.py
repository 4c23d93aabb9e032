"""Objects for C programs in emulators: free memory, and calls with 64-bit numbers."""

from __future__ import annotations

from qlower.emulation.emulator import BUFFERS, Emulator

from .wasm import WasmEngine

_ROOM = 8192
"""Bytes for input, output and arena."""


def start(object_bytes: bytes) -> tuple[Emulator | WasmEngine, int]:
    """A machine with the object, and the address of free memory."""
    if object_bytes.startswith(b"\0asm"):
        engine = WasmEngine(object_bytes, _ROOM)
        return engine, engine.start
    emulator = Emulator(object_bytes)
    emulator.map(BUFFERS, _ROOM)
    return emulator, BUFFERS


def words(triple: str, identity: int, *pointers: int, size: int) -> list[int]:
    """The arguments as the machine's C passes them."""
    if "64" not in triple and "wasm" not in triple:  # 64 bits in two words
        is_even = triple.startswith("thumb")  # begins at an even one
        even = [0] if is_even and len(pointers) % 2 else []
        return [identity & 0xFFFFFFFF, identity >> 32, *pointers, *even, size, 0]
    signed = identity - (1 << 64) if identity >> 63 else identity
    return [signed, *pointers, size]
