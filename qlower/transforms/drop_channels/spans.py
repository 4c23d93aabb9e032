"""The bytes that each channel of a tensor can hold, by the weights that compute it.

A channel is an index of a tensor's last axis, and its span the least and the greatest
stored number, as signed bytes, that any input of the model gives at any place of it.
Spans forget how channels depend on each other: they may be wider than what can occur,
never narrower. Where both ends are the same number, the channel is constant.

A sum's span follows from those of what is summed, exactly; what a contract makes of a
sum is run at both ends, where it is proved to be non-decreasing (monotone.py), and what
is made of a single byte is run on all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i8
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qlower.dialects.integers import values_of
from qlower.dialects.kernel import CopyOp, IndexOp, NestOp
from qlower.dialects.types import tensor_type
from qlower.interp import Array, InterpretationError
from qlower.interp.values import dtype_of
from qlower.transforms.prove_epilogues.channels import (
    EVERY_BYTE,
    Span,
    accumulator_bounds,
    constant_elements,
    evaluate_constants,
    parallel_constants,
    term_of_byte,
    values_within,
)
from qlower.transforms.prove_epilogues.monotone import (
    Values,
    non_decreasing,
    run_scalars,
)
from qlower.transforms.prove_epilogues.steps import Integers

Spans = dict[SSAValue, Span]
"""By tensor of bytes, [channel] each; of one that isn't here nothing is known."""

_LOW, _HIGH = -128, 127

_MOST_LANES = 1 << 21
"""The most numbers that a region is run on."""


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor."""
    return tensor_type(value).get_shape()


def find_spans(block: Block, equal: Mapping[NestOp, int]) -> Spans:
    """The spans of what a function's body at the kernel level computes; `equal` are the
    `classes_of_equal` nests."""
    spans: Spans = {}
    known: dict[Hashable, Span | None] = {}
    for op in block.ops:
        match op:
            case NestOp():
                decides = equal[op], *(span_content(v, spans) for v in op.inputs)
                if decides not in known:
                    known[decides] = _of_nest(op, spans)
                found = known[decides]
            case CopyOp():
                found = _of_copy(op, spans)
            case ExpandShapeOp(src=source) | CollapseShapeOp(src=source):
                found = _of_reshape(source, op.results[0], spans)
            case _:
                found = None
        if found is not None:
            spans[op.results[0]] = found
    return spans


def span_content(value: SSAValue, spans: Spans) -> Hashable:
    """The numbers of a tensor's span, None where nothing is known."""
    span = spans.get(value)
    return None if span is None else tuple(end.tobytes() for end in span)


def is_bytes(value: SSAValue) -> bool:
    """Whether a tensor has elements of 8 bits, and axes."""
    return tensor_type(value).element_type == i8 and len(shape_of(value)) > 0


def anything(channels: int) -> Span:
    """The span of channels about which nothing is known."""
    return np.full(channels, _LOW), np.full(channels, _HIGH)


