"""A nest's constants and accumulators, for every channel.

A channel is a combination of the parallel loops on which the nest's constants depend.
Arrays have one axis for each parallel loop, of extent 1 where nothing depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, i8, i32
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Block, Operation, SSAValue

from qlower.dialects.kernel import NestOp, linear_form
from qlower.dialects.types import tensor_type
from qlower.interp import Array
from qlower.interp.values import dtype_of
from qlower.transforms.form_kernels.factors import product_factors
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.steps import Integers

Span: TypeAlias = tuple[Integers, Integers]
"""The least and the greatest number that can occur, of each lane."""

EVERY_BYTE = np.arange(-128, 128, dtype=np.int8)

_WEIGHTS = (i8, IntegerType(4))

_FEW = 1 << 15
"""The bound of the magnitude of factors that are looked at: products fit an i32."""


def constant_elements(value: SSAValue) -> Array | None:
    """The elements of a constant tensor in memory order, None of another."""
    match value.owner:
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as dense):
            elements = np.frombuffer(dense.data.data, dtype_of(value.type))
            count = math.prod(dense.get_shape())
            return np.broadcast_to(elements, count) if len(elements) == 1 else elements
        case ExpandShapeOp(src=source) | CollapseShapeOp(src=source):
            return constant_elements(source)
        case _:
            return None


def constant_lanes(nest: NestOp, index: int) -> Array | None:
    """A constant input's elements, with an axis for every loop of the nest."""
    elements = constant_elements(nest.inputs[index])
    if elements is None:
        return None
    strides, offset, step = [0] * len(nest.bounds), 0, elements.itemsize
    shape = tensor_type(nest.inputs[index]).get_shape()
    for expression, size in zip(
        reversed(nest.input_maps[index].results), reversed(shape), strict=True
    ):
        factors, first = linear_form(expression, len(nest.bounds))
        strides = [s + step * f for s, f in zip(strides, factors, strict=True)]
        offset += first * step
        step *= size
    extents = [
        bound if stride else 1
        for bound, stride in zip(nest.bounds, strides, strict=True)
    ]
    dense = np.ascontiguousarray(elements)
    return np.lib.stride_tricks.as_strided(
        dense[offset // dense.itemsize :], extents, strides
    )


def parallel_constants(nest: NestOp) -> dict[int, Array]:
    """The constant inputs that depend on no reduction loop, over the parallel loops."""
    first = len(nest.parallel_bounds)
    found: dict[int, Array] = {}
    for index, map in enumerate(nest.input_maps):
        if any(d >= first for d in map.used_dims()):
            continue
        lanes = constant_lanes(nest, index)
        if lanes is not None:
            found[index] = lanes.reshape(lanes.shape[:first])
    return found


def accumulator_bounds(
    nest: NestOp,
    constants: Mapping[int, Array] | None = None,
    spans: Mapping[int, Span] | None = None,
) -> tuple[Array, Array] | None:
    """The least and the greatest accumulator of each channel, or None if unknown.

    `constants` are the nest's `parallel_constants`, where they are known. `spans` has
    what is known of inputs of bytes, by their number.

    Known for i32 sums of bytes, or of products of a byte with a constant, with a
    constant start, that can't wrap. A byte may have any of its values.
    """
    if nest.accumulator_types != (i32,):
        return None
    if constants is None:
        constants = parallel_constants(nest)
    start = evaluate_constants(nest.init.block, constants)
    spans = spans or {}
    terms = _products(nest, spans) or _bytes(nest, spans)
    if start is None or terms is None:
        return None
    low, high = (start + end for end in terms)
    limit = 1 << 31
    # A sum whose exact ends fit 32 bits has the exact value in the end, whatever order
    # it is made in: wrapping additions are those of integers modulo 2^32.
    if low.min() < -limit or high.max() >= limit:
        return None
    return low, high


def _total(nest: NestOp, terms: Array) -> Integers:
    """The sum of all steps' terms, which have an axis for every loop of the nest."""
    first = len(nest.parallel_bounds)
    extents = terms.shape[first:]
    repeated = math.prod(
        bound
        for bound, extent in zip(nest.bounds[first:], extents, strict=True)
        if extent == 1
    )
    reduced = tuple(range(first, len(nest.bounds)))
    return repeated * terms.sum(axis=reduced, dtype=np.int64)


@dataclass(frozen=True)
class Products:
    """The products that a nest sums: the bytes of the input number `activation`, whose
    factors are `of_byte`, [256] from -128; and the `weights`, with an axis for every
    loop."""

    activation: int
    of_byte: Integers
    weights: Integers


def products_of(nest: NestOp) -> Products | None:
    """The products of a byte with a constant that a nest sums, None of any other.

    No product of the two factors wraps.
    """
    factors = product_factors(nest)
    if factors is None:
        return None
    activation, weight = factors
    body = nest.body.block
    weights = constant_lanes(nest, weight)
    if (
        weights is None
        or body.args[activation].type != i8
        or body.args[weight].type not in _WEIGHTS
    ):
        return None
    x, w = (
        _factor(body, body.args[index], lanes)
        for index, lanes in ((activation, EVERY_BYTE), (weight, weights))
    )
    if any(max(-int(f.min()), int(f.max())) >= _FEW for f in (x, w)):
        return None
    return Products(activation, x, w)


def _products(
    nest: NestOp, spans: Mapping[int, Span]
) -> tuple[Integers, Integers] | None:
    """The ends of the sum of products of a byte with a constant."""
    products = products_of(nest)
    if products is None:
        return None
    # Each byte is taken on its own: the sum is greatest with the greatest byte at each
    # positive weight and the least at each negative one. All bytes are possible, so
    # these bounds hold for any input, and padding is one of the bytes.
    x, w = products.of_byte, products.weights
    least, most = x.min(), x.max()
    if products.activation in spans:
        least, most = values_within(x, spans[products.activation])
        if np.ptp(least) or np.ptp(most):
            up, down = np.maximum(w, 0), np.minimum(w, 0)
            return (
                _total(nest, up * least + down * most),
                _total(nest, up * most + down * least),
            )
    above = _total(nest, np.maximum(w, 0))
    below = _total(nest, w) - above
    least, most = int(least.flat[0]), int(most.flat[0])
    return least * above + most * below, most * above + least * below


def values_within(of_byte: Array, span: Span) -> Span:
    """The least and the greatest of the values of a function of bytes, [256] from -128,
    in spans of bytes."""
    low, high = span
    if of_byte.ndim == 1 and low.size > 1:  # many channels have few spans
        codes = 256 * (low + 128) + (high + 128)
        few, place = np.unique(codes, return_inverse=True)
        ends = _values_within(of_byte, few // 256 - 128, few % 256 - 128)
        least, most = (end[place].reshape(codes.shape) for end in ends)
        return least, most
    return _values_within(of_byte, low, high)


def _values_within(of_byte: Array, low: Integers, high: Integers) -> Span:
    low, high = low[..., np.newaxis], high[..., np.newaxis]
    inside = (low <= EVERY_BYTE) & (high >= EVERY_BYTE)
    wide = of_byte.astype(np.int64)
    return (
        np.where(inside, wide, wide.max()).min(axis=-1),
        np.where(inside, wide, wide.min()).max(axis=-1),
    )


def _bytes(nest: NestOp, spans: Mapping[int, Span]) -> tuple[Integers, Integers] | None:
    """The ends of the sum of what is computed from a single byte in each step."""
    found = term_of_byte(nest, arith.AddiOp)
    if found is None or np.abs(found[1]).max() >= _FEW:
        return None
    index, numbers = found
    shape = [1] * len(nest.bounds)
    whole = numbers.min().reshape(shape), numbers.max().reshape(shape)
    ends = values_within(numbers, spans[index]) if index in spans else whole
    low, high = (_total(nest, end) for end in ends)
    return low, high


def term_of_byte(
    nest: NestOp, kind: type[arith.AddiOp | arith.MaxSIOp | arith.MinSIOp]
) -> tuple[int, Integers] | None:
    """The input of bytes that an operation of a kind alone takes into the accumulator,
    and what it takes of each byte, [256] from -128."""
    return term_of(nest, kind, EVERY_BYTE)


def term_of(
    nest: NestOp,
    kind: type[arith.AddiOp | arith.MaxSIOp | arith.MinSIOp],
    numbers: Array,
) -> tuple[int, Integers] | None:
    """The input that an operation of a kind alone takes into the accumulator, if it has
    the type of these numbers, and what it takes of each of them."""
    body = nest.body.block
    *sources, accumulator = (argument for argument in body.args if argument.uses)
    terminator = body.last_op
    assert terminator is not None
    total = terminator.operands[0].owner
    if len(sources) != 1 or sources[0].type != IntegerType(8 * numbers.itemsize):
        return None
    if not isinstance(total, kind) or accumulator not in total.operands:
        return None
    term = total.rhs if total.lhs is accumulator else total.lhs
    values = computed_from(body, sources[0], numbers)
    return (sources[0].index, values[term].astype(np.int64)) if term in values else None


def evaluate_constants(block: Block, constants: Mapping[int, Array]) -> Integers | None:
    """The result of a region, if it is one integer that depends on constants only."""
    terminator = block.last_op
    assert terminator is not None
    if any(
        argument.uses and argument.index not in constants for argument in block.args
    ):
        return None
    values: Values = {block.args[index]: lanes for index, lanes in constants.items()}
    run_scalars(tuple(block.ops)[:-1], values)
    return np.asarray(values[terminator.operands[0]]).astype(np.int64)


def _factor(body: Block, source: SSAValue, lanes: Array) -> Array:
    """The factor of the body's product that is computed from the argument `source`."""
    terminator = body.last_op
    assert terminator is not None
    values = computed_from(body, source, lanes)
    total = terminator.operands[0].owner
    assert isinstance(total, arith.AddiOp)
    terms = (term for term in (total.lhs, total.rhs) if term is not body.args[-1])
    product = next(terms).owner
    assert isinstance(product, arith.MuliOp)
    factor = product.lhs if product.lhs in values else product.rhs
    return values[factor]


def computed_from(body: Block, source: SSAValue, lanes: Array) -> Values:
    """All that depends on the lanes of one argument, and on no other."""
    values: Values = {source: lanes}
    ops: list[Operation] = []
    known = {source}
    for op in body.ops:
        if op is not body.last_op and all(operand in known for operand in op.operands):
            ops.append(op)
            known.update(op.results)
    run_scalars(ops, values)
    return values
