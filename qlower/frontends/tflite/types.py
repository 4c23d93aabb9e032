"""TFLite tensors as MLIR types, and the bytes of constants as attributes.

| TFLite | here |
|---|---|
| INT8, UINT8 with a scale | `tensor<... x !quant.uniform<i8:f32, ...>>`, `u8` |
| INT4, INT2 with a scale, of weights | `tensor<... x !quant.uniform<i4:f32, ...>>` |
| INT8, UINT8, INT16 without one, which no arithmetic takes | as with the scale 1 |
| INT16 with a scale | `tensor<... x !quant.uniform<i16:f32, ...>>` |
| INT32, INT64, BOOL, FLOAT32 | `tensor<... x i32>`, `i64`, `i1`, `f32` |
| COMPLEX64, inside of a model | `tensor<... x i64>`, the real part in the lower bits |

Every other type is refused by name. A scale of an INT32 tensor (a bias) is dropped: no
TFLite kernel reads it, the accumulator's scale is that of input times weights.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float32Type,
    IntegerType,
    TensorType,
    f32,
    i1,
    i32,
    i64,
)

from qlower.dialects.qnn.constraints import NARROW
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import integer_range

from ..site import Site
from .schema import Quantization, Tensor

MAX_RANK = 8

MAX_ELEMENTS = 1 << 30
"""Elements of one tensor; more is taken for a damaged shape."""

STORAGE_RANGES = {"INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-32768, 32767)}

STORAGE_WIDTHS = {"INT16": 16, "INT32": 32}
"""The bits of types that don't have 8."""

LEAST_SCALE = 2.0**-126
"""The least that float32 has with all its bits."""

PLAIN_TYPES: dict[str, IntegerType | Float32Type] = {
    "INT32": i32,
    "INT64": i64,
    "BOOL": i1,
    "FLOAT32": f32,
}

PACKED = {
    "INT4": "CONV_2D, DEPTHWISE_CONV_2D on INT8, FULLY_CONNECTED, EMBEDDING_LOOKUP and"
    " DEQUANTIZE",
    "INT2": "FULLY_CONNECTED, EMBEDDING_LOOKUP and DEQUANTIZE",
}
"""Types of several numbers a byte, and the operators that take them."""

COMPLEX = "COMPLEX64"

OF_COMPLEX = (
    *("RFFT2D", "COMPLEX_ABS", "REAL", "IMAG"),
    *("RESHAPE", "SQUEEZE", "EXPAND_DIMS"),
)
"""The operators that have complex operands or results here."""

Element = QuantizedType | IntegerType | Float32Type


def tensor_type(tensor: Tensor, site: Site) -> TensorType[Element]:
    """The ranked tensor type of `tensor`, its shape and quantization checked."""
    if tensor.sparsity is not None:
        raise site.error(f"{tensor}: sparse tensors are not supported; expected dense")
    return TensorType(_element_type(tensor, site), checked_shape(tensor, site))


def outer_type(tensor: Tensor, site: Site) -> TensorType[Element]:
    """The type of an input or output of the model."""
    if tensor.type == COMPLEX:
        raise site.error(
            f"{tensor}: type {COMPLEX} of an input or output is not supported",
            help="COMPLEX_ABS, or REAL and IMAG, give its parts as real numbers",
        )
    return tensor_type(tensor, site)


def quantized_type(tensor: Tensor, site: Site) -> TensorType[Element]:
    """The type as `tensor_type` gives it, but for INT32 with the scale that kernels
    mostly drop."""
    if tensor.type != "INT32":
        return tensor_type(tensor, site)
    if tensor.quantization is None or len(tensor.quantization.scales) != 1:
        raise site.error(f"{tensor}: INT32 without one scale; expected one")
    element = _quantized_type(tensor, tensor.quantization, site)
    return TensorType(element, checked_shape(tensor, site))


def constant_value(
    tensor: Tensor, data: bytes, type: TensorType[Element], site: Site
) -> DenseIntOrFPElementsAttr:
    """`data` as stored elements in the shape of `type`, sharing the bytes."""
    stored, shape = stored_type(type), type.get_shape()
    expected = stored_bytes(type)
    if len(data) != expected:
        raise site.error(
            f"{tensor}: {len(data)} bytes of data, expected {expected} for shape"
            f" {list(shape)} of {tensor.type}"
        )
    return DenseIntOrFPElementsAttr(TensorType(stored, shape), BytesAttr(data))


def stored_bytes(type: TensorType[Element]) -> int:
    """The size of the stored elements of a tensor."""
    return math.prod(type.get_shape()) * stored_type(type).size


