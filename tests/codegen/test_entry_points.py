"""The checked functions that C calls, with levels that stand in, on this processor."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.machines.straight_code import load_function

from qlower.codegen.llvm.module import Module
from qlower.codegen.program.entry_point import (
    add_entry_point,
    add_reset_point,
    add_text,
)
from qlower.codegen.program.interface import STATUS_CODES, Interface
from qlower.codegen.targets.resolve import host_target
from qlower.model.signature import Signature, StateSpec, TensorSpec

COUNT = StateSpec("count", (3,), "int8", initial=b"\1\2\3")
SUM = StateSpec("sum", (1,), "int32", initial=b"\4\0\0\0")
SIGNATURE = Signature(
    (TensorSpec("x", (2,), "int8"),), (TensorSpec("y", (1,), "int32"),), (COUNT, SUM)
)
KEEPING = Interface(
    *("toy", SIGNATURE, 80, 64, "tflite", "0" * 64, "x86_64-linux-gnu"),
    ("a", "b"),
)
PLAIN = replace(KEEPING, signature=replace(SIGNATURE, states=()), arena_bytes=64)

CALLEE = """
define internal void @run_{n}(ptr %in, ptr %out, ptr %arena) {{
  %x = load ptr, ptr %in
  %first = load i8, ptr %x
  %wide = sext i8 %first to i32
  %sum = add i32 %wide, {n}00
  %y = load ptr, ptr %out
  store i32 %sum, ptr %y
  store i8 7, ptr %arena
  {states}
  ret void
}}"""
STATES = """
  %at.in = getelementptr ptr, ptr %in, i64 2
  %taken = load ptr, ptr %at.in
  %before = load i32, ptr %taken
  %after = add i32 %before, 5
  %at.count = getelementptr ptr, ptr %out, i64 1
  %count = load ptr, ptr %at.count
  store i32 0, ptr %count
  store i8 99, ptr %count
  %at.sum = getelementptr ptr, ptr %out, i64 2
  %left = load ptr, ptr %at.sum
  store i32 %after, ptr %left
