"""Sums of products as one loop nest, whatever dialect states them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.utils.hints import isa

from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.emit.tensors import pad, reshape
from qlower.interp.values import Array
from qlower.model.nests import Combine, Emitter, Nest, widen
from qlower.operators.sums import Sums

Accumulate: TypeAlias = Callable[[Nest, SSAValue, SSAValue], Combine]
"""From a nest and two numbers in it to what combines a sum and their product."""

Start: TypeAlias = Callable[[Sequence[int], Sequence[int]], SSAValue]
"""From the sizes of the loops over results, and those loops that are output channels,
to what the sums start from."""


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand of a product: integers `stored - zero_point`, or floats as they are.

    The zero point is one for all, or varies along the loops of the output channels.
    `most` is the largest distance of a stored integer from it, 0 where that is unknown.
    """

    tensor: SSAValue
    zero_point: Array = field(default_factory=lambda: np.zeros((), np.int32))
    unsigned: bool = False
    most: int = 0

    @staticmethod
    def quantized(tensor: SSAValue, source: SSAValue) -> Factor:
        """Stored integers that mean what the type of `source` says."""
        type = quantized_element(source.type)
        points = np.array(type.zero_points, np.int32)
        if type.axis is None:
            points = points.reshape(())
        ends = np.array([type.storage_min, type.storage_max])
        most = int(np.abs(np.subtract.outer(ends, points)).max())
        return Factor(tensor, points, not type.signed, most)


def sum_products(
    emit: Emitter,
    sums: Sums,
    factors: tuple[Factor, Factor],
    start: Start,
    element: IntegerType = i32,
    step: Accumulate | None = None,
) -> SSAValue:
    """The sums of an operator, of its result's shape. Integers are widened to
    `element`, or to i64 if products leave 32 bits, and multiplied there; the sums are
    of the type that they start from. Without `step` products are added."""
    structure, (first, second) = sums.structure, factors
    if first.most * second.most >= 1 << 31:
        element = i64
    bounds = sums.bounds(shape_of(first.tensor), shape_of(second.tensor))
    low, high = sums.padding()
    image = pad(emit, first.tensor, low, high, first.zero_point.item())
    split = [bounds[letter] for letter in structure.letters[1]]
    tensors = (image, reshape(emit, second.tensor, split))
    axes = (structure.axes[0], structure.letters[1])
    loops = [bounds[letter] for letter in structure.loops]
    nest = Nest(emit, loops, structure.reductions)
    scalars = [
        nest.input(tensor, structure.places(places, bounds, sums.steps))
        for tensor, places in zip(tensors, axes, strict=True)
    ]
    channels = [structure.loops.index(letter) for letter in structure.axes[-1][-1]]
    if isa(scalars[0].type, IntegerType):
        scalars = [
            widen(nest, scalar, element, unsigned=factor.unsigned)
            for scalar, factor in zip(scalars, factors, strict=True)
        ]
        scalars = [
            centred(nest, scalar, factor.zero_point, channels)
            for scalar, factor in zip(scalars, factors, strict=True)
        ]
    init = start(nest.output_shape, channels)
    (result,) = nest.reduce([init], (step or multiply_accumulate)(nest, *scalars))
    shape = sums.result_shape(shape_of(first.tensor), shape_of(second.tensor))
    return reshape(emit, result, shape)


def centred(
    nest: Nest, stored: SSAValue, zero_point: Array, channels: Sequence[int] = ()
) -> SSAValue:
    """An integer less its zero point, which may vary along the loops `channels`."""
    if not zero_point.any():
        return stored
    if zero_point.ndim:
        zero_point = zero_point.reshape([nest.bounds[loop] for loop in channels])
    offset = nest.constant(zero_point, stored.type, channels)
    return nest.add(arith.SubiOp(stored, offset)).result


def multiply_accumulate(nest: Nest, a: SSAValue, b: SSAValue) -> Combine:
    """The step that adds the product of two numbers; integers in as many bits as the
    sum has, where they have less."""

    def combine(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        (total,) = accumulators
        wide = total.type
        if not isa(wide, IntegerType):
            product = nest.add(arith.MulfOp(a, b)).result
            return [nest.add(arith.AddfOp(total, product)).result]
        product = widen(nest, nest.add(arith.MuliOp(a, b)).result, wide)
        return [nest.add(arith.AddiOp(total, product)).result]

    return combine


def from_zero(emit: Emitter, type: Attribute) -> Start:
    """Sums of numbers of this type that start from zero."""
    return lambda shape, _: emit.filled(shape, type, 0)
