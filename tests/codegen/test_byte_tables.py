"""Lookups in tables of 256 bytes, by instructions that this processor stands in for."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from support.machines.straight_code import load_function

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import POINTER, Type
from qlower.codegen.targets.base import ByteTables
from qlower.codegen.targets.resolve import host_target
from qlower.codegen.values.byte_tables import look_up

NAME = "look"


def instruction(known: ByteTables, lanes: int) -> str:
    """Bytes of some registers by the lower bits of each index, or 0 for an index beyond
    them, or with its upper bit set."""
    type, size = f"<{lanes} x i8>", known.registers * lanes
    places = [n for n in range(known.registers + 1) if n != known.index_argument]
    arguments = ", ".join(f"{type} %a{n}" for n in range(known.registers + 1))
    lines = [f"define internal {type} @{NAME}({arguments}) {{"]
    table = f"<{size} x i8>"
    lines.append("%memory = alloca [512 x i8]")
    for number, place in enumerate(places):
        lines += [
            f"%p{number} = getelementptr i8, ptr %memory, i64 {number * lanes}",
            f"store {type} %a{place}, ptr %p{number}, align 1",
        ]
    lines.append(f"%table = load {table}, ptr %memory, align 1")
    before = "zeroinitializer"
    for lane in range(lanes):
        first = lane // 16 * 16 if known.of_sixteen else 0
        mask = 15 if known.of_sixteen else size - 1
        most = 127 if known.of_sixteen else size - 1 if known.zero_beyond else 255
        lines += [
            f"%b{lane} = extractelement {type} %a{known.index_argument}, i32 {lane}",
            f"%w{lane} = zext i8 %b{lane} to i32",
            f"%m{lane} = and i32 %w{lane}, {mask}",
            f"%i{lane} = add i32 %m{lane}, {first}",
            f"%e{lane} = extractelement {table} %table, i32 %i{lane}",
            f"%c{lane} = icmp ule i32 %w{lane}, {most}",
            f"%s{lane} = select i1 %c{lane}, i8 %e{lane}, i8 0",
            f"%r{lane} = insertelement {type} {before}, i8 %s{lane}, i32 {lane}",
        ]
        before = f"%r{lane}"
    return "\n".join([*lines, f"ret {type} {before}", "}"])


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("known", "bits"),
    [
        (ByteTables(NAME, 4, 4, zero_beyond=True), 128),
        (ByteTables(NAME, 2, 1), 512),
        (ByteTables(NAME, 1, 1, of_sixteen=True), 128),
        (ByteTables(NAME, 1, 1, of_sixteen=True), 256),
    ],
)
@pytest.mark.parametrize("registers", [0.25, 1, 2])
def test_lookups(known: ByteTables, bits: int, registers: float) -> None:
    """Of fewer codes than a register holds, and of more."""
    host = host_target()
    target = replace(host, vector_bits=bits, byte_tables=known)
    lanes = int(registers * bits // 8)
    module = Module(host.triple, host.function_attributes)
    f = Function(module, "f", [POINTER] * 3, [""] * 3, internal=False)
    table, codes, out = f.arguments
    found = look_up(f, target, table, f.load(Type("i8", lanes), codes, 1))
    assert found.type == Type("i8", lanes)
    f.store(found, out, 1)
    f.finish()
    lines = [
        line
        for line in str(module).splitlines()
        if not line.startswith("declare") or "@llvm." in line
    ]
    text = "\n".join([*lines, instruction(known, bits // 8)])
    library = load_function(text, host)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(library["f"])
    random = np.random.default_rng(lanes)
    entries = random.permutation(256).astype(np.uint8)
    ends = [0, 15, 16, 63, 64, 127, 128, 129, 191, 192, 239, 240, 255]
    every = np.array([*ends, *random.permutation(256)], np.uint8)
    for first in range(0, every.size, lanes):
        given = np.resize(every[first:], lanes)
        results = np.zeros(lanes, np.uint8)
        call(entries.ctypes.data, given.ctypes.data, results.ctypes.data)
        assert results.tolist() == entries[given].tolist()
