"""Loop nests that reduce one tensor: over windows, and along axes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.ir import SSAValue

from qlower.dialects.types import shape_of
from qlower.emit.tensors import pad
from qlower.model.nests import Emitter, Nest
from qlower.operators.sums import Sums


def window_nest(
    emit: Emitter,
    windows: Sums,
    image: SSAValue,
    kernel: Sequence[int],
    around: int,
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
