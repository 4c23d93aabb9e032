"""What an AArch64 processor has, as Linux tells it: getauxval(AT_HWCAP, AT_HWCAP2).

The bits are in Linux's documentation, "ARM64 ELF hwcaps". glibc (since 2.16), musl and
bionic have getauxval; it reads memory.
"""

from __future__ import annotations

from collections.abc import Collection

from qlower.codegen.targets.processor import WORDS, Processor

_AT_HWCAP, _AT_HWCAP2 = 16, 26


def _reader(features: Collection[str]) -> list[str]:
    return [
        "declare i64 @getauxval(i64)",
        f"define internal void @{WORDS}(ptr %words) noinline nounwind #0 {{",
        f"  %first = call i64 @getauxval(i64 {_AT_HWCAP})",
        f"  %second = call i64 @getauxval(i64 {_AT_HWCAP2})",
        "  %second_at = getelementptr i64, ptr %words, i64 1",
        "  store i64 %first, ptr %words, align 8",
        "  store i64 %second, ptr %second_at, align 8",
        "  ret void",
        "}",
    ]


AARCH64_PROCESSOR = Processor(
    bits={
        "crc": {0: 1 << 7},
        "lse": {0: 1 << 8},
        "fullfp16": {0: 1 << 9 | 1 << 10},
        "rdm": {0: 1 << 12},
        "dotprod": {0: 1 << 20},
        "i8mm": {1: 1 << 13},
        "bf16": {1: 1 << 14},
    },
    words=2,
    reader=_reader,
    remembers=False,
)
