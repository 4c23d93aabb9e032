"""Weights whose channels lie side by side, turned so that C reads runs of each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.recognise import Contraction, recognise
from qlower.codegen.skeletons.products.packing import gather
from qlower.codegen.targets.resolve import host_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.dialects.kernel import NestOp
from qlower.interp.values import Array
from qlower.text.parsing import parse_module

with_rows: Any = vars(import_module("qlower.packages.c_source.products"))["_with_rows"]

X = "!quant.uniform<i8:f32, 0.5:3>"


def products(rhs: str, rows: int, depth: int, columns: int) -> Contraction:
    """The nest of a product with constant weights."""
    result = f"tensor<{rows}x{columns}x{X}>"
    module = parse_module(f"""
func.func @main(%x: tensor<{rows}x{depth}x{X}>) -> {result} {{
  {rhs}
  return %y : {result}
}}""")
    lowered = lower_to_kernel(lower_to_arith(module, "exact"), host_target())
    found = [recognise(analyse(op)) for op in lowered.walk() if isinstance(op, NestOp)]
    (only,) = (one for one in found if isinstance(one, Contraction))
    return only


def weights(products: Contraction) -> Array:
    """The stored numbers, a row for each channel."""
    loops = (products.lane, *products.taps)
    loops = loops if products.run is None else (*loops, products.run)
    shape = [products.nest.bounds[loop] for loop in loops]
    return gather(products.weight.operand, loops, shape)


@pytest.mark.parametrize(("rows", "depth", "columns"), [(3, 8, 5), (4, 6, 7)])
def test_channels_are_turned_into_rows(rows: int, depth: int, columns: int) -> None:
    numbers = np.arange(depth * columns, dtype=np.int64).reshape(depth, columns) - 20
    type = f"tensor<{depth}x{columns}x!quant.uniform<i8:f32, 0.25>>"
    result = f"tensor<{rows}x{columns}x{X}>"
    text = f"""%w = qnn.constant dense<{numbers.tolist()}> :
      tensor<{depth}x{columns}xi8> -> {type}
  %y = qnn.matmul %x, %w : (tensor<{rows}x{depth}x{X}>, {type}) -> {result}"""
    given = products(text, rows, depth, columns)
    assert given.run is not None
    assert given.weight.operand.strides[given.run] == columns
    turned = with_rows(given)
    operand = turned.weight.operand
    assert (operand.strides[turned.run], operand.strides[turned.lane]) == (1, depth)
    assert turned.nest.inputs[turned.weight.index] is operand
    np.testing.assert_array_equal(weights(turned), numbers.T)
    np.testing.assert_array_equal(weights(given), numbers.T)
    assert with_rows(turned) is turned
