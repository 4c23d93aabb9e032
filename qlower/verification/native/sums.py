"""A nest whose sums are given: the epilogue of the machine code, and nothing else.

The sum of products starts from an array in place of the bias, and all weights are 0.
Everything that decides the code of the rest is as in the model: the epilogue's
operations, the constants of all channels, the family and the schedule, and so the lanes
that are computed together. All pixels are in one loop, the outermost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    IntegerType,
    TensorType,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from qlower.codegen.nests.operand import constant_bytes
from qlower.codegen.nests.recognise import PRODUCT_FAMILIES, DepthwiseProducts
from qlower.dialects.kernel import NestOp, linear_form
from qlower.dialects.types import element_type, shape_of
from qlower.model.nests import dense
from qlower.runtime.alone import Alone, alone
from qlower.transforms.form_kernels.regions import (
    build_region,
    inline,
    pair,
    substitute,
    uses_index,
)
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.sum_rule import Unfit

_DEPTH = 8
"""Products of a sum: the least that all instructions for products take."""


@dataclass(frozen=True)
class Sums:
    """`alone` is a function of sums [rows, *channels], of zeros where it takes other
    arguments, and last of `others`, results of other layers, with a value for
    each of the sums. It gives the results likewise.

    `channels` has the number of the model's channel for each, flat.
    """

    alone: Alone
    rows: int
    channels: Sequence[int]
    others: Sequence[SSAValue]

    @property
    def columns(self) -> int:
        """The channels of a row."""
        return len(self.channels)


def given_sums(nest: NestOp, elements: int) -> Sums:
    """The nest for about `elements` sums at a time. Raises Unfit."""
    if nest.accumulator_types not in ((i32,), (i64,)) or len(nest.res) != 1:
        raise Unfit("its sum isn't one of 32-bit or 64-bit integers")
    if uses_index(nest.epilogue.block):
        raise Unfit("a rule computes with the position of an element")
    loops = _channel_loops(nest)
    extents = [nest.bounds[loop] for loop in loops]
    rows = max(elements // prod(extents) & -16, 16)
    return _Builder(nest, loops, extents, rows).build()


def by_channel(nest: NestOp, array: Integers) -> Integers:
    """Numbers with an axis for each parallel loop as those of each channel, flat."""
    loops = _channel_loops(nest)
    extents = [
        bound if loop in loops else 1 for loop, bound in enumerate(nest.parallel_bounds)
    ]
    return np.broadcast_to(array, extents).reshape(-1)


def _channel_loops(nest: NestOp) -> list[int]:
    """The parallel loops on which constants depend."""
    parallel = len(nest.parallel_bounds)
    used = {
        loop
        for value, map in zip(nest.inputs, nest.input_maps, strict=True)
        if constant_bytes(value) is not None
        for loop in map.used_dims()
        if loop < parallel
    }
    return sorted(used)


@dataclass(frozen=True)
class _Builder:
    """The loops of the new nest: a row, then channels, then the products of a sum."""

    nest: NestOp
    loops: Sequence[int]
    extents: Sequence[int]
    rows: int

    @property
    def count(self) -> int:
        return len(self.loops) + 2

    @property
    def whole(self) -> AffineMap:
        """The positions of the sums and results."""
        dims = [AffineExpr.dimension(loop) for loop in range(self.count - 1)]
        return AffineMap(self.count, 0, tuple(dims))

    @property
    def accumulator(self) -> Attribute:
        """The type of the sums."""
        return self.nest.accumulator_types[0]

    def factor(self, *, is_constant: bool) -> IntegerType:
        """The type of activations, or of constant weights: that of words or of
        bytes."""
        nest = self.nest
        pairs = zip(nest.inputs, nest.body.block.args, strict=False)
        types = [
            argument.type
            for value, argument in pairs
            if argument.uses and (constant_bytes(value) is not None) == is_constant
        ]
        return i16 if i16 in types else i8

    def build(self) -> Sums:
        nest = self.nest
        epilogue = nest.epilogue.block
        used = [
            index for index, argument in enumerate(epilogue.args[:-1]) if argument.uses
        ]
        kept = [nest.inputs[index] for index in used]
        varies = [constant_bytes(value) is None for value in kept]
        placed = Block(
            arg_types=[
                self._shaped(self.accumulator),
                TensorType(
                    self.factor(is_constant=False),
                    [size for size, _ in self._activation_axes()],
                ),
                *(
                    self._shaped(element_type(value.type))
                    for value, is_given in zip(kept, varies, strict=True)
                    if is_given
                ),
            ]
        )
        sums, activation, *given = placed.args
        rest = iter(given)
        others = [
            next(rest) if is_given else value
            for value, is_given in zip(kept, varies, strict=True)
        ]
        own, maps = self._products(activation)
        maps = [self.whole, *maps]
        for index, is_given in zip(used, varies, strict=True):
            maps.append(self.whole if is_given else self._of_channels(index))
        inputs = [sums, *own, *others]
        scalars = Block(arg_types=[element_type(value.type) for value in inputs]).args
        with_sum = [*scalars, epilogue.args[-1]]
        first = len(inputs) - len(used)

        def finish(block: Block) -> Sequence[SSAValue]:
            arguments = [epilogue.args[index] for index in used]
            values = pair(arguments, block.args[first:-1])
            values[epilogue.args[-1]] = block.args[-1]
            return inline(epilogue, values, block, [])

        new = NestOp(
            inputs,
            nest.tables,
            nest.family.data,
            [self.rows, *self.extents],
            [_DEPTH],
            [*maps, self.whole],
            build_region(scalars, lambda block: [block.args[0]]),
            build_region(with_sum, lambda block: [_sum(block, len(own))]),
            build_region(with_sum, finish),
            [self._shaped(element_type(nest.res[0].type))],
        )
        new.location, new.schedule = nest.location, nest.schedule
        result = alone(new)
        new.drop_all_references()
        sources = [
            value for value, is_given in zip(kept, varies, strict=True) if is_given
        ]
        return Sums(result, self.rows, self._channels(), sources)

    def _shaped(self, element: Attribute) -> TensorType[Attribute]:
        return TensorType(element, [self.rows, *self.extents])

    def _activation_axes(self) -> list[tuple[int, int]]:
        """Extents and loops: of the channels that move activations, and of products."""
        nest = self.nest
        moving = {
            loop
            for value, map, argument in zip(
                nest.inputs, nest.input_maps, nest.body.block.args, strict=False
            )
            if argument.uses and constant_bytes(value) is None
            for loop in map.used_dims()
        }
        axes = [
            (size, number)
            for number, (loop, size) in enumerate(
                zip(self.loops, self.extents, strict=True), 1
            )
            if loop in moving
        ]
        products = (_DEPTH, self.count - 1)
        is_depthwise = nest.family.data == DepthwiseProducts.family
        return [products, *axes] if is_depthwise else [*axes, products]

    def _products(self, activation: SSAValue) -> tuple[list[SSAValue], list[AffineMap]]:
        """The factors and their maps: no weights where products aren't recognised."""
        dims = [AffineExpr.dimension(loop) for _, loop in self._activation_axes()]
        maps = [AffineMap(self.count, 0, tuple(dims))]
        if self.nest.family.data not in PRODUCT_FAMILIES:
            return [activation], maps
        zeros = np.zeros([*self.extents, _DEPTH])
        weights = arith.ConstantOp(dense(zeros, self.factor(is_constant=True)))
        dims = [AffineExpr.dimension(loop) for loop in range(1, self.count)]
        return [activation, weights.result], [
            *maps,
            AffineMap(self.count, 0, tuple(dims)),
        ]

    def _of_channels(self, index: int) -> AffineMap:
        """The position of a constant's element of a channel."""
        map = self.nest.input_maps[index]
        return substitute(map, self._new_loops(), self.count)

    def _new_loops(self) -> list[AffineExpr]:
        """The new loop of each old one; pixels are all the first."""
        new = [AffineExpr.constant(0)] * len(self.nest.bounds)
        for number, loop in enumerate(self.loops, 1):
            new[loop] = AffineExpr.dimension(number)
        return new

    def _channels(self) -> list[int]:
        """The channel of the result for each of the loops' steps; 0 without any. It is
        the last index, or the last ones where the code keeps groups apart."""
        if not self.loops:
            return [0]
        result = self.nest.result_maps[0].results
        forms = [linear_form(one, len(self.nest.bounds)) for one in result]
        first = next(
            (
                axis
                for axis, (factors, _) in enumerate(forms)
                if any(factors[loop] for loop in self.loops)
            ),
            len(forms) - 1,
        )
        pixels = [n for n in range(len(self.nest.bounds)) if n not in self.loops]
        own = forms[first:]
        if len(own) > 1 and any(factors[n] for factors, _ in own for n in pixels):
            raise Unfit("constants differ from pixel to pixel")
        grid = np.indices(self.extents).reshape(len(self.loops), -1)
        index = [
            np.array([factors[loop] for loop in self.loops]) @ grid + start
            for factors, start in own
        ]
        shape = shape_of(self.nest.res[0])[first:]
        return np.ravel_multi_index(index, shape).tolist()


def _sum(block: Block, factors: int) -> SSAValue:
    """The sum, and a product with 0 or an activation that is 0."""
    ops: list[Operation] = [
        arith.ExtSIOp(block.args[1 + number], i32) for number in range(factors)
    ]
    term = ops[0].results[0]
    if factors > 1:
        ops.append(arith.MuliOp(term, ops[1].results[0]))
        term = ops[-1].results[0]
    if block.args[-1].type == i64:
        ops.append(arith.ExtSIOp(term, i64))
        term = ops[-1].results[0]
    ops.append(arith.AddiOp(block.args[-1], term))
    block.add_ops(ops)
    return ops[-1].results[0]
