"""Compiling and running small kernel-level modules at every level of this machine."""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Iterator
from functools import cache

import numpy as np

from qlower.codegen.llvmlite_binding import BINDING
from qlower.codegen.module import CompiledObject, compile_module
from qlower.codegen.target import Target, host_target, resolve_target
from qlower.parsing import parse_module, verify_module
from qlower.runtime.jit import Executable
from qlower.signature import Array

_LEVELS = {
    "x86-64": ("x86-64", "", ""),
    "x86-64-v2": ("x86-64-v2", "", "sse4.2"),
    "x86-64-v3": ("x86-64-v3", "", "avx2 fma bmi2"),
    "avxvnni": ("x86-64-v3", "+avxvnni", "avx2 fma bmi2 avxvnni"),
    "x86-64-v4": ("x86-64-v4", "", "avx512bw avx512dq avx512vl"),
    "avx512vnni": ("x86-64-v4", "+avx512vnni", "avx512bw avx512vl avx512vnni"),
}
"""CPU and features of each level, and what the machine must have to run it."""


@cache
def machine_levels() -> dict[str, Target]:
    """The feature levels that this machine can run, and the machine itself."""
    present = BINDING.get_host_cpu_features()
    levels = {
        name: resolve_target(cpu=cpu, features=features)
        for name, (cpu, features, needed) in _LEVELS.items()
        if all(present.get(feature) for feature in needed.split())
    }
    return {**levels, "host": host_target()}


def compile_text(text: str, target: Target) -> CompiledObject:
    """Native code for a kernel-level module given as text."""
    module = parse_module(text, "test.mlir")
    verify_module(module)
    return compile_module(module, target)


def run_text(text: str, target: Target, *inputs: Array) -> list[Array]:
    """The outputs of a kernel-level module given as text."""
    return Executable(compile_text(text, target))(inputs)


def dense(array: Array) -> str:
    """An array as a constant's text, unsigned integers as signless."""
    names = {"i": "i", "u": "i", "f": "f"}
    element = f"{names[array.dtype.kind]}{8 * array.itemsize}"
    shape = "x".join(map(str, array.shape))
    return f'dense<"0x{array.tobytes().hex()}"> : tensor<{shape}x{element}>'


def external_symbols(object_bytes: bytes) -> set[str]:
    """The undefined symbols of a 64-bit little-endian ELF object."""
    (sections_at,) = struct.unpack_from("<Q", object_bytes, 0x28)
    size, count = struct.unpack_from("<HH", object_bytes, 0x3A)
    headers = [
        struct.unpack_from("<IIQQQQIIQQ", object_bytes, sections_at + i * size)
        for i in range(count)
    ]
    found: set[str] = set()
    for _, kind, _, _, offset, length, link, _, _, entry in headers:
        if kind != 2:  # SHT_SYMTAB
            continue
        names_at = headers[link][4]
        for position in range(offset + entry, offset + length, entry):
            name, _, _, section = struct.unpack_from("<IBBH", object_bytes, position)
            if section == 0:  # SHN_UNDEF
                end = object_bytes.index(b"\0", names_at + name)
                found.add(object_bytes[names_at + name : end].decode())
    return found


_PAGE = mmap.PAGESIZE


def guarded_copies(array: Array) -> Iterator[Array]:
    """Copies of `array` that end, then start, at a page which can't be touched."""
    libc = ctypes.CDLL(None)
    pages = -(-array.nbytes // _PAGE)
    for at_end in (True, False):
        memory = mmap.mmap(-1, (pages + 2) * _PAGE)
        raw = np.frombuffer(memory, np.uint8)
        start = raw.ctypes.data
        for page in (0, pages + 1):
            status = libc.mprotect(
                ctypes.c_void_p(start + page * _PAGE), ctypes.c_size_t(_PAGE), 0
            )
            assert status == 0
        first = (pages + 1) * _PAGE - array.nbytes if at_end else _PAGE
        copy = raw[first : first + array.nbytes].view(array.dtype)
        copy = copy.reshape(array.shape)
        copy[...] = array
        yield copy
