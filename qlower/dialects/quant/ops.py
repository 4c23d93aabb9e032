"""The casts between real values, quantized values and their storage."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import (
    Attribute,
    Operation,
    SSAValue,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..types import element_type, is_tensor_type
from .types import QuantizedType


def _verify_cast(real: Attribute, quantized: Attribute, storage: bool) -> None:
    """
    Checks that `quantized` is a quantized form of `real`, or with `storage`, that
    `real` is its stored form: same shape, matching elements, a scale for each index.
    """
    quantization = element_type(quantized)
    if not isinstance(quantization, QuantizedType):
        raise VerifyException(f"{quantization} is not a !quant.uniform type")
    expected = quantization.storage_type if storage else quantization.expressed_type
    if element_type(real) != expected:
        raise VerifyException(
            f"element type {element_type(real)} does not match the "
            f"{'storage' if storage else 'expressed'} type {expected}"
        )
    shapes = [
        type.get_shape() if is_tensor_type(type) else None for type in (real, quantized)
    ]
    if shapes[0] != shapes[1]:
        raise VerifyException(f"shapes of {real} and {quantized} differ")
    if quantization.is_per_tensor:
        return
    if shapes[1] is None:
        raise VerifyException("a scalar may only use per-tensor quantization")
    if (axis := quantization.axis) is None:
        return
    if axis >= len(shapes[1]):
        raise VerifyException(
            f"quantized dimension {axis} is outside the rank {len(shapes[1])}"
        )
    if shapes[1][axis] not in (DYNAMIC_INDEX, len(quantization.scales)):
        raise VerifyException(
            f"quantized dimension size {shapes[1][axis]} does not match "
            f"number of scales {len(quantization.scales)}"
        )


class _CastOp(IRDLOperation, ABC):
    """One value in another of its forms."""

    input = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue | Operation, result_type: Attribute):
        super().__init__(operands=[input], result_types=[result_type])


@irdl_op_definition
class QuantizeCastOp(_CastOp):
    """Convert real to quantized: `clamp(round(real / scale) + zero_point)`. How to
    round is a numerics contract; `qnn.quantize` carries one.

    ```mlir
    %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5:-3>>
    ```
    """

    name = "quant.qcast"

    def verify_(self) -> None:
        _verify_cast(self.input.type, self.result.type, storage=False)


@irdl_op_definition
class DequantizeCastOp(_CastOp):
    """Convert quantized to real: `scale * (stored - zero_point)`.

    ```mlir
    %x = quant.dcast %q : tensor<4x!quant.uniform<i8:f32, 0.5:-3>> to tensor<4xf32>
    ```
    """

    name = "quant.dcast"

    def verify_(self) -> None:
        _verify_cast(self.result.type, self.input.type, storage=False)


@irdl_op_definition
class StorageCastOp(_CastOp, HasFolderInterface):
    """
    The stored integers of a quantized value, or back: no bit changes. Two inverse casts
    fold away.

    ```mlir
    %i = quant.scast %q : tensor<4x!quant.uniform<i8:f32, 0.5:-3>> to tensor<4xi8>
    ```
    """

    name = "quant.scast"

    def verify_(self) -> None:
        input_type, result_type = self.input.type, self.result.type
        if isinstance(element_type(input_type), QuantizedType):
            _verify_cast(result_type, input_type, storage=True)
        else:
            _verify_cast(input_type, result_type, storage=True)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        inverse = self.input.owner
        if isinstance(inverse, StorageCastOp) and (
            inverse.input.type == self.result.type
        ):
            return (inverse.input,)
        return None
