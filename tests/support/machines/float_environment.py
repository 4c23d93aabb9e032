"""The float environments that a program on x86-64 may set for its thread."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from functools import cache

import pytest

from qlower.codegen.llvm.binding import BINDING
from qlower.codegen.program.machine_code import machine_code
from qlower.codegen.targets.resolve import resolve_target

ENVIRONMENTS = {
    "down": 0x3F80,
    "up": 0x5F80,
    "toward_zero": 0x7F80,
    "flush": 0x9F80,
    "denormals_are_zero": 0x1FC0,
    "flush_both_up": 0xDFC0,
    "traps": 0x1900,
}
"""MXCSR by what it says; the last one traps invalid operations, divisions by zero and
overflows."""

FLAGS = 0x3F
"""The bits of MXCSR that collect exceptions."""

needs_x86 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="MXCSR is a register of x86"
)

_ACCESS = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @read(ptr %word) {
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  ret void
}
define void @write(ptr %word) {
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret void
}
"""


@cache
def _access() -> tuple[Callable[[ctypes.c_uint32], None], ...]:
    """Functions that read and write MXCSR, and what keeps them loaded."""
    builder = BINDING.JITLibraryBuilder().add_object_img(
        machine_code(_ACCESS, resolve_target(cpu="x86-64"))
    )
    for name in ("read", "write"):
        builder = builder.export_symbol(name)
    tracker = builder.link(
        BINDING.create_lljit_compiler(use_jit_link=True), "float_environment"
    )
    type = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))
    loaded.append(tracker)
    return tuple(type(tracker[name]) for name in ("read", "write"))


loaded: list[object] = []


def call_under(word: int, function: Callable[[], object]) -> int:
    """Call a function while MXCSR is `word`; what MXCSR is afterwards."""
    read, write = _access()
    before, during, after = (ctypes.c_uint32(n) for n in (0, word, 0))
    read(before)
    write(during)
    try:
        function()
    finally:
        read(after)
        write(before)
    return after.value
