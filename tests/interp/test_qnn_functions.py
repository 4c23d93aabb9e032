"""What a function at the qnn level is given is what its types say."""

from __future__ import annotations

import numpy as np
import pytest

from qlower.interp.qnn import run_qnn_function
from qlower.interp.values import Array, InterpretationError
from qlower.text.parsing import parse_module

RELU = """
!t = !quant.uniform<i8:f32, 5.000000e-01:-3>
func.func @main(%x: tensor<1x2x!t>) -> tensor<1x2x!t> {
  %y = qnn.relu %x : (tensor<1x2x!t>) -> tensor<1x2x!t>
  return %y : tensor<1x2x!t>
}
"""
CODES = np.array([[-5, 7]], np.int8)


def test_codes() -> None:
    module = parse_module(RELU)
    (result,) = run_qnn_function(module, "main", [CODES], contract="tflite")
    assert result.tolist() == [[-3, 7]]


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("other", [CODES], "the module has no function @other"),
        ("main", [], "@main takes 1 inputs, got 0"),
        ("main", [CODES, CODES], "@main takes 1 inputs, got 2"),
        ("main", [CODES.astype(np.int16)], "int16"),
        ("main", [CODES.astype(np.float32)], "float32"),
        ("main", [CODES[0]], r"\(2,\)|\[2\]"),
    ],
)
def test_other_inputs(name: str, inputs: list[Array], message: str) -> None:
    with pytest.raises(InterpretationError, match=message):
        run_qnn_function(parse_module(RELU), name, inputs, contract="tflite")
