"""The project for a board: it is built for one, and runs under QEMU."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import models_directory

import qlower

PROJECT = Path(__file__).parents[2] / "examples/stm32"
MODEL = models_directory() / "kws_dscnn_int8/model.tflite"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not MODEL.exists(), reason=f"{MODEL} is not there"),
    *(
        pytest.mark.skipif(shutil.which(tool) is None, reason=f"needs {tool}")
        for tool in ("cmake", "ninja", "arm-none-eabi-gcc", "qemu-system-arm")
    ),
]


def build(folder: Path, board: str, optimize: str) -> None:
    options = (f"-DMODEL={MODEL}", f"-DBOARD={board}", f"-DOPTIMIZE={optimize}")
    configure = ["cmake", "-S", PROJECT, "-B", folder, "-G", "Ninja", *options]
    for command in (configure, ["cmake", "--build", folder]):
        subprocess.run(command, check=True, capture_output=True)


def drawn_input(count: int) -> np.ndarray:
    """The bytes that the program draws."""
    state, found = 1, np.zeros(count, np.uint8)
    for index in range(count):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        found[index] = state >> 24
    return found.view(np.int8)


def test_it_fits_a_board(tmp_path: Path) -> None:
    build(tmp_path, "board", "speed")
    assert (tmp_path / "cycles.bin").stat().st_size > 30_000


@pytest.mark.parametrize("optimize", ["speed", "ram"])
def test_outputs_under_qemu(optimize: str, tmp_path: Path) -> None:
    build(tmp_path, "qemu", optimize)
    machine = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting"]
    ran = subprocess.run(
        [*machine, "-monitor", "none", "-kernel", tmp_path / "cycles.elf"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = re.search(r"first outputs(.*)", ran.stdout)
    assert found is not None, ran.stdout
    run = qlower.jit(MODEL, contract="tflm")
    (port,) = run.inputs
    wanted = run(drawn_input(int(np.prod(port.shape))).reshape(port.shape))
    assert found[1].split() == [str(value) for value in wanted.ravel()[:12].tolist()]
