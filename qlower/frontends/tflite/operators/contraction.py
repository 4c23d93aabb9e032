"""CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED and BATCH_MATMUL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType, i16
from xdsl.ir import SSAValue

from qlower.diagnostics import warn
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import shape_of
from qlower.emit.movement import moved
from qlower.operators.movement import Broadcast

from ...entry import takes
from ...scalars import mapped
from ..context import OperatorContext
from ..nests import emitter
from ..types import LEAST_SCALE, Element
from ..weights import read_bias, read_real_bias, read_weights
from ..window import read_window
from .blockwise import blocks_of, import_blockwise
from .hybrid import (
    by_litert,
    hybrid_weights,
    import_hybrid_fully_connected,
    import_hybrid_matmul,
    is_hybrid,
)
from .real import is_real, product_batch
from .volumes import import_conv3d, import_conv3d_transpose


def import_conv2d(op: OperatorContext) -> None:
    """Groups are implied: the input has a multiple of the weights' channels."""
    channels = op.shape(0)[-1]
    filters, _, _, group_channels = op.shape(1)
    if channels % group_channels or filters % (channels // group_channels):
        raise op.error(
            f"{channels} input channels and {filters} filters of {group_channels}"
            " channels do not divide into groups"
        )
    _convolution(
        op,
        (qnn.RealConv2DOp, qnn.HybridConv2DOp, qnn.Conv2DOp),
        axis=0,
        groups=channels // group_channels,
    )


def import_depthwise_conv2d(op: OperatorContext) -> None:
    """The depth multiplier is that of the shapes; the option must agree."""
    channels, filters = op.shape(0)[-1], op.shape(1)[-1]
    multiplier = op.option("depth_multiplier", 0, filters)
    # 0 is what a writer leaves when it relies on the shapes.
    if filters % channels or multiplier not in (0, filters // channels):
        raise op.error(
            f"depth_multiplier {multiplier} with {channels} input channels and"
            f" {filters} filters; expected {filters / channels:g}"
        )
    _convolution(
        op,
        (
            qnn.RealDepthwiseConv2DOp,
            qnn.HybridDepthwiseConv2DOp,
            qnn.DepthwiseConv2DOp,
        ),
        axis=3,
    )


def _convolution(
    op: OperatorContext,
    layers: Sequence[Callable[..., qnn.QnnOp]],
    axis: int,
    **more: int,
) -> None:
    """Finish a layer whose weights slide over an image, with a filter for each index of
    dimension `axis`: one of real numbers, with stored weights, or of stored numbers."""
    layer = layers[0 if is_real(op) else 1 if is_hybrid(op) else 2]
    batch, *image, _ = op.shape(0)
    _, *kernel, _ = weights = op.shape(1)
    window = read_window(op, image, kernel)
    _finish(
        op,
        layer(
            *_operands(op, axis, weights[axis]),
            _result_type(op, (batch, *window.sizes, weights[axis])),
            stride=window.stride,
            pad=window.pad,
            dilation=window.dilation,
            activation=op.activation(),
            **more,
        ),
    )


def _operands(
    op: OperatorContext, axis: int, filters: int, *, symmetric: bool = True
) -> tuple[SSAValue, SSAValue, SSAValue | None]:
    """The factors of a layer, and its bias: quantized or real numbers."""
    if is_hybrid(op):
        weights = hybrid_weights(op, axis)
        if axis == 3 and filters > 1 and quantized_element(weights.type).is_per_tensor:
            raise op.error(
                f"{op.input(1)}: one scale of {filters} filters on FLOAT32 is not"
                " supported: LiteRT reads one for each, behind the end of its list;"
                f" expected {filters} scales",
                help="ask the quantizer for channelwise weights",
            )
        return op.value(0), weights, read_real_bias(op, 2, filters)
    if is_real(op):
        return op.value(0), op.value(1), read_real_bias(op, 2, filters)
    return (
        op.quantized(0),
        read_weights(op, 1, axis, symmetric=symmetric),
        read_bias(op, 2, filters),
    )


def _result_type(op: OperatorContext, shape: Sequence[int]) -> TensorType[Element]:
    if op.is_float(0):
        op.check_type(op.output(), "FLOAT32")
        return op.result_type(shape)
    return op.quantized_result_type(shape)


def _finish(op: OperatorContext, layer: qnn.QnnOp) -> None:
    """Finish a layer, of real numbers by LiteRT's arithmetic unless a contract has its
    own."""
    if isinstance(layer, qnn.RealOp):
        layer.fallback = "tflite"
    if isinstance(layer, qnn.HybridOp):
        # Convolutions with one scale meet a symmetric operand, others a zero point.
        has_scale = quantized_element(layer.operands[1].type).is_per_tensor
        is_symmetric = has_scale and isinstance(layer, qnn.HybridConv2DOp)
        by_litert(layer, is_symmetric=is_symmetric)
    op.finish(layer)


def import_fully_connected(op: OperatorContext) -> None:
    """The input is taken as a matrix of rows as long as the weights' rows."""
    if (blocks := blocks_of(op)) is not None:
        import_blockwise(op, blocks)
        return
    input_shape = op.shape(0)
    units, depth = op.shape(1, rank=2)
    elements = math.prod(input_shape)
    if elements % depth:
        raise op.error(
            f"{op.input(0)}: {elements} elements are not a multiple of the"
            f" {depth} columns of the weights"
        )
    matrix = (elements // depth, depth)
    keeps = op.flag("keep_num_dims")
    result_shape = (*(input_shape[:-1] if keeps else matrix[:1]), units)
    if is_hybrid(op):
        import_hybrid_fully_connected(op, result_shape)
        return
    value = op.value(0) if is_real(op) else op.quantized(0)
    if op.input(1).type == "INT16" and not op.is_constant(1):
        _import_words_product(op, value, elements // depth, result_shape)
        return
    if not keeps:
        value = op.reshaped(value, matrix)
    _, weights, bias = _operands(op, 0, units, symmetric=False)
    layer = qnn.RealLinearOp if is_real(op) else qnn.LinearOp
    type = _result_type(op, result_shape)
    _finish(op, layer(value, weights, bias, type, activation=op.activation()))


def _import_words_product(
    op: OperatorContext, value: SSAValue, rows: int, shape: tuple[int, ...]
) -> None:
    """A product of two computed matrices of INT16; the second is transposed.

    fully_connected.cc requantizes it as BATCH_MATMUL does, not as with INT8 weights.
    """
    if op.has(2) or op.activation() is not None:
        raise op.error("a bias or activation is not supported with INT16 weights")
    depth = op.shape(1)[1]
    columns = _transposed_if(op, True, 1, "transposed")
    type = op.quantized_result_type(shape)
    matrix = TensorType(type.element_type, (rows, shape[-1]))
    product = qnn.MatMulOp(op.reshaped(value, (rows, depth)), columns, matrix)
    op.finish(qnn.ReshapeOp(op.emit(product, "matrix"), type))


def import_batch_matmul(op: OperatorContext) -> None:
    """Adjoint operands are transposed first."""
    lhs = _transposed_if(op, op.flag("adj_x"), 0, "transpose_x")
    if is_hybrid(op):
        import_hybrid_matmul(op, lhs)
        return
    if not _is_widened(op):
        op.check_type(op.input(1), op.input(0).type)
    rhs = _transposed_if(op, op.flag("adj_y"), 1, "transpose_y")
    outer = product_batch(op, lhs, rhs)
    shape = (*outer, shape_of(lhs)[-2], shape_of(rhs)[-1])
    type = _result_type(op, shape)
    if is_real(op):
        _finish(op, qnn.RealMatMulOp(lhs, rhs, None, type))
        return
    if _is_widened(op):
        rhs = _widened(op, rhs)
    lhs, rhs = _repeated(op, lhs, outer), _repeated(op, rhs, outer)
    op.finish(qnn.MatMulOp(lhs, rhs, type))


def _without_scales(op: OperatorContext, number: int) -> SSAValue | None:
    """A matrix of several scales with one next to 0, since LiteRT takes 0 for them;
    None for others."""
    type = op.input_type(number)
    element = type.element_type
    if not isinstance(element, QuantizedType) or not element.is_per_axis:
        return None
    warn(
        f"operator {op.operator.index} BATCH_MATMUL: LiteRT takes 0 for the scale of"
        f" products by {op.input(number)}, which has {len(element.scales)} scales:"
        " every result is the zero point; ask the converter for one scale",
        op.location,
    )
    least = QuantizedType.per_tensor(element.storage_width, True, LEAST_SCALE, 0)
    stored = op.stored(op.value(number))
    return op.as_stored(stored, TensorType(least, type.get_shape()))


def _is_widened(op: OperatorContext) -> bool:
    return (op.input(0).type, op.input(1).type) == ("INT16", "INT8")


def _widened(op: OperatorContext, value: SSAValue) -> SSAValue:
    """Matrices of INT8 as those of INT16 with the same scale, as which their products
    are summed and rescaled (batch_matmul.cc, EvalInt16)."""
    element = quantized_element(value.type)
    if element.zero_point:
        raise op.error(
            f"{op.input(1)}: INT8 with zero point {element.zero_point} is not supported"
            " together with INT16; expected 0"
        )
    words = mapped(emitter(op), lambda s, x: s.cast(x, i16), op.stored(value))
    wide = QuantizedType.per_tensor(16, True, element.scale, 0)
    return op.as_stored(words, TensorType(wide, shape_of(value)))


def _repeated(op: OperatorContext, value: SSAValue, outer: Sequence[int]) -> SSAValue:
    """The matrices of a batch that broadcasts, each as often as it is used."""
    shape = (*outer, *shape_of(value)[-2:])
    if shape_of(value) == shape:
        return value
    axes = range(len(shape) - len(shape_of(value)), len(shape))
    stored = moved(emitter(op), Broadcast(axes, shape), op.stored(value))
    return op.as_stored(stored, TensorType(quantized_element(value.type), shape))


def _transposed_if(
    op: OperatorContext, adjoint: bool, number: int, suffix: str
) -> SSAValue:
    is_plain = op.is_float(number) or (number == 1 and _is_widened(op))
    value = None if op.is_float(number) else _without_scales(op, number)
    if value is None:
        value = op.value(number) if is_plain else op.quantized(number)
    shape = op.shape(number)
    if len(shape) < 2:
        raise op.error(f"{op.input(number)}: rank {len(shape)}, expected at least 2")
    if not adjoint:
        return value
    rank = len(shape)
    return op.permuted(value, (*range(rank - 2), rank - 1, rank - 2), suffix)


IMPORTERS = {
    "CONV_2D": takes("x[4], weights[4], bias?", import_conv2d),
    "DEPTHWISE_CONV_2D": takes("x[4], weights[4], bias?", import_depthwise_conv2d),
    "FULLY_CONNECTED": takes(
        "x, weights, bias?; weights_format: 0", import_fully_connected
    ),
    "CONV_3D": takes("x[5]: REAL, weights[5]: REAL, bias?", import_conv3d),
    "CONV_3D_TRANSPOSE": takes(
        "shape: INT32, weights[5]: REAL, x[5]: REAL, bias?", import_conv3d_transpose
    ),
    "BATCH_MATMUL": takes("x, y", import_batch_matmul),
}
