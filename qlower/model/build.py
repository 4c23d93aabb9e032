"""Building small modules of qnn operations in a few lines of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    IntegerType,
    ModuleOp,
    TensorType,
    f32,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.interp.values import Array
from qlower.model import Model
from qlower.model.entry import name_tensors
from qlower.model.layers import name_layers
from qlower.model.nests import dense
from qlower.text.verification import verify_module


def quantized(
    shape: Sequence[int],
    scale: float,
    zero_point: int = 0,
    *,
    signed: bool = True,
) -> TensorType[Attribute]:
    """A tensor of 8-bit quantized values."""
    return TensorType(QuantizedType.per_tensor(8, signed, scale, zero_point), shape)


def quantized_per_axis(
    shape: Sequence[int],
    axis: int,
    scales: Sequence[float],
    zero_points: Sequence[int] | None = None,
) -> TensorType[Attribute]:
    """A tensor of int8 values with one scale for each index of `axis`, and one zero
    point, 0 by default."""
    element = QuantizedType.per_axis(8, True, axis, scales, zero_points)
    return TensorType(element, shape)


def constant(values: Array, type: Attribute | None = None) -> SSAValue:
    """A constant in the module under construction; quantized if `type` is given."""
    is_real = values.dtype == np.float32
    element = f32 if is_real else IntegerType(8 * values.itemsize)
    stored = dense(values, element)
    if type is None:
        return arith.ConstantOp(stored).result
    return qnn.ConstantOp(stored, type).result


def make_module(
    inputs: Sequence[Attribute], body: Callable[..., Sequence[SSAValue]]
) -> ModuleOp:
    """A verified module whose @main returns what `body` makes of its arguments."""
    block = Block(arg_types=inputs)
    with ImplicitBuilder(block) as arguments:
        results = body(*arguments)
        func.ReturnOp(*results)
    types = [value.type for value in results]
    main = func.FuncOp("main", (list(inputs), types), Region(block))
    module = ModuleOp([main])
    verify_module(module)
    return module


def make_model(
    inputs: Sequence[Attribute], body: Callable[..., Sequence[SSAValue]]
) -> Model:
    """`make_module` as a model that can be run, with a name for every layer."""
    module = make_module(inputs, body)
    name_layers(module)
    name_tensors(module)
    return Model(module)
