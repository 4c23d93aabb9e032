"""Softmax of real numbers as ONNX Runtime computes it on x86-64 with AVX-512.

onnxruntime/core/mlas/lib/compute.cpp and x86_64/TransKernelAvx512F.S: a polynomial of
what is between powers of 2, sums in sixteen lanes. With AVX2 alone there are eight
lanes, so that rows of more than eight may differ.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from xdsl.dialects.arith import AddfOp
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects.types import shape_of
from qlower.model.nests import Emitter, Nest

from ...entry import takes
from ...scalars import Scalars, folded, mapped, subtract_both, text
from ..context import NodeContext
from ..orders import identity
from ..values import Value
from .real import number, real_operand
from .sums import add_in_turn

LANES = 16


def import_softmax(node: NodeContext, *, is_log: bool = False) -> None:
    """Along one axis since opset 13, before along all dimensions from it on."""
    value = real_operand(node, 0)
    rank = len(value.shape)
    is_old = node.graph.model.opset < 13
    axis = node.axis(node.integer("axis", 1 if is_old else -1), rank)
    order = identity(rank)
    size = math.prod(value.shape[axis:])
    if not is_old:
        order = (*(d for d in order if d != axis), axis)
        size = value.shape[axis]
    value = node.builder.in_order(value, order, node.place())
    stored = Value(value.ssa, identity(rank), True)
    shape = (math.prod(value.shape) // size, size)
    matrix = node.builder.reshape(stored, shape, (0, 1), node.place()).ssa
    result = Value(
        _softmax(node.builder.emitter(node.place(), "rows"), matrix, is_log), (0, 1)
    )
    sizes = value.type.get_shape()
    whole = node.builder.reshape(result, sizes, identity(rank), node.place())
    node.define(Value(whole.ssa, order, True))


def _softmax(emit: Emitter, matrix: SSAValue, is_log: bool) -> SSAValue:
    """`F(e F(1 / sum))` for each row of a matrix, e the exponentials of the distances d
    from the largest; `F(d - F(log(sum)))` of LogSoftmax."""
    lowest = float(np.finfo(np.float32).min)
    largest = folded(emit, matrix, [1], Scalars.maximum, lowest)
    terms = mapped(emit, lambda s, x, m: EXP(s, s.subtract(x, m)), matrix, largest)
    sums = _sum_lanes(emit, terms)
    if is_log:
        logarithms = mapped(emit, text("_glibc", "logf"), sums)
        return mapped(emit, subtract_both, matrix, largest, logarithms)
    return mapped(emit, _share, terms, sums)


EXP = text("_mlas", "exp")


def _share(s: Scalars, term: SSAValue, total: SSAValue) -> SSAValue:
    return s.multiply(term, s.divide(s.constant(1.0, f32), total))


def _sum_lanes(emit: Emitter, terms: SSAValue) -> SSAValue:
    """Sixteen sums, of which those eight apart are added, then neighbours."""
    rows, size = shape_of(terms)
    lanes: SSAValue | None = None
    if size >= LANES:
        nest = Nest(emit, (rows, LANES, size // LANES), reductions=1)
        nest.window((1, 2))
        place = AffineDimExpr(2) * LANES + AffineDimExpr(1)
        element = nest.input(terms, (0, place))
        zeros = emit.filled(nest.output_shape, f32, 0)
        (lanes,) = nest.reduce([zeros], nest.adding(element))
    nest = Nest(emit, (rows,))
    first = size - size % LANES
    sums: list[SSAValue] = []
    for lane in range(LANES):
        parts: list[SSAValue] = []
        if lanes is not None:
            parts.append(nest.input(lanes, (0, AffineConstantExpr(lane))))
        if first + lane < size:
            parts.append(nest.input(terms, (0, AffineConstantExpr(first + lane))))
        sums.append(add_in_turn(nest, parts or [number(nest, 0.0)]))
    half = LANES // 2
    sums = [
        nest.add(AddfOp(sums[lane + half], sums[lane])).result for lane in range(half)
    ]
    while len(sums) > 1:
        sums = [add_in_turn(nest, sums[at : at + 2]) for at in range(0, len(sums), 2)]
    return nest.build(sums)[0]


IMPORTERS = {
    ("", "Softmax"): takes("x", import_softmax),
    ("", "LogSoftmax"): takes("x", partial(import_softmax, is_log=True)),
}
