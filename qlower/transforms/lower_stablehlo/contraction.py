"""Convolutions and products of tensors: exact sums of integers, then one product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from qlower.dialects import stablehlo
from qlower.dialects.quant import quantized_element
from qlower.dialects.stablehlo.base import quantization
from qlower.dialects.types import element_type, shape_of
from qlower.interp.values import Array
from qlower.model.nests import Index, Nest, scalar_constant, widen
from qlower.transforms.lower_qnn.contraction import multiply_accumulate
from qlower.transforms.lower_stablehlo.lowering import (
    Lowering,
    parameters,
)
from qlower.transforms.lower_stablehlo.movement import insert_apart
from qlower.transforms.tensors import pad, reshape

Contraction = stablehlo.ConvolutionOp | stablehlo.DotGeneralOp


def lower_dot_general(lowering: Lowering, op: stablehlo.DotGeneralOp) -> SSAValue:
    """Loops (batches, dimensions of lhs, of rhs | contracted ones)."""
    batching, contracting = op.dimensions("batching"), op.dimensions("contracting")
    shape = shape_of(op.output)
    depth = [shape_of(op.lhs)[axis] for axis in contracting[0]]
    nest = Nest(lowering.emit, (*shape, *depth), reductions=len(depth))
    indices: list[list[Index]] = []
    first = len(batching[0])
    for number, operand in enumerate(op.operands):
        loops: dict[int, Index] = {axis: n for n, axis in enumerate(batching[number])}
        for axis in op.kept(number):
            loops[axis] = first
            first += 1
        for n, axis in enumerate(contracting[number]):
            loops[axis] = nest.parallel + n
        indices.append([loops[axis] for axis in range(len(shape_of(operand)))])
    values = [lowering.value(operand) for operand in op.operands]
    rhs = quantization(op.rhs.type)
    channel = None if rhs is None or rhs.axis is None else indices[1][rhs.axis]
    total = _sums(lowering, op, nest, values, indices)
    return _finish(lowering, op, total, channel)


def lower_convolution(lowering: Lowering, op: stablehlo.ConvolutionOp) -> SSAValue:
    """Loops (result dimensions, with groups and outputs of each | taps, inputs)."""
    image, weight, result = op.layouts
    groups, inputs = max(op.groups, op.batch_groups), op.size(1, "i")
    outputs = op.size(1, "o") // groups
    names: list[str | int] = []
    bounds: list[int] = []
    for dimension in result:
        if dimension == "f" and groups > 1:
            names += ["g", "o"]
            bounds += [groups, outputs]
        else:
            names.append("o" if dimension == "f" else dimension)
            bounds.append(op.size(2, dimension))
    spatial = range(len(image) - 2)
    taps = [op.size(1, number) for number in spatial]
    nest = Nest(lowering.emit, (*bounds, *taps, inputs), reductions=len(taps) + 1)
    loop = {name: AffineExpr.dimension(n) for n, name in enumerate(names)}
    tap = [AffineExpr.dimension(len(names) + number) for number in spatial]
    channel = AffineExpr.dimension(len(names) + len(taps))
    grouped = "g" in loop

    def image_index(dimension: str | int) -> AffineExpr:
        if dimension == "b" and op.batch_groups > 1:
            return loop["g"] * op.size(2, "b") + loop["b"]
        if dimension == "b":
            return loop["b"]
        if dimension == "f":
            return loop["g"] * inputs + channel if op.groups > 1 else channel
        window = op.windows[int(dimension)]
        place = tap[int(dimension)] * window.weight_dilation
        return loop[dimension] * window.stride + place

    def weight_index(dimension: str | int) -> AffineExpr:
        if dimension == "i":
            return channel
        if dimension == "o":
            return loop["g"] * outputs + loop["o"] if grouped else loop["o"]
        return tap[int(dimension)]

    indices = [list(map(image_index, image)), list(map(weight_index, weight))]
    values = [_padded(lowering, op), lowering.value(op.rhs)]
    total = _sums(lowering, op, nest, values, indices)
    rhs = quantization(op.rhs.type)
    feature = None if rhs is None or rhs.axis is None else result.index("f")
    total = reshape(lowering.emit, total, shape_of(op.output))
    return _finish(lowering, op, total, feature)


def _padded(lowering: Lowering, op: stablehlo.ConvolutionOp) -> SSAValue:
    """The image with zeros around and between its pixels."""
    value, image = lowering.value(op.lhs), op.layouts[0]
    type = quantization(op.lhs.type)
    zero = 0 if type is None else type.zero_points[0]
    windows = {number: window for number, window in enumerate(op.windows)}
    low, high, apart = (
        [
            getattr(windows[dimension], name) if isinstance(dimension, int) else default
            for dimension in image
        ]
        for name, default in (("before", 0), ("after", 0), ("image_dilation", 1))
    )
    if all(stride == 1 for stride in apart):
        return pad(lowering.emit, value, low, high, zero)
    shape = [
        windows[dimension].padded(size) if isinstance(dimension, int) else size
        for dimension, size in zip(image, shape_of(value), strict=True)
    ]
    zeros = lowering.emit.filled(shape, element_type(value.type), zero)
    return insert_apart(lowering.emit, value, zeros, low, apart)


def _sums(
    lowering: Lowering,
    op: Contraction,
    nest: Nest,
    values: Sequence[SSAValue],
    indices: Sequence[Sequence[Index]],
) -> SSAValue:
    """The sums of products, in i32 of centred integers, or in f32."""
    if quantization(op.lhs.type) is None:
        a, b = (
            nest.input(value, places)
            for value, places in zip(values, indices, strict=True)
        )
        product = nest.add(arith.MulfOp(a, b)).result
        init = lowering.emit.filled(nest.output_shape, f32, 0.0)
        return nest.reduce([init], nest.adding(product))[0]
    centred = [
        _centred(nest, value, places, operand)
        for value, places, operand in zip(values, indices, op.operands, strict=True)
    ]
    init = lowering.emit.filled(nest.output_shape, i32, 0)
    return nest.reduce([init], multiply_accumulate(nest, *centred))[0]


def _centred(
    nest: Nest, value: SSAValue, indices: Sequence[Index], operand: SSAValue
) -> SSAValue:
    """A stored integer less its zero point."""
    type = quantized_element(operand.type)
    stored = nest.input(value, indices)
    wide = widen(nest, stored, i32, unsigned=not type.signed)
    if not any(type.zero_points):
        return wide
    zero = nest.add(scalar_constant(type.zero_points[0], i32)).result
    return nest.add(arith.SubiOp(wide, zero)).result


def _finish(
    lowering: Lowering, op: Contraction, total: SSAValue, channel: Index | None
) -> SSAValue:
    """The sums as real numbers, quantized where the result is; the scales of the second
    operand lie along loop `channel`."""
    if quantization(op.lhs.type) is None and quantization(op.output.type) is None:
        return total
    nest = Nest(lowering.emit, shape_of(op.output))
    number = nest.input(total, range(nest.parallel))
    if quantization(op.lhs.type) is not None:
        weight = parameters("weight", op.rhs.type)
        scales = weight["weight_scale"].reshape(-1)
        if isinstance(channel, int):
            scales = scales.reshape(-1, *[1] * (nest.parallel - channel - 1))
        constants: Mapping[str, Array] = {
            **parameters("input", op.lhs.type),
            "weight_scale": scales if isinstance(channel, int) else scales.reshape(()),
        }
        number = lowering.inline(
            nest, "exact_product", {"accumulator": number}, constants
        )
    return nest.build([lowering.quantized(nest, number, op.output.type)])[0]
