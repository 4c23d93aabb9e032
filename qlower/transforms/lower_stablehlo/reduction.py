"""Integers combined along dimensions and in windows, and positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr

from qlower.dialects import stablehlo
from qlower.dialects.types import element_type, shape_of
from qlower.emit.reductions import axes_nest
from qlower.model.nests import Nest
from qlower.transforms.lower_movement import lower_pad
from qlower.transforms.lower_stablehlo.elementwise import INTEGRAL
from qlower.transforms.lower_stablehlo.lowering import Lowering


def lower_reduce(lowering: Lowering, op: stablehlo.ReduceOp) -> SSAValue:
    """Loops (kept... | axes...), from the operand `init` on."""
    nest, indices = axes_nest(lowering.emit, shape_of(op.input), op.axes)
    value = nest.input(lowering.value(op.input), indices)
    return _combined(lowering, op, nest, value)


def lower_reduce_window(lowering: Lowering, op: stablehlo.ReduceWindowOp) -> SSAValue:
    """Loops (result... | window...), of dimensions with several taps, or the first."""
    shape, windows = shape_of(op.output), op.windows
    sliding = [axis for axis, window in enumerate(windows) if window.taps > 1] or [0]
    loops = [*shape, *(windows[axis].taps for axis in sliding)]
    nest = Nest(lowering.emit, loops, reductions=len(sliding))
    nest.window(range(len(shape), len(loops)))
    places = [
        AffineExpr.dimension(axis) * window.stride
        for axis, window in enumerate(windows)
    ]
    for tap, axis in enumerate(sliding, len(shape)):
        places[axis] += AffineExpr.dimension(tap) * windows[axis].dilation
    value = nest.input(lower_pad(lowering, op), places)
    return _combined(lowering, op, nest, value)


def _combined(
    lowering: Lowering, op: stablehlo.CombiningOp, nest: Nest, value: SSAValue
) -> SSAValue:
    """The elements of a nest combined by the body, from the operand `init` on."""
    start = Nest(lowering.emit, shape_of(op.output))
    initial = start.build_one(start.input(lowering.value(op.init), []))
    combine = INTEGRAL[op.step.removeprefix("stablehlo.")]

    def step(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        operands = [*accumulators, value]
        return nest.add(
            combine.create(operands=operands, result_types=[value.type])
        ).results

    return nest.reduce_one(initial, step)


def lower_iota(lowering: Lowering, op: stablehlo.IotaOp) -> SSAValue:
    """A constant."""
    shape = shape_of(op.output)
    along = [1] * len(shape)
    along[op.axis] = shape[op.axis]
    positions = np.arange(shape[op.axis]).reshape(along)
    element = element_type(op.output.type)
    return lowering.emit.constant(np.broadcast_to(positions, shape), element)