def stored_type(type: TensorType[Element]) -> IntegerType | Float32Type:
    """The type of stored elements."""
    element = type.element_type
    return element.storage_type if isinstance(element, QuantizedType) else element


def checked_shape(tensor: Tensor, site: Site) -> tuple[int, ...]:
    """The sizes of `tensor`, each at least 1, and not too many elements."""
    shape = tensor.shape
    if len(shape) > MAX_RANK:
        raise site.error(f"{tensor}: rank {len(shape)} is out of range [0, {MAX_RANK}]")
    for size in shape:
        site.check_range(f"{tensor}: dimension", size, 1, MAX_ELEMENTS)
    if math.prod(shape) > MAX_ELEMENTS:
        raise site.error(
            f"{tensor}: {math.prod(shape)} elements are out of range"
            f" [1, {MAX_ELEMENTS}]"
        )
    return shape


def _element_type(tensor: Tensor, site: Site) -> Element:
    if tensor.type == COMPLEX:
        return i64
    if tensor.type in PLAIN_TYPES:
        return PLAIN_TYPES[tensor.type]
    if tensor.type in PACKED:
        raise site.error(
            f"{tensor}: type {tensor.type} is not supported here: LiteRT unpacks it as"
            f" the constant weights of {PACKED[tensor.type]} alone",
            help="ask the converter for INT8 weights in this operator",
        )
    if tensor.type == "STRING":
        raise site.error(
            f"{tensor}: type STRING is not supported",
            help="split text into numbers before the model, and start it behind that",
        )
    if tensor.type not in STORAGE_RANGES:
        raise site.error(
            f"{tensor}: type {tensor.type} is not supported; expected one of"
            f" {', '.join((*STORAGE_RANGES, *PLAIN_TYPES))}"
        )
    if tensor.quantization is None:
        width = STORAGE_WIDTHS.get(tensor.type, 8)
        return QuantizedType.per_tensor(width, tensor.type != "UINT8", 1.0, 0)
    return _quantized_type(tensor, tensor.quantization, site)


def _quantized_type(
    tensor: Tensor, quantization: Quantization, site: Site
) -> QuantizedType:
    if quantization.has_details:
        raise site.error(
            f"{tensor}: custom or blockwise quantization is not supported here;"
            " expected scales for the whole tensor or along one dimension",
            help="ask the quantizer for channelwise weights, such as dynamic_wi4c_afp32"
            " of ai-edge-quantizer; LiteRT's reference kernels leave the products of"
            " blocks out",
        )
    low, high = STORAGE_RANGES.get(tensor.type, integer_range(32))
    scales, zero_points = quantization.scales, quantization.zero_points
    if len(scales) > 1 or tensor.type == "INT16":
        # The converter writes it for zeros of int16 activations: their multiplier is 0,
        # and so it is for a scale that is next to nothing.
        scales = tuple(scale or LEAST_SCALE for scale in scales)
    for scale in dict.fromkeys(scales):
        if not (math.isfinite(scale) and scale > 0):
            raise site.error(
                f"{tensor}: scale {scale} is out of range: finite and above 0"
            )
    if len(zero_points) not in (1, len(scales)):
        raise site.error(
            f"{tensor}: {len(zero_points)} zero points for {len(scales)} scales;"
            f" expected 1 or {len(scales)}"
        )
    if tensor.type == "INT16":
        for point in filter(None, zero_points):
            raise site.error(
                f"{tensor}: INT16 with zero point {point} is not supported; expected 0",
                help="ask the converter for INT16 activations and INT8 weights"
                " (EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8), whose"
                " zero points are 0",
            )
    for zero_point in dict.fromkeys(zero_points):
        site.check_range(f"{tensor}: zero point", zero_point, low, high)
    signed, width = tensor.type != "UINT8", STORAGE_WIDTHS.get(tensor.type, 8)
    least, most = integer_range(NARROW)
    if tensor.is_narrow and least <= min(zero_points) <= max(zero_points) <= most:
        width = NARROW
    if len(scales) == 1:
        return QuantizedType.per_tensor(width, signed, scales[0], zero_points[0])
    axis = site.check_range(
        f"{tensor}: quantized dimension",
        quantization.axis,
        0,
        len(tensor.shape) - 1,
    )
    if len(scales) != tensor.shape[axis]:
        raise site.error(
            f"{tensor}: {len(scales)} scales along dimension {axis} of shape"
            f" {list(tensor.shape)}; expected 1 or {tensor.shape[axis]}"
        )
    if len(zero_points) == 1:
        zero_points *= len(scales)
    return QuantizedType.per_axis(width, signed, axis, scales, zero_points)
