"""The features of an x86-64 processor, by CPUID, and the state that Linux saves, by
XGETBV.

A feature counts only if the system saves its registers (Intel's manual, volume 1, 13.3
and 14.3; the bits are in volume 2, CPUID), and tiles only if it permits them, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from qlower.codegen.targets.processor import Processor
from qlower.codegen.targets.x86_tiles import AMX

if TYPE_CHECKING:
    from qlower.codegen.llvm.module import Module

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

PERMITTED, SAVED = len(_LEAVES), len(_LEAVES) + 1
"""The words after these: 1 where the process may use tiles; XCR0."""

_AVX, _AVX512, TILES = 0x6, 0xE6, 0x60000
"""Parts of the state that the system saves, as bits of XCR0."""

_VECTORS = {"avx", "f16c", "fma", "avx2", "avxvnni", "avxifma", "vaes", "vpclmulqdq"}


def _bits(word: int, bit: int, feature: str) -> Mapping[int, int]:
    found = {word: 1 << bit}
    if feature.startswith("avx512"):
        return {**found, SAVED: _AVX512}
    if feature in AMX.features:
        return {**found, SAVED: TILES, PERMITTED: 1}
    return {**found, SAVED: _AVX} if feature in _VECTORS else found


def _add_reader(module: Module, features: Collection[str]) -> None:
    from qlower.codegen.targets.x86_reader import add_reader

    add_reader(module, features)


X86_PROCESSOR = Processor(
    bits={
        feature: _bits(word, bit, feature)
        for word, bits in enumerate(_LEAVES.values())
        for feature, bit in bits.items()
    },
    words=SAVED + 1,
    add_reader=_add_reader,
    remembers=True,
)
