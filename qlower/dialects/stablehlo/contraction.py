"""What sums of products of `stablehlo` share: their operands, and the checks."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    TensorType,
    f32,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..types import element_type
from .attributes import (
    PrecisionAttr,
)
from .base import StablehloOp, quantization


class ContractionOp(StablehloOp):
    """An operation that sums products of two operands, quantized or of f32."""

    lhs = operand_def(TensorType[Attribute])
    rhs = operand_def(TensorType[Attribute])
    output = result_def(TensorType[Attribute])
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])

    def check(self) -> None:
        operands = [quantization(self.lhs.type), quantization(self.rhs.type)]
        is_real = [element_type(value.type) == f32 for value in (*self.operands,)]
        if not all(is_real) and None in operands:
            raise VerifyException(
                f"elements of {element_type(self.lhs.type)} and "
                f"{element_type(self.rhs.type)}; both must be quantized, or f32"
            )
        for type in operands:
            if type is not None and type.storage_width > 8:
                raise VerifyException(f"{type}: operands have 8 bits at most")
        lhs, rhs = operands
        if lhs is not None and not lhs.is_per_tensor:
            raise VerifyException(f"{lhs} of the first operand has more than one scale")
        if rhs is not None and not rhs.is_per_tensor:
            self.check_channels(rhs.axis)
        result = quantization(self.output.type)
        if result is None and element_type(self.output.type) != f32:
            raise VerifyException(f"a result of {element_type(self.output.type)}")

    def check_channels(self, axis: int | None) -> None:
        """Raises VerifyException if the second operand can't have a scale for each
        index of an axis."""
        raise VerifyException(f"{self.rhs.type} has more than one scale")
