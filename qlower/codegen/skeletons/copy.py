"""Data movement: a strided box from one buffer to another, as runs of bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import FloatAttr, IntegerAttr

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant
from qlower.codegen.values.elements import (
    load_scalars,
    scalar_type,
    storage_bytes,
    store_scalars,
)
from qlower.dialects.kernel import CopyOp
from qlower.dialects.types import tensor_type


@dataclass(frozen=True)
class _Axis:
    """The box along one axis of the result; distances in bytes.

    `before` and `after` bytes of the result lie outside the box, `step` and
    `source_step` lead from one of the `size` elements of the box to the next.
    """

    size: int
    step: int
    source_step: int
    before: int
    after: int


@dataclass(frozen=True)
class _Fill:
    scalar: str
    value: float

    def bytes_of(self) -> bytes:
        if self.scalar in ("float", "double"):
            return struct.pack("<f" if self.scalar == "float" else "<d", self.value)
        number = constant(Type(self.scalar), self.value).constant
        assert number is not None
        return number.to_bytes(storage_bytes(self.scalar), "little", signed=True)


def cut_axis(op: CopyOp) -> int | None:
    """Elements of the axis along which blocks of the copy can be run, if there is one.

    A border that isn't written with the box, but before it, can't be cut.
    """
    axes, _, _ = _axes(op, 1)
    if not axes or _is_filled_first(op):
        return None
    return axes[0].size


def emit_copy(
    f: Function,
    op: CopyOp,
    source: Value,
    result: Value,
    block: range | None = None,
) -> None:
    """Emit the box of `op`, and its fill value around it.

    Only elements `block` of the axis of `cut_axis` are written, with the border next to
    them. A box that is written already stays.
    """
    scalar = scalar_type(tensor_type(op.result).element_type)
    element = storage_bytes(scalar)
    axes, first, source_first = _axes(op, element)
    fill = None if op.fill is None else _Fill(scalar, _number(op.fill))
    if fill is not None and _is_filled_first(op):
        _emit_fill(f, fill, result, prod(tensor_type(op.result).get_shape()) * element)
        fill = None
    if fill is None:
        result = f.at(result, constant(I64, first))
    if block is not None:
        axis = axes[0]
        source_first += block.start * axis.source_step
        skipped = block.start * axis.step
        if fill is not None and block.start > 0:
            skipped += axis.before
        result = f.at(result, constant(I64, skipped))
        axes[0] = replace(
            axis,
            size=len(block),
            before=axis.before if block.start == 0 else 0,
            after=axis.after if block.stop == axis.size else 0,
        )
    if op.box_is_written:
        _emit_axes(f, axes, scalar, fill, None, result)
    else:
        source = f.at(source, constant(I64, source_first))
        _emit_axes(f, axes, scalar, fill, source, result)


def _is_filled_first(op: CopyOp) -> bool:
    """Whether the fill value lies between elements of the box as well."""
    return op.fill is not None and any(s != 1 for s in op.strides.get_values())


def _axes(op: CopyOp, element: int) -> tuple[list[_Axis], int, int]:
    """The box's axes, runs merged, and the first byte in result and source."""
    axes: list[_Axis] = []
    first = source_first = 0
    step = source_step = element
    for (
        extent,
        source_extent,
        size,
        offset,
        stride,
        source_offset,
        source_stride,
    ) in zip(
        *(
            reversed(tuple(values))
            for values in (
                tensor_type(op.result).get_shape(),
                tensor_type(op.source).get_shape(),
                op.sizes.get_values(),
                op.offsets.get_values(),
                op.strides.get_values(),
                op.source_offsets.get_values(),
                op.source_strides.get_values(),
            )
        ),
        strict=True,
    ):
        axis = _Axis(
            size,
            step * stride,
            source_step * source_stride,
            step * offset,
            step * (extent - offset - (size - 1) * stride - 1),
        )
        first += axis.before
        source_first += source_step * source_offset
        inner = axes[-1] if axes else None
        if size == 1 and axis.before == axis.after == 0:
            pass
        elif (
            inner is not None
            and inner.before == inner.after == 0
            and axis.step == inner.step * inner.size
            and axis.source_step == inner.source_step * inner.size
        ):
            axes[-1] = _Axis(
                size * inner.size,
                inner.step,
                inner.source_step,
                axis.before,
                axis.after,
            )
        else:
            axes.append(axis)
        step *= extent
        source_step *= source_extent
    return axes[::-1], first, source_first


def _emit_axes(
    f: Function,
    axes: list[_Axis],
    scalar: str,
    fill: _Fill | None,
    source: Value | None,
    result: Value,
) -> None:
    """Copy the box; with a fill value, `result` is where the border before it is."""
    element = storage_bytes(scalar)
    if source is None and not any(axis.before or axis.after for axis in axes):
        return
    if not axes:
        if source is not None:
            store_scalars(f, load_scalars(f, source, scalar, 1), result)
        return
    axis, *inner = axes
    box = result
    if fill is not None:
        _emit_fill(f, fill, result, axis.before)
        box = f.at(result, constant(I64, axis.before))
    if not inner and axis.step == axis.source_step == element:
        if source is not None:
            f.copy_bytes(box, source, axis.size * element)
    elif source is not None or any(axis.before or axis.after for axis in inner):

        def step(index: Value, carried: list[Value]) -> list[Value]:
            _emit_axes(
                f,
                inner,
                scalar,
                fill,
                source and f.at(source, f.scale(index, axis.source_step)),
                f.at(box, f.scale(index, axis.step)),
            )
            return carried

        f.loop(axis.size, [], step)
    if fill is not None:
        end = f.at(box, constant(I64, axis.size * axis.step))
        _emit_fill(f, fill, end, axis.after)


def _emit_fill(f: Function, fill: _Fill, target: Value, size: int) -> None:
    if size == 0:
        return
    pattern = fill.bytes_of()
    if len(set(pattern)) == 1:
        f.fill_bytes(target, pattern[0], size)
        return
    value = constant(Type(fill.scalar), fill.value)

    def step(index: Value, carried: list[Value]) -> list[Value]:
        store_scalars(f, value, f.at(target, f.scale(index, len(pattern))))
        return carried

    f.loop(size // len(pattern), [], step)


def _number(attribute: IntegerAttr | FloatAttr) -> float:
    return attribute.value.data
