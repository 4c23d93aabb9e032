"""What an x86-64 processor has, by CPUID; and what Linux saves of it, by XGETBV.

A feature counts only if the system saves its registers (Intel's manual, volume 1, 13.3
and 14.3; the bits are in volume 2, CPUID), and that of tiles if it permits them, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module, escape_bytes
from qlower.codegen.llvm.values import I32, I64, POINTER, Value, constant
from qlower.codegen.targets.processor import WORDS, Processor
from qlower.codegen.targets.x86_tiles import (
    AMX,
    ARCH_PRCTL,
    ARCH_REQ_XCOMP_PERM,
    XFEATURE_XTILEDATA,
)

_LEAVES = {
    "leaf 1, ecx": {
        "sse3": 0, "pclmul": 1, "ssse3": 9, "fma": 12, "cx16": 13, "sse4.1": 19,
        "sse4.2": 20, "movbe": 22, "popcnt": 23, "aes": 25, "xsave": 26, "avx": 28,
        "f16c": 29,
    },
    "leaf 7, ebx": {
        "bmi": 3, "avx2": 5, "bmi2": 8, "avx512f": 16, "avx512dq": 17, "adx": 19,
        "avx512ifma": 21, "avx512cd": 28, "sha": 29, "avx512bw": 30, "avx512vl": 31,
    },
    "leaf 7, ecx": {
        "avx512vbmi": 1, "avx512vbmi2": 6, "gfni": 8, "vaes": 9, "vpclmulqdq": 10,
        "avx512vnni": 11, "avx512bitalg": 12, "avx512vpopcntdq": 14,
    },
    "leaf 7, edx": {"avx512fp16": 23, "amx-tile": 24, "amx-int8": 25},
    "leaf 7, subleaf 1, eax": {"avxvnni": 4, "avx512bf16": 5, "avxifma": 23},
    "leaf 0x80000001, ecx": {"sahf": 0, "lzcnt": 5},
}  # fmt: skip
"""The bit of each feature."""

_PERMITTED, _SAVED = len(_LEAVES), len(_LEAVES) + 1
"""The words after these: 1 where the process may use tiles; XCR0."""

_AVX, _AVX512, _TILES = 0x6, 0xE6, 0x60000
"""Parts of the state that the system saves, as bits of XCR0."""

_VECTORS = {"avx", "f16c", "fma", "avx2", "avxvnni", "avxifma", "vaes", "vpclmulqdq"}


def _bits(word: int, bit: int, feature: str) -> Mapping[int, int]:
    found = {word: 1 << bit}
    if feature.startswith("avx512"):
        return {**found, _SAVED: _AVX512}
    if feature in AMX.features:
        return {**found, _SAVED: _TILES, _PERMITTED: 1}
    return {**found, _SAVED: _AVX} if feature in _VECTORS else found


def _add_reader(module: Module, features: Collection[str]) -> None:
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

    f.fill_bytes(f.arguments[0], 0, 8 * (_SAVED + 1))
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
        store(saved, _SAVED)
        if not AMX.features.isdisjoint(features):
            f.when(_has(f, saved, _TILES), ask)

    def ask() -> None:
        """The request of `x86_tiles`, where the system saves tiles at all."""
        _add_bytes(module, "system_call", "i64 @system_call(i64, i64, i64)", _SYSCALL)
        request = ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA, ARCH_PRCTL
        arguments = [constant(I64, argument) for argument in request]
        refused = f.call("system_call", I64, arguments)
        store(f.compare("eq", refused, constant(I64, 0)), _PERMITTED)

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


X86_PROCESSOR = Processor(
    bits={
        feature: _bits(word, bit, feature)
        for word, bits in enumerate(_LEAVES.values())
        for feature, bit in bits.items()
    },
    words=_SAVED + 1,
    add_reader=_add_reader,
    remembers=True,
)
