"""The code by which a program reads what its x86-64 processor has."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module, escape_bytes
from qlower.codegen.llvm.values import I32, I64, POINTER, Value, constant
from qlower.codegen.targets.processor import WORDS
from qlower.codegen.targets.x86_processor import PERMITTED, SAVED, TILES
from qlower.codegen.targets.x86_tiles import (
    AMX,
    ARCH_PRCTL,
    ARCH_REQ_XCOMP_PERM,
    XFEATURE_XTILEDATA,
)


def add_reader(module: Module, features: Collection[str]) -> None:
    _add_bytes(module, "cpuid", "void @cpuid(i32, i32, ptr)", _CPUID)
    _add_bytes(module, "xgetbv", "i32 @xgetbv()", _XGETBV)
    f = Function(module, WORDS, [POINTER], [""])
    registers = f.allocate(16, 4)

    def store(value: Value, word: int) -> None:
        wide = f.cast("zext", value, "i64")
        f.store(wide, f.at(f.arguments[0], constant(I64, 8 * word)), 8)

    def cpuid(leaf: int, subleaf: int, words: Mapping[int, int]) -> None:
        """CPUID, and its registers (0 is eax, 3 edx) into words."""
        asked = [constant(I32, leaf), constant(I32, subleaf), registers]
        f.call_function("cpuid", asked)
        for register, word in words.items():
            store(f.load(I32, f.at(registers, constant(I64, 4 * register)), 4), word)

    f.fill_bytes(f.arguments[0], 0, 8 * (SAVED + 1))
    cpuid(0, 0, {})
    highest = f.load(I32, registers, 4)
    cpuid(1, 0, {2: 0})
    has_states = _has(f, f.load(I64, f.arguments[0], 8), 1 << 27)
    cpuid(0x80000001, 0, {2: 5})

    def seven() -> None:
        cpuid(7, 0, {1: 1, 2: 2, 3: 3})
        cpuid(7, 1, {0: 4})

    def states() -> None:
        saved = f.call("xgetbv", I32, [])
        store(saved, SAVED)
        if not AMX.features.isdisjoint(features):
            f.when(_has(f, saved, TILES), ask)

    def ask() -> None:
        """The request of `x86_tiles`, where the system saves tiles at all."""
        _add_bytes(module, "system_call", "i64 @system_call(i64, i64, i64)", _SYSCALL)
        request = ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA, ARCH_PRCTL
        arguments = [constant(I64, argument) for argument in request]
        refused = f.call("system_call", I64, arguments)
        store(f.compare("eq", refused, constant(I64, 0)), PERMITTED)

    f.when(f.compare("uge", highest, constant(I32, 7)), seven)
    f.when(has_states, states)
    f.finish()


def _has(f: Function, value: Value, bits: int) -> Value:
    wanted = constant(value.type, bits)
    return f.compare("eq", f.binary("and", value, wanted), wanted)


_CPUID = """
    53          push rbx
    49 89 d0    mov r8, rdx
    89 f8       mov eax, edi
    89 f1       mov ecx, esi
    0f a2       cpuid
    41 89 00    mov [r8], eax
    41 89 58 04 mov [r8 + 4], ebx
    41 89 48 08 mov [r8 + 8], ecx
    41 89 50 0c mov [r8 + 12], edx
    5b          pop rbx
    c3          ret
"""
_XGETBV = """
    31 c9       xor ecx, ecx
    0f 01 d0    xgetbv
    c3          ret
"""
_SYSCALL = """
    48 89 d0    mov rax, rdx
    0f 05       syscall
    c3          ret
"""
"""Functions of instructions that LLVM has no intrinsics for, or not without -mxsave. As
inline assembly they would need a parser, which llvmlite has for the host alone.
"""


def _add_bytes(module: Module, name: str, signature: str, listing: str) -> None:
    """A function that is machine code. LLVM sees no body to draw conclusions from."""
    code = b"".join(bytes.fromhex(line[4:16]) for line in listing.splitlines())
    module.functions[name] = (
        f"define internal {signature} naked noinline optnone nounwind #0 "
        f'prologue [{len(code)} x i8] c"{escape_bytes(code)}" {{\n'
        "  unreachable\n}"
    )
