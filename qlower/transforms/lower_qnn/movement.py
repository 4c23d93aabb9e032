"""Operations that move stored integers: constants, shapes, slices, resizing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from qlower.contracts.values import (
    operand_values,
    operation_values,
    output_values,
    resize_positions,
)
from qlower.dialects import qnn, quant
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.emit.movement import concatenated, elements_at, moved
from qlower.emit.reductions import first_of_largest
from qlower.emit.tensors import storage_type
from qlower.model.nests import Nest
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_storage_cast(lowering: Lowering, op: quant.StorageCastOp) -> SSAValue:
    """Stored integers are what the lowered model holds already."""
    return lowering.value(op.input)


def lower_split(lowering: Lowering, op: qnn.SplitOp) -> Sequence[SSAValue]:
    """Equal parts along one axis."""
    value = lowering.value(op.input)
    return [
        moved(lowering.emit, op.movement(index), value)
        for index in range(len(op.parts))
    ]


def lower_concat(lowering: Lowering, op: qnn.ConcatOp) -> SSAValue:
    """The inputs side by side; those with other parameters go through the rule."""
    type = op.result.type.element_type

    def rescaled(source: SSAValue) -> SSAValue:
        if element_type(source.type) == type:
            return lowering.value(source)
        nest = Nest(lowering.emit, shape_of(source))
        stored = lowering.read(nest, source, range(nest.parallel))
        constants = {
            **operand_values("input", source.type),
            **output_values(lowering.contract, op.result.type),
        }
        runtime = {"input": stored}
        return lowering.finish_with_rule(nest, "concat", runtime, constants, op.result)

    values = map(rescaled, op.inputs)
    shape = shape_of(op.result)
    element = storage_type(type)
    return concatenated(lowering.emit, op.movement, shape, element, values)


def lower_resize(lowering: Lowering, op: qnn.ResizeOp) -> SSAValue:
    """Positions are computed now, one axis at a time; pixels are gathered."""
    rows, columns = resize_positions(lowering.contract, op)
    nest = Nest(lowering.emit, shape_of(op.result))
    pixels = elements_at(nest, lowering.value(op.input), {1: rows[:2], 2: columns[:2]})
    if op.mode == "nearest":
        return nest.build_one(*pixels)
    type = quantized_element(op.input.type)
    names = "top_left", "top_right", "bottom_left", "bottom_right"
    runtime = {
        name: lowering.widen(nest, pixel, type)
        for name, pixel in zip(names, pixels, strict=True)
    }
    # Rows vary along loop 1, columns along loop 2 of (n, y, x, c).
    constants = {
        "y_weight": rows[2][:, np.newaxis, np.newaxis],
        "x_weight": columns[2][:, np.newaxis],
        **operation_values(lowering.contract, op),
    }
    rule = "resize_bilinear"
    return lowering.finish_with_rule(nest, rule, runtime, constants, op.result)


def lower_arg_max(lowering: Lowering, op: qnn.ArgMaxOp) -> SSAValue:
    """The largest element along `axis`, then the first position that holds it."""
    positions = first_of_largest(
        lowering.emit,
        shape_of(op.input),
        op.axis,
        lambda nest, indices: lowering.read(nest, op.input, indices),
        op.result.type.element_type,
    )
    return lowering.reshape(positions, shape_of(op.result))