"""


def loaded(interface: Interface, level: int) -> tuple[Callable[..., int], Any]:
    """The entry point, and what keeps it."""
    host = host_target()
    module = Module(host.triple, host.function_attributes)
    levels = range(1, len(interface.levels) + 1)
    add_entry_point(module, interface, [f"run_{n}" for n in levels])
    states = STATES if interface.state_bytes else ""
    kinds = ", ".join(["i64", *["ptr"] * (len(interface.pointers) + 1), "i64"])
    given = [f"{kind} %{n}" for n, kind in enumerate(kinds.split(", "))]
    lines = [
        line
        for line in str(module).splitlines()
        if not line.startswith("declare void @run")
        and not line.startswith("declare i32 @toy_level")
    ]
    text = "\n".join(
        [
            *lines,
            f"define i32 @toy_level() {{\nret i32 {level}\n}}",
            *(CALLEE.format(n=n, states=states) for n in levels),
            f"define i32 @f({', '.join(given)}) {{",
            f"%r = call i32 @toy_run_checked({', '.join(given)})",
            "ret i32 %r",
            "}",
        ]
    )
    library = load_function(text, host)
    types = [ctypes.c_uint64, *[ctypes.c_void_p] * (len(given) - 2), ctypes.c_uint64]
    return ctypes.CFUNCTYPE(ctypes.c_int32, *types)(library["f"]), library


def aligned(size: int, unit: int) -> Any:
    memory = np.zeros(size + unit, np.uint8)
    start = -memory.ctypes.data % unit
    return memory[start : start + size]


OK, VERSION, NULL, SIZE, ALIGNMENT, PROCESSOR, STATE = (
    STATUS_CODES[name][0]
    for name in (
        *("OK", "ERROR_VERSION", "ERROR_NULL", "ERROR_ARENA_SIZE"),
        *("ERROR_ARENA_ALIGNMENT", "ERROR_PROCESSOR", "ERROR_STATE_ALIGNMENT"),
    )
)


@pytest.mark.parts(3)
@pytest.mark.parametrize("has_state", [True, False])
@pytest.mark.parametrize(
    ("changed", "level", "status"),
    [
        ({}, 1, OK),
        ({}, 2, OK),
        ({"identity": 1}, 2, VERSION),
        ({"x": 0}, 2, NULL),
        ({"y": 0}, 2, NULL),
        ({"arena": 0}, 2, NULL),
        ({"state": 0}, 2, NULL),
        ({"size": -1}, 2, SIZE),
        ({"size": 1}, 2, OK),
        ({"arena": 8}, 2, ALIGNMENT),
        ({"arena": 63}, 2, ALIGNMENT),
        ({}, 0, PROCESSOR),
        ({"state": 4}, 1, STATE),
        ({"identity": 1, "x": 0, "size": -1}, 0, VERSION),
        ({"y": 0, "size": -1, "arena": 8}, 0, NULL),
        ({"size": -1, "arena": 8}, 0, SIZE),
    ],
)
def test_runs(
    changed: dict[str, int], level: int, status: int, has_state: bool
) -> None:
    """The first failure counts, and then nothing is written; else the level runs, and
    what it leaves becomes the state."""
    if not has_state and "state" in changed:
        return
    interface = KEEPING if has_state else PLAIN
    call, _library = loaded(interface, level)
    x, y = np.array([-3, 9], np.int8), np.zeros(1, np.int32)
    arena, state = aligned(160, 64), aligned(24, 8)
    state[:] = np.arange(24)
    state[8:12].view("<i4")[0] = 40
    before = state.copy()
    given = {"x": x.ctypes.data, "y": y.ctypes.data}
    given |= {"state": state.ctypes.data} if has_state else {}
    given["arena"] = arena.ctypes.data
    for name in given:
        if name in changed:
            given[name] = given[name] + changed[name] if changed[name] else 0
    identity = interface.identity ^ changed.get("identity", 0)
    size = interface.arena_bytes + changed.get("size", 0)
    assert call(identity, *given.values(), size) == status
    assert y[0] == (100 * level - 3 if status == OK else 0)
    assert arena[0] == (7 if status == OK else 0)
    if status != OK or not has_state:
        assert state.tolist() == before.tolist()
        return
    assert state[:3].tolist() == [99, 0, 0]
    assert state[3:8].tolist() == before[3:8].tolist()
    assert state[8:12].view("<i4")[0] == 45
    assert state[12:].tolist() == before[12:].tolist()


@pytest.mark.parametrize(
    ("wrong", "offset", "status"),
    [(0, 0, OK), (1, 0, VERSION), (0, None, NULL), (0, 4, STATE), (1, None, VERSION)],
)
def test_new_states(wrong: int, offset: int | None, status: int) -> None:
    host = host_target()
    module = Module(host.triple, host.function_attributes)
    add_reset_point(module, KEEPING)
    add_text(module, "text", 'a"\n')
    text = str(module)
    assert '@text = constant [4 x i8] c"\\61\\22\\0A\\00", align 1' in text
    wrapper = (
        "define i32 @f(i64 %i, ptr %s) {\n"
        "%r = call i32 @toy_reset_checked(i64 %i, ptr %s)\nret i32 %r\n}"
    )
    library = load_function(f"{text}\n{wrapper}", host)
    types = ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p
    state = aligned(32, 8)
    state[:] = 77
    place = None if offset is None else state.ctypes.data + offset
    call = ctypes.CFUNCTYPE(*types)(library["f"])
    assert call(KEEPING.identity ^ wrong, place) == status
    if status == OK:
        assert state[:16].tolist() == [1, 2, 3, *[0] * 5, 4, *[0] * 7]
        assert set(state[16:].tolist()) == {77}
    else:
        assert set(state.tolist()) == {77}
