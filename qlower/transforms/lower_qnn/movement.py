"""Operations that move stored integers: constants, shapes, slices, resizing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    i32,
)
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import BlockArgument, SSAValue

from qlower.contracts.values import operand_values, output_values
from qlower.dialects import qnn, quant
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import element_type, shape_of
from qlower.emit.movement import concatenated, moved
from qlower.emit.reductions import axes_nest
from qlower.emit.tensors import storage_type
from qlower.interp.values import Array
from qlower.model.nests import Nest, extract, to_index
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_constant(lowering: Lowering, op: qnn.ConstantOp) -> Sequence[SSAValue]:
    """The stored integers."""
    return lowering.emit.add(arith.ConstantOp(op.value)).results


def lower_storage_cast(
    lowering: Lowering, op: quant.StorageCastOp
) -> Sequence[SSAValue]:
    """Stored integers are what the lowered model holds already."""
    return [lowering.value(op.input)]


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
        target = quantized_element(op.result.type)
        runtime = {"input": stored}
        return lowering.finish_with_rule(nest, "concat", runtime, constants, target)

    values = map(rescaled, op.inputs)
    shape = shape_of(op.result)
    element = storage_type(type)
    return concatenated(lowering.emit, op.movement, shape, element, values)


def lower_resize(lowering: Lowering, op: qnn.ResizeOp) -> Sequence[SSAValue]:
    """Positions are computed now, one axis at a time; pixels are gathered."""
    nearest = op.mode == "nearest"
    rule = "resize_nearest_position" if nearest else "resize_bilinear_position"
    rows, columns = (
        lowering.contract.rule(rule).evaluate_each(_axis_values(op, axis), (size,))
        for axis, size in enumerate(shape_of(op.result)[1:3], 1)
    )
    nest = Nest(lowering.emit, shape_of(op.result))
    batch, channel = (nest.add(IndexOp(loop)).result for loop in (0, 3))

    def position(values: Array, loop: int) -> SSAValue:
        return to_index(nest, nest.constant(values, i32, (loop,)))

    def pixel(row: SSAValue, column: SSAValue) -> SSAValue:
        source = lowering.value(op.input)
        return extract(nest, source, [batch, row, column, channel])

    if nearest:
        return nest.build([pixel(position(rows[0], 1), position(columns[0], 2))])
    top, bottom = (position(values, 1) for values in rows[:2])
    left, right = (position(values, 2) for values in columns[:2])
    type = quantized_element(op.input.type)
    runtime = {
        name: lowering.widen(nest, pixel(row, column), type)
        for name, row, column in (
            ("top_left", top, left),
            ("top_right", top, right),
            ("bottom_left", bottom, left),
            ("bottom_right", bottom, right),
        )
    }
    # Rows vary along loop 1, columns along loop 2 of (n, y, x, c).
    constants = {
        "y_weight": rows[2][:, np.newaxis, np.newaxis],
        "x_weight": columns[2][:, np.newaxis],
        **operand_values("input", op.input.type),
        **output_values(lowering.contract, op.result.type),
    }
    target = quantized_element(op.result.type)
    rule = "resize_bilinear"
    return [lowering.finish_with_rule(nest, rule, runtime, constants, target)]


def _axis_values(op: qnn.ResizeOp, axis: int) -> dict[str, Array]:
    """What a position rule may ask for, along rows (axis 1) or columns (axis 2)."""
    output_size = shape_of(op.result)[axis]
    return {
        "output_index": np.arange(output_size, dtype=np.int32),
        "input_size": np.array(shape_of(op.input)[axis], np.int32),
        "output_size": np.array(output_size, np.int32),
        "align_corners": np.array(op.align_corners),
        "half_pixel_centers": np.array(op.half_pixel_centers),
        **operand_values("input", op.input.type),
    }


def lower_arg_max(lowering: Lowering, op: qnn.ArgMaxOp) -> Sequence[SSAValue]:
    """The largest element along `axis`, then the first position that holds it."""
    source = shape_of(op.input)
    count, rows = source[op.axis], range(len(source) - 1)
    largest_nest, indices = axes_nest(lowering.emit, source, [op.axis])
    value = lowering.read(largest_nest, op.input, indices)

    def larger(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [largest_nest.add(arith.MaxSIOp(accumulators[0], value)).result]

    smallest = np.iinfo(np.int32).min
    init = lowering.emit.filled(largest_nest.output_shape, i32, smallest)
    (largest,) = largest_nest.reduce([init], larger)

    nest, indices = axes_nest(lowering.emit, source, [op.axis])
    value = lowering.read(nest, op.input, indices)
    equal = nest.add(arith.CmpiOp(value, nest.input(largest, rows), "eq")).result
    position = nest.add(IndexOp(len(rows))).result
    index_type = element_type(op.result.type)
    position = nest.add(arith.IndexCastOp(position, index_type)).result
    beyond = nest.constant(np.array(count), index_type)
    candidate = nest.add(arith.SelectOp(equal, position, beyond)).result

    def first(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [nest.add(arith.MinSIOp(accumulators[0], candidate)).result]

    init = lowering.emit.filled(nest.output_shape, index_type, count)
    (positions,) = nest.reduce([init], first)
    return [lowering.reshape(positions, shape_of(op.result))]
