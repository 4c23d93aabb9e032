"""Ratios of scales that no model has are refused, alike by every executor."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import SSAValue

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.model.build import constant, make_module, quantized

FLOATS = ("pytorch-fbgemm", "pytorch-x86", "pytorch-onednn", "pytorch-qnnpack")


def linear(weight_scale: float, output_scale: float) -> qlower.Model:
    def body(x: SSAValue) -> list[SSAValue]:
        weights = np.array([[1, 2, -3]], np.int8)
        w = constant(weights, quantized((1, 3), weight_scale))
        y = quantized((1, 1), output_scale, 3, signed=False)
        return [qnn.LinearOp(x, w, None, y).result]

    return qlower.Model(make_module([quantized((1, 3), 0.5, signed=False)], body))


@pytest.mark.parametrize("contract", [*FLOATS, "onnxruntime"])
@pytest.mark.parametrize(
    ("weight_scale", "output_scale"),
    [(512.0, 1.0), (1e30, 1e-30), (2.0**-140, 1.0), (1e-30, 1e30)],
)
def test_absurd_ratios_are_refused(
    weight_scale: float, output_scale: float, contract: str
):
    compilation = Compilation(linear(weight_scale, output_scale), contract)
    x = np.array([[1, 2, 3]], np.uint8)
    with pytest.raises(QlowerError, match=r"the ratio of the scales|below 2\^-128"):
        compilation.interpreter("qnn").run([x], {})
    with pytest.raises(QlowerError, match=r"the ratio of the scales|below 2\^-128"):
        compilation.function()


@pytest.mark.parametrize(
    "contract", ["tvm-float32", "tvm-relay-float", "glow-interpreter"]
)
def test_infinite_ratios_are_refused(contract: str):
    compilation = Compilation(linear(1e30, 1e-30), contract)
    x = np.array([[1, 2, 3]], np.uint8)
    with pytest.raises(QlowerError, match="no float32 number"):
        compilation.interpreter("qnn").run([x], {})
    with pytest.raises(QlowerError, match="no float32 number"):
        compilation.function()


@pytest.mark.parts(3)
@pytest.mark.parametrize("contract", [*FLOATS, "onnxruntime"])
@pytest.mark.parametrize("weight_scale", [511.0, 2.0**-100])
def test_steep_and_flat_ratios_are_taken(weight_scale: float, contract: str):
    compilation = Compilation(linear(weight_scale, 1.0), contract)
    x = np.array([[9, 2, 3]], np.uint8)
    ((expected,), _) = compilation.interpreter("qnn").run([x], {})
    np.testing.assert_array_equal(compilation.function()(x), expected)
