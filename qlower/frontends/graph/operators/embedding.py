"""Embeddings of words, places and segments, and their normalization in one operator."""

from __future__ import annotations

from functools import partial

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from qlower.model.nests import extract

from ...entry import takes
from ...scalars import Scalars, folded, in_turn, nearest
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..real_constants import Reals, real_constant, scaled
from ..values import Value, real_value
from .normalization import FUSED_EPSILON, normalized

WORDS, PLACES, SEGMENTS, SCALE, OFFSET, MASK = range(2, 8)
"""Operands."""


def import_embedding(node: NodeContext, *, is_quantized: bool) -> None:
    """Import the normalized sums of rows of two or three tables, in turn
    (contrib_ops/cpu/bert/embed_layer_norm.cc), and how much of a mask is set."""
    read = _dequantized if is_quantized else real_constant
    words, places = read(node, WORDS), read(node, PLACES)
    width = words.shape[-1]
    ids = _ids(node, 0)
    batch, length = ids.shape
    nest = node.nest((batch, length, width), "sum")

    def row(table: Reals, given: Value) -> SSAValue:
        rows = node.builder.constant(table, f32, node.place())
        index = nearest(nest, nest.input(given.ssa, (0, 1)), len(table))
        return extract(nest, rows, [index, 2])

    terms = [row(words, ids)]
    if not is_quantized and node.has(MASK + 1):
        terms.append(row(places, _ids(node, MASK + 1)))
    elif len(places) < length:
        raise node.error(f"{len(places)} places for {length} words")
    else:
        constant = node.builder.constant(places[:length], f32, node.place())
        terms.append(nest.input(constant, (1, 2)))
    if node.has(1):
        terms.append(row(read(node, SEGMENTS), _ids(node, 1)))
    total = real_value(nest.build([in_turn(Scalars.add)(Scalars(nest), *terms)])[0])
    parameters = [
        node.builder.constant(read(node, at), f32, node.place(node.name(at)))
        for at in (SCALE, OFFSET)
    ]
    normalized(
        node, total, 2, "plain_layer_norm", parameters, total.shape, FUSED_EPSILON
    )
    if node.has_result(1):
        _count_mask(node, batch)
    if node.has_result(2):
        node.define(total, 2)


def _ids(node: NodeContext, number: int) -> Value:
    """Indices [batch, length] of INT32 that are known at run time only."""
    value = node.value(number)
    if value.element != i32 or len(value.shape) != 2:
        raise node.error(
            f"{node.name(number)!r} of shape {list(value.shape)} is not supported;"
            " expected INT32 and 2 dimensions"
        )
    return node.in_order(value)


def _dequantized(node: NodeContext, number: int) -> Reals:
    """A table `F(F(q - z) s)`, whose scale and zero point are later operands."""
    scale, point = (node.array(number + at, "parameter") for at in (6, 11))
    stored = node.array(number, "table")
    if scale.size != 1 or point.size != 1 or stored.dtype.kind not in "iu":
        raise node.error(
            f"{node.name(number)!r} has {scale.size} scales and {point.size} zero"
            f" points of {stored.dtype}; expected one each, of integers"
        )
    scale = scale.astype(np.float32)
    return scaled(stored, point.reshape(()), scale.reshape(()))


def _count_mask(node: NodeContext, batch: int) -> None:
    """Define the number of ones in each row of a mask; 0 without a mask."""
    place = node.place(node.result(1))
    if not node.has(MASK):
        zeros = node.builder.constant(np.zeros(batch, np.int32), i32, place)
        node.define(Value(zeros, (0,)), 1)
        return
    mask = _ids(node, MASK)

    def is_set(steps: Scalars, x: SSAValue) -> SSAValue:
        return steps.cast(steps.compare("eq", x, steps.constant(1, i32)), i32)

    emit = node.builder.emitter(place)
    found = folded(emit, mask.ssa, [1], Scalars.add, 0, is_set)
    node.define(Value(found, (0,)), 1)


EMBEDDINGS = (
    "ids[2], segment_ids?, words[2], places[2], segments?, scale[1], offset[1], mask?"
)

IMPORTERS = {
    (MICROSOFT, "EmbedLayerNormalization"): takes(
        f"{EMBEDDINGS}, place_ids?",
        partial(import_embedding, is_quantized=False),
        (1, 3),
    ),
    (MICROSOFT, "QEmbedLayerNormalization"): takes(
        f"{EMBEDDINGS}, words_scale, places_scale, segments_scale?, scale_scale,"
        " offset_scale, words_zero_point, places_zero_point, segments_zero_point?,"
        " scale_zero_point, offset_zero_point",
        partial(import_embedding, is_quantized=True),
        (1, 2),
    ),
}
