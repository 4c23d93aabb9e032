"""The lines of C in the README are a program, here and on an emulated AArch64."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_models import conv2d
from support.values.stored import random_stored

import qlower
from qlower.packages.link import compiler_driver

README = Path(__file__).parents[2] / "README.md"

PROGRAM = """\
#include <stdio.h>
{outside}
static int8_t input[MODEL_{input}_COUNT], output[MODEL_{output}_COUNT];
int main(void) {{
  const uintptr_t unit = MODEL_ARENA_ALIGNMENT;
  void *arena = (void *)(((uintptr_t)memory + unit - 1) / unit * unit);
  if (fread(input, 1, sizeof input, stdin) != sizeof input) return 1;
  {inside}
  if (status != MODEL_OK) return 2;
  return fwrite(output, 1, sizeof output, stdout) != sizeof output;
}}
"""

RUNNERS = {"x86_64-linux-gnu": [], "aarch64-linux-gnu": ["qemu-aarch64"]}


def compiler(triple: str) -> list[str]:
    """What makes programs that are run here, statically linked for the emulator."""
    for tool in RUNNERS[triple]:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    try:
        command = compiler_driver(triple)
    except qlower.QlowerError as error:
        pytest.skip(str(error))
    if "ziglang" in command:  # which links glibc dynamically only
        command[-1] = command[-1].replace("gnu", "musl")
    return [*command, *(["-static"] if RUNNERS[triple] else [])]


@pytest.mark.parts(2)
@pytest.mark.parametrize("triple", RUNNERS)
def test_the_lines_of_c_are_a_program(triple: str, tmp_path: Path):
    command = compiler(triple)
    (block,) = re.findall(r"```c\n(.*?)```", README.read_text(), re.DOTALL)
    outside, inside = re.split(r"(?m)^(?=/\* arena)", block)
    path = tmp_path / "model.tflite"
    path.write_bytes(conv2d())
    compiled = qlower.compile(path, target=triple)
    compiled.save(tmp_path, emit=["obj", "header"])
    (input, _), (output, _) = compiled.interface.ports
    text = PROGRAM.format(
        outside=outside, inside=inside, input=input.upper(), output=output.upper()
    )
    (tmp_path / "main.c").write_text(text)
    parts = ["main.c", "model.o", "-o", "program"]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, *strict, *parts], check=True, cwd=tmp_path)
    (spec,) = compiled.interface.signature.inputs
    x = random_stored(spec.shape)
    run = [*RUNNERS[triple], "./program"]
    done = subprocess.run(
        run, input=x.tobytes(), capture_output=True, check=True, cwd=tmp_path
    )
    expected = qlower.interpret(path, x)
    assert isinstance(expected, np.ndarray)
    assert done.stdout == expected.tobytes()
