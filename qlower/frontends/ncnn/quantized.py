"""ncnn's layers of int8, in the steps of the contract `ncnn`.

ncnn's scales multiply, and one in six is no reciprocal of a float32 number, so the
scales of types can't say them. Layers are sums of integers here; what ncnn makes of the
sums is the contract's functions with the scales of the file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType, i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.model.nests import row_major_index

from ..entry import takes
from ..graph.context import NodeContext
from ..graph.operators.contraction import convolution, filters_of
from ..graph.operators.real import (
    activation,
    real_operand,
)
from ..graph.orders import Order, channels_last, identity
from ..graph.schema import Array
from ..graph.values import Value
from ..graph.window import as_image
from ..scalars import Scalars

CONTRACT = "ncnn"
LANES = 4
LARGEST_CODE = 127
LEAST_SCALE, MOST_SCALE = 2.0**-126, 2.0**126
INT8_TERMS = (1, 2, 101, 102)
"""The values of int8_scale_term; above 100 the result is int8, too."""

ACTIVATIONS = {1: ("Relu", 0), 2: ("LeakyRelu", 1), 3: ("Clip", 2)}
"""ONNX's names of fused activations, and how many parameters they have."""


def _in_range(node: NodeContext, scales: Array) -> Array:
    for value in scales:
        if not LEAST_SCALE <= value <= MOST_SCALE:
            raise node.error(
                f"scale {value} is out of range [{LEAST_SCALE:g}, {MOST_SCALE:g}]"
            )
    return scales


def _scale(node: NodeContext, number: int) -> Array:
    """The one scale of an operand, without dimensions."""
    scales = node.array(number, "scale")
    if scales.size != 1:
        raise node.error(f"{scales.size} scales are not supported; expected 1")
    return _in_range(node, scales).reshape(())


def _code_type(scale: Array) -> QuantizedType:
    """The type of codes, whose scale is the nearest to the reciprocal of ncnn's."""
    step = float(np.float32(1) / scale)
    return QuantizedType.per_tensor(8, True, step, 0, -LARGEST_CODE, LARGEST_CODE)


def _coded(
    node: NodeContext,
    real: Value,
    scale: Array,
    vector: Sequence[int] | None,
    suffix: str | None = None,
) -> Value:
    """Real numbers as codes. `vector` are the dimensions that lie together in vectors,
    None where ncnn computes each element alone."""
    node.check_elements(math.prod(real.shape))
    nest = node.nest(shape_of(real.ssa), suffix)
    element = nest.input(real.ssa, range(nest.parallel))
    last: SSAValue | Array = np.array(vector is None)
    loops = sorted(real.order.index(dimension) for dimension in vector or ())
    count = math.prod(nest.bounds[loop] for loop in loops)
    if vector is not None and count % LANES:
        sizes = np.array(count, np.int32), np.array(LANES, np.int32)
        place = row_major_index(nest, loops)
        last = call_function(nest, CONTRACT, "is_in_tail", place, *sizes)
    code = call_function(nest, CONTRACT, "coded", element, scale, last)
    codes = nest.build_one(Scalars(nest).cast(code, IntegerType(8)))
    step = None if suffix is None else f"{suffix}/codes"
    return Value(node.meant(codes, _code_type(scale), step), real.order)


def _quantized(node: NodeContext, scale: Array, suffix: str | None) -> Value:
    """The first operand as codes; its channels are vectors, or where it has fewer
    dimensions its rows."""
    value = node.value(0)
    if isinstance(value.element, QuantizedType) and not value.is_real:
        return value
    rank = len(value.shape)
    vector = (2, 3) if rank == 4 else (rank - 1,)
    return _coded(node, real_operand(node, 0), scale, vector, suffix)


def _import_quantize(node: NodeContext) -> None:
    node.define(_quantized(node, _scale(node, 1), None))


