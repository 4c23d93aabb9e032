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
