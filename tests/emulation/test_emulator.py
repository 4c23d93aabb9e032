"""The emulator on small functions, and instructions that it has others for."""

from __future__ import annotations

import struct
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.emulation.aarch64 import AARCH64
from qlower.emulation.emulator import BUFFERS, STACK_END, EmulationError, Emulator

pytest.importorskip("unicorn", reason="unicorn is not installed")
llvm: Any = import_module("llvmlite.binding")

TEXT = """
target triple = "{triple}"

declare {p} @memcpy({p}, {p}, {w})
declare {p} @memset({p}, i32, {w})
declare i64 @getauxval({w})

define i32 @weigh({w} %a, {w} %b, {w} %c, {w} %d, {w} %e, {w} %f, {w} %g, {w} %h,
                  {w} %i, {w} %j, {w} %k) nounwind {{
  %s0 = mul {w} %b, 2
  %s1 = mul {w} %d, 4
  %s2 = mul {w} %h, 8
  %s3 = mul {w} %i, 16
  %s4 = mul {w} %j, 32
  %s5 = mul {w} %k, 64
  %s6 = add {w} %a, %s0
  %s7 = add {w} %s6, %s1
  %s8 = add {w} %s7, %s2
  %s9 = add {w} %s8, %s3
  %s10 = add {w} %s9, %s4
  %s11 = add {w} %s10, %s5
  %s12 = {cast}
  ret i32 %s12
}}

define i32 @copy({p} %to, {p} %from, {w} %size) nounwind {{
  %r = call {p} @memcpy({p} %to, {p} %from, {w} %size)
  %same = icmp eq {p} %r, %to
  %n = zext i1 %same to i32
  ret i32 %n
}}

define i32 @fill({p} %to, i32 %byte, {w} %size) nounwind {{
  %r = call {p} @memset({p} %to, i32 %byte, {w} %size)
  ret i32 -3
}}

define i32 @ask({w} %kind) nounwind {{
  %r = call i64 @getauxval({w} %kind)
  %n = trunc i64 %r to i32
  ret i32 %n
}}

define i32 @quotient(i64 %a, i64 %b) nounwind {{
  %q = sdiv i64 %a, %b
  %n = trunc i64 %q to i32
  ret i32 %n
}}
"""

TRIPLES = {
    "aarch64-linux-gnu": ("generic", 64),
    "thumbv7em-unknown-none-eabi": ("cortex-m4", 32),
    "riscv64-linux-gnu": ("generic-rv64", 64),
    "riscv32-none-elf": ("generic-rv32", 32),
}


@cache
def compiled(triple: str) -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    cpu, bits = TRIPLES[triple]
    cast = "trunc i64 %s11 to i32" if bits == 64 else "add i32 %s11, 0"
    module = llvm.parse_assembly(
        TEXT.format(triple=triple, p="ptr", w=f"i{bits}", cast=cast)
    )
    features = "+m" if triple.startswith("riscv") else ""
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(
        cpu, features, opt=1, reloc="static", codemodel="small"
    )
    return machine.emit_object(module)


@pytest.mark.parametrize("triple", TRIPLES)
def test_small_functions(triple: str) -> None:
    emulator = Emulator(compiled(triple), {16: 5})
    words = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    weights = [1, 2, 0, 4, 0, 0, 0, 8, 16, 32, 64]
    wanted = sum(a * b for a, b in zip(words, weights, strict=True))
    assert emulator.call("weigh", *words) == wanted
    (one, size), (two, other) = emulator.map_buffers([5, 4097])
    assert (one, size, two, other) == (BUFFERS, 4096, BUFFERS + 8192, 8192)
    emulator.write(two, b"abcdef")
    assert emulator.call("copy", one, two, 5) == 1
    assert emulator.read(one, 6) == b"abcde\0"
    assert emulator.call("copy", one, two, 0) == 1
    assert emulator.call("fill", one + 1, 0x1EE, 3) == 0xFFFFFFFD
    assert emulator.read(one, 6) == b"a\xee\xee\xeee\0"
    assert emulator.call("fill", one + 1, 7, 0) == 0xFFFFFFFD
    assert emulator.read(one, 6) == b"a\xee\xee\xeee\0"
    assert emulator.call("ask", 16) == 5
    assert emulator.call("ask", 17) == 0
    emulator.unmap(two, other)
    with pytest.raises(EmulationError, match=r"at offset -?0x"):
        emulator.call("copy", one, two, 5)
    pointers = emulator.pointers([1, 1 << 31])
    bits = TRIPLES[triple][1]
    assert pointers == struct.pack("<QQ" if bits == 64 else "<II", 1, 1 << 31)
    name = emulator.processor.arguments[0]
    emulator.write_register(name, 77)
    assert emulator.read_register(name) == 77


