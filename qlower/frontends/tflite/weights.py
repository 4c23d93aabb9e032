"""Weights and biases of convolutions and FULLY_CONNECTED."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from qlower.dialects.quant import QuantizedType

from .context import OperatorContext
from .types import PLAIN_TYPES


def read_weights(
    op: OperatorContext, number: int, axis: int, *, symmetric: bool = True
) -> SSAValue:
    """Weights, checked by `check_weights`; a run may give them."""
    check_weights(op, number, axis, op.input(0).type, symmetric=symmetric)
    return op.value(number)


def check_weights(
    op: OperatorContext, number: int, axis: int, type: str, *, symmetric: bool = True
) -> QuantizedType:
    """Refuse weights that aren't of the input's type (INT8 for one of INT16), or with
    other scales than one or one per index of `axis`.

    INT8 kernels take zero points for 0; only those that are not `symmetric` subtract
    the zero point of weights with one scale.
    """
    tensor = op.input(number)
    expected = "INT8" if type == "INT16" else type
    op.expect_type(number, expected, where=f"for weights with {type}")
    element = op.input_type(number).element_type
    if not isinstance(element, QuantizedType):
        raise op.error(f"{tensor}: weights of type {type} have no scale")
    if element.is_per_axis:
        if element.axis != axis:
            raise op.error(
                f"{tensor}: weights quantized along dimension {element.axis} are not"
                f" supported; expected {axis}"
            )
        if not element.signed:
            raise op.error(
                f"{tensor}: UINT8 weights with {len(element.scales)} scales are not"
                " supported; expected 1"
            )
    else:
        op.per_tensor(tensor)
    if element.signed and (symmetric or element.is_per_axis):
        zero_point = max(element.zero_points, key=abs)
        if zero_point != 0:
            raise op.error(
                f"{tensor}: INT8 weights with zero point {zero_point} are not"
                " supported; expected 0"
            )
    return element


def read_bias(op: OperatorContext, number: int, channels: int) -> SSAValue | None:
    """The optional constant bias, as `tensor<channels x i32>`, or i64 for INT16
    activations, whose bias may also be i32."""
    check_bias(op, number, channels, may_be_narrow=True)
    if not op.has(number):
        return None
    tensor = op.input(number)
    type = TensorType(PLAIN_TYPES[tensor.type], (channels,))
    return op.graph.value(tensor, type, op)


def read_real_bias(op: OperatorContext, number: int, channels: int) -> SSAValue | None:
    """The optional bias of a layer on FLOAT32, which may be computed."""
    if not op.has(number):
        return None
    op.expect_type(number, "FLOAT32")
    op.check_shape(number, [channels])
    return op.value(number)


def check_bias(
    op: OperatorContext, number: int, channels: int, *, may_be_narrow: bool = False
) -> None:
    """Refuse a bias that isn't constant or has another size or type."""
    if not op.has(number):
        return
    tensor = op.input(number)
    op.constant(number)
    result = op.output().type
    wide = ("INT64", "INT32") if may_be_narrow else ("INT64",)
    legal = wide if result == "INT16" else ("INT32",)
    op.expect_type(number, *legal, where=f"for a bias with {result}")
    if math.prod(tensor.shape) != channels:
        raise op.error(
            f"{tensor}: a bias of shape {list(tensor.shape)}, expected [{channels}]"
        )
