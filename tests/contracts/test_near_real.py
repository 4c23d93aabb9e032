"""Rules come near to the real function that they stand for: by no more than a few steps
of the result, whatever the system makes of it."""

from __future__ import annotations

import numpy as np
import pytest

import qlower
from qlower.text.parsing import parse_module

SOFTMAX = """
!x = !quant.uniform<i8:f32, 1.25e-01:-4>
!y = !quant.uniform<i8:f32, 3.906250e-03:-128>
func.func @main(%x: tensor<8x5x!x>) -> tensor<8x5x!y> {
  %y = qnn.softmax %x : (tensor<8x5x!x>) -> tensor<8x5x!y>
  return %y : tensor<8x5x!y>
}"""


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    "contract",
    [
        *("deeploy", "esp-nn", "exact", "glow-cpu", "glow-interpreter", "onnxruntime"),
        *("onnxruntime-avx2", "tflite", "tflite-ruy", "tvm", "tvm-float32"),
    ],
)
def test_softmax(contract: str) -> None:
    """Codes within 2 of 256 steps, by each function that serves the rule."""
    model = qlower.Model(parse_module(SOFTMAX))
    codes = np.random.default_rng(0).integers(-60, 60, (8, 5)).astype(np.int8)
    found = qlower.interpret(model, codes, contract=contract)
    real = np.exp((codes + 4.0) * 0.125)
    expected = real / real.sum(1, keepdims=True) * 256 - 128
    assert np.abs(found - expected).max() <= 2
    assert np.ptp(expected) > 200
