"""Modules that are built around operations, and the constants in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32
from xdsl.ir import Block, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model.build import (
    constant,
    make_model,
    make_module,
    quantized,
    quantized_per_axis,
)
from qlower.model.entry import main_function
from qlower.model.layers import layer_name, layers, value_names

ROWS = quantized((2, 3), 0.5)


def relu(value: SSAValue) -> list[SSAValue]:
    return [qnn.ReluOp(value, value.type).result]


def test_quantized_types() -> None:
    kind = QuantizedType.per_tensor
    assert TensorType(kind(8, True, 0.5, 0), (2, 3)) == ROWS
    unsigned = quantized((1,), 0.25, 7, signed=False)
    assert unsigned == TensorType(kind(8, False, 0.25, 7), (1,))
    points = (None, (1, -1))
    for given, expected in zip(points, ((0, 0), (1, -1)), strict=True):
        element = QuantizedType.per_axis(8, True, 1, (0.5, 2.0), expected)
        found = quantized_per_axis((1, 2), 1, (0.5, 2.0), given)
        assert found == TensorType(element, (1, 2))


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (np.array([1.5, -2.0], np.float32), "tensor<2xf32>"),
        (np.array([[7], [-8]], np.int32), "tensor<2x1xi32>"),
        (np.array(3, np.int8), "tensor<i8>"),
        (np.array([1 << 40], np.int64), "tensor<1xi64>"),
    ],
)
def test_constants(values: Array, type: str) -> None:
    with ImplicitBuilder(Block()):
        made = constant(values)
    assert isinstance(made.owner, ConstantOp)
    assert str(made.type) == type
    assert isinstance(dense := made.owner.value, DenseIntOrFPElementsAttr)
    assert [*dense.get_values()] == values.reshape(-1).tolist()


def test_quantized_constants() -> None:
    with ImplicitBuilder(Block()):
        made = constant(np.arange(6, dtype=np.int8).reshape(2, 3), ROWS)
    assert isinstance(made.owner, qnn.ConstantOp)
    assert made.type == ROWS
    assert made.owner.value.data.data == bytes(range(6))


def test_models_have_names_and_are_verified() -> None:
    model = make_model([ROWS, ROWS], lambda x, y: [*relu(y), x])
    ports = [(spec.name, spec.shape) for spec in (*model.inputs, *model.outputs)]
    names = ("input0", "input1", "relu_0", "output1")
    assert ports == [(name, (2, 3)) for name in names]
    assert main_function(model.module).arg_attrs is not None
    assert [layer_name(op) for op in layers(model.module)] == ["relu_0"]
    assert str(model).endswith("\n  1 layer: 1 relu")
    model.check_runs_elsewhere()
    with pytest.raises(QlowerError, match="is read by its signature"):
        replace(model, signature_name="f", path=Path("m.tflite")).check_runs_elsewhere()
    assert [*value_names(model.module).values()] == ["input0", "input1", "relu_0"]
    assert [layer_name(op) for op in layers(make_module([ROWS], relu))] == [None]
    with pytest.raises(QlowerError, match="does not verify"):
        make_module([f32], relu)
