"""What a compiled model takes of memory: what `compile` says, and what code does."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL
from support.machines.qemu import ArmNeon

import qlower
from qlower.cli import main
from qlower.codegen.program.interface import Interface
from qlower.codegen.targets.stack_frames import StackUse, stack_use
from qlower.emulation.elf import read_object
from qlower.emulation.emulator import BUFFERS, STACK_END, Emulator
from qlower.model.signature import Signature, TensorSpec
from qlower.packages.memory import Memory, memory_use
from qlower.packages.sections import Sections, sections_of

DIGITS = Path(__file__).parents[2] / "examples/digits/digits.mlir"
IMAGE = DIGITS.parent / "images/7.npy"
PAINTED = 1 << 16
"""Bytes of stack, more than any of these takes."""

PAINT = 0xA5

TARGETS = [
    ("aarch64-linux-gnu", "generic", "tflite"),
    ("arm64-linux-gnu", "cortex-a53", "exact"),
    ("riscv64-linux-gnu", "generic-rv64", "tflite"),
    ("riscv32im-unknown-none-elf", "generic-rv32", "tflm"),
    ("thumbv7em-none-eabi", "cortex-m4", "tflm"),
    ("thumbv7em-none-eabi", "cortex-m7", "tflite-xnnpack"),
    ("thumbv8m.main-none-eabi", "cortex-m33", "tflm"),
]

PROGRAM = """\
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include "digits.h"
static unsigned char stack[{painted}];
static unsigned char memory[DIGITS_ARENA_BYTES + DIGITS_ARENA_ALIGNMENT];
static int8_t x[DIGITS_INPUT_COUNT], y[DIGITS_OUTPUT_COUNT];
static int32_t status;
static ucontext_t back, there;
static void run(void) {{
  const uintptr_t unit = DIGITS_ARENA_ALIGNMENT;
  void *arena = (void *)(((uintptr_t)memory + unit - 1) / unit * unit);
  status = digits_run(x, y, arena, DIGITS_ARENA_BYTES);
}}
static void nothing(void) {{}}
static unsigned long depth(void (*function)(void)) {{
  unsigned long free = 0;
  memset(stack, {paint}, sizeof stack);
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &back;
  makecontext(&there, function, 0);
  swapcontext(&back, &there);
  while (free < sizeof stack && stack[free] == {paint}) ++free;
  return sizeof stack - free;
}}
int main(void) {{
  unsigned long least = depth(nothing);
  printf("%lu %ld", depth(run) - least, (long)status);
  return 0;
}}
"""


def is_close(memory: Memory, used: int) -> bool:
    """A bound, but not of another order: padding that aligns need not be used."""
    assert memory.stack.bytes is not None
    return used <= memory.stack.bytes <= 2 * used + 256


@pytest.mark.parts(35)
@pytest.mark.parametrize(("triple", "cpu", "contract"), TARGETS)
def test_the_stack_under_emulation(triple: str, cpu: str, contract: str):
    compiled = qlower.compile(DIGITS, target=triple, cpu=cpu, contract=contract)
    interface, code = compiled.interface, compiled.object
    emulator = Emulator(code.object_bytes)
    emulator.map(BUFFERS, 1 << 16)
    x, y, arena = BUFFERS, BUFFERS + 4096, BUFFERS + 8192
    emulator.write(x, np.load(IMAGE).tobytes())
    words = [interface.identity, x, y, arena, interface.arena_bytes]
    if emulator.processor.pointer == "I":  # 64 bits in two words
        low = interface.identity & 0xFFFFFFFF
        even = [0] if emulator.processor.is_thumb else []  # begins at an even one
        words = [low, interface.identity >> 32, x, y, arena, *even]
        words += [interface.arena_bytes, 0]
    emulator.write(STACK_END - PAINTED, bytes([PAINT]) * PAINTED)
    assert emulator.call(interface.entry, *words) == 0
    stack = np.frombuffer(emulator.read(STACK_END - PAINTED, PAINTED), np.uint8)
    arguments = 16 * (len(words) > len(emulator.processor.arguments))
    used = PAINTED - int((stack != PAINT).argmax()) - arguments
    memory = compiled.memory()
    assert is_close(memory, used), (memory.stack, used)
    external = read_object(code.object_bytes).external_symbols
    assert set(memory.stack.outside) <= external


@pytest.mark.parts(8)
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("cpu", ["x86-64-v3", "host"])
def test_the_stack_of_this_machine(cpu: str, tmp_path: Path):
    target = "host" if cpu == "host" else "x86_64-linux-gnu"
    compiled = qlower.compile(DIGITS, target=target, cpu=cpu)
    used = stack_of_program(compiled, tmp_path, ["cc"], [])
    assert is_close(compiled.memory(), used), (compiled.memory().stack, used)


@pytest.mark.long
@pytest.mark.parametrize("contract", ["tflite", "tflite-xnnpack"])
def test_the_stack_of_a_process_under_qemu(contract: str, tmp_path: Path):
    compiler, qemu = ArmNeon.tools
    for tool in ArmNeon.tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} isn't installed")
    target = "armv7-linux-gnueabihf"
    compiled = qlower.compile(DIGITS, target=target, cpu=ArmNeon.cpu, contract=contract)
    command, runner = [compiler, "-static"], [qemu, "-cpu", ArmNeon.cpu]
    used = stack_of_program(compiled, tmp_path, command, runner)
    assert is_close(compiled.memory(), used), (compiled.memory().stack, used)


def stack_of_program(
    compiled: qlower.Compiled, folder: Path, compiler: list[str], runner: list[str]
) -> int:
    """Bytes of stack that a call of digits takes in a C program."""
    compiled.save(folder)
    (folder / "main.c").write_text(PROGRAM.format(painted=PAINTED, paint=PAINT))
    command = [*compiler, "-O2", "main.c", "digits.o", "-o", "program"]
    subprocess.run(command, check=True, cwd=folder)
    done = subprocess.run(
        [*runner, folder / "program"], capture_output=True, check=True
    )
    used, status = map(int, done.stdout.split())
    assert status == 0
    return used


def test_what_moves_the_stack_in_another_way_is_unknown():
    code = "\t.type\tf,@function\nf:\n\tmovq\t%rax, %rsp\n\tretq\n"
    assert stack_use(code, "x86_64", "f").bytes is None
    called = code + "\t.type\tg,@function\ng:\n\tpushq\t%rax\n\tcallq\tf\n"
    assert stack_use(called, "x86_64", "g").bytes is None
    outside = "\t.type\tg,@function\ng:\n\tpushq\t%rax\n\tcallq\tmemset@PLT\n"
    assert stack_use(outside, "x86_64", "g").bytes == 16
    assert stack_use(outside, "x86_64", "g").outside == ("memset",)
    indirect = "\t.type\tf,@function\nf:\n\tcallq\t*%rax\n"
    assert stack_use(indirect, "x86_64", "f").bytes is None


def test_what_is_stored_at_the_stack_pointer_moves_it_only_where_written_back():
    code = "\t.type\tf,%function\nf:\n\tsub\tsp, #16\n\tstm.w\tsp, {r1, r2}\n"
    assert stack_use(code, "thumbv7em", "f").bytes == 16
    assert stack_use(code + "\tmov\tsp, r7\n", "thumbv7em", "f").bytes is None


def test_a_module_without_sections():
    assert sections_of(b"\0asm\1\0\0\0") == Sections(0, 0, 0)


@pytest.mark.parametrize(
    ("triple", "least"),
    [
        ("x86_64-linux-gnu", 500),
        ("thumbv7em-none-eabi", 300),
        ("wasm32-unknown-unknown", 300),
    ],
)
def test_sections(triple: str, least: int, tmp_path: Path):
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    code = qlower.compile(path, target=triple).object.object_bytes
    sizes = sections_of(code)
    assert least < sizes.code < len(code)
    assert 300 < sizes.constants < len(code)
    assert sizes.variables == 0
    if code.startswith(b"\x7fELF"):
        sections = [s for s in read_object(code).sections if s.is_allocated]
        assert sizes.code == sum(len(s.data) for s in sections if s.is_code)
        total = sizes.code + sizes.constants + sizes.variables
        assert total == sum(len(s.data) for s in sections)


def test_the_command_ends_with_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, out = tmp_path / "small.mlir", str(tmp_path / "out")
    path.write_text(SMALL_MODEL)
    command = ["compile", str(path), "-o", out, "--target", "aarch64-none-elf"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"{out}/small.o", f"{out}/small.h"]
    names = [line.split()[0] for line in lines[5:]]
    assert names == [
        "arena",
        "inputs",
        "outputs",
        "variables",
        "stack",
        "code",
        "constants",
    ]
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["files"] == lines[:2]
    assert said["memory"]["inputs"] == 4
    assert said["memory"]["outputs"] == 3
    assert said["memory"]["stack_calls"] == []
    assert said["memory"]["stack"] > 0


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (StackUse(None), "RAM, unknown: --stack may tell"),
        (StackUse(0), "RAM, at most"),
        (StackUse(8, ("memcpy",)), "RAM, at most, and what is needed by memcpy"),
    ],
)
def test_the_stack_in_the_table(use: StackUse, expected: str):
    memory = Memory(0, 0, 0, 0, 0, 0, 0, stack=use)
    rows = {row["name"]: row for row in memory.table().records()}
    assert rows["stack"] == {"name": "stack", "bytes": use.bytes, "where": expected}


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-flash", "1K"], "bytes of flash, more than the 1,024 of --max-flash"),
        (["--max-ram", "10"], "bytes of RAM, more than the 10 of --max-ram"),
        (["--max-ram", "1x"], "'1x' is no number of bytes, such as 65536 or 64K"),
        (["--emit", "c", "--max-flash", "1M"], "--max-flash needs machine code"),
        (["--emit", "gates", "--max-ram", "1"], "circuits take no memory"),
    ],
)
def test_limits(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    """A model that takes more is refused with the table, and nothing is written."""
    out = tmp_path / "out"
    assert main(["compile", str(DIGITS), "-o", str(out), *arguments]) != 0
    assert message in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parts(3)
def test_within_limits(tmp_path: Path):
    limits = ["--max-flash", "1M", "--max-ram", "1M"]
    assert main(["compile", str(DIGITS), "-o", str(tmp_path), *limits]) == 0


def test_c_source_has_the_memory_of_its_interface() -> None:
    """What a compiler would add isn't known: no code, constants or stack, and no
    variables, which C source doesn't have."""
    given = TensorSpec("x", (2, 3), "int16", (0.5,), (0,))
    made = TensorSpec("y", (5,), "int8", (0.5,), (0,))
    signature = Signature((given,), (made,))
    triple = "x86_64-linux-gnu"
    interface = Interface("m", signature, 64, 32, "tflite", "0", triple, ())
    memory = memory_use(interface, None, None)
    assert memory.to_json() == {
        **{"arena": 64, "state": 0, "inputs": 12, "outputs": 5, "variables": 0},
        **dict.fromkeys(("stack", "code", "constants")),
        "stack_calls": (),
    }
    assert memory.ram == 81
