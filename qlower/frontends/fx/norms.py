"""Norms of stored integers, as PyTorch's quantized engines compute them.

ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp, quantized_normalize_kernel: a
row is what is normalized together, of an image those of a group of channels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.arith import TruncIOp
from xdsl.dialects.builtin import IntegerType, f32, i32, i64
from xdsl.ir import SSAValue

from qlower.dialects.quant import QuantizedType
from qlower.emit.inline_rule import Value as Known
from qlower.emit.inline_rule import call_function, call_results, library_function
from qlower.emit.reductions import summed
from qlower.files.arrays import Array
from qlower.interp import evaluate_function
from qlower.model.nests import Nest, row_major_index, widen

from ..graph.context import NodeContext
from ..graph.orders import identity
from ..graph.real_constants import real_constant
from ..graph.values import Value
from ..scalars import Scalars, square

CONTRACT = "pytorch-fbgemm"
INPUT, WEIGHT, BIAS, RESULT = 0, 3, 4, 5
"""Operands; those that are quantized are followed by scale and zero point."""


def import_norm(node: NodeContext) -> None:
    """Rows of the last `sizes`, or those of `groups` of channels (0: of each)."""
    value = node.stored(INPUT, INPUT + 1, INPUT + 2)
    value = node.in_order(value)
    shape = value.shape
    if "groups" in node.node.attributes:
        groups = node.integer("groups", 0, 0) or shape[1]
        bounds = (shape[0], groups, shape[1] // groups, math.prod(shape[2:]))
        rule, loops = "normal_of_channel", (1, 2)
    else:
        size = math.prod(node.integer_list("sizes", None, 1))
        bounds = (math.prod(shape) // size, 1, 1, size)
        rule, loops = "normal_of_row", (3,)
    parameters = [
        real_constant(node, at).reshape([bounds[loop] for loop in loops])
        if node.has(at)
        else np.array(default, np.float32)
        for at, default in ((WEIGHT, 1.0), (BIAS, 0.0))
    ]
    codes = _plain(node, value, bounds)
    emit = node.builder.emitter(node.place(), "codes")
    unsigned = not node.quantization(INPUT + 1, INPUT + 2).signed

    def code(nest: Nest, type: IntegerType) -> SSAValue:
        return widen(nest, nest.input(codes, range(4)), type, unsigned=unsigned)

    nest = Nest(emit, bounds, reductions=2)
    total = summed(nest, code(nest, i64))
    nest = Nest(emit, bounds, reductions=2)
    squares = summed(nest, square(Scalars(nest), code(nest, i64)))
    source = node.quantization(INPUT + 1, INPUT + 2)
    nest = Nest(emit, bounds[:2])
    sums = [nest.input(each, range(2)) for each in (total, squares)]
    numbers = bounds[2] * bounds[3], source.zero_point, source.scale
    known = [np.array(number, np.float32) for number in numbers]
    known.append(np.array(node.number("epsilon", 1e-5)))
    statistics = call_results(nest, CONTRACT, "row_statistics", *sums, *known)
    mean, factor = nest.build(statistics)
    nest = Nest(emit, bounds)
    real = call_function(
        nest,
        CONTRACT,
        rule,
        code(nest, i32),
        _word(source.zero_point),
        *(nest.input(each, range(2)) for each in (mean, factor)),
        *(nest.constant(array, f32, loops[-array.ndim :]) for array in parameters),
    )
    element = node.quantization(RESULT, RESULT + 1)
    stored = call_function(
        nest,
        CONTRACT,
        "store_normal",
        real,
        row_major_index(nest, [3]),
        _word(bounds[3]),
        np.array(element.scale, np.float32),
        *_limits(element),
    )
    _define(node, nest, stored, element, shape)


def import_batch_norm(node: NodeContext) -> None:
    """Each channel by a line, which its statistics and the scales give; a ReLU cuts
    codes at the zero point."""
    value = node.stored(INPUT, INPUT + 1, INPUT + 2)
    value, channels = node.in_order(value), value.shape[1]
    bounds = (value.shape[0], channels, math.prod(value.shape[2:]))
    source = node.quantization(INPUT + 1, INPUT + 2)
    element = node.quantization(RESULT + 2, RESULT + 3)
    given = [
        real_constant(node, at) if node.has(at) else np.array(default, np.float32)
        for at, default in zip(range(WEIGHT, WEIGHT + 4), (1, 0, 0, 1), strict=True)
    ]
    numbers = (node.number("epsilon", 1e-5), source.scale, element.scale)
    known = [np.array(numbers[0], np.float32), *map(np.array, numbers[1:])]
    line = library_function(CONTRACT, "line_of_channel")
    factor, offset = (
        np.broadcast_to(found, channels)
        for found in evaluate_function(line, [*given, *known])
    )
    nest = Nest(node.builder.emitter(node.place(), "codes"), bounds)
    code = nest.input(_plain(node, value, bounds), range(3))
    code = widen(nest, code, i32, unsigned=not source.signed)
    lines = [nest.constant(array, f32, [1]) for array in (factor, offset)]
    point = _word(source.zero_point)
    low = element.zero_point if node.flag("relu", False) else element.storage_min
    zero_point, _, high = _limits(element)
    limits = zero_point, _word(low), high
    stored = call_function(nest, CONTRACT, "on_line", code, point, *lines, *limits)
    _define(node, nest, stored, element, value.shape)


def _word(number: int) -> Array:
    return np.array(number, np.int32)


def _limits(element: QuantizedType) -> list[Known]:
    """The zero point and the ends of the codes."""
    numbers = element.zero_point, element.storage_min, element.storage_max
    return [_word(number) for number in numbers]


def _define(
    node: NodeContext,
    nest: Nest,
    stored: SSAValue,
    element: QuantizedType,
    shape: Sequence[int],
) -> None:
    """Make the codes of a nest the node's result of this shape."""
    narrow = nest.add(TruncIOp(stored, element.storage_type)).result
    codes = nest.build_one(narrow)
    result = Value(node.meant(codes, element, "cast"), identity(len(nest.bounds)))
    node.define(node.reshaped(result, shape))


def _plain(node: NodeContext, value: Value, shape: Sequence[int]) -> SSAValue:
    """The stored integers of a value, in another shape."""
    return node.plain(node.reshaped(value, shape), "plain")
