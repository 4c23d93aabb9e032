"""Compiling and running small kernel-level modules at every level of this machine."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from qlower.codegen.llvm.binding import BINDING
from qlower.codegen.nests.recognise import family_of
from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import Target, host_target, resolve_target
from qlower.dialects.kernel import NestOp
from qlower.emulation.elf import read_object
from qlower.emulation.emulator import PROCESSORS, EmulatedExecutable
from qlower.model.signature import Array
from qlower.runtime.executable import Executable
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module
from support.machines.aarch64 import aarch64_levels
from support.machines.qemu import QemuExecutable, qemu_executable
from support.machines.wasm import WasmExecutable

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
    """The feature levels that this machine can run, and the machine itself.

    Only the latter may have tile registers.
    """
    present = BINDING.get_host_cpu_features()
    levels = {
        name: resolve_target(cpu=cpu, features=features)
        for name, (cpu, features, needed) in _LEVELS.items()
        if all(present.get(feature) for feature in needed.split())
    }
    return {**levels, "host": host_target()}


def compile_text(text: str, target: Target) -> CompiledObject:
    """Native code for a kernel-level module given as text."""
    return compile_module(kernel_module(text), target)


@lru_cache(maxsize=64)
def kernel_module(text: str) -> ModuleOp:
    """A kernel-level module given as text, with the families that its nests have.

    One text is compiled for many levels, which leaves its module as it is.
    """
    module = parse_module(text, "test.mlir")
    for op in module.walk():
        if isinstance(op, NestOp):
            op.family = StringAttr(family_of(op))
    verify_module(module)
    return module


_LIBRARY = frozenset(("memcpy", "memset"))
"""All that native code may call; without a C library, only a compiler's runtime."""


def run_object(compiled: CompiledObject, inputs: Sequence[Array]) -> list[Array]:
    """The outputs, from this machine or from an emulated one.

    Nothing may be needed but copying and filling of memory.
    """
    emulated = _emulated(compiled)
    return Executable(compiled)(inputs) if emulated is None else emulated(inputs)


def guarded_runs(
    compiled: CompiledObject, inputs: Sequence[Array]
) -> Iterator[list[Array]]:
    """The outputs when all arrays end, then start, at a page that can't be touched.

    The arena is one of them, but for what aligns its end.
    """
    emulated = _emulated(compiled)
    if emulated is not None:
        for at_end in (True, False):
            yield emulated(inputs, at_end=at_end)
        return
    run = Executable(compiled)
    empty = [np.zeros(p.shape, p.numpy_dtype) for p in compiled.signature.outputs]
    unit = compiled.target.alignment
    arena_bytes = -(-compiled.arena_bytes // unit) * unit
    arena = np.full(arena_bytes, 0x5A, np.uint8)
    guarded = map(guarded_copies, (arena, *inputs, *empty))
    for scratch, *copies in zip(*guarded, strict=True):
        outputs = copies[len(inputs) :]
        run.run_in(scratch, copies[: len(inputs)], outputs)
        yield outputs


def _emulated(
    compiled: CompiledObject,
) -> EmulatedExecutable | QemuExecutable | WasmExecutable | None:
    """The object in an emulator; None if this machine can run it."""
    target = compiled.target
    if (by_qemu := qemu_executable(compiled)) is not None:
        return by_qemu
    if target.triple.startswith("wasm32"):
        return WasmExecutable(compiled)
    objects = [read_object(one) for one in compiled.objects]
    processor = PROCESSORS.get((objects[0].machine, objects[0].is_wide))
    runtime = frozenset[str]() if processor is None else processor.library.keys()
    defined = {name for one in objects for name in one.defined_symbols}
    external = {name for one in objects for name in one.external_symbols} - defined
    assert external <= (runtime if target.is_bare_metal else _LIBRARY)
    names = (known.triple.split("-")[0] for known in (target, host_target()))
    return None if len(set(names)) == 1 else EmulatedExecutable(compiled)


@cache
def generic_levels() -> dict[str, Target]:
    """Targets besides x86-64 and AArch64; their code is run by emulators."""
    names = {
        "riscv64": ("riscv64-linux-gnu", None, None),
        "cortex-m4": ("thumbv7em-none-eabi", "cortex-m4", None),
        "riscv32im": ("riscv32im-unknown-none-elf", None, None),
        "wasm32": ("wasm32-unknown-unknown", None, None),
        "wasm32 simd128": ("wasm32-unknown-unknown", None, "+simd128"),
    }
    return {name: resolve_target(*options) for name, options in names.items()}


@cache
def levels() -> dict[str, Target]:
    """The feature levels of this machine, and those of emulated machines."""
    emulated = {f"aarch64 {name}": level for name, level in aarch64_levels().items()}
    return {**machine_levels(), **emulated, **generic_levels()}


def dense(array: Array) -> str:
    """An array as a constant's text, unsigned integers as signless."""
    names = {"i": "i", "u": "i", "f": "f"}
    element = f"{names[array.dtype.kind]}{8 * array.itemsize}"
    shape = "x".join(map(str, array.shape))
    return f'dense<"0x{array.tobytes().hex()}"> : tensor<{shape}x{element}>'


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
