"""Boxes of tensors."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType, i8
from xdsl.dialects.func import FuncOp

from qlower.interp import InterpretationError, evaluate_function
from qlower.interp.tensor import static_box
from qlower.interp.values import Poison, static_shape
from qlower.text.parsing import parse_module

SLICE = """func.func @f(%x: tensor<4xi8>, %i: index) -> tensor<2xi8> {{
  %y = tensor.extract_slice %x[{0}] [2] [1] : tensor<4xi8> to tensor<2xi8>
  return %y : tensor<2xi8>
}}"""


def slice_at(offset: str) -> tensor.ExtractSliceOp:
    module = parse_module(SLICE.format(offset), "f.mlir")
    (found,) = (op for op in module.walk() if isinstance(op, tensor.ExtractSliceOp))
    return found


def test_a_box_is_given_by_constants() -> None:
    assert static_box(slice_at("1"), (4,)) == (slice(1, 3, 1),)
    with pytest.raises(Poison, match="dynamic offsets"):
        static_box(slice_at("%i"), (4,))


def test_padding_is_given_by_constants() -> None:
    module = parse_module("""
func.func @f(%x: tensor<4xi8>, %i: index) -> tensor<?xi8> {
  %y = tensor.pad %x low[%i] high[0] {
  ^bb0(%at: index):
    %c = arith.constant 0 : i8
    tensor.yield %c : i8
  } : tensor<4xi8> to tensor<?xi8>
  return %y : tensor<?xi8>
}""")
    (function,) = module.body.ops
    assert isinstance(function, FuncOp)
    with pytest.raises(InterpretationError, match="dynamic padding"):
        evaluate_function(function, [np.zeros(4, np.int8), np.array(1)])


def test_a_shape_is_that_of_a_tensor_and_known() -> None:
    assert static_shape(TensorType(i8, (4, 0, 2))) == (4, 0, 2)
    with pytest.raises(Poison, match="needs a tensor, not i8"):
        static_shape(i8)
    with pytest.raises(Poison, match="needs a static shape"):
        static_shape(TensorType(i8, (4, -1)))
