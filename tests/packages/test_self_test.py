"""What a device checks for itself: outputs by their digest, and the arena's ends."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_streams import keyword_spotter
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.packages.self_test import SEEDS, digest, drawn_inputs, room

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None, reason="there is no C compiler"
)

PROGRAM = """\
#include <stdio.h>
#include "m_selftest.h"
static int8_t input[M_INPUT_COUNT];
static uint8_t output[M_OUTPUT_COUNT];
static unsigned char memory[M_ARENA_BYTES + M_ARENA_ALIGNMENT];
int main(void) {
  const uintptr_t unit = M_ARENA_ALIGNMENT;
  void *arena = (void *)(((uintptr_t)memory + unit - 1) / unit * unit);
  printf("%d ", (int)m_selftest(input, output, arena, M_ARENA_BYTES));
  printf("%d ", (int)m_selftest(input, output, NULL, M_ARENA_BYTES));
  printf("%d ", (int)m_selftest(input, output, arena, M_ARENA_BYTES - 1));
  return 0;
}
"""

STREAM = """\
#include "m_selftest.h"
static int8_t input[M_INPUT_COUNT], output_0[M_OUTPUT_0_COUNT];
static int32_t output_1[M_OUTPUT_1_COUNT];
static uint64_t state[M_STATE_BYTES / 8], arena[M_ARENA_BYTES / 8 + 1];
int main(void) {
  return (int)m_selftest(input, output_0, output_1, state, arena, M_ARENA_BYTES);
}
"""


def program(folder: Path, *options: str) -> list[int]:
    """What the program prints, built with these options of the compiler."""
    warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-std=c99"]
    source = [str(p) for p in (*folder.glob("m.c"), *folder.glob("m.o"))]
    (folder / "main.c").write_text(PROGRAM)
    command = ["cc", *warnings, *options, "main.c", *source, "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "program"], capture_output=True, check=True)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parts(4)
@pytest.mark.parametrize("target", ["host", "c99-none"])
@pytest.mark.parametrize("options", [(), ("-DM_CANARIES",)])
def test_self_test(target: str, options: tuple[str, ...], tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(SMALL_MODEL)
    kind = "c" if target == "c99-none" else "obj"
    compiled = qlower.compile(model, target, name="m")
    compiled.save(tmp_path, [kind, "header", "selftest"])
    assert program(tmp_path, *options) == [0, 2, 3]


def test_other_outputs_are_found(tmp_path: Path) -> None:
    """Firmware that carries another model than the test was made for."""
    model = tmp_path / "model.mlir"
    model.write_text(SMALL_MODEL)
    compiled = qlower.compile(model, "c99-none", name="m")
    compiled.save(tmp_path, ["c", "selftest"])
    header = tmp_path / "m_selftest.h"
    text = header.read_text()
    place = text.index("DIGEST UINT32_C(0x") + len("DIGEST UINT32_C(0x")
    other = "0" if text[place] != "0" else "1"
    header.write_text(text[:place] + other + text[place + 1 :])
    assert program(tmp_path)[0] == 7


def test_writing_beside_the_arena_is_found(tmp_path: Path) -> None:
    """A layer that writes one byte too far."""
    model = tmp_path / "model.mlir"
    model.write_text(SMALL_MODEL)
    qlower.compile(model, "c99-none", name="m").save(tmp_path, ["c", "selftest"])
    source = tmp_path / "m.c"
    before, after = source.read_text().split("  return M_OK;\n")
    stray = "  ((unsigned char *)arena)[M_ARENA_BYTES - 2 * M_ARENA_ALIGNMENT] = 1;\n"
    source.write_text(f"{before}{stray}  return M_OK;\n{after}")
    assert program(tmp_path, "-DM_CANARIES")[0] == 8


def test_digest_is_of_numbers_not_of_memory() -> None:
    """FNV-1a's published value for "a", and the same for either order of bytes."""
    assert digest([np.frombuffer(b"a", np.uint8)]) == 0xE40C292C
    words = np.array([1, 2], "<i4")
    assert digest([words]) == digest([words.astype(">i4")])
    nan = np.array([np.nan], np.float32)
    assert digest([nan]) == digest([-nan]) == digest([np.zeros(1, np.float32)])


def test_the_input_with_the_least_saturated_outputs(tmp_path: Path) -> None:
    assert room([np.array([-128, 127], np.int8), np.array([0.5])]) == 0
    assert (
        room([np.array([-126, 0], np.int8), np.array([250], np.uint8)]) == 2 + 127 + 5
    )
    model = tmp_path / "model.mlir"
    model.write_text(SMALL_MODEL)
    compiled = qlower.compile(model, "c99-none", name="m")
    specs = compiled.interface.signature.inputs
    rooms = {
        seed: room([qlower.jit(model)(*drawn_inputs(specs, seed))]) for seed in SEEDS
    }
    chosen = re.search(r"word = (\d+)u", compiled.text("selftest"))
    assert chosen is not None
    assert rooms[int(chosen[1])] == max(rooms.values()) > min(rooms.values())


def test_a_model_with_state(tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(keyword_spotter())
    qlower.compile(model, "c99-none", name="m").save(tmp_path, ["c", "selftest"])
    (tmp_path / "main.c").write_text(STREAM)
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "main.c", "m.c"]
    subprocess.run([*command, "-o", "program"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "program"], check=False).returncode == 0
