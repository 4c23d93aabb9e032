"""Windows as rows, for sums that have one loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.emit.ordered_sums import Factors, read_operand
from qlower.emit.tensors import constant_of, reshape
from qlower.model.nests import Emitter, Nest
from qlower.operators.products import IMAGES, Operand, Products

ROWS, TERMS, LANES = "p", "s", "lane"
"""The loops of windows seen as rows: over places of all images, and over a sum; and
over results that lie in one panel of the weights."""


def as_rows(emit: Emitter, factors: Factors) -> Factors:
    """Products with one loop over each sum: the elements that a window sees at each
    place of the result become a row.

    Rows are [places, groups, K], but [places, K, groups] where a group has one result;
    weights are [K, groups, results], but [groups, results, K] where an image has one
    place. Without groups the dimension is left out. Constant weights of a sum that has
    one loop already become [K, results], too.
    """
    products = factors.products
    if len(products.depth) == 1:
        return _in_panels(emit, factors)
    *places, share = products.result
    group = [loop for loop in places if loop not in (IMAGES, "h", "w")]
    sizes = {
        ROWS: math.prod(products.result[loop] for loop in places if loop not in group),
        TERMS: products.count,
        **{loop: products.result[loop] for loop in (*group, share)},
    }
    is_deep = sizes[share] > 1
    row = [ROWS, *group, TERMS] if is_deep else [ROWS, TERMS, *group]
    weight = [TERMS, *group, share]
    if products.places == 1 and is_deep:
        weight = [*group, share, TERMS]

    def operand(loops: Sequence[str]) -> Operand:
        return Operand(
            tuple(sizes[loop] for loop in loops), tuple({loop: 1} for loop in loops)
        )

    split = {ROWS: [loop for loop in places if loop not in group]}
    split[TERMS] = [*products.depth]

    def gathered(side: Operand, value: SSAValue, loops: Sequence[str]) -> SSAValue:
        each = [loop for name in loops for loop in split.get(name, [name])]
        elements = _gathered(emit, products, side, value, each)
        return reshape(emit, elements, operand(loops).shape)

    lhs = gathered(products.lhs, factors.lhs, row)
    rhs = gathered(products.rhs, factors.rhs, weight)
    rows = replace(
        products,
        result={loop: sizes[loop] for loop in (ROWS, *group, share)},
        depth={TERMS: products.count},
        lhs=operand(row),
        rhs=operand(weight),
    )
    return Factors(rows, lhs, rhs)


PANEL = 16
"""Neighbouring results of a row whose weights lie together, sum after sum."""


def _in_panels(emit: Emitter, factors: Factors) -> Factors:
    """Products whose constant weights [results, K] lie with those of neighbouring
    results side by side: as [K, results], and of a single row, which reads each weight
    once, as [results / 16, K, 16]."""
    products, array = factors.products, constant_of(factors.rhs)
    (depth,), share = products.depth, [*products.result][-1]
    if array is None or products.rhs.indices != ({share: 1}, {depth: 1}):
        return factors
    count, terms = products.rhs.shape
    weights = array.reshape(count, terms).T
    result, indices = products.result, [{depth: 1}, {share: 1}]
    if products.places == 1 and count % PANEL == 0:
        weights = weights.reshape(terms, count // PANEL, PANEL).swapaxes(0, 1)
        result = {**result, share: count // PANEL, LANES: PANEL}
        indices = [{share: 1}, {depth: 1}, {LANES: 1}]
    rhs = Operand(weights.shape, tuple(indices))
    columns = replace(products, result=result, rhs=rhs)
    return Factors(columns, factors.lhs, emit.constant(weights, f32))


def _gathered(
    emit: Emitter,
    products: Products,
    operand: Operand,
    value: SSAValue,
    loops: Sequence[str],
) -> SSAValue:
    """The elements of an operand along these loops."""
    sizes = {**products.result, **products.depth}
    bounds = [sizes[loop] for loop in loops]
    steps = operand.steps
    strides = [steps[loop] for loop in loops]
    varying = [at for at, size in enumerate(bounds) if size > 1]
    whole = np.cumprod([1, *bounds[:0:-1]])[::-1].tolist()
    is_whole = math.prod(bounds) == math.prod(operand.shape)
    if is_whole and all(strides[at] == whole[at] for at in varying):
        return reshape(emit, value, bounds)
    array = constant_of(value)
    if array is not None:
        places = sum(
            np.arange(size).reshape([-1, *[1] * (len(bounds) - at - 1)]) * stride
            for at, (size, stride) in enumerate(zip(bounds, strides, strict=True))
        )
        return emit.constant(array.reshape(-1)[places], f32)
    nest = Nest(emit, bounds)
    x = read_operand(
        nest, operand, value, {n: AffineDimExpr(at) for at, n in enumerate(loops)}
    )
    return nest.build_one(x)
