"""The project for ESP32: its program, with a stand-in for ESP-IDF's counter."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.cli import main

FOLDER = Path(__file__).parents[2] / "examples" / "esp32"

HEADER = """\
#include <stdint.h>
static inline uint32_t esp_cpu_get_cycle_count(void) {
  static uint32_t now;
  return now += 7;
}
"""


def test_the_program_runs(tmp_path: Path):
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "small.mlir").write_text(SMALL_MODEL)
    command = ["compile", str(tmp_path / "small.mlir"), "-o", str(tmp_path), "--name"]
    command += ["model", "--emit", "c", "--package", "idf"]
    assert main(command) == 0
    (tmp_path / "esp_cpu.h").write_text(HEADER)
    (tmp_path / "start.c").write_text(
        "void app_main(void);\nint main(void) {\n  app_main();\n  return 0;\n}\n"
    )
    sources = ["start.c", "model.c", str(FOLDER / "main" / "main.c")]
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-I.", *sources, "-o", "run"],
        cwd=tmp_path,
        check=True,
    )
    shown = subprocess.run(
        [str(tmp_path / "run")], capture_output=True, text=True, check=True
    ).stdout
    assert re.fullmatch(r"cycles 7\nfirst outputs( -?\d+)+\n", shown)
