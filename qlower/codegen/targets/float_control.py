"""The register in which a machine keeps its float environment."""

from __future__ import annotations

from dataclasses import dataclass

from qlower.codegen.llvm.values import Type


@dataclass(frozen=True)
class FloatControl:
    """A register for the rounding mode, flushing of subnormal numbers, and traps.

    `read` and `write` are LLVM's intrinsics; with `by_address` they take the address of
    the register's value in memory. C programs begin with the value `default`, in all
    but the bits `flags`, which collect what has happened so far.
    """

    type: Type
    read: str
    write: str
    default: int
    flags: int = 0
    by_address: bool = False
