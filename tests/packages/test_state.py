"""C packages of models with state, on this machine and on emulated ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_streams import drawn_frames, keyword_spotter
from support.machines.machines import start, words

import qlower
from qlower.codegen.program.interface import STATUS_CODES
from qlower.emulation.elf import read_object
from qlower.packages.link import compiler_driver

STEPS = 50

TARGETS = [
    ("aarch64-linux-gnu", None),
    ("aarch64-none-elf", "cortex-a53"),
    ("thumbv7em-none-eabi", "cortex-m4"),
    ("riscv64-linux-gnu", None),
    ("wasm32-unknown-unknown", None),
]

PROGRAM = """
#include <stdio.h>
#include "model.h"

static uint64_t states[2][MODEL_STATE_BYTES / 8];
static unsigned char memory[MODEL_ARENA_BYTES + MODEL_ARENA_ALIGNMENT];

int main(void) {
  const uintptr_t unit = MODEL_ARENA_ALIGNMENT;
  void *arena = (void *)(((uintptr_t)memory + unit - 1) / unit * unit);
  int8_t frame[MODEL_INPUT_COUNT], words[MODEL_OUTPUT_0_COUNT];
  int32_t count[MODEL_OUTPUT_1_COUNT];
  int32_t status = model_reset(states[0]);
  size_t stream = 1;
  if (status == MODEL_OK) status = model_reset(states[1]);
  while (status == MODEL_OK && fread(frame, 1, sizeof frame, stdin)) {
    stream = 1 - stream; /* every second frame is the other stream's */
    status = model_run(frame, words, count, states[stream], arena, MODEL_ARENA_BYTES);
    fwrite(words, 1, sizeof words, stdout);
    fwrite(count, 1, sizeof count, stdout);
  }
  return (int)status;
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.tflite"
    file.write_bytes(keyword_spotter())
    return file


def wanted_bytes(path: Path, frames: list[np.ndarray]) -> list[bytes]:
    """What `qlower.jit` gives for a stream, output after output."""
    run = qlower.jit(path)
    state = run.new_state()
    return [b"".join(a.tobytes() for a in run(x, state=state)) for x in frames]


@pytest.mark.parts(3)
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_program_with_two_streams(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    compiled = qlower.compile(path, cpu=["x86-64", "x86-64-v3"])
    compiled.save(folder, emit=["obj", "header", "shared", "c-example"])
    (folder / "program.c").write_text(PROGRAM)
    warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    for source in ("program", "main"):
        command = [*compiler_driver(compiled.target.triple), *warnings]
        parts = [f"{source}.c", "model.o", "-o", source]
        subprocess.run([*command, *parts], check=True, cwd=folder)
    one, two = drawn_frames(STEPS, 1), drawn_frames(STEPS, 2)
    pairs = zip(one, two, strict=True)
    given = b"".join(x.tobytes() for pair in pairs for x in pair)
    made = subprocess.run(
        [folder / "program"], input=given, capture_output=True, check=True
    )
    each = zip(wanted_bytes(path, one), wanted_bytes(path, two), strict=True)
    assert made.stdout == b"".join(part for pair in each for part in pair)

    library, native = qlower.load_compiled(folder), qlower.jit(path)
    state, other = library.new_state(), native.new_state()
    for x in one[:5]:
        for got, wanted in zip(
            library(x, state=state), native(x, state=other), strict=True
        ):
            np.testing.assert_array_equal(got, wanted)
    assert bytes(state.memory) == bytes(other.memory)  # executors have one layout


@pytest.mark.parts(5)
@pytest.mark.parametrize(("triple", "cpu"), TARGETS)
def test_other_machines(triple: str, cpu: str | None, path: Path) -> None:
    compiled = qlower.compile(path, target=triple, cpu=cpu)
    interface = compiled.interface
    machine, base = start(compiled.object.object_bytes)
    x, outputs, states, arena = base, (base + 64, base + 128), base + 256, base + 4096
    identity, size = interface.identity, interface.arena_bytes
    frames = drawn_frames(STEPS)

    def call(function: str, *pointers: int) -> int:
        if function == interface.reset:
            passed = words(triple, identity, *pointers, size=0)
            return machine.call(function, *passed[: -2 if "thumb" in triple else -1])
        return machine.call(function, *words(triple, identity, *pointers, size=size))

    second = states + interface.state_bytes
    for state in (states, second):
        assert call(interface.reset, state) == 0
    assert machine.read(states, interface.state_bytes) == machine.read(
        second, interface.state_bytes
    )
    untouched = machine.read(second, interface.state_bytes)
    for frame, wanted in zip(frames, wanted_bytes(path, frames), strict=True):
        machine.write(x, frame.tobytes())
        assert call(interface.entry, x, *outputs, states, arena) == 0
        assert machine.read(outputs[0], 6) + machine.read(outputs[1], 4) == wanted
    assert machine.read(second, interface.state_bytes) == untouched
    misaligned = STATUS_CODES["ERROR_STATE_ALIGNMENT"][0]
    assert call(interface.entry, x, *outputs, states + 1, arena) == misaligned
    assert call(interface.reset, states + 4) == misaligned
    assert call(interface.reset, 0) == STATUS_CODES["ERROR_NULL"][0]


WORDS = """
!x = !quant.uniform<i8:f32, 0.5>
module attributes {qnn.contract = "tflm"} {
  func.func @main(%x: tensor<64x!x>, %s: tensor<64x!x>)
      -> (tensor<64x!x>, tensor<64x!x>)
      attributes {qnn.state = [dense<0> : tensor<64xi8>]} {
    %y = qnn.add %x, %s : (tensor<64x!x>, tensor<64x!x>) -> tensor<64x!x>
    return %y, %y : tensor<64x!x>, tensor<64x!x>
  }
}
"""


@pytest.mark.parametrize(
    "triple",
    [
        "thumbv7em-none-eabi",
        "thumbv8.1m.main-none-eabi",
        "riscv32im-unknown-none-elf",
        "aarch64-none-elf",
    ],
)
def test_a_state_of_zeros_needs_no_library(triple: str, tmp_path: Path) -> None:
    """LLVM makes a call of memset of a copy whose source is zero."""
    path = tmp_path / "model.mlir"
    path.write_text(WORDS)
    compiled = qlower.compile(path, target=triple)
    assert read_object(compiled.object.object_bytes).external_symbols == set()


def test_memory_counts_the_state(path: Path) -> None:
    memory = qlower.compile(path).memory(with_stack=False)
    assert memory.state == 48  # 40 bytes of frames, 4 of the count, to a multiple of 8
    assert ("state", 48, "RAM") in memory.table().rows
