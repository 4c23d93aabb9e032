"""Larger tensors from smaller ones: CONCATENATION, PACK, PAD, PADV2 and resizing."""

from __future__ import annotations

from functools import partial

from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.emit.movement import padded
from qlower.operators.movement import Pad

from ...entry import takes
from ..context import OperatorContext
from ..nests import emitter, finish
from ..types import MAX_ELEMENTS, MAX_RANK
from .plain import is_plain
from .real_images import import_plain_resize_nearest, import_real_resize_bilinear

MAX_PADDING = 1 << 16


def import_concatenation(op: OperatorContext) -> None:
    operands = range(len(op.operator.inputs))
    numbers = [n for n in operands if 0 not in op.input(n).shape] or list(operands)
    first = op.shape(numbers[0])
    axis = op.axis(op.option("axis", -MAX_RANK, MAX_RANK), len(first))
    operand = op.moved if op.output().type == "INT16" else op.value
    values = [operand(number) for number in numbers]
    for number in numbers:
        op.check_type(op.input(number), op.output().type)
    if op.output().type == "INT8":
        # Only the UINT8 kernel changes scales on the way; that of INT16 ignores them.
        result = op.per_tensor(op.output())
        for number in numbers:
            quantization = op.per_tensor(op.input(number))
            if quantization != result:
                raise op.error(
                    f"{op.input(number)}: quantization {quantization}, expected"
                    f" {result} as the result"
                )
    total = sum(op.shape(n, rank=len(first))[axis] for n in numbers)
    type = op.result_type((*first[:axis], total, *first[axis + 1 :]))
    op.finish(qnn.ConcatOp(values, type, axis=axis))


def import_pack(op: OperatorContext) -> None:
    """Stacking: a new dimension of size 1 for each operand, then joined."""
    shape = op.shape(0)
    rank = len(shape) + 1
    axis = op.option("axis", -rank, rank - 1) % rank
    values: list[SSAValue] = []
    for number in range(len(op.operator.inputs)):
        value = op.moved(number)
        op.check_shape(number, shape)
        layer = (*shape[:axis], 1, *shape[axis:])
        values.append(op.reshaped(value, layer, f"reshape_{number}"))
    type = op.result_type((*shape[:axis], len(values), *shape[axis:]))
    op.finish(qnn.ConcatOp(values, type, axis=axis))


def import_pad(op: OperatorContext) -> None:
    """PAD pads with the zero point; PADV2 with a stored value of its own."""
    shape = op.shape(0)
    paddings = op.integers(1, "paddings", count=2 * len(shape))
    for padding in paddings:
        op.check_range("padding", padding, 0, MAX_PADDING)
    low, high = paddings[0::2], paddings[1::2]
    movement = Pad(low, high)
    if op.has(2) and is_plain(op):
        op.check_type(op.input(2), op.input(0).type)
        around = emitter(op).constant(op.array(2), op.input_type(2).element_type)
        finish(op, padded(emitter(op), movement, op.value(0), around))
        return
    value = None
    if op.has(2):
        if op.input(2).quantization != op.input(0).quantization:
            raise op.error(
                f"{op.input(2)}: a padding value of another scale or zero point is not"
                f" supported; expected those of {op.input(0)}"
            )
        value = op.stored_integer(2)
    op.finish(
        qnn.PadOp(
            op.moved(0),
            op.result_type(movement.result_shape(shape)),
            low=low,
            high=high,
            value=value,
        )
    )


def _import_resize(mode: str, op: OperatorContext) -> None:
    batch, _, _, channels = op.shape(0)
    height, width = op.integers(1, "size", count=2)
    for size in (height, width):
        op.check_range("size", size, 1, MAX_ELEMENTS)
    align_corners = op.flag("align_corners")
    half_pixel_centers = op.flag("half_pixel_centers")
    if align_corners and half_pixel_centers:
        raise op.error("align_corners and half_pixel_centers exclude each other")
    if mode == "bilinear" and op.is_float(0):
        import_real_resize_bilinear(op, (height, width))
        return
    if mode == "nearest" and is_plain(op):
        import_plain_resize_nearest(op, (height, width))
        return
    op.finish(
        qnn.ResizeOp(
            op.moved(0),
            op.quantized_result_type((batch, height, width, channels)),
            mode=mode,
            align_corners=align_corners,
            half_pixel_centers=half_pixel_centers,
        )
    )


IMPORTERS = {
    "CONCATENATION": takes(
        "x, more*; fused_activation_function: 0", import_concatenation
    ),
    "PACK": takes("x, more*", import_pack),
    "PAD": takes("x, paddings", import_pad),
    "PADV2": takes("x, paddings, value", import_pad),
    "RESIZE_NEAREST_NEIGHBOR": takes("x[4], size", partial(_import_resize, "nearest")),
    "RESIZE_BILINEAR": takes("x[4], size", partial(_import_resize, "bilinear")),
}
