"""QONNX's operators on real numbers, as the package `qonnx` runs them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.model.nests import Nest

from ...entry import takes
from ...scalars import Scalars, text
from ..context import NodeContext
from ..quantizers import DOMAINS, EXPECTED, KINDS, LIBRARY, quantizer_of
from ..values import Value
from .real import body_of, elementwise, function, number, real_operand

CHANNELS = {2: 1, 3: 2, 4: 1}
"""The dimension of channels by the rank, where no layout is given."""


def import_int_quant(node: NodeContext) -> None:
    found = quantizer_of(node.graph, node.node)
    if found is None:
        raise node.error(EXPECTED)

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        x, *steps = elements
        ends = [number(nest, end) for end in (found.low, found.high)]
        code = call_function(nest, LIBRARY, found.mode, x, *steps, *ends)
        return call_function(nest, LIBRARY, "real_of", code, *steps)

    node.define(elementwise(node, [real_operand(node, at) for at in range(3)], body))


def import_multi_threshold(node: NodeContext) -> None:
    """`F(F(out_scale n) + out_bias)` of the number n of thresholds that an element
    reaches, of its channel's or of all."""
    value = real_operand(node, 0)
    channel = _channel(node, len(value.shape))
    thresholds = node.array(1, "thresholds")
    if thresholds.dtype != np.float32 or thresholds.ndim != 2:
        raise node.error(
            f"thresholds of {thresholds.dtype} {list(thresholds.shape)} are not"
            " supported; expected float32 [channels, steps]"
        )
    rows, count = thresholds.shape
    if rows not in (1, value.shape[channel]):
        raise node.error(
            f"thresholds of {rows} channels, expected 1 or {value.shape[channel]}"
        )
    emit = node.builder.emitter(node.place(), "reached")
    shape = shape_of(value.ssa)
    nest = Nest(emit, (*shape, count), reductions=1)
    x = nest.input(value.ssa, range(len(shape)))
    loops = [value.order.index(channel), len(shape)]
    table = emit.constant(thresholds[0] if rows == 1 else thresholds, f32)
    threshold = nest.input(table, loops[rows == 1 :])
    reached = call_function(nest, LIBRARY, "reaches", x, threshold)
    start = emit.filled(shape, i32, 0)
    (sums,) = nest.reduce(
        [start], lambda before: [Scalars(nest).add(before[0], reached)]
    )
    given = [node.number(name, default) for name, default in OUTPUT.items()]
    body = body_of(text(LIBRARY, "multi_threshold"), *given)
    node.define(elementwise(node, [Value(sums, value.order)], body))


OUTPUT = {"out_scale": 1.0, "out_bias": 0.0}


def _channel(node: NodeContext, rank: int) -> int:
    """The dimension that a layout calls C, which is the second one by default."""
    layout = node.text("data_layout", "")
    place = layout.index("C") if "C" in layout else 1
    if not layout:
        place = CHANNELS.get(rank, 1)
    if not 1 < rank > place:
        raise node.error(
            f"layout {layout!r} has no channels in {rank} dimensions; expected 2 or"
            " more"
        )
    return place


IMPORTERS = {
    (domain, kind): entry
    for domain in DOMAINS
    for kind, entry in {
        **dict.fromkeys(
            KINDS, takes("x, scale, zero_point, bit_width", import_int_quant)
        ),
        "BipolarQuant": function("x, scale", text(LIBRARY, "bipolar_quant")),
        "MultiThreshold": takes("x, thresholds", import_multi_threshold),
    }.items()
}
