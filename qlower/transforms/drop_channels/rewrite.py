"""The nests and copies of a function with those channels alone that are needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from qlower.codegen.nests.recognise import family_of
from qlower.dialects.integers import integers, values_of
from qlower.dialects.kernel import KEPT_CHANNELS, CopyOp, NestOp
from qlower.dialects.types import tensor_type
from qlower.interp.values import Array
from qlower.model.nests import constant, dense
from qlower.transforms.drop_channels.needs import Mask, Needs, boxes
from qlower.transforms.drop_channels.spans import shape_of
from qlower.transforms.form_kernels.factors import is_constant
from qlower.transforms.form_kernels.fuse import remove_unused
from qlower.transforms.prove_epilogues.channels import (
    constant_elements,
    evaluate_constants,
    parallel_constants,
)


class Narrowing:
    """Makes anew what reads or writes fewer channels, in a function's body."""

    def __init__(self, needs: Needs):
        self._needs = needs
        self._new: dict[SSAValue, SSAValue] = {}

    def rewrite(self, block: Block) -> None:
        """Replaces the ops, in the order in which they read each other."""
        for op in tuple(block.ops):
            values = (*op.operands, *op.results)
            if not isinstance(op, NestOp | CopyOp | ExpandShapeOp | CollapseShapeOp):
                op.operands = [self._of(value) for value in op.operands]
                continue
            if is_constant(op.results[0]) or all(map(self._is_whole, values)):
                continue
            match op:
                case NestOp():
                    new: Operation = self._nest(op)
                case CopyOp():
                    new = self._copy(op)
                case _:
                    new = self._reshape(op)
            new.location = op.location
            Rewriter.insert_op(new, InsertPoint.before(op))
            if isinstance(new, NestOp):
                new.family = StringAttr(family_of(new))
                assert isinstance(op, NestOp)
                if new.bounds != op.bounds:
                    kept = np.flatnonzero(self._needs[op.results[0]])
                    new.attributes[KEPT_CHANNELS] = integers(kept.tolist())
            for before, after in zip(op.results, new.results, strict=True):
                after.name_hint = before.name_hint
                self._new[before] = after
        remove_unused(block)

    def _is_whole(self, value: SSAValue) -> bool:
        """Whether a tensor keeps all of its channels, and what made it."""
        return is_constant(value) or (
            value not in self._new and bool(self._needs[value].all())
        )

    def _of(self, value: SSAValue) -> SSAValue:
        return self._new.get(value, value)

    def _type(self, value: SSAValue) -> TensorType:
        """A tensor's type with the channels that are kept."""
        type = tensor_type(value)
        *axes, _ = type.get_shape()
        kept = int(self._needs[value].sum())
        return TensorType(type.element_type, [*axes, kept])

    def _copy(self, copy: CopyOp) -> CopyOp:
        out, into = boxes(copy)
        read, written = self._needs[copy.source], self._needs[copy.result]

        def moved(first: Sequence[int], before: int, mask: Mask) -> list[int]:
            return [*first[:-1], int(mask[:before].sum())]

        into_tensor = copy.destination and self._of(copy.destination)
        return CopyOp(
            self._of(copy.source),
            copy.fill if into_tensor is None else into_tensor,
            moved(values_of(copy.source_offsets), out.start, read),
            [*values_of(copy.sizes)[:-1], int(read[out].sum())],
            values_of(copy.source_strides),
            moved(values_of(copy.offsets), into.start, written),
            values_of(copy.strides),
            self._type(copy.result),
        )

    def _reshape(self, op: ExpandShapeOp | CollapseShapeOp) -> Operation:
        type = self._type(op.results[0])
        properties = dict(op.properties)
        if isinstance(op, ExpandShapeOp):
            properties["static_output_shape"] = integers(type.get_shape())
        return op.__class__.create(
            operands=[self._of(op.src)], result_types=[type], properties=properties
        )

    def _nest(self, nest: NestOp) -> NestOp:
        kept = [self._needs.loop(nest, loop) for loop in range(len(nest.bounds))]
        inputs = [
            _narrow(nest, index, kept) if is_constant(value) else self._of(value)
            for index, value in enumerate(nest.inputs)
        ]
        maps = [*nest.input_maps]
        regions = [
            region.clone() if region.blocks else Region() for region in nest.regions
        ]
        share = self._share(nest, kept)
        if share is not None and share.any():
            start, map, is_all = _start(nest, share, kept)
            index = _add_start(regions, len(inputs), is_all=is_all)
            inputs[index : index + 1], maps[index : index + 1] = [start], [map]
        init, body, epilogue = regions
        bounds = [
            bound if mask is None else int(mask.sum())
            for bound, mask in zip(nest.bounds, kept, strict=True)
        ]
        first = len(nest.parallel_bounds)
        return NestOp(
            inputs,
            nest.tables,
            nest.family.data,
            bounds[:first],
            bounds[first:],
            [*maps, *nest.result_maps],
            init,
            body,
            epilogue,
            [self._type(result) for result in nest.res],
        )

    def _share(self, nest: NestOp, kept: Sequence[Mask | None]) -> Array | None:
        """The share of the dropped channels in each sum, with an axis for every
        parallel loop."""
        first = len(nest.parallel_bounds)
        loops = [d for d in range(first, len(nest.bounds)) if kept[d] is not None]
        summed = self._needs.summed(nest)
        if not loops or summed is None:
            return None
        (loop,) = loops
        terms = summed.terms * _of_lanes(summed.products.weights, kept[:first])
        sizes = [
            nest.bounds[d] if d >= first else extent
            for d, extent in enumerate(terms.shape)
        ]
        mask = kept[loop]
        assert mask is not None
        dropped = np.broadcast_to(terms, sizes).compress(~mask, axis=loop)
        return dropped.sum(axis=tuple(range(first, len(sizes))))


