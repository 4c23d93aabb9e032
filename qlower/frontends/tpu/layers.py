"""TPU-MLIR's operations on int8, in the steps of the contract `tpu-mlir`.

Multipliers and shifts are attributes, which the scales of types can't say. Layers are
sums of integers here; what becomes of the sums is the contract's functions with the
numbers of the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import Float32Type, IntegerType, TensorType, f32, i32
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.model.nests import Nest

from ..entry import Entry, takes
from ..graph.context import NodeContext
from ..graph.operators.contraction import convolution, filters_of
from ..graph.operators.joining import import_concat
from ..graph.operators.real_pools import read_pool
from ..graph.orders import Order, channels_last
from ..graph.schema import Array
from ..graph.values import Origin, Value
from ..graph.window import as_image
from ..scalars import Scalars
from ..signature import options_of
from .reader import IS_SIGNED, SCALE, SHAPE, TYPE

CONTRACT = "tpu-mlir"

LARGEST_MULTIPLIER = (1 << 31) - 1
LEAST_SHIFT, MOST_SHIFT = 0, 62


def _result(node: NodeContext) -> QuantizedType:
    """The declared type of the result, which holds codes."""
    if SCALE not in node.attributes:
        raise node.error(
            f"a result of {node.text(TYPE)} is not supported; expected codes of i8 or"
            " u8 with one scale and no zero point"
        )
    signed = node.flag(IS_SIGNED)
    return QuantizedType.per_tensor(8, signed, node.number(SCALE))


def _define(node: NodeContext, value: Value) -> None:
    """Make a value the result, whose declared shape it must have."""
    declared = tuple(node.integer_list(SHAPE))
    if value.shape != declared:
        raise node.error(
            f"a result of shape {list(declared)}; expected {list(value.shape)}"
        )
    node.define(value)


def _define_stored(node: NodeContext, value: Value) -> None:
    """Make stored codes the result, with the meaning that is declared."""
    element, given = _result(node), value.element
    if not isinstance(given, QuantizedType) or given.signed != element.signed:
        raise node.error(f"a result of {element} from {given} is not supported")
    _define(node, node.builder.as_stored(value, element, node.place()))


def _numbers(
    node: NodeContext, multiplier: str, shift: str, count: int
) -> tuple[Array, Array]:
    """Multipliers and shifts, `count` of them or one."""
    multipliers = node.integer_list(
        multiplier, None, -LARGEST_MULTIPLIER, LARGEST_MULTIPLIER
    )
    shifts = node.integer_list(shift, None, LEAST_SHIFT, MOST_SHIFT)
    for name, given in ((multiplier, multipliers), (shift, shifts)):
        if len(given) not in (1, count):
            raise node.error(f"{len(given)} numbers of {name}; expected 1 or {count}")
    node.importer.charge(count)
    found = (np.array(one, np.int64) for one in (multipliers, shifts))
    first, second = (one.reshape(()) if one.size == 1 else one for one in found)
    return first, second


def _number_pair(node: NodeContext) -> tuple[Array, Array]:
    """A multiplier and a shift that are no lists."""
    most = LARGEST_MULTIPLIER
    multiplier = node.integer("multiplier", None, -most, most)
    shift = node.integer("rshift", None, LEAST_SHIFT, MOST_SHIFT)
    return np.array(multiplier, np.int64), np.array(shift, np.int64)


def _bounds(node: NodeContext) -> tuple[Array, Array]:
    """The least and the largest code, from 0 on behind a rectifier."""
    element = _result(node)
    least = element.storage_min
    if node.flag("do_relu", False):
        least = max(least, 0)
    return np.array(least, np.int32), np.array(element.storage_max, np.int32)


def _store(node: NodeContext, nest: Nest, code: SSAValue, order: Order) -> None:
    codes = nest.build_one(Scalars(nest).cast(code, IntegerType(8)))
    _define(node, Value(node.meant(codes, _result(node), "codes"), order))


def _requantize(
    node: NodeContext,
    nest: Nest,
    number: SSAValue,
    order: Order,
    numbers: tuple[Array, Array],
) -> None:
    """Make an integer of a nest, times its multiplier and shifted, the result."""
    bounds = _bounds(node)
    code = call_function(nest, CONTRACT, "requantized", number, *numbers, *bounds)
    _store(node, nest, code, order)


def _requantize_sums(
    node: NodeContext, operation: Operation, order: Order, numbers: tuple[Array, Array]
) -> None:
    """The result of sums whose last dimension has the channels."""
    sums = node.emit(operation, "sums")
    nest = node.nest(shape_of(sums))
    total = nest.input(sums, range(nest.parallel))
    _requantize(node, nest, total, order, numbers)


def _code(nest: Nest, node: NodeContext, value: Value) -> SSAValue:
    """An element of a value of codes in 32 bits."""
    element = value.element
    assert isinstance(element, QuantizedType), "the signature says so"
    code = nest.input(node.plain(value), range(nest.parallel))
    return Scalars(nest, not element.signed).cast(code, i32)


def _bias(node: NodeContext, count: int) -> SSAValue | None:
    if not node.has(2):
        return None
    bias = node.array(2, "bias")
    if bias.size != count:
        raise node.error(f"a bias of {bias.size} numbers; expected {count}")
    return node.builder.constant(bias.reshape(count), i32, node.place(node.name(2)))


def _weight_type(axis: int) -> QuantizedType:
    """Weights are integers; what they mean is in the multipliers."""
    return QuantizedType.per_tensor(8, True, 1.0)


def _import_convolution(node: NodeContext) -> None:
    """A convolution, also depthwise or in groups."""
    node.expect("with_bias", int(node.has(2)))
    filters = node.array(1, "weights")
    count = len(filters)
    image = as_image(node, node.value(0), False)
    weights = 1, filters_of(node, filters)
    bias = _bias(node, count)
    operation, _ = convolution(node, image, weights, _weight_type, bias, i32)
    numbers = _numbers(node, "multiplier", "rshift", count)
    _requantize_sums(node, operation, channels_last(4), numbers)


def _import_matmul(node: NodeContext) -> None:
    """The last dimension times a matrix of weights [K, N]."""
    if node.has(3) or node.has(4):
        raise node.error("multipliers that are weights are not supported")
    weights = node.array(1, "weights").T
    value = node.in_order(node.value(0))
    units, depth = weights.shape
    if value.shape[-1:] != (depth,):
        raise node.error(
            f"an input of shape {list(value.shape)} with weights for {depth} numbers"
        )
    place = node.place(node.name(1))
    stored = np.ascontiguousarray(weights)
    constant = node.builder.constant(stored, _weight_type(0), place)
    type = TensorType(i32, (*value.shape[:-1], units))
    product = qnn.LinearOp(value.ssa, constant, _bias(node, units), type)
    numbers = _numbers(node, "multipliers", "rshifts", 1)
    _requantize_sums(node, product, value.order, numbers)


def _import_add(node: NodeContext) -> None:
    """Each operand times its multiplier and shifted, then their sum."""
    values = [node.in_order(node.value(number)) for number in range(2)]
    if values[0].shape != values[1].shape:
        shapes = [list(value.shape) for value in values]
        raise node.error(f"operands of shapes {shapes}; expected the same shape")
    multipliers, shifts = (
        np.broadcast_to(one, 2) for one in _numbers(node, "multipliers", "rshifts", 2)
    )
    nest = node.nest(values[0].shape)
    operands: list[SSAValue | Array] = []
    for value, multiplier, shift in zip(values, multipliers, shifts, strict=True):
        operands += [_code(nest, node, value), np.array(multiplier), np.array(shift)]
    bounds = _bounds(node)
    code = call_function(nest, CONTRACT, "added", *operands, *bounds)
    _store(node, nest, code, values[0].order)


def _import_pool(node: NodeContext) -> None:
    """The largest of a window, or its sum times a multiplier, shifted."""
    image = as_image(node, node.value(0), False)
    batch, _, _, channels = image.type.get_shape()
    window = read_pool(node, image)
    shape = (batch, *window.sizes, channels)
    mode = node.text("pool_mode", None, ("Avg", "Max"))
    if mode == "Max":
        type = node.typed(image.element, shape, image.order)
        largest = qnn.MaxPool2DOp(
            image.ssa, type, kernel=window.kernel, stride=window.stride, pad=window.pad
        )
        pooled = Value(node.emit(largest, "largest"), channels_last(4))
        _define_stored(node, pooled)
        return
    if any(window.pad) and not node.flag("count_include_pad", False):
        raise node.error("a mean that leaves out padding is not supported")
    ones = np.ones((1, *window.kernel, channels), np.int8)
    name = f"{node.result()}/ones"
    place = Origin(name, node.location, node.error)
    sums = qnn.DepthwiseConv2DOp(
        image.ssa,
        node.builder.constant(ones, _weight_type(3), place),
        None,
        node.typed(i32, shape, image.order),
        stride=window.stride,
        pad=window.pad,
        dilation=(1, 1),
    )
    _requantize_sums(node, sums, channels_last(4), _number_pair(node))


def _import_scale(node: NodeContext) -> None:
    """Codes times a multiplier, shifted."""
    value = node.value(0)
    nest = node.nest(shape_of(value.ssa))
    code = _code(nest, node, value)
    _requantize(node, nest, code, value.order, _number_pair(node))


def _import_relu(node: NodeContext) -> None:
    value = node.value(0)
    nest = node.nest(shape_of(value.ssa))
    code = _code(nest, node, value)
    least, most = _bounds(node)
    code = call_function(nest, CONTRACT, "clamp_code", code, np.maximum(least, 0), most)
    _store(node, nest, code, value.order)


def _import_cast(node: NodeContext) -> None:
    """Real numbers as codes, or codes as real numbers."""
    value = node.value(0)
    if isinstance(value.element, Float32Type):
        nest = node.nest(shape_of(value.ssa))
        real = nest.input(value.ssa, range(nest.parallel))
        # of the scale as the text has it, in double precision
        inverse = np.array(1 / node.number(SCALE, 1.0)).astype(np.float32)
        bounds = _bounds(node)
        code = call_function(nest, CONTRACT, "coded", real, inverse, *bounds)
        _store(node, nest, code, value.order)
    elif node.text(TYPE) == "f32":
        type = node.typed(f32, value.shape, value.order)
        real = node.emit(qnn.DequantizeOp(value.ssa, type))
        _define(node, Value(real, value.order, is_real=True))
    else:
        raise node.error(
            f"a cast from {value.element} to {node.text(TYPE)} is not supported"
        )


def _import_reshape(node: NodeContext) -> None:
    shape = node.integer_list(SHAPE)
    value = node.in_order(node.value(0))
    if math.prod(shape) != math.prod(value.shape):
        raise node.error(
            f"shape {shape} does not hold the elements of {list(value.shape)}"
        )
    _define_stored(node, node.reshaped(value, shape))


def _import_concat(node: NodeContext) -> None:
    types = {node.value(number).element for number in range(node.count)}
    if types != {_result(node)}:
        raise node.error("parts of other scales than the result's are not supported")
    import_concat(node)


def _layer(
    signature: str, build: Callable[[NodeContext], None], *read: str
) -> Entry[NodeContext]:
    """An operation that has no attributes but those of the signature, and those that
    are read or change nothing."""
    known = {name for name, _ in options_of(signature)}
    known |= {*read, SHAPE, SCALE, IS_SIGNED, TYPE}

    def checked(node: NodeContext) -> None:
        for name in node.attributes:
            if name not in known:
                raise node.error(f"attribute {name} is not supported")
        build(node)

    return takes(signature, checked)


PLAIN = "relu_limit: -1.0"
"""No upper end of a rectifier."""

LAYERS: dict[str, Entry[NodeContext]] = {
    "Add": _layer(
        f"x: INT8 | UINT8, y: INT8 | UINT8; {PLAIN}",
        _import_add,
        *("do_relu", "multipliers", "rshifts"),
    ),
    "Cast": _layer("x; round_mode: HalfAwayFromZero, with_scale: 1", _import_cast),
    "Concat": _layer(
        f"x: INT8 | UINT8, more*; do_relu: 0, {PLAIN}",
        _import_concat,
        *("axis", "only_merge"),
    ),
    "Conv2D": _layer(
        "x[4]: INT8 | UINT8, weights[4]: INT8, bias?: INT32; quant_mode:"
        " MultiplierShift, round_mode: HalfUp, kernel_zp: 0, coeff_merged: 0,"
        " do_winograd: 0, dynweight_reorderd: 0, use_3ic_optimize: 0,"
        f" weight_is_coeff: 1, {PLAIN}",
        _import_convolution,
        *("kernel_shape", "pads", "strides", "dilations", "group", "do_relu"),
        *("multiplier", "rshift", "with_bias", "support_compress"),
    ),
    "MatMul": _layer(
        "x: INT8 | UINT8, weights[2]: INT8, bias?: INT32, multiplier?, buffer?;"
        " quant_mode: MultiplierShift, round_mode: HalfAwayFromZero, fuse_rq: 0,"
        " hdim_is_batch: 0, input_zp: 0, is_lora: 0, left_transpose: 0,"
        " output_transpose: 0, q_group_size: 0, right_transpose: 0, right_zp: 0,"
        f" dq_type: NONE, {PLAIN}",
        _import_matmul,
        *("do_relu", "multipliers", "rshifts", "cal_i8", "keep_dims", "left_reuse"),
    ),
    "MulShift": _layer("x: INT8 | UINT8", _import_scale, *("multiplier", "rshift")),
    "Pool2D": _layer(
        f"x[4]: INT8 | UINT8; do_relu: 0, is_adaptive: 0, pad_value: 0, {PLAIN}",
        _import_pool,
        *("kernel_shape", "pads", "strides", "count_include_pad", "pool_mode"),
        *("multiplier", "rshift", "keepdims", "round_mode", "first_round_mode"),
    ),
    "Relu": _layer(f"x: INT8 | UINT8; {PLAIN}", _import_relu),
    "Reshape": _layer(
        "x: INT8 | UINT8", _import_reshape, *("shape", "flatten_start_dim")
    ),
}
"""The operations that are read."""
