"""Checks of operations by upstream's verifier that xDSL's lacks.

Only static numbers are checked; dynamic ones are refused where they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IndexType,
    TensorType,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from qlower.dialects.types import is_tensor_type


def verify_as_upstream(op: Operation) -> None:
    """Raises VerifyException for a box that leaves its tensor, for types that differ or
    should, and for the index of a loop that isn't there."""
    match op:
        case tensor.PadOp():
            _verify_pad(op)
        case tensor.ExtractSliceOp():
            whole, part = _type(op.source.type), _type(op.result.type)
            _verify_slice(op, whole, part)
        case tensor.InsertSliceOp():
            whole, part = _type(op.dest.type), _type(op.source.type)
            if op.result.type != whole:
                raise VerifyException(
                    f"result type {op.result.type} differs from the destination's "
                    f"{whole}"
                )
            _verify_slice(op, whole, part)
        case tensor.ExtractOp():
            whole = _type(op.tensor.type)
            if len(op.indices) != whole.get_num_dims():
                raise VerifyException(f"{len(op.indices)} indices into {whole}")
            _same_element(whole.element_type, op.result.type)
        case tensor.EmptyOp():
            dynamic = _type(op.tensor.type).get_shape().count(DYNAMIC_INDEX)
            if len(op.dynamic_sizes) != dynamic:
                raise VerifyException(
                    f"{len(op.dynamic_sizes)} sizes for {dynamic} dynamic axes"
                )
        case linalg.IndexOp():
            _verify_index(op)
        case arith.ExtFOp():
            _verify_widths(op.input.type, op.result.type)
        case arith.TruncFOp():
            _verify_widths(op.result.type, op.input.type)
        case _:
            pass


def _verify_widths(narrow: Attribute, wide: Attribute) -> None:
    if (
        isinstance(narrow, AnyFloat)
        and isinstance(wide, AnyFloat)
        and narrow.bitwidth >= wide.bitwidth
    ):
        raise VerifyException(f"{narrow} is not narrower than {wide}")


def _verify_index(op: linalg.IndexOp) -> None:
    generic = op.parent_op()
    assert isinstance(generic, linalg.GenericOp)  # as xDSL verifies
    loops = len(generic.iterator_types)
    if not 0 <= op.dim.value.data < loops:
        raise VerifyException(f"loop {op.dim.value.data} of {loops} loops")


def _type(type: Attribute) -> TensorType[Attribute]:
    if not is_tensor_type(type):
        raise VerifyException(f"{type} is no ranked tensor")
    return type


def _same_element(one: Attribute, other: Attribute) -> None:
    if one != other:
        raise VerifyException(f"element types {one} and {other} differ")


def _verify_pad(op: tensor.PadOp) -> None:
    source, result = _type(op.source.type), _type(op.result.type)
    _same_element(source.element_type, result.element_type)
    low, high = op.static_low.get_values(), op.static_high.get_values()
    rank = source.get_num_dims()
    if not rank == len(low) == len(high) == result.get_num_dims():
        raise VerifyException(
            f"low {list(low)} and high {list(high)} do not fit {source} and {result}"
        )
    for axis, (size, before, after, padded) in enumerate(
        zip(source.get_shape(), low, high, result.get_shape(), strict=True)
    ):
        is_static = DYNAMIC_INDEX not in (size, before, after, padded)
        if is_static and size + before + after != padded:
            raise VerifyException(
                f"axis {axis} of {padded} elements is not {before} + {size} + {after}"
            )
    block = op.region.blocks.first
    if block is None or tuple(block.arg_types) != (IndexType(),) * rank:
        raise VerifyException(f"the region takes one index for each of {rank} axes")
    last = block.last_op
    if not isinstance(last, tensor.YieldOp) or len(last.operands) != 1:
        raise VerifyException("the region must yield one value")
    _same_element(result.element_type, last.operands[0].type)


def _verify_slice(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp,
    whole: TensorType[Attribute],
    part: TensorType[Attribute],
) -> None:
    """A strided box of `whole` has the elements of `part`, unit axes aside."""
    _same_element(whole.element_type, part.element_type)
    offsets, sizes, strides = (
        values.get_values()
        for values in (op.static_offsets, op.static_sizes, op.static_strides)
    )
    shape = whole.get_shape()
    if not len(shape) == len(offsets) == len(sizes) == len(strides):
        raise VerifyException(
            f"offsets {list(offsets)}, sizes {list(sizes)} and strides "
            f"{list(strides)} do not fit the rank of {whole}"
        )
    for axis, (extent, offset, size, stride) in enumerate(
        zip(shape, offsets, sizes, strides, strict=True)
    ):
        if DYNAMIC_INDEX in (extent, offset, size, stride):
            continue
        last = offset + (size - 1) * stride
        if offset < 0 or size < 0 or stride < 1 or (size > 0 and last >= extent):
            raise VerifyException(
                f"offset {offset}, size {size}, stride {stride} leave axis {axis} of "
                f"{extent} elements"
            )
    if not _drops_unit_axes(sizes, part.get_shape()):
        raise VerifyException(
            f"a box of {list(sizes)} elements is not {part}, unit axes aside"
        )


def _drops_unit_axes(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether `shape` is `sizes` without some of its axes of one element."""
    left = list(shape)
    for size in sizes:
        if left and left[0] == size:
            left.pop(0)
        elif size != 1:
            return False
    return not left
