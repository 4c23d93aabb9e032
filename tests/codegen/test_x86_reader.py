"""The code that reads a processor, which runs here on instructions that are made up."""

from __future__ import annotations

import ctypes
import platform
from importlib import import_module

import numpy as np
import pytest

from qlower.codegen.llvm.binding import BINDING
from qlower.codegen.llvm.module import Module
from qlower.codegen.program.machine_code import machine_code
from qlower.codegen.targets.processor import WORDS
from qlower.codegen.targets.resolve import host_target
from qlower.codegen.targets.x86_reader import add_reader

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="runs code of x86-64"
)

CPUID = """
define void @cpuid(i32 %leaf, i32 %part, ptr %registers) {{
  %is_zero = icmp eq i32 %leaf, 0
  %is_one = icmp eq i32 %leaf, 1
  %upper = lshr i32 %leaf, 31
  %a = mul i32 %upper, 4096
  %number = and i32 %leaf, 255
  %b = mul i32 %number, 256
  %c = mul i32 %part, 16
  %ab = or i32 %a, %b
  %abc = or i32 %ab, %c
  %eax = select i1 %is_zero, i32 {highest}, i32 %abc
  %ebx = or i32 %abc, 1
  %state = select i1 %is_one, i32 {state}, i32 0
  %two = or i32 %abc, 2
  %ecx = or i32 %two, %state
  %edx = or i32 %abc, 3
  %p1 = getelementptr i8, ptr %registers, i64 4
  %p2 = getelementptr i8, ptr %registers, i64 8
  %p3 = getelementptr i8, ptr %registers, i64 12
  store i32 %eax, ptr %registers
  store i32 %ebx, ptr %p1
  store i32 %ecx, ptr %p2
  store i32 %edx, ptr %p3
  ret void
}}"""
"""The registers have leaf, part and their number as digits; of leaf 0 the highest leaf,
of leaf 1 whether states are saved."""

XGETBV = "define i32 @xgetbv() {{ ret i32 {saved} }}"
SYSTEM_CALL = """
define i64 @system_call(i64 %a, i64 %b, i64 %number) {{
  %is_request = icmp eq i64 %a, 4131
  %is_tile = icmp eq i64 %b, 18
  %is_prctl = icmp eq i64 %number, 158
  %both = and i1 %is_request, %is_tile
  %all = and i1 %both, %is_prctl
  %answer = select i1 %all, i64 {refused}, i64 -22
  ret i64 %answer
}}"""
STATE, TILES = 1 << 27, 0x60000


def read(
    features: list[str], highest: int, state: int, saved: int, refused: int
) -> list[int]:
    """The words of a processor, whose memory had other contents."""
    module = Module("x86_64-unknown-linux-gnu", "nounwind")
    add_reader(module, features)
    made = {"cpuid": CPUID, "xgetbv": XGETBV, "system_call": SYSTEM_CALL}
    assert set(module.functions) - {WORDS} <= set(made)
    for name in module.functions.keys() - {WORDS}:
        module.functions[name] = made[name].format(
            highest=highest, state=state, saved=saved, refused=refused
        )
    text = str(module).replace(
        f"define internal void @{WORDS}", f"define void @{WORDS}"
    )
    assert "alloca [16 x i8]" in text
    builder = BINDING.JITLibraryBuilder()
    builder = builder.add_object_img(machine_code(text, host_target()))
    builder = builder.add_current_process().export_symbol(WORDS)
    jit = vars(import_module("qlower.runtime.executable"))["_new_jit"]()
    tracker = builder.link(jit, "reader")
    words = np.full(9, -1, np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(tracker[WORDS])(words.ctypes.data)
    assert words[8] == -1
    return words[:8].tolist()


ONE, EIGHTY = 0x102, 0x1102
SEVEN = [0x701, 0x702, 0x703, 0x710]


@pytest.mark.parametrize(
    ("highest", "state", "saved", "refused", "wanted"),
    [
        (7, 0, TILES, 0, [ONE, *SEVEN, EIGHTY, 0, 0]),
        (8, 0, TILES, 0, [ONE, *SEVEN, EIGHTY, 0, 0]),
        (6, 0, TILES, 0, [ONE, 0, 0, 0, 0, EIGHTY, 0, 0]),
        (6, STATE, 6, 0, [ONE | STATE, 0, 0, 0, 0, EIGHTY, 0, 6]),
        (7, STATE, 0xE6, 0, [ONE | STATE, *SEVEN, EIGHTY, 0, 0xE6]),
        (7, STATE, TILES | 6, 0, [ONE | STATE, *SEVEN, EIGHTY, 1, TILES | 6]),
        (7, STATE, TILES, 1, [ONE | STATE, *SEVEN, EIGHTY, 0, TILES]),
        (7, STATE, 0x20000, 0, [ONE | STATE, *SEVEN, EIGHTY, 0, 0x20000]),
    ],
)
def test_words(
    highest: int, state: int, saved: int, refused: int, wanted: list[int]
) -> None:
    found = read(["amx-tile", "avx2"], highest, state, saved, refused)
    assert found == wanted


def test_tiles_are_requested_where_code_uses_them() -> None:
    found = read(["avx512vnni"], 7, STATE, TILES, 0)
    assert found == [ONE | STATE, *SEVEN, EIGHTY, 0, TILES]
