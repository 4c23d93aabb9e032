"""Meaning of the `tensor` ops with static shapes: data movement and lookups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import tensor
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl
from xdsl.ir import Operation

from .engine import implement, implement_table, register_implementations, yielding
from .values import (
    Array,
    PartialTensor,
    Poison,
    Tensor,
    dtype_of,
    rearrange,
    require,
    static_shape,
)


def run_reshape(_entry: None, op: Operation, args: PythonValues) -> PythonValues:
    """A tensor of the result's shape with the elements in the same row-major order."""
    (source,), shape = args, static_shape(*op.result_types)
    return (rearrange(source, lambda elements: elements.reshape(shape)),)


def gather(table: Tensor, indices: Sequence[Array]) -> Array:
    """table[i, j, ...] for lanes of indices. Poison: an index outside the table."""
    if isinstance(table, PartialTensor):
        table.refuse()
    for axis, index in enumerate(indices):
        extent = table.shape[axis]
        inside = np.logical_and(np.greater_equal(index, 0), np.less(index, extent))
        require(inside, f"reads at {{}} in axis {axis}, outside [0, {extent})", index)
    return table[tuple(indices)]


def box_of(
    shape: Sequence[int],
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> tuple[slice, ...]:
    """The slices of a strided box of a tensor. Poison: a box that leaves the tensor."""
    box: list[slice] = []
    for axis, (extent, offset, size, stride) in enumerate(
        zip(shape, offsets, sizes, strides, strict=True)
    ):
        last = offset + (size - 1) * stride
        if offset < 0 or stride < 1 or size < 0 or (size > 0 and last >= extent):
            raise Poison(
                f"takes {size} elements from {offset} by {stride} in axis {axis}, "
                f"which has {extent}"
            )
        box.append(slice(offset, offset + size * stride, stride))
    return tuple(box)


def insert(source: Tensor, dest: Tensor, box: tuple[slice, ...]) -> Tensor:
    """A copy of `dest` with `source`, of the box's shape, in the box."""
    if isinstance(source, PartialTensor):
        raise Poison("copies a tensor that was never written")
    if isinstance(dest, PartialTensor):
        written = dest.written.copy()
        written[box] = True
        dest, is_partial = dest.data, not written.all()
    else:
        written, is_partial = None, False
    result = np.array(dest)
    result[box] = source.reshape(result[box].shape)
    if written is not None and is_partial:
        return PartialTensor(result, written)
    return result


@register_implementations
@implement_table(
    {tensor.ExpandShapeOp: None, tensor.CollapseShapeOp: None}, run_reshape
)
class TensorFunctions(InterpreterFunctions):
    """Implementations of the other `tensor` ops."""

    @implement(tensor.EmptyOp)
    def run_empty(self, op: tensor.EmptyOp, args: PythonValues) -> PythonValues:
        return (PartialTensor.empty(op.tensor.type),)

    @implement(tensor.ExtractOp)
    def run_extract(self, op: tensor.ExtractOp, args: PythonValues) -> PythonValues:
        table, *indices = args
        return (gather(table, indices),)

    @implement(tensor.ExtractSliceOp)
    def run_extract_slice(
        self, op: tensor.ExtractSliceOp, args: PythonValues
    ) -> PythonValues:
        (source,), shape = args, static_shape(op.result.type)
        box = static_box(op, static_shape(op.source.type))
        return (rearrange(source, lambda elements: elements[box].reshape(shape)),)

    @implement(tensor.InsertSliceOp)
    def run_insert_slice(
        self, op: tensor.InsertSliceOp, args: PythonValues
    ) -> PythonValues:
        box = static_box(op, static_shape(op.dest.type))
        source, destination = args
        return (insert(source, destination, box),)

    @impl(tensor.PadOp)
    def run_pad(
        self, interpreter: Interpreter, op: tensor.PadOp, args: PythonValues
    ) -> PythonValues:
        """The source, surrounded by what the region computes from a place's indices."""
        if op.low or op.high:
            raise Poison("has dynamic padding")
        shape = static_shape(op.result.type)
        places = np.meshgrid(*map(np.arange, shape), indexing="ij", sparse=True)
        (filler,) = interpreter.run_ssacfg_region(op.region, tuple(places))
        result = np.broadcast_to(np.asarray(filler, dtype_of(op.result.type)), shape)
        low = op.static_low.get_values()
        box = box_of(shape, low, static_shape(op.source.type), [1] * len(shape))
        (source,) = args
        return (insert(source, result, box),)

    run_yield = yielding(tensor.YieldOp)


def static_box(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp, shape: Sequence[int]
) -> tuple[slice, ...]:
    """The box of a slice op, which must be given by constants."""
    if op.offsets or op.sizes or op.strides:
        raise Poison("has dynamic offsets, sizes or strides")
    return box_of(
        shape,
        op.static_offsets.get_values(),
        op.static_sizes.get_values(),
        op.static_strides.get_values(),
    )
