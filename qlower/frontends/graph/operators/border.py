"""Conversions between real numbers and quantized ones."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import Float32Type, f32

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType

from ...entry import takes
from ..context import OTHER_STORED_TYPES, NodeContext
from ..narrow import NARROW
from ..nodes import DEQUANTIZE, FLOAT, MICROSOFT, QUANTIZE
from ..operands import STORED_TYPES
from .open_quantization import dequantize_open, is_open, quantize_open
from .real import real_operand

LARGEST_EXACT_SCALE = 1e36
"""Up to it, no code times the scale is infinite: quantizing gives the code again."""


def import_quantize(node: NodeContext) -> None:
    """Quantize float32; change the scale of a dequantized value, if it differs."""
    node.expect("precision", 0, _number_of(node))
    if node.narrow_type(0) != node.narrow_type(1):
        raise node.error(
            f"{_type_of(node, 0)} divided by a scale of {_type_of(node, 1)} is not"
            " supported; expected one type"
        )
    if is_open(node, 1, 2):
        quantize_open(node)
        return
    value = node.real(0)
    if not _has_one_step(node):
        real = real_operand(node, 0)
        whole = node.in_order(real)
        type = node.typed(_stored_type(node, whole.shape), whole.shape, whole.order)
        node.finish(qnn.QuantizeOp(whole.ssa, type), whole)
        return
    result = node.quantization(1, 2)
    if isinstance(value.element, Float32Type):
        operation = qnn.QuantizeOp
    elif value.element == result and result.scale < LARGEST_EXACT_SCALE:
        node.define(replace(value, is_real=False))
        return
    else:
        operation = qnn.RequantizeOp
    type = node.typed(result, value.shape, value.order)
    node.finish(operation(value.ssa, type), value)


def import_dequantize(node: NodeContext) -> None:
    """Import the integers. They are dequantized where something needs that, or
    immediately if there is more than one scale or another width.

    Constants that one scale doesn't describe are left to the operators that take them.
    """
    node.expect("output_dtype", 0, _number_of(node))
    if is_open(node, 1, 2):
        dequantize_open(node)
        return
    if node.is_constant(0):
        if _is_plain(node):
            node.define(replace(node.stored(0, 1, 2), is_real=True))
        return
    if _has_one_step(node):
        node.define(replace(node.stored(0, 1, 2), is_real=True))
        return
    value = node.value(0)
    value = node.in_order(value)
    element = _stored_type(node, value.shape)
    given = value.element
    if not isinstance(given, QuantizedType) or (
        given.storage_width,
        given.signed,
    ) != (element.storage_width, element.signed):
        raise node.error(
            f"operand {node.name(0)!r} is stored as {given}, not {element}"
        )
    stored = node.builder.as_stored(value, element, node.place())
    type = node.typed(f32, value.shape, value.order)
    node.define(
        replace(value, ssa=node.emit(qnn.DequantizeOp(stored.ssa, type)), is_real=True)
    )


def _type_of(node: NodeContext, number: int) -> str:
    """The type of an operand of real numbers."""
    return node.narrow_type(number) or "FLOAT"


def _number_of(node: NodeContext) -> int:
    """ONNX's number of the scales' type."""
    narrow = node.narrow_type(1)
    return NARROW[narrow].number if narrow else FLOAT


def _has_one_step(node: NodeContext) -> bool:
    """Whether values of 8 bits have one scale."""
    type = node.graph.stored_type(node.node)
    return type not in OTHER_STORED_TYPES and node.array(1, "scale").size == 1


def _stored_type(node: NodeContext, shape: tuple[int, ...]) -> QuantizedType:
    """The quantization of the stored tensor of this shape: as a whole, by axis, or by
    blocks."""
    type = node.graph.stored_type(node.node)
    if type in STORED_TYPES:
        held = QuantizedType.per_tensor(8, STORED_TYPES[type], 1.0)
    elif type in OTHER_STORED_TYPES:
        held = OTHER_STORED_TYPES[type]
    else:
        legal = ", ".join((*STORED_TYPES, *OTHER_STORED_TYPES))
        raise node.error(
            f"quantized values of type {type} are not supported; expected {legal}"
        )
    scales, points = node.steps(1, 2)
    counts = node.shape(1)
    storage = (held.storage_width, held.signed)
    bounds = (held.storage_min, held.storage_max)
    if len(scales) == 1:
        return QuantizedType.per_tensor(*storage, scales[0], points[0], *bounds)
    node.importer.charge(len(scales))
    axis = node.axis(node.integer("axis", 1), len(shape))
    size = node.integer("block_size", 0, 0) or 1
    blocks = [
        (d, size if d == axis else 1) for d in range(len(shape)) if len(counts) > 1
    ]
    expected = tuple(-(-shape[d] // n) for d, n in blocks) or (shape[axis],)
    if counts != expected:
        raise node.error(
            f"scales of shape {list(counts)} for {list(shape)}; expected"
            f" {list(expected)}"
        )
    if not blocks:
        return QuantizedType.per_axis(*storage, axis, scales, points, *bounds)
    return QuantizedType.by_blocks(*storage, blocks, counts, scales, points, *bounds)


def _is_plain(node: NodeContext) -> bool:
    step = node.graph.step(node.node)
    return step is not None and step.type in STORED_TYPES


IMPORTERS = {
    (domain, kind): takes("x, scale, zero_point?", build)
    for domain in ("", MICROSOFT)
    for kind, build in (
        (QUANTIZE, import_quantize),
        (DEQUANTIZE, import_dequantize),
    )
}
