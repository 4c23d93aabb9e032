"""Concatenation and padding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.operators.movement import border

from ...entry import quantized, takes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..values import Element, Value
from .elementwise import common_order
from .rearranging import padded, pick

MAX_PADDING = 1 << 16

PAD_MODES = ["constant", "edge", "reflect", "wrap"]


def import_qlinear_concat(node: NodeContext) -> None:
    """Result's scale and zero point first, then three operands for each part."""
    count = len(node.node.inputs) - 2
    if count % 3:
        raise node.error(f"{count} operands after the first two are not triples")
    values = [node.stored(at, at + 1, at + 2) for at in range(2, count + 2, 3)]
    value = _concat(node, values, node.quantization(0, 1))
    node.define(value)


def import_concat(node: NodeContext) -> None:
    """Join values that mean the same, or dequantized ones that are quantized again."""
    values = [node.value(at) for at in range(len(node.node.inputs))]
    elements: set[Element] = {value.element for value in values}
    is_real = all(value.is_real for value in values)
    if is_real and f32 in elements and len(elements) > 1:
        values = [
            node.builder.dequantized(value, node.place(name))
            for value, name in zip(values, node.node.inputs, strict=True)
        ]
        elements = {f32}
    (first, *others) = elements
    if not others:
        value = _concat(node, values, first)
        node.define(replace(value, is_real=is_real))
        return
    quantizer = node.quantizer()
    if quantizer is None or not is_real:
        raise node.error("operands of different scales whose result is not quantized")
    value = _concat(quantizer, values, quantizer.quantization(1, 2), node)
    quantizer.define(value)
    node.importer.skip(quantizer.node)


def _concat(
    node: NodeContext,
    values: list[Value],
    element: Element,
    described: NodeContext | None = None,
) -> Value:
    """The parts one after the other, with `described`'s attributes."""
    source = described or node
    rank = len(values[0].shape)
    axis = source.axis(source.integer("axis", None), rank)
    order = common_order(values, rank)
    parts: list[SSAValue] = []
    total = 0
    for value in values:
        shape = value.shape
        fits = len(shape) == rank and all(
            d == axis or size == values[0].shape[d] for d, size in enumerate(shape)
        )
        if not fits:
            raise source.error(
                f"shapes {list(values[0].shape)} and {list(shape)} can't be joined"
                f" along axis {axis}"
            )
        total += shape[axis]
        parts.append(node.in_order(value, order).ssa)
    shape = [total if d == axis else n for d, n in enumerate(values[0].shape)]
    type = node.typed(element, shape, order)
    operation = qnn.ConcatOp(parts, type, axis=order.index(axis))
    return Value(node.emit(operation), order)


def import_pad(node: NodeContext) -> None:
    """Import a Pad: of stored integers with one of them, of dequantized ones with the
    real number 0, for which the zero point stands; of other values with any number, or
    with copies of elements."""
    value = node.value(0)
    rank = len(value.shape)
    axes = node.axes(3, rank) or list(range(rank))
    given = (
        node.integers(1, "pads", 2 * len(axes))
        if node.has(1)
        else node.integer_list("pads", [0] * (2 * rank))
    )
    low, high = [0] * rank, [0] * rank
    for at, axis in enumerate(axes):
        low[axis] = node.check_range("padding", given[at], 0, MAX_PADDING)
        after = given[at + len(axes)]
        high[axis] = node.check_range("padding", after, 0, MAX_PADDING)
    mode = node.text("mode", "constant", PAD_MODES)
    if mode != "constant":
        for axis in range(rank):
            size = value.shape[axis]
            indices = border(mode, size, low[axis], high[axis])
            value = pick(node, value, axis, indices)
        node.define(value)
        return
    filler = None
    if node.has(2):
        filler = node.array(2, "padding value").reshape(-1)[0]
    is_plain = not isinstance(value.element, QuantizedType)
    if is_plain or (value.is_real and filler is not None and filler != 0):
        node.define(padded(node, low, high, 0.0 if filler is None else float(filler)))
        return
    stored = None
    if not value.is_real:
        stored = 0 if filler is None else int(np.asarray(filler).item())
    shape = [a + n + b for a, n, b in zip(low, value.shape, high, strict=True)]
    operation = qnn.PadOp(
        value.ssa,
        node.typed(value.element, shape, value.order),
        low=[low[d] for d in value.order],
        high=[high[d] for d in value.order],
        value=stored,
    )
    node.define(replace(value, ssa=node.emit(operation)))


IMPORTERS = {
    (MICROSOFT, "QLinearConcat"): takes(
        f"scale, zero_point, {quantized('x')}, more*", import_qlinear_concat
    ),
    ("", "Concat"): takes("x, more*", import_concat),
    ("", "Pad"): takes("x: STORED | FLOAT, pads?, value?, axes?", import_pad),
}
