"""What an x86-64 processor has, by CPUID; and what Linux saves of it, by XGETBV.

A feature counts only if the system saves its registers (Intel's manual, volume 1, 13.3
and 14.3; the bits are in volume 2, CPUID), and that of tiles if it permits them, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from qlower.codegen.llvm.text import escape_bytes
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


def _reader(features: Collection[str]) -> list[str]:
    asks = not AMX.features.isdisjoint(features)
    return [
        _of_bytes("void @cpuid(i32 %leaf, i32 %subleaf, ptr %registers)", _CPUID),
        _of_bytes("i32 @xgetbv()", _XGETBV),
        f"define internal void @{WORDS}(ptr %words) noinline nounwind #0 {{",
        "entry:",
        "  %registers = alloca [4 x i32], align 4",
        f"  store [{_SAVED + 1} x i64] zeroinitializer, ptr %words, align 8",
        *_cpuid("zero", 0, 0, {}),
        "  %highest = load i32, ptr %registers, align 4",
        *_cpuid("one", 1, 0, {2: 0}),
        *_cpuid("extended", 0x80000001 - (1 << 32), 0, {2: 5}),
        "  %has_seven = icmp uge i32 %highest, 7",
        "  br i1 %has_seven, label %seven, label %after_seven",
        "seven:",
        *_cpuid("seven_0", 7, 0, {1: 1, 2: 2, 3: 3}),
        *_cpuid("seven_1", 7, 1, {0: 4}),
        "  br label %after_seven",
        "after_seven:",
        f"  %osxsave = and i32 %one_2, {1 << 27}",
        "  %has_states = icmp ne i32 %osxsave, 0",
        "  br i1 %has_states, label %states, label %done",
        "states:",
        "  %saved = call i32 @xgetbv()",
        *_stored("saved", _SAVED),
        *(_ask_for_tiles() if asks else ()),
        "  br label %done",
        "done:",
        "  ret void",
        "}",
        *([_of_bytes(_SYSTEM_CALL, _SYSCALL)] if asks else []),
    ]


def _ask_for_tiles() -> list[str]:
    """The request of `x86_tiles`, where the system saves tiles at all."""
    arguments = ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA, ARCH_PRCTL
    return [
        f"  %tiles = and i32 %saved, {_TILES}",
        f"  %has_tiles = icmp eq i32 %tiles, {_TILES}",
        "  br i1 %has_tiles, label %ask, label %done",
        "ask:",
        "  %refused = call i64 @system_call("
        + ", ".join(f"i64 {argument}" for argument in arguments)
        + ")",
        "  %is_permitted = icmp eq i64 %refused, 0",
        "  %permitted = zext i1 %is_permitted to i32",
        *_stored("permitted", _PERMITTED),
    ]


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
_SYSTEM_CALL = "i64 @system_call(i64 %first, i64 %second, i64 %number)"
_SYSCALL = """
    48 89 d0    mov rax, rdx
    0f 05       syscall
    c3          ret
"""
"""Functions of instructions that LLVM has no intrinsics for, or not without -mxsave. As
inline assembly they would need a parser, which llvmlite has for the host alone.
"""


def _of_bytes(signature: str, listing: str) -> str:
    """A function that is machine code. LLVM sees no body to draw conclusions from."""
    code = b"".join(bytes.fromhex(line[4:16]) for line in listing.splitlines())
    return (
        f"define internal {signature} naked noinline optnone nounwind #0 "
        f'prologue [{len(code)} x i8] c"{escape_bytes(code)}" {{\n'
        "  unreachable\n}"
    )


def _cpuid(name: str, leaf: int, subleaf: int, words: Mapping[int, int]) -> list[str]:
    """CPUID, and its registers (0 is eax, 3 edx) into words."""
    lines = [f"  call void @cpuid(i32 {leaf}, i32 {subleaf}, ptr %registers)"]
    for register, word in words.items():
        value = f"{name}_{register}"
        lines += [
            f"  %{value}_from = getelementptr i32, ptr %registers, i64 {register}",
            f"  %{value} = load i32, ptr %{value}_from, align 4",
            *_stored(value, word),
        ]
    return lines


def _stored(value: str, word: int) -> list[str]:
    """An i32 as a word."""
    return [
        f"  %{value}_word = zext i32 %{value} to i64",
        f"  %{value}_at = getelementptr i64, ptr %words, i64 {word}",
        f"  store i64 %{value}_word, ptr %{value}_at, align 8",
    ]


X86_PROCESSOR = Processor(
    bits={
        feature: _bits(word, bit, feature)
        for word, bits in enumerate(_LEAVES.values())
        for feature, bit in bits.items()
    },
    words=_SAVED + 1,
    reader=_reader,
    remembers=True,
)
