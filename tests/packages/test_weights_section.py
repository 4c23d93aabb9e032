"""Weights in a section of their own, for external flash, and shared by models."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_models import conv2d
from support.machines.machines import start, words
from support.values.stored import random_stored

import qlower
from qlower.cli import main
from qlower.emulation.elf import read_object

TRIPLE = "thumbv7em-none-eabi"
NAME = ".external"

SCRIPT = """\
MEMORY {
  flash (rx) : ORIGIN = 0x08000000, LENGTH = 1M
  external (r) : ORIGIN = 0x90000000, LENGTH = 8M
  ram (rwx) : ORIGIN = 0x20000000, LENGTH = 64K
}
SECTIONS {
  .text : { *(.text*) *(.rodata*) } > flash
  .external : { *(.external) } > external
  /DISCARD/ : { *(.ARM.exidx*) *(.ARM.extab*) }
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.tflite"
    path.write_bytes(conv2d())
    return path


def sizes(data: bytes) -> dict[bool, int]:
    """Bytes of read-only data of an object, by whether they lie in the section."""
    found = {True: 0, False: 0}
    for section in read_object(data).sections:
        if section.is_allocated and not section.is_code:
            found[section.name == NAME] += len(section.data)
    return found


def test_large_constants_are_moved_and_code_runs(model: Path):
    before = sizes(qlower.compile(model, TRIPLE).object.object_bytes)
    compiled = qlower.compile(model, TRIPLE, weights_section=NAME)
    after = sizes(compiled.object.object_bytes)
    assert before[True] == 0
    assert after[True] >= 6 * 3 * 3 * 4
    assert sum(after.values()) == pytest.approx(sum(before.values()), abs=16)
    interface = compiled.interface
    (spec,) = interface.signature.inputs
    image = random_stored(spec.shape)
    expected = qlower.interpret(model, image)
    assert isinstance(expected, np.ndarray)
    machine, x = start(compiled.object.object_bytes)
    y, arena = x + image.nbytes + 64 & ~63, x + 4096
    machine.write(x, image.tobytes())
    passed = words(TRIPLE, interface.identity, x, y, arena, size=interface.arena_bytes)
    assert machine.call(interface.entry, *passed) == 0
    assert machine.read(y, expected.nbytes) == expected.tobytes()


def test_a_linker_keeps_one_of_equal_constants(model: Path, tmp_path: Path):
    """Two models with the same weights: the section is as large as that of one."""
    linker = "arm-none-eabi-ld"
    if shutil.which(linker) is None:
        pytest.skip(f"needs {linker}")
    (tmp_path / "script.ld").write_text(SCRIPT)

    def linked(*names: str) -> tuple[int, int]:
        for name in names:
            compiled = qlower.compile(model, TRIPLE, name=name, weights_section=NAME)
            compiled.save(tmp_path)
        keep = [f"--undefined={name}_run_checked" for name in names]
        files = [f"{name}.o" for name in names]
        command = [linker, "-T", "script.ld", "--gc-sections", *keep, *files]
        subprocess.run([*command, "-o", "all.elf"], cwd=tmp_path, check=True)
        shown = subprocess.run(
            ["arm-none-eabi-size", "-A", "all.elf"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        found = re.search(rf"^{NAME} +(\d+) +(\d+)", shown.stdout, re.MULTILINE)
        assert found is not None
        return int(found[1]), int(found[2])

    one, address = linked("first")
    assert address == 0x90000000
    assert one > 0
    assert linked("first", "second") == (one, address)


def test_c_source_has_an_attribute(model: Path, tmp_path: Path):
    plain = qlower.compile(model, "c99-none").text("c")
    assert "#define MODEL_WEIGHTS\n" in plain
    assert re.search(r"static const int8_t model_data_\d+\[\d+\] MODEL_WEIGHTS", plain)
    out = tmp_path / "out"
    options = ["--emit", "c", "--weights-section", NAME]
    assert main(["compile", str(model), "-o", str(out), *options]) == 0
    text = (out / "model.c").read_text()
    assert f'#define MODEL_WEIGHTS __attribute__((section("{NAME}")))' in text


@pytest.mark.parametrize(
    ("target", "name", "message"),
    [
        (TRIPLE, "a b", "'a b' is no name of a section"),
        ("wasm32-unknown-unknown", NAME, "wasm32-unknown-unknown has no sections"),
    ],
)
def test_refusals(
    target: str,
    name: str,
    message: str,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    command = ["compile", str(model), "-o", str(tmp_path / "out"), "--target", target]
    assert main([*command, "--weights-section", name]) == 1
    assert message in capsys.readouterr().err