def _of_lanes(array: Array, kept: Sequence[Mask | None]) -> Array:
    """The lanes that are kept, along each axis that has more than one."""
    for axis, mask in enumerate(kept):
        if mask is not None and array.shape[axis] > 1:
            array = array.compress(mask, axis=axis)
    return array


def _constant_before(op: Operation, array: Array, element: Attribute) -> SSAValue:
    """A new constant tensor, in front of the op that reads it."""
    new = constant(dense(array, element))
    new.location = op.location
    Rewriter.insert_op(new, InsertPoint.before(op))
    return new.result


def _narrow(nest: NestOp, index: int, kept: Sequence[Mask | None]) -> SSAValue:
    """A constant input with the elements that the steps that are kept read."""
    value = nest.inputs[index]
    masks = [
        kept[expression.position] if isinstance(expression, AffineDimExpr) else None
        for expression in nest.input_maps[index].results
    ]
    if all(mask is None for mask in masks):
        return value
    array = constant_elements(value)
    assert array is not None
    array = array.reshape(shape_of(value))
    for axis, mask in enumerate(masks):
        if mask is not None:
            array = array.compress(mask, axis=axis)
    return _constant_before(nest, array, tensor_type(value).element_type)


def _start(
    nest: NestOp, share: Array, kept: Sequence[Mask | None]
) -> tuple[SSAValue, AffineMap, bool]:
    """The addend of sums, or their whole start where that is constant: a tensor, how
    the nest reads it, and whether it is the whole start. `share` has an axis for every
    parallel loop."""
    first = share.ndim
    constants = parallel_constants(nest)
    start = evaluate_constants(nest.init.block, constants)
    if start is not None:
        start = start.reshape((1,) * (first - start.ndim) + start.shape)
        share = share + _of_lanes(start, kept[:first])
    axes = [axis for axis, extent in enumerate(share.shape) if extent > 1] or [0]
    (type,) = nest.accumulator_types
    tensor = share.reshape([share.shape[axis] for axis in axes])
    dims = tuple(AffineDimExpr(axis) for axis in axes)
    map = AffineMap(len(nest.bounds), 0, dims)
    return _constant_before(nest, tensor, type), map, start is not None


def _add_start(regions: Sequence[Region], inputs: int, *, is_all: bool) -> int:
    """Adds a new input to what sums start from, or starts them from it alone; its
    number, that of an input which nobody reads any more, or of a new one."""
    init = regions[0].block
    terminator = init.last_op
    assert terminator is not None
    before = terminator.operands[0]
    index = inputs
    if is_all and isinstance(before, BlockArgument):
        arguments = [region.block.args[before.index] for region in regions]
        if sum(len(tuple(argument.uses)) for argument in arguments) == 1:
            return before.index
    for region in regions:
        region.block.insert_arg(before.type, index)
    start: SSAValue = init.args[index]
    if not is_all:
        total = arith.AddiOp(before, start)
        total.location = terminator.location
        Rewriter.insert_op(total, InsertPoint.before(terminator))
        start = total.result
    terminator.operands[0] = start
    return index
