"""QLinearConv, QLinearMatMul and QGemm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.model.nests import Nest
from qlower.operators.windows import Window

from ...entry import quantized, takes
from .. import volumes
from ..context import NodeContext
from ..nodes import MICROSOFT
from ..orders import identity
from ..schema import Array
from ..values import Element, Value
from ..window import as_image, from_image, read_window
from .real import elementwise, number

ScalarT = TypeVar("ScalarT", bound=np.generic)


def import_conv(node: NodeContext) -> None:
    """A convolution of an image, or of a row, which becomes an image of one row.

    Weights are [O, C / groups, ...]. com.microsoft's form may have channels last.
    """
    is_last = node.flag("channels_last", False)
    value = node.stored(0, 1, 2)
    is_volume = len(value.shape) == volumes.RANK and not is_last
    filters = node.shape(3)[0] if is_volume else filter_count(node, 3)
    stored = node.stored_array(3, node.axis_quantization(4, 5, 0, filters))
    make = partial(
        convolution,
        quantization=lambda axis: node.axis_quantization(4, 5, axis, filters),
        bias=read_bias(node, 8, filters),
        result=node.quantization(6, 7),
        activation=node.text("activation", ""),
    )
    if is_volume:
        volume = volumes.read_volume(node, value.shape, stored.shape[2:])
        element = value.element
        assert isinstance(element, QuantizedType), "the operand is stored"
        image = volume.seen(value, element.zero_point, taps_last=True)
        flat = stored.reshape(filters, 1, 1, -1)
        operation, _ = make(node, image, (3, flat), is_point=True)
        volume.define(operation, image)
        return
    image = as_image(node, value, is_last)
    operation, _ = make(node, image, (3, filters_of(node, stored)))
    from_image(node, operation, image, is_last)


def convolution(
    node: NodeContext,
    image: Value,
    weights: tuple[int, Array],
    quantization: Callable[[int], QuantizedType],
    bias: SSAValue | None,
    result: Element,
    activation: str = "",
    *,
    is_point: bool = False,
) -> tuple[qnn.Conv2DOp | qnn.DepthwiseConv2DOp, Window]:
    """The operation that the node's attributes ask for, and its window.

    `weights` are [O, KH, KW, C / groups], those of the operand of that number;
    `quantization` gives their type if dimension `axis` has the filters. With `is_point`
    the window is one pixel, whatever the attributes say.
    """
    number, filters = weights
    batch, *sizes, channels = image.type.get_shape()
    count, *kernel, depth = filters.shape
    groups = group_count(node, channels, count, depth)
    read = Window.of if is_point else partial(read_window, node)
    window = read(sizes, kernel)
    is_depthwise = depth == 1 and channels > 1
    element = quantization(3 if is_depthwise else 0)
    if is_depthwise:
        filters = filters.transpose(3, 1, 2, 0)
    weight = node.builder.constant(filters, element, node.place(node.name(number)))
    type = node.typed(result, (batch, *window.sizes, count), identity(4))
    convolution = (
        qnn.DepthwiseConv2DOp if is_depthwise else partial(qnn.Conv2DOp, groups=groups)
    )
    operation = convolution(
        image.ssa,
        weight,
        bias,
        type,
        stride=window.stride,
        pad=window.pad,
        dilation=window.dilation,
        activation=activation or None,
    )
    return operation, window


def group_count(node: NodeContext, channels: int, filters: int, depth: int) -> int:
    """The number of groups, for filters of the given number of channels each."""
    groups = node.integer("group", 1, 1)
    if channels != depth * groups or filters % groups:
        raise node.error(
            f"{channels} input channels and {filters} filters of {depth} channels do"
            f" not divide into {groups} groups"
        )
    return groups


def filter_count(node: NodeContext, number: int) -> int:
    """The number of filters in an operand of weights."""
    shape = node.shape(number)
    _check_filters(node, len(shape))
    return shape[0]


def _check_filters(node: NodeContext, rank: int) -> None:
    if rank not in (3, 4):
        raise node.error(
            f"weights of rank {rank} are not supported; expected 4 (or 3, for a row)"
        )


def filters_of(node: NodeContext, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
    """Weights as [O, KH, KW, C / groups]."""
    _check_filters(node, array.ndim)
    if array.ndim == 3:
        array = array[:, :, np.newaxis, :]
    return array.transpose(0, 2, 3, 1)


def read_bias(node: NodeContext, number: int, channels: int) -> SSAValue | None:
    """The optional constant bias, in steps of the accumulator."""
    if not node.has(number):
        return None
    constant = node.constant(number, "bias")
    array = node.array(number, "bias")
    legal = ("INT32", "INT64") if "INT16" in node.importer.storages else ("INT32",)
    if constant.type not in legal:
        raise node.error(
            f"a bias {node.name(number)!r} of type {constant.type} is not supported;"
            f" expected {' or '.join(legal)}"
        )
    if array.size == 1 and channels != 1:
        array = np.broadcast_to(array.reshape(()), (channels,))
    elif array.size != channels or array.shape[-1:] != (channels,):
        raise node.error(
            f"a bias {node.name(number)!r} of shape {list(array.shape)}; expected"
            f" [{channels}]"
        )
    place = node.place(node.name(number))
    type = i32 if constant.type == "INT32" else i64
    return node.builder.constant(array.reshape(channels), type, place)


def import_matmul(node: NodeContext) -> None:
    """Constant matrices are the weights of a linear layer."""
    result = node.quantization(6, 7)
    if node.is_constant(3) and len(node.shape(3)) == 2:
        units = node.shape(3)[1]
        weights = node.stored_array(3, node.axis_quantization(4, 5, 1, units)).T
        node.define(linear(node, weights, lambda units: None, result))
        return
    lhs, rhs = (node.stored_as(at, node.quantization(at + 1, at + 2)) for at in (0, 3))
    lhs, rhs = (node.in_order(value) for value in (lhs, rhs))
    shapes = lhs.shape, rhs.shape
    whole = (*lhs.shape[:-1], rhs.shape[-1])
    order = identity(len(whole))
    if len(rhs.shape) == 2 < len(lhs.shape):
        rows = (math.prod(lhs.shape[:-1]), lhs.shape[-1])
        lhs = node.reshaped(lhs, rows)
    shapes = lhs.shape, rhs.shape
    if min(map(len, shapes)) < 2 or shapes[0][:-2] != shapes[1][:-2]:
        raise node.error(
            f"a product of shapes {list(shapes[0])} and {list(shapes[1])} is not"
            " supported; expected equal leading dimensions, or a constant matrix"
        )
    type = node.typed(result, (*lhs.shape[:-1], rhs.shape[-1]), lhs.order)
    suffix = None if len(whole) == len(lhs.shape) else "rows"
    product = node.emit(qnn.MatMulOp(lhs.ssa, rhs.ssa, type), suffix)
    value = Value(product, lhs.order)
    node.define(node.reshaped(value, whole, order))


def import_gemm(node: NodeContext) -> None:
    """Without a scale of the result that is real: `F(F(sum) F(F(alpha s_a) s_b))`."""
    alpha = node.number("alpha", 1.0)
    rows, columns = node.shape(3, rank=2)
    is_transposed = node.flag("transB", False)
    units = rows if is_transposed else columns
    weights = node.stored_array(3, node.axis_quantization(4, 5, 0, units))
    if not is_transposed:
        weights = weights.T
    bias = partial(read_bias, node, 6)
    if node.has(7):
        result = node.quantization(7, 8)
        node.define(linear(node, weights, bias, result, alpha=alpha))
        return
    sums = linear(node, weights, bias, i32, "sums")
    scales = [node.real(1), node.real(4)]

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        total, input_scale, weight_scale = elements
        real = nest.add(arith.SIToFPOp(total, f32)).result
        step = nest.add(arith.MulfOp(number(nest, alpha), input_scale)).result
        scale = nest.add(arith.MulfOp(step, weight_scale)).result
        return nest.add(arith.MulfOp(real, scale)).result

    node.define(elementwise(node, [sums, *scales], body))


def linear(
    node: NodeContext,
    weights: Array,
    bias: Callable[[int], SSAValue | None],
    result: Element,
    suffix: str | None = None,
    alpha: float = 1.0,
) -> Value:
    """A linear layer; `weights` are [O, K], those of operand 3, and `bias` gives the
    bias for a number of units. The scale of the input is multiplied by `alpha`."""
    given = node.quantization(1, 2)
    scale = float(np.float32(alpha) * np.float32(given.scale))
    if not 0 < scale < math.inf:
        raise node.error(f"alpha {alpha} is not supported; expected one above 0")
    storage = given.storage_width, given.signed
    element = QuantizedType.per_tensor(*storage, scale, given.zero_point)
    input = node.stored_as(0, element)
    input = node.in_order(input)
    units, depth = weights.shape
    if not input.shape or input.shape[-1] != depth:
        raise node.error(
            f"an input of shape {list(input.shape)} with weights for {depth} numbers"
        )
    place = node.place(node.name(3))
    operation = qnn.LinearOp(
        input.ssa,
        node.builder.constant(weights, node.axis_quantization(4, 5, 0, units), place),
        bias(units),
        node.typed(result, (*input.shape[:-1], units), input.order),
        activation=node.text("activation", "") or None,
    )
    return Value(node.emit(operation, suffix), input.order)


IMPORTERS = {
    (MICROSOFT, "QGemm"): takes(
        f"{quantized('x', 'weights')}, bias?, scale?, zero_point?; transA: 0",
        import_gemm,
    ),
}
