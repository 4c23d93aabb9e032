"""The digits, trained through a device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/digits/device_training.py"


@pytest.mark.long
def test_the_device_recovers_more_than_fake_quantization() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    line = [sys.executable, str(EXAMPLE), "--seeds", "2", "--epochs", "5"]
    lines = subprocess.check_output(line, text=True).splitlines()
    means = [float(line[22:29]) for line in lines[1:5]]
    intended, plain, fake, device = means
    assert plain < fake < device
    assert device > (plain + intended) / 2


@pytest.mark.long
def test_rounding_for_the_device_is_nearer_than_rounding_for_none() -> None:
    for name in ("torch", "aimet_onnx", "nncf"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    script = EXAMPLE.with_name("rounding_methods.py")
    line = [sys.executable, str(script), "--seeds", "1", "--iterations", "20"]
    text = subprocess.check_output(line, text=True)
    rows = {row[:44].strip(): row[44:].split() for row in text.splitlines()}
    shifted = {name: float(row[4]) for name, row in rows.items() if len(row) == 8}
    nearest, learned = "4 bits: nearest", "4 bits: qlower's rounding"
    assert shifted[learned] > shifted["4 bits: AIMET's AdaRound"]
    assert shifted[learned] > shifted[nearest]


def test_torch_is_imported_when_it_is_used() -> None:
    source = (
        "import sys, qlower.torch; dir(qlower.torch); print('torch' in sys.modules)"
    )
    found = subprocess.check_output([sys.executable, "-c", source], text=True)
    assert found == "False\n"
