"""Integers combined along dimensions, and positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import BlockArgument, SSAValue

from qlower.dialects import stablehlo
from qlower.dialects.types import element_type, shape_of
from qlower.emit.reductions import axes_nest
from qlower.model.nests import Nest
from qlower.transforms.lower_stablehlo.elementwise import INTEGRAL
from qlower.transforms.lower_stablehlo.lowering import Lowering


def lower_reduce(lowering: Lowering, op: stablehlo.ReduceOp) -> SSAValue:
    """Loops (kept... | axes...), from the operand `init` on."""
    start = Nest(lowering.emit, shape_of(op.output))
    (initial,) = start.build([start.input(lowering.value(op.init), [])])
    nest, indices = axes_nest(lowering.emit, shape_of(op.input), op.axes)
    value = nest.input(lowering.value(op.input), indices)
    combine = INTEGRAL[op.step.removeprefix("stablehlo.")]

    def step(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        operands = [accumulators[0], value]
        return nest.add(
            combine.create(operands=operands, result_types=[value.type])
        ).results

    return nest.reduce([initial], step)[0]


def lower_iota(lowering: Lowering, op: stablehlo.IotaOp) -> SSAValue:
    """A constant."""
    shape = shape_of(op.output)
    along = [1] * len(shape)
    along[op.axis] = shape[op.axis]
    positions = np.arange(shape[op.axis]).reshape(along)
    element = element_type(op.output.type)
    return lowering.emit.constant(np.broadcast_to(positions, shape), element)