@pytest.mark.parametrize("triple", ["thumbv7em-unknown-none-eabi", "riscv32-none-elf"])
def test_functions_of_a_compiler(triple: str) -> None:
    emulator = Emulator(compiled(triple))
    for a, b in ((100, 7), (-100, 7), (1 << 40, -(1 << 20)), (-5, 9)):
        words = [
            half for n in (a, b) for half in (n & 0xFFFFFFFF, n >> 32 & 0xFFFFFFFF)
        ]
        quotient = int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
        assert emulator.call("quotient", *words) == quotient & 0xFFFFFFFF


def test_blocks_are_seen_and_pages_are_whole() -> None:
    emulator = Emulator(compiled("aarch64-linux-gnu"))
    seen: list[int] = []
    emulator.on_blocks(lambda _machine, address, _size, _data: seen.append(address))
    emulator.call("weigh", *range(11))
    assert seen == [emulator.symbols["weigh"]]
    for number, (length, size) in enumerate(
        ((0, 4096), (1, 4096), (4096, 4096), (4097, 8192))
    ):
        assert emulator.map(BUFFERS + (number << 20), length) == size
    assert emulator.read(STACK_END - 4096, 1)  # the stack ends there
    with pytest.raises(Exception, match=r"[Uu]nmapped|READ"):
        emulator.read(STACK_END, 1)


def mixed(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    return (n.astype(np.int64) * m).reshape(4, 4).sum(axis=1)


def matrix(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    left, right = (x.astype(np.int64).reshape(2, 8) for x in (n, m))
    return (left @ right.T).reshape(-1)


def element(index: int, vector: np.ndarray) -> np.ndarray:
    return np.tile(vector[4 * index : 4 * index + 4], 4)


INSTRUCTIONS = {
    # the encoding, whether n and m are signed, what is added of them
    "usdot": (0x4E809C00, "ui", mixed),
    **{
        f"usdot[{i}]": (
            0x4F80F000 | (i & 1) << 21 | (i >> 1) << 11,
            "ui",
            lambda n, m, i=i: mixed(n, element(i, m)),
        )
        for i in range(4)
    },
    **{
        f"sudot[{i}]": (
            0x4F00F000 | (i & 1) << 21 | (i >> 1) << 11,
            "iu",
            lambda n, m, i=i: mixed(n, element(i, m)),
        )
        for i in range(4)
    },
    "smmla": (0x4E80A400, "ii", matrix),
    "usmmla": (0x4E80AC00, "ui", matrix),
}
REGISTERS = [(3, 7, 9), (0, 1, 2), (1, 0, 0), (2, 3, 1), (4, 5, 5), (5, 31, 15)]


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_products_that_the_emulator_lacks(name: str) -> None:
    """They give what their manual says, and change no other register."""
    encoding, kinds, product = INSTRUCTIONS[name]
    draw = np.random.default_rng(len(name))
    for d, n, m in REGISTERS:
        word = encoding | m << 16 | n << 5 | d
        nop = 0xD503201F
        image = bytearray(struct.pack("<5I", nop, word, nop, word, nop))
        AARCH64.relocate(image, [], [range(0, 20)])
        assert len(image) > 20
        machine = AARCH64.start()
        machine.mem_map(0x10000, 0x1000)
        machine.mem_map(0x20000, 0x1000)
        machine.mem_write(0x10000, bytes(image))
        machine.reg_write(AARCH64.register("SP"), 0x20800)
        registers = {q: draw.integers(0, 256, 16, np.uint8) for q in range(32)}
        registers[n][:8], registers[m][:4] = (255, 128, 127, 0, 1, 255, 128, 128), 128
        for q, value in registers.items():
            machine.reg_write(
                AARCH64.register(f"Q{q}"), int.from_bytes(value.tobytes(), "little")
            )
        total = registers[d].view(np.int32).astype(np.int64)
        for _ in range(2):
            known = dict(registers)
            known[d] = (total & 0xFFFFFFFF).astype(np.uint32).view(np.uint8)
            left, right = (
                known[q].view(np.int8 if kind == "i" else np.uint8)
                for q, kind in zip((n, m), kinds, strict=True)
            )
            total = total + product(left, right)
        machine.emu_start(0x10000, 0x10010)
        registers[d] = (total & 0xFFFFFFFF).astype(np.uint32).view(np.uint8)
        for q, value in registers.items():
            found = machine.reg_read(AARCH64.register(f"Q{q}"))
            assert found == int.from_bytes(value.tobytes(), "little"), (d, n, m, q)
        assert machine.reg_read(AARCH64.register("SP")) == 0x20800
