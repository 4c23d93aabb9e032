"""The functions of the header between real numbers and stored integers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from qlower.codegen.program.interface import Interface
from qlower.diagnostics import QlowerError
from qlower.model.signature import Signature, TensorSpec
from qlower.packages.header import header_text

SCALES = (2**-7, 0.1, 1 / 255, 0.00392156886, 3.0, 1e-30, 1e30)
TYPES = ("int8", "uint8", "int16", "uint16")

PROGRAM = """\
#include <stdio.h>
#include "model.h"
int main(void) {{
  float real, back;
  while (fread(&real, sizeof real, 1, stdin) == 1) {{
{body}  }}
  return 0;
}}
"""
PORT = """\
    {{ {type} stored = model_quantize_input_{index}(real);
      back = model_dequantize_input_{index}(stored);
      fwrite(&stored, sizeof stored, 1, stdout);
      fwrite(&back, sizeof back, 1, stdout); }}
"""


def specs() -> tuple[TensorSpec, ...]:
    """An input for each type and scale, with zero points at, between and off ends."""
    zero_points = (0, 1, -128, 127, 255, 37, -5)
    return tuple(
        TensorSpec(
            f"x{i}", (1,), dtype, (float(np.float32(scale)),), (zero_points[i % 7],)
        )
        for i, (dtype, scale) in enumerate((d, s) for d in TYPES for s in SCALES)
        if zero_points[i % 7] in range(np.iinfo(dtype).min, np.iinfo(dtype).max + 1)
    )


def real_numbers(inputs: tuple[TensorSpec, ...]) -> NDArray[np.float32]:
    """Ties and their neighbours of both signs for every scale, ends, and anything."""
    found = [np.array([0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45])]
    halves = np.array([*np.arange(-600, 600) / 2, 32767.5, 65535.5, -32768.5])
    for scale in {spec.scale for spec in inputs}:
        ties = np.float32(halves) * np.float32(scale or 1)
        found += [np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)]
        found += [ties]
    bits = np.random.default_rng(0).integers(0, 1 << 32, 20_000, np.uint32)
    return np.concatenate([np.float32(part) for part in (*found, bits.view("f4"))])


@pytest.mark.parts(3)
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c_and_python_convert_alike(tmp_path: Path):
    inputs = specs()
    assert {spec.dtype for spec in inputs} == set(TYPES)
    outputs = (TensorSpec("wide", (1,), "int32", (0.5,), (0,)),)
    interface = Interface(
        "model",
        Signature(inputs, outputs),
        64,
        64,
        "tflite",
        "0",
        "x86_64-linux-gnu",
        (),
    )
    header = header_text(interface)
    assert "model_quantize_output" not in header
    (tmp_path / "model.h").write_text(header)
    body = "".join(
        PORT.format(type=f"{spec.dtype}_t", index=index)
        for index, spec in enumerate(inputs)
    )
    (tmp_path / "main.c").write_text(PROGRAM.format(body=body))
    strict = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Wfloat-equal"]
    command = ["cc", *strict, "-pedantic", "-Werror", "main.c", "-o", "program"]
    subprocess.run(command, check=True, cwd=tmp_path)  # and without libm
    real = real_numbers(inputs)
    done = subprocess.run(
        [tmp_path / "program"], input=real.tobytes(), capture_output=True, check=True
    )
    record = np.dtype(
        [
            field
            for index, spec in enumerate(inputs)
            for field in ((f"q{index}", spec.dtype), (f"r{index}", "f4"))
        ]
    )
    got = np.frombuffer(done.stdout, record)
    assert len(got) == len(real)
    for index, spec in enumerate(inputs):
        stored = spec.quantize(real)
        np.testing.assert_array_equal(got[f"q{index}"], stored)
        back = np.float32(spec.dequantize(stored))
        np.testing.assert_array_equal(got[f"r{index}"], back)


def test_rounding_of_python():
    spec = TensorSpec("x", (1,), "int8", (0.5,), (3,))
    real = [0.25, 0.75, -0.25, -0.75, 1e9, -1e9, float("nan"), float("-inf"), 1.0]
    assert spec.quantize(real).tolist() == [3, 5, 3, 1, 127, -128, 3, -128, 5]
    assert spec.quantize(real).dtype == np.int8
    assert spec.quantize(-0.75).shape == ()
    with pytest.raises(QlowerError, match="'n' isn't quantized: it holds int64"):
        TensorSpec("n", (1,), "int64").quantize([1.0])


@pytest.mark.parametrize(
    ("triple", "said"),
    [
        ("x86_64-linux-gnu", "It runs in C's default floating-point environment"),
        ("aarch64-linux-gnu", "It runs in C's default floating-point environment"),
        ("thumbv7em-none-eabi", "Call it in C's default floating-point environment"),
    ],
)
def test_who_sets_the_rounding_mode(triple: str, said: str):
    """Code for a target without a control word that it could set asks its caller."""
    port = TensorSpec("x", (1,), "int8", (0.5,), (0,))
    signature = Signature((port,), (port,))
    header = header_text(Interface("m", signature, 64, 64, "tflite", "0", triple, ()))
    assert said in header
    assert "m_reset" not in header  # there is no state
    assert header.count("default floating-point environment") == 1


def test_the_last_line_ends() -> None:
    """C99, 5.1.1.2: a file that isn't empty ends in a new line."""
    signature = Signature(specs()[:1], specs()[:1])
    triple = "x86_64-linux-gnu"
    interface = Interface("model", signature, 64, 64, "tflite", "0", triple, ())
    assert header_text(interface).endswith("}\n#endif\n\n#endif /* MODEL_H */\n")
