"""What a function at the qnn level is given is what its types say."""

from __future__ import annotations

import numpy as np
import pytest

from qlower.contracts.products import FLAT
from qlower.dialects import qnn
from qlower.interp.values import Array, InterpretationError
from qlower.semantics import run_qnn_function
from qlower.semantics.pairs import pair_sums
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


LINEAR = """
!x = !quant.uniform<u8:f32, 1.0>
!w = !quant.uniform<i8:f32, 1.0>
func.func @main(%x: tensor<6x2x!x>, %w: tensor<1x2x!w>) -> tensor<6x1x!x> {
  %y = qnn.linear %x, %w : (tensor<6x2x!x>, tensor<1x2x!w>) -> tensor<6x1x!x>
  return %y : tensor<6x1x!x>
}
"""


@pytest.mark.parametrize(
    ("weight", "codes", "sums"),
    [
        ((127, 2), ((255, 191), (255, 190)), (32767, 32765)),
        ((127, 3), ((255, 127), (255, 128)), (32766, 32767)),
        ((-128, -1), ((255, 127), (255, 129), (255, 128)), (-32767, -32768, -32768)),
    ],
)
def test_pairs_saturate(
    weight: tuple[int, int], codes: tuple[tuple[int, int], ...], sums: tuple[int, ...]
) -> None:
    """At the ends of 16 bits, which results of 8 bits needn't show."""
    module = parse_module(LINEAR.replace("6x", f"{len(codes)}x"))
    (op,) = (op for op in module.walk() if isinstance(op, qnn.LinearOp))
    stored, weights = np.array(codes, np.uint8), np.array([weight], np.int8)
    assert pair_sums(op, FLAT, stored, weights).ravel().tolist() == list(sums)


def test_signed_pairs_are_those_of_codes_128_above() -> None:
    """[-128, 127] are 0 and 255; 255 * 127 + 255 * 127 is 31,003 too much."""
    module = parse_module(LINEAR.replace("6x", "3x").replace("u8", "i8"))
    (op,) = (op for op in module.walk() if isinstance(op, qnn.LinearOp))
    stored = np.array([[-128, 127], [127, 127], [1, -2]], np.int8)
    weights = np.array([[127, 127]], np.int8)
    exact = stored.astype(int).sum(1) * 127
    lost = np.array([0, 2 * 255 * 127 - 32767, 129 * 127 + 126 * 127 - 32385])
    sums = pair_sums(op, FLAT, stored, weights).ravel()
    assert (sums - exact).tolist() == (-lost).tolist()
