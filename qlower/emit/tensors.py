"""Tensors as they are stored: their types, constants, padding and other shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type, is_tensor_type, shape_of
from qlower.emit.reassociation import reassociation
from qlower.interp.values import Array, dtype_of
from qlower.model.nests import Emitter, Nest, scalar_constant

Groups: TypeAlias = Sequence[Sequence[int]]
"""For each dimension of the smaller shape, the dimensions of the larger one."""


def storage_type(type: Attribute) -> Attribute:
    """A type with quantized elements replaced by their stored, signless integers."""
    if is_tensor_type(type):
        return TensorType(storage_type(type.element_type), type.get_shape())
    return type.storage_type if isinstance(type, QuantizedType) else type


def constant_of(value: SSAValue) -> Array | None:
    """The elements of a tensor constant, or None if `value` isn't one."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp | qnn.ConstantOp):
        return None
    dense = owner.value
    if not isinstance(dense, DenseIntOrFPElementsAttr):
        return None
    elements = np.frombuffer(dense.data.data, dtype_of(dense.get_element_type()))
    return elements.reshape(shape_of(value))


def pad(
    emit: Emitter,
    value: SSAValue,
    low: Sequence[int],
    high: Sequence[int],
    stored: float,
) -> SSAValue:
    """`value` surrounded by a stored number (`value` itself if by nothing)."""
    if not any((*low, *high)):
        return value
    element = element_type(value.type)
    shape = [
        before + size + after
        for before, size, after in zip(low, shape_of(value), high, strict=True)
    ]
    block = Block(arg_types=[IndexType()] * len(shape))
    constant = scalar_constant(stored, element)
    block.add_ops([constant, tensor.YieldOp(constant.result)])
    result_type = TensorType(element, shape)
    pad = tensor.PadOp(value, (), (), Region(block), low, high, result_type)
    return emit.add(pad).result


def reshape(emit: Emitter, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """A tensor of another shape with the elements of `value` in the same order."""
    source, target = shape_of(value), tuple(shape)
    if source == target:
        return value
    if not source or not target:
        # xDSL's reshaping ops don't do scalars.
        nest = Nest(emit, target)
        first = [AffineConstantExpr(0)] * len(source)
        return nest.build_one(nest.input(value, first))
    if (groups := _grouping(source, target)) is not None:
        return _collapse(emit, value, groups, target)
    if (groups := _grouping(target, source)) is not None:
        return _expand(emit, value, groups, target)
    flat = (math.prod(source),)
    collapsed = _collapse(emit, value, [range(len(source))], flat)
    return _expand(emit, collapsed, [range(len(target))], target)


def _collapse(
    emit: Emitter, value: SSAValue, groups: Groups, shape: Sequence[int]
) -> SSAValue:
    collapse = tensor.CollapseShapeOp(
        operands=[value],
        result_types=[TensorType(element_type(value.type), shape)],
        properties={"reassociation": reassociation(groups)},
    )
    return emit.add(collapse).result


def _expand(
    emit: Emitter, value: SSAValue, groups: Groups, shape: Sequence[int]
) -> SSAValue:
    type = TensorType(element_type(value.type), shape)
    joined = reassociation(groups)
    expand = tensor.ExpandShapeOp(value, (), joined, shape, type)
    return emit.add(expand).result


def _grouping(large: Sequence[int], small: Sequence[int]) -> Groups | None:
    """The runs of `large` dimensions that multiply to those of `small`, which has at
    least one; None if there are no such runs."""
    groups: list[list[int]] = []
    index = 0
    for size in small:
        group: list[int] = []
        product = 1
        while index < len(large) and (not group or product < size):
            product *= large[index]
            group.append(index)
            index += 1
        if product != size or not group:
            return None
        groups.append(group)
    # What is left over must be of size 1, and joins the last group.
    if any(size != 1 for size in large[index:]):
        return None
    groups[-1].extend(range(index, len(large)))
    return groups
