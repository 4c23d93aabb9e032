"""The page on builds: its CMake project is built here, for this machine, and runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import qlower

PAGE = Path(qlower.__file__).parent / "docs" / "pages" / "in-your-build.md"
DIGITS = PAGE.parents[3] / "examples" / "digits" / "digits.mlir"


@pytest.mark.long
def test_the_project_of_the_page_builds_and_runs(tmp_path: Path) -> None:
    tool = shutil.which("cmake")
    if tool is None:
        pytest.skip("needs cmake")
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL))
    project = blocks["cmake"].replace(".tflite", ".mlir")
    (tmp_path / "CMakeLists.txt").write_text(
        f"{project}\n"
        "target_compile_options(app PRIVATE"
        " -Wall -Wextra -Wconversion -Wpedantic -Wold-style-cast -Werror)\n"
    )
    (tmp_path / "app.cpp").write_text(blocks["cpp"])
    for name in ("kws", "vww"):
        shutil.copy(DIGITS, tmp_path / f"{name}.mlir")
    command = tmp_path / "qlower"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m qlower "$@"\n')
    command.chmod(0o755)

    def cmake(*arguments: str) -> None:
        done = subprocess.run(
            [tool, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    cmake("-B", "build", f"-DQLOWER={command}", "-DCMAKE_BUILD_TYPE=Release")
    cmake("--build", "build")
    printed = subprocess.run(
        [tmp_path / "build" / "app"], capture_output=True, text=True, check=True
    ).stdout
    model = qlower.load(DIGITS)
    given, result = model.inputs[0], model.outputs[0]
    x = given.quantize(np.full(given.shape, 0.5, np.float32))
    y = qlower.interpret(model, x, contract="tflm")
    assert isinstance(y, np.ndarray)
    scale, zero_point = result.scales[0], result.zero_points[0]
    assert float(printed) == pytest.approx(scale * (int(y.flat[0]) - zero_point))
