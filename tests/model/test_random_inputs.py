"""Inputs that are drawn: of every type, by a seed, and no gigabytes of them."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest

from qlower.cli import main
from qlower.model.random_inputs import MOST_ELEMENTS, random_inputs
from qlower.model.signature import TensorSpec

LARGE = """
!q = !quant.uniform<u8:f32, 0.5>
func.func @main(%x: tensor<{size}x4096xf32>) -> tensor<{size}x4096x!q> {{
  %0 = qnn.quantize %x : (tensor<{size}x4096xf32>) -> tensor<{size}x4096x!q>
  return %0 : tensor<{size}x4096x!q>
}}
"""

PADDED = """
!q = !quant.uniform<i8:f32, 0.5>
!p = !quant.uniform<i8:f32, 0.7>
func.func @main(%x: tensor<1x4x4x4x!q>) -> tensor<1x4004x4004x4x!p> {
  %0 = qnn.pad %x {low = [0, 2000, 2000, 0], high = [0, 2000, 2000, 0]}
    : (tensor<1x4x4x4x!q>) -> tensor<1x4004x4004x4x!q>
  %1 = qnn.requantize %0 : (tensor<1x4004x4004x4x!q>) -> tensor<1x4004x4004x4x!p>
  return %1 : tensor<1x4004x4004x4x!p>
}
"""


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "float32"])
def test_every_type_by_a_seed(dtype: str) -> None:
    spec = TensorSpec("x", (40, 50), dtype)
    (array,), (same,), (other,) = (random_inputs([spec], seed) for seed in (1, 1, 2))
    assert array.dtype == spec.numpy_dtype
    assert array.tobytes() == same.tobytes() != other.tobytes()
    if array.dtype.kind in "iub":
        ends = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        span = ends[1] - ends[0]
        assert array.min() <= ends[0] + span / 100
        assert array.max() >= ends[1] - span / 100


@pytest.mark.parametrize(
    "command", ["run MODEL --random", "report MODEL -o r.html", "vectors MODEL -o v"]
)
def test_a_small_file_with_a_large_input(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is drawn, so that no memory is taken and nothing is written."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "large.mlir"
    size = MOST_ELEMENTS // 4096 + 1
    path.write_text(LARGE.format(size=size))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(command.replace("MODEL", str(path)).split()) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 16
    message = f" has {size * 4096} elements; at most {MOST_ELEMENTS} are drawn"
    assert message in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["large.mlir"]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("diff tflite tvm MODEL --random", "have 128256192 elements"),
        ("identify out.npy MODEL --random", "have 128256192 elements"),
        ("trace MODEL --contract tflite --random --at 1[0,0,0,0]", "have 128256192 e"),
        ("report MODEL --contract tflite -o r.html", "have 128256192 elements"),
        ("vectors MODEL --contract tflite -o v", "have 64128128 elements"),
        ("verify MODEL --equal tflite tvm", "1 undecided"),
        ("verify MODEL --native --contract tflite", "undecided"),
    ],
)
def test_a_small_input_with_large_values(
    command: str,
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pad makes 64 million elements of 64: no layer computes them."""
    monkeypatch.chdir(tmp_path)
    Path("padded.mlir").write_text(PADDED)
    np.save("out.npy", np.zeros(4, np.int8))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    main(command.replace("MODEL", "padded.mlir").split())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18
    assert told in "".join(capsys.readouterr())
