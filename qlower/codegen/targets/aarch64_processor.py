"""The features of an AArch64 processor, from Linux: getauxval(AT_HWCAP, AT_HWCAP2).

The bits are in Linux's documentation, "ARM64 ELF hwcaps". glibc (since 2.16), musl and
bionic have getauxval; it reads memory.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from qlower.codegen.llvm.values import I64, POINTER, constant
from qlower.codegen.targets.processor import WORDS, Processor

if TYPE_CHECKING:
    from qlower.codegen.llvm.module import Module

_AT_HWCAP, _AT_HWCAP2 = 16, 26


def _add_reader(module: Module, features: Collection[str]) -> None:
    from qlower.codegen.llvm.function import Function

    f = Function(module, WORDS, [POINTER], [""])
    for word, kind in enumerate((_AT_HWCAP, _AT_HWCAP2)):
        told = f.call("getauxval", I64, [constant(I64, kind)])
        f.store(told, f.at(f.arguments[0], constant(I64, 8 * word)), 8)
    f.finish()


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
    add_reader=_add_reader,
    remembers=False,
)
