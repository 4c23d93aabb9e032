"""Between real numbers and quantized ones."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import Float32Type

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType

from ..context import STORED_TYPES, NodeContext
from ..entry import Entry
from ..graph import DEQUANTIZE, MICROSOFT, QUANTIZE

LARGEST_EXACT_SCALE = 1e36
"""Up to it, no code times the scale is infinite: quantizing gives the code again."""


def import_quantize(node: NodeContext) -> None:
    """Of float32, or of what was dequantized: then the change of scale, if any."""
    value = node.real(0)
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
    """The integers, which are dequantized where something needs that.

    Constants that one scale doesn't describe are left to what takes them.
    """
    if node.is_constant(0) and not _is_plain(node):
        return
    value = node.stored(0, 1, 2)
    assert isinstance(value.element, QuantizedType)
    node.define(replace(value, is_real=True))


def _is_plain(node: NodeContext) -> bool:
    step = node.graph.step(node.node)
    return step is not None and step.type in STORED_TYPES


IMPORTERS = {
    (domain, kind): Entry(build, (2, 3))
    for domain in ("", MICROSOFT)
    for kind, build in (
        (QUANTIZE, import_quantize),
        (DEQUANTIZE, import_dequantize),
    )
}