def _of_reshape(source: SSAValue, result: SSAValue, spans: Spans) -> Span | None:
    if source not in spans or not shape_of(result):
        return None
    channels, before = shape_of(result)[-1], shape_of(source)[-1]
    low, high = spans[source]
    # The channel of an element is its place in memory, modulo the number of channels.
    if channels % before == 0:
        return np.tile(low, channels // before), np.tile(high, channels // before)
    if before % channels == 0:
        low, high = (end.reshape(-1, channels) for end in (low, high))
        return low.min(axis=0), high.max(axis=0)
    return None


def _of_copy(copy: CopyOp, spans: Spans) -> Span | None:
    if not is_bytes(copy.result):
        return None
    shape = shape_of(copy.result)
    sizes = values_of(copy.sizes)
    into, out = (
        slice(first, first + sizes[-1] * step, step)
        for first, step in (
            (values_of(copy.offsets)[-1], values_of(copy.strides)[-1]),
            (values_of(copy.source_offsets)[-1], values_of(copy.source_strides)[-1]),
        )
    )
    low, high = anything(shape[-1])
    if isinstance(copy.fill, IntegerAttr):
        fill = (copy.fill.value.data + 128) % 256 - 128
        low, high = np.full(shape[-1], fill), np.full(shape[-1], fill)
    elif copy.destination is not None and copy.destination in spans:
        low, high = (end.copy() for end in spans[copy.destination])
    source = spans.get(copy.source) or anything(shape_of(copy.source)[-1])
    least, most = (end[out] for end in source)
    if sizes[:-1] == shape[:-1]:  # nothing else is left in these channels
        low[into], high[into] = least, most
    else:
        low[into] = np.minimum(low[into], least)
        high[into] = np.maximum(high[into], most)
    return low, high


def over_loops(span: Span, map: AffineMap, bounds: Sequence[int]) -> Span:
    """The ends of a tensor's channels with an axis for every loop of a nest."""
    low, high = span
    last = map.results[-1]
    shape = [1] * len(bounds)
    if isinstance(last, AffineDimExpr) and bounds[last.position] == len(low):
        shape[last.position] = len(low)
    else:
        low, high = low.min(keepdims=True), high.max(keepdims=True)
    return low.reshape(shape), high.reshape(shape)


def _of_nest(nest: NestOp, spans: Spans) -> Span | None:
    if len(nest.res) != 1 or not is_bytes(nest.res[0]):
        return None
    try:
        ends = _ends(nest, spans)
    except InterpretationError:
        return None  # some number has no result: its error stays as it is
    if ends is None:
        return None
    last = nest.result_maps[0].results[-1]
    lane = last.position if isinstance(last, AffineDimExpr) else None
    others = tuple(d for d in range(len(nest.parallel_bounds)) if d != lane)
    channels = shape_of(nest.res[0])[-1]
    low, high = ends
    if low.ndim:
        low, high = low.min(axis=others), high.max(axis=others)
    return _wide(low, channels), _wide(high, channels)


def _wide(end: Array, channels: int) -> Integers:
    return np.broadcast_to(end, channels).astype(np.int64)


def _ends(nest: NestOp, spans: Spans) -> Span | None:
    """The least and the greatest result, with an axis for every parallel loop."""
    count = len(nest.parallel_bounds)
    inputs = {
        index: over_loops(
            spans.get(value) or anything(shape_of(value)[-1]), map, nest.bounds
        )
        for index, (value, map) in enumerate(
            zip(nest.inputs, nest.input_maps, strict=True)
        )
        if is_bytes(value)
    }
    lanes = parallel_constants(nest)
    block = nest.epilogue.block
    constants: Values = {block.args[index]: array for index, array in lanes.items()}
    variables: dict[SSAValue, Span] = {}
    for argument in block.args:
        if not argument.uses or argument in constants:
            continue
        if argument.index < len(nest.inputs):
            if argument.index not in inputs:
                return None
            low, high = inputs[argument.index]
            shape = low.shape[:count]
            span = low.reshape(shape), high.reshape(shape)
        else:
            span = _accumulators(nest, lanes, inputs)
            if span is None:
                return None
        variables[argument] = span
    for table in nest.tables:
        elements = constant_elements(table)
        if elements is None:
            return None
        constants[table] = elements.reshape(shape_of(table))
    return _run(nest, constants, variables)


def _accumulators(
    nest: NestOp, lanes: Mapping[int, Array], inputs: Mapping[int, Span]
) -> Span | None:
    """The least and the greatest accumulator, with an axis for every parallel loop."""
    found = accumulator_bounds(nest, lanes, inputs)
    if found is not None or len(nest.accumulator_types) != 1:
        return found
    first = len(nest.parallel_bounds)
    for kind, choose in ((arith.MaxSIOp, np.maximum), (arith.MinSIOp, np.minimum)):
        term = term_of_byte(nest, kind)
        start = evaluate_constants(nest.init.block, lanes)
        if term is not None and start is not None:
            index, numbers = term
            reduced = tuple(range(first, len(nest.bounds)))
            low, high = (
                choose(start, choose.reduce(end, axis=reduced))
                for end in values_within(numbers, inputs[index])
            )
            return low, high
    return None


def _run(nest: NestOp, constants: Values, variables: Mapping[SSAValue, Span]) -> Span:
    """The span of the epilogue's results for numbers in spans; any number where that
    isn't known."""
    block, count = nest.epilogue.block, len(nest.parallel_bounds)
    ops = tuple(block.ops)[:-1]
    terminator = block.last_op
    assert terminator is not None
    result = terminator.operands[0]
    known: Values = dict(constants)
    for op in ops:
        if isinstance(op, IndexOp):
            loop = op.dim.value.data
            shape = [1] * count
            shape[loop] = nest.bounds[loop]
            known[op.results[0]] = np.arange(nest.bounds[loop]).reshape(shape)
    ops = tuple(op for op in ops if not isinstance(op, IndexOp))
    places = np.broadcast_shapes(
        *(lanes.shape for value, lanes in known.items() if value not in nest.tables),
        *(end.shape for span in variables.values() for end in span),
    )
    low, high = np.full(places, _LOW), np.full(places, _HIGH)
    if prod(places) > _MOST_LANES:
        return low, high

    def run(given: Mapping[SSAValue, Array]) -> Values:
        values: Values = {
            value: array[..., np.newaxis]
            if array.ndim and value not in nest.tables
            else array
            for value, array in known.items()
        }
        values.update(
            (value, array.astype(dtype_of(value.type)))
            for value, array in given.items()
        )
        run_scalars(ops, values)
        return values

    points = {value: low[..., np.newaxis] for value, (low, _) in variables.items()}
    is_point = np.ones(places, np.bool_)
    for span in variables.values():
        is_point = is_point & (span[0] == span[1])
    if is_point.any():
        at_points = np.broadcast_to(run(points)[result], (*places, 1))[..., 0]
        low, high = (np.where(is_point, at_points, end) for end in (low, high))
    if is_point.all() or len(variables) != 1:
        return low, high
    ((variable, span),) = variables.items()
    if variable.type == i8:
        if prod(places) * len(EVERY_BYTE) > _MOST_LANES:
            return low, high
        values = run({variable: EVERY_BYTE.reshape(*(1 for _ in places), -1)})
        of_byte = np.broadcast_to(values[result], (*places, len(EVERY_BYTE)))
        return values_within(of_byte, span)
    ends = run({variable: np.stack(np.broadcast_arrays(*span), axis=-1)})
    if result not in non_decreasing(ops, variable, ends):
        return low, high
    both = np.broadcast_to(ends[result], (*places, 2))
    return both[..., 0], both[..., 1]
