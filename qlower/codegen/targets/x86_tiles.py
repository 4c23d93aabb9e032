"""AMX: Intel's tile registers, and Linux's permission to use them.

Their state is so large that a process has to request it, once for all its threads
(Documentation/arch/x86/xstate.rst of Linux). The request is refused where the process
handles signals on a stack that is too small for the state.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping

import numpy as np

from qlower.codegen.targets.base import TileRegisters

ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA = 158, 0x1023, 18
"""The system call, what it is asked for, and for which registers; 0 is success."""


def withheld(present: Mapping[str, bool]) -> Iterable[str]:
    """All features that need tiles, where they are refused to this process."""
    if not present.get("amx-tile") or _request():
        return ()
    return [name for name in present if name.startswith("amx-")]


def tiles_of(triple: str, features: frozenset[str], bits: int) -> TileRegisters | None:
    """The registers that code for Linux has; a row is a vector of 512 bits."""
    is_linux = "linux" in triple.split("-")
    return AMX if "amx-int8" in features and is_linux and bits == 512 else None


def _request() -> bool:
    arguments = ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return ctypes.CDLL(None).syscall(*map(ctypes.c_long, arguments)) == 0


def _configuration(shapes: Mapping[int, tuple[int, int]]) -> bytes:
    """The operand of LDTILECFG: palette 1, bytes a row (u16) and rows (u8) by tile."""
    row_bytes, rows = np.zeros(16, "<u2"), np.zeros(16, np.uint8)
    for register, (height, width) in shapes.items():
        rows[register], row_bytes[register] = height, width
    return bytes([1, *[0] * 15]) + row_bytes.tobytes() + rows.tobytes()


AMX = TileRegisters(
    features=frozenset(("amx-tile", "amx-int8")),
    rows=16,
    row_bytes=64,
    configure="llvm.x86.ldtilecfg",
    configuration=_configuration,
    release="llvm.x86.tilerelease",
    zero="llvm.x86.tilezero",
    load="llvm.x86.tileloadd64",
    store="llvm.x86.tilestored64",
    signed_multiply="llvm.x86.tdpbssd",
    unsigned_multiply="llvm.x86.tdpbusd",
    request=_request,
)
