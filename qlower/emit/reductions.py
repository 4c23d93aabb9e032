"""Loop nests that reduce one tensor: over windows, and along axes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from qlower.dialects.types import integer_range, shape_of
from qlower.emit.tensors import pad
from qlower.interp.values import integer_width
from qlower.model.nests import Emitter, Nest, scalar_constant
from qlower.operators.sums import Sums


def window_nest(
    emit: Emitter,
    windows: Sums,
    image: SSAValue,
    kernel: Sequence[int],
    around: float,
) -> tuple[Nest, SSAValue]:
    """A nest over the results and taps of windows, and the element that a tap meets:
    the image's, or the number around it."""
    structure = windows.structure
    bounds = windows.bounds(shape_of(image), tuple(kernel))
    loops = [bounds[letter] for letter in structure.loops]
    nest = Nest(emit, loops, structure.reductions)
    nest.window([structure.loops.index(letter) for letter in structure.taps])
    low, high = windows.padding()
    padded = pad(emit, image, low, high, around)
    places = structure.places(structure.axes[0], bounds, windows.steps)
    return nest, nest.input(padded, places)


def axes_nest(
    emit: Emitter, shape: Sequence[int], axes: Collection[int]
) -> tuple[Nest, list[int]]:
    """A nest over the axes that stay and, last, those that are reduced; and the loops
    that index the tensor."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    order = [*kept, *sorted(axes)]
    nest = Nest(emit, [shape[axis] for axis in order], reductions=len(axes))
    return nest, [order.index(axis) for axis in range(len(shape))]


def reduced_by(
    nest: Nest, combine: Callable[..., Operation], value: SSAValue, neutral: float
) -> SSAValue:
    """The elements of a nest combined by an operation on two, from `neutral` on."""

    def step(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return nest.add(combine(*accumulators, value)).results

    init = nest.emitter.filled(nest.output_shape, value.type, neutral)
    return nest.reduce_one(init, step)


def ranges_of_rows(emit: Emitter, values: SSAValue) -> Sequence[SSAValue]:
    """The ends of the range of each row of real numbers and 0, lowest and highest: of
    the columns of images, then of all."""
    ends = [values, values]
    while (rank := len(shape_of(ends[0]))) > 1:
        nest, indices = axes_nest(emit, shape_of(ends[0]), range(1, max(rank - 1, 2)))
        lows, highs = (nest.input(end, indices) for end in ends)

        def step(
            before: Sequence[SSAValue],
            nest: Nest = nest,
            lows: SSAValue = lows,
            highs: SSAValue = highs,
        ) -> Sequence[SSAValue]:
            low, high = before
            return (
                nest.add(arith.MinimumfOp(low, lows)).result,
                nest.add(arith.MaximumfOp(high, highs)).result,
            )

        zero = emit.filled(nest.output_shape, lows.type, 0)
        ends = nest.reduce([zero, zero], step)
    return ends


def summed(nest: Nest, value: SSAValue) -> SSAValue:
    """The sum of the elements of a nest, from 0 on."""
    init = nest.emitter.filled(nest.output_shape, value.type, 0)
    return nest.reduce_one(init, nest.adding(value))


def first_of_largest(
    emit: Emitter,
    shape: Sequence[int],
    axis: int,
    read: Callable[[Nest, Sequence[int]], SSAValue],
    position_type: IntegerType,
) -> SSAValue:
    """The first position along an axis that has the largest element; that axis goes.

    `read` reads an element in a nest, at these loops, as a signed integer.
    """
    nest, indices = axes_nest(emit, shape, [axis])
    value = read(nest, indices)
    least, _ = integer_range(integer_width(value.type))
    largest = reduced_by(nest, arith.MaxSIOp, value, least)
    nest, indices = axes_nest(emit, shape, [axis])
    value = read(nest, indices)
    most = nest.input(largest, range(nest.parallel))
    equal = nest.add(arith.CmpiOp(value, most, "eq")).result
    position = nest.add(IndexOp(nest.parallel)).result
    position = nest.add(arith.IndexCastOp(position, position_type)).result
    beyond = nest.add(scalar_constant(shape[axis], position_type)).result
    candidate = nest.add(arith.SelectOp(equal, position, beyond)).result
    return reduced_by(nest, arith.MinSIOp, candidate, shape[axis])
