"""Average and maximum pooling, and means over axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, i32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import BlockArgument, SSAValue

from qlower.contracts.values import operation_values, position_values
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import integer_range, shape_of
from qlower.emit.inline_rule import inline_rule
from qlower.emit.reductions import axes_nest, reduced_by, summed, window_nest
from qlower.interp.values import Array
from qlower.model.nests import Nest, extract, scalar_constant, to_index
from qlower.operators.windows import taps_inside
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_avg_pool2d(lowering: Lowering, op: qnn.AvgPool2DOp) -> SSAValue:
    """Sums of stored integers, loops (n, y, x, c | kh, kw), then the rule.

    Padding that counts is real zero; padding that doesn't adds nothing to the sum.
    Where the contract sums addends of its own, that is what real zero adds.
    """
    constants = operation_values(lowering.contract, op)
    type = quantized_element(op.input.type)
    pads_zero = op.count_include_pad or _sums_addends(lowering, op)
    nest, stored = window_nest(
        lowering.emit,
        op.sums,
        lowering.value(op.input),
        op.kernel,
        type.zero_point if pads_zero else 0,
    )
    constants["count"] = _tap_counts(op)
    total = _total(lowering, op, nest, lowering.widen(nest, stored, type), constants)
    return _finished(lowering, op, op.kind, total, constants)


def lower_adaptive_avg_pool2d(
    lowering: Lowering, op: qnn.AdaptiveAvgPool2DOp
) -> SSAValue:
    """Sums of stored integers, loops (n, y, x, c | kh, kw) over the largest window of
    which each place takes its own part, then the rule."""
    largest = [max(map(len, axis)) for axis in op.windows]
    nest = Nest(lowering.emit, (*shape_of(op.result), *largest), reductions=2)
    nest.window((4, 5))
    rows, columns = (_window_place(nest, op, axis) for axis in (0, 1))
    image = lowering.value(op.input)
    indices = [0, rows.position, columns.position, 3]
    wide = lowering.widen(
        nest, extract(nest, image, indices), quantized_element(op.input.type)
    )
    for place in (rows, columns):
        if place.inside is not None:
            zero = nest.add(scalar_constant(0, i32)).result
            wide = nest.add(arith.SelectOp(place.inside, wide, zero)).result
    constants = operation_values(lowering.contract, op)
    total = {"accumulator": summed(nest, wide)}
    return _finished(lowering, op, op.kind, total, constants)


@dataclass(frozen=True)
class _TapPosition:
    """The position that a tap of an adaptive window reads, along one axis, and whether
    it belongs to the window (None: always)."""

    position: SSAValue
    inside: SSAValue | None


def _window_place(nest: Nest, op: qnn.AdaptiveAvgPool2DOp, axis: int) -> _TapPosition:
    """Rows (0) or columns (1): loops y = 1 and kh = 4, or x = 2 and kw = 5."""
    windows = op.windows[axis]
    starts = np.array([window.start for window in windows], np.int32)
    sizes = np.array([len(window) for window in windows], np.int32)
    tap = nest.add(IndexOp(4 + axis)).result
    tap = nest.add(arith.IndexCastOp(tap, i32)).result
    start = nest.constant(starts, i32, (1 + axis,))
    position = nest.add(arith.AddiOp(start, tap)).result
    if sizes.min() == sizes.max():
        return _TapPosition(to_index(nest, position), None)
    # A tap beyond the window may be beyond the image: then it reads the last pixel.
    last = nest.add(scalar_constant(shape_of(op.input)[1 + axis] - 1, i32)).result
    position = nest.add(arith.MinSIOp(position, last)).result
    size = nest.constant(sizes, i32, (1 + axis,))
    inside = nest.add(arith.CmpiOp(tap, size, "slt")).result
    return _TapPosition(to_index(nest, position), inside)


def lower_max_pool2d(lowering: Lowering, op: qnn.MaxPool2DOp) -> SSAValue:
    """The largest stored integer, loops (n, y, x, c | kh, kw), clamped if activated."""
    type = quantized_element(op.input.type)
    smallest, _ = integer_range(type.storage_width, type.signed)
    result = shape_of(op.result)
    nest, stored = window_nest(
        lowering.emit, op.sums, lowering.value(op.input), op.kernel, smallest
    )
    maximum = arith.MaxSIOp if type.signed else arith.MaxUIOp
    pooled = reduced_by(nest, maximum, stored, smallest)
    if op.activation is None:
        return pooled
    values = operation_values(lowering.contract, op)
    nest = Nest(lowering.emit, result)
    wide = lowering.widen(nest, nest.input(pooled, range(4)), type)
    low = nest.constant(values["output_min"], i32)
    high = nest.constant(values["output_max"], i32)
    wide = nest.add(arith.MaxSIOp(wide, low)).result
    wide = nest.add(arith.MinSIOp(wide, high)).result
    return nest.build_one(lowering.narrow(nest, wide, type))


def lower_mean(lowering: Lowering, op: qnn.ReductionOp) -> SSAValue:
    """Sums of stored integers over `axes`, loops (kept... | axes...), then the rule;
    of addends of its own, where the contract has those."""
    nest, indices = axes_nest(lowering.emit, shape_of(op.input), op.axes)
    constants = operation_values(lowering.contract, op)
    wide = lowering.read(nest, op.input, indices)
    total = _total(lowering, op, nest, wide, constants)
    return _finished(lowering, op, op.kind, total, constants)


def lower_product(lowering: Lowering, op: qnn.ProductOp) -> SSAValue:
    """Products by the rule over `axes`, loops (kept... | axes...), then the result's.

    The first element, where all loops over axes are at 0, is taken as it is.
    """
    nest, indices = axes_nest(lowering.emit, shape_of(op.input), op.axes)
    constants = {
        **operation_values(lowering.contract, op),
        **position_values(shape_of(op.result)),
    }
    rule = lowering.contract.rule("product")
    wide = lowering.read(nest, op.input, indices)
    zero_point = nest.constant(constants["input_zero_point"], i32)
    first = nest.add(arith.SubiOp(wide, zero_point)).result
    is_first = _first_turn(nest)

    def combine(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        runtime = {"product": accumulators[0], "input": wide}
        (product,) = inline_rule(rule, runtime, constants, nest)
        return [nest.add(arith.SelectOp(is_first, first, product)).result]

    init = lowering.emit.filled(nest.output_shape, i32, 0)
    (products,) = nest.reduce([init], combine)
    return _finished(lowering, op, op.rules[1], {"product": products}, constants)


Averaged: TypeAlias = qnn.AvgPool2DOp | qnn.AdaptiveAvgPool2DOp | qnn.ReductionOp


def _sums_addends(lowering: Lowering, op: Averaged) -> bool:
    """Whether the contract adds what it makes of each element, not the elements."""
    return "sum" in lowering.contract.rule(op.kind).values


def _total(
    lowering: Lowering,
    op: Averaged,
    nest: Nest,
    wide: SSAValue,
    constants: Mapping[str, Array],
) -> Mapping[str, SSAValue]:
    """The sum of the elements of a nest, or of what the contract makes of each, by the
    name that the rule has for it."""
    if not _sums_addends(lowering, op):
        return {"accumulator": summed(nest, wide)}
    rule = lowering.contract.rule(f"{op.kind}_addend")
    (addend,) = inline_rule(rule, {"input": wide}, constants, nest)
    return {"sum": summed(nest, addend)}


def _finished(
    lowering: Lowering,
    op: Averaged,
    rule: str,
    total: Mapping[str, SSAValue],
    constants: Mapping[str, Array],
) -> SSAValue:
    """The results of a rule for each total, in the shape of the result."""
    ((name, tensor),) = total.items()
    nest = Nest(lowering.emit, shape_of(tensor))
    runtime = {name: nest.input(tensor, range(nest.parallel))}
    constants = {**position_values(shape_of(op.result)), **constants}
    result = lowering.finish_with_rule(nest, rule, runtime, constants, op.result)
    return lowering.reshape(result, shape_of(op.result))


def _first_turn(nest: Nest) -> SSAValue:
    """Whether all reducing loops are at 0."""
    zero = nest.add(scalar_constant(0, IndexType())).result
    turns = [
        nest.add(arith.CmpiOp(nest.add(IndexOp(loop)).result, zero, "eq")).result
        for loop in range(nest.parallel, len(nest.bounds))
    ]
    return reduce(lambda x, y: nest.add(arith.AndIOp(x, y)).result, turns)


def lower_l2_normalize(lowering: Lowering, op: qnn.L2NormalizeOp) -> SSAValue:
    """The sums of squares of rows, then the rule for each element."""
    shape = shape_of(op.input)
    source = quantized_element(op.input.type)
    loops = range(len(shape))
    nest = Nest(lowering.emit, shape, reductions=1)
    zero_point = nest.constant(np.array(source.zero_point, np.int32), i32)
    wide = lowering.read(nest, op.input, loops)
    centred = nest.add(arith.SubiOp(wide, zero_point)).result
    square = nest.add(arith.MuliOp(centred, centred)).result
    sums = summed(nest, square)
    nest = Nest(lowering.emit, shape)
    runtime = {
        "input": lowering.read(nest, op.input, loops),
        "accumulator": nest.input(sums, loops[:-1]),
    }
    constants = operation_values(lowering.contract, op)
    return lowering.finish_with_rule(nest, op.kind, runtime, constants, op.result)


def _tap_counts(op: qnn.AvgPool2DOp) -> Array:
    """The number of taps that count for each (y, x, 1) of the result."""
    if op.count_include_pad:
        return np.array(math.prod(op.kernel), np.int32)
    image, result = shape_of(op.input)[1:3], shape_of(op.result)[1:3]
    return taps_inside(image, result, op.kernel, op.stride, op.pad)