def _filters(node: NodeContext) -> tuple[Array, Array]:
    """The weights of each output, and a scale for each. With the scale 0 all of them
    are 0, so that any other scale gives the same."""
    term = node.integer("int8_scale_term", 0)
    if term not in INT8_TERMS or node.constant(1, "weights").type != "INT8":
        type = node.constant(1, "weights").type
        raise node.error(
            f"weights of type {type} with int8_scale_term {term} are not supported;"
            f" expected INT8 and one of {', '.join(map(str, INT8_TERMS))}",
            help="ncnn2int8 quantizes a model by the scales that ncnn2table finds",
        )
    count = node.integer("num_output", None, 1)
    weights, scales = node.array(1, "weights"), node.array(3, "scales")
    if weights.size % count or count % scales.size:
        raise node.error(
            f"{weights.size} weights and {scales.size} scales for {count} outputs"
        )
    node.importer.charge(count)
    weights = weights.reshape(count, -1)
    scales = np.repeat(scales, count // scales.size)
    is_empty = (scales == 0) & ~weights.any(axis=1)
    return weights, _in_range(node, np.where(is_empty, np.float32(1), scales))


def _weight_type(scales: Array, axis: int) -> QuantizedType:
    steps = [float(step) for step in np.float32(1) / scales]
    return QuantizedType.per_axis(8, True, axis, steps, [0] * len(steps))


def _real(
    node: NodeContext,
    sums: SSAValue,
    order: Order,
    scales: tuple[Array, Array],
    function: str,
    suffix: str | None,
) -> Value:
    """The real numbers of sums whose last dimension has the outputs: by the contract's
    `function` of the sum, the step by `scales` of input and weights, and the bias."""
    count = shape_of(sums)[-1]
    bias = np.full(count, -0.0, np.float32)  # which changes no number
    if node.has(2):
        bias = node.array(2, "bias")
    nest = node.nest(shape_of(sums), suffix)
    total = nest.input(sums, range(nest.parallel))
    step = call_function(nest, CONTRACT, "step_of", *scales)
    real = call_function(nest, CONTRACT, function, total, step, bias)
    kind = node.integer("activation_type", 0)
    if kind:
        if kind not in ACTIVATIONS:
            raise node.unsupported("activation_type", kind, 0, *ACTIVATIONS)
        name, size = ACTIVATIONS[kind]
        factors = tuple(node.number_list("activation_params")[:size]) if size else ()
        real = activation(node, name, factors)(nest, [real])
    result = nest.build_one(real)
    return Value(result, order, is_real=True)


def _import_convolution(node: NodeContext) -> None:
    """A convolution; of one channel each where there are as many groups."""
    node.shape(0, rank=4)
    weights, scales = _filters(node)
    scale = _scale(node, 4)
    image = as_image(node, _quantized(node, scale, "input"), False)
    count = len(weights)
    groups = node.integer("group", 1, 1)
    kernel = node.integer_list("kernel_shape", None, 1)
    if weights.shape[1] % math.prod(kernel):
        raise node.error(f"{weights.shape[1]} weights of an output, kernel {kernel}")
    filters = filters_of(node, weights.reshape(count, -1, *kernel))
    types = partial(_weight_type, scales)
    operation, window = convolution(node, image, (1, filters), types, None, i32)
    sums = node.emit(operation, "sums")
    is_single = node.node.kind == "ConvolutionDepthWise" and groups == count
    is_single = is_single and image.type.get_shape()[-1] == count
    # convdw3x3s1_int8_sse, convdw3x3s2_int8_sse
    has_own_kernel = (
        window.kernel == (3, 3)
        and window.dilation == (1, 1)
        and window.stride in ((1, 1), (2, 2))
        and node.integer("activation_type", 0) in (0, 1)
    )
    function = "real_fused"
    if is_single and not has_own_kernel:
        function = "real_in_two_steps"
    is_stored = node.integer("int8_scale_term") > 100
    suffix = "real" if is_stored else None
    both = scale, scales
    real = _real(node, sums, channels_last(4), both, function, suffix)
    if is_stored:
        vector = None if is_single else (2, 3)
        real = _coded(node, real, _scale(node, 5), vector)
    node.define(real)


def _import_inner_product(node: NodeContext) -> None:
    """All elements of the input times a matrix, which gives real numbers."""
    weights, scales = _filters(node)
    scale = _scale(node, 4)
    count, size = weights.shape
    shape = node.shape(0)
    if len(shape) == 3 and shape[-1] == size:
        raise node.error("products of several rows are not supported; expected one")
    value = node.in_order(_quantized(node, scale, "input"))
    row = shape[0], math.prod(shape[1:])
    if row[1] != size:
        raise node.error(f"{size} weights of an output for {row[1]} elements")
    value = node.reshaped(value, row)
    place = node.place(node.name(1))
    weight = node.builder.constant(weights, _weight_type(scales, 0), place)
    type = TensorType(i32, (row[0], count))
    sums = node.emit(qnn.LinearOp(value.ssa, weight, None, type), "sums")
    both = scale, scales
    node.define(_real(node, sums, identity(2), both, "real_in_two_steps", None))


FILTERS = "x, weights, bias?, scales?, input_scale?"

LAYERS = {
    **dict.fromkeys(
        ("Convolution", "ConvolutionDepthWise"),
        takes(
            f"{FILTERS}, output_scale?; dynamic_weight: 0, pad_value: 0",
            _import_convolution,
        ),
    ),
    "InnerProduct": takes(FILTERS, _import_inner_product),
    "Quantize": takes("x, scale", _import_quantize),
}
