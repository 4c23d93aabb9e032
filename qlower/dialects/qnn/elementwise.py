"""Ops on one element of each operand: arithmetic and changes of quantization."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import ShapedType
from xdsl.irdl import result_def

from qlower.operators.shapes import broadcast

from .base import ActivatedOp, QnnOp, check_same_shape, check_shape
from .constraints import (
    Integral,
    Quantized,
    Real,
    Stored,
    operand_of,
)
from .fields import word_field


class UnaryOp(QnnOp, ABC):
    """An op that keeps the shape; the result may have another quantization."""

    input = operand_of(Quantized())
    result = result_def(Quantized())

    def verify_(self) -> None:
        check_same_shape(self.input.type, self.result.type)


class BinaryOp(ActivatedOp, ABC):
    """An op on two operands whose shapes broadcast as numpy's do."""

    lhs = operand_of(Quantized())
    rhs = operand_of(Quantized())
    result = result_def(Quantized())

    def verify_(self) -> None:
        check_broadcast(self.lhs.type, self.rhs.type, self.result.type)


def check_broadcast(
    lhs_type: ShapedType, rhs_type: ShapedType, result_type: ShapedType
) -> None:
    """Checks that operands broadcast to the result as numpy's do."""
    expected = broadcast(lhs_type.get_shape(), rhs_type.get_shape())
    check_shape("result", result_type.get_shape(), expected)


class AddOp(BinaryOp, name="qnn.add"):
    """
    Real sum of two broadcast operands:
    `lhs scale * (lhs - lhs zero point) + rhs scale * (rhs - rhs zero point)`.

    ```mlir
    %y = qnn.add %a, %b {activation = "relu"}
        : (tensor<1x4x4x8x!in>, tensor<8x!other>) -> tensor<1x4x4x8x!out>
    ```
    """


class SubOp(BinaryOp, name="qnn.sub"):
    """
    Real difference of two broadcast operands:
    `lhs scale * (lhs - lhs zero point) - rhs scale * (rhs - rhs zero point)`.

    ```mlir
    %y = qnn.sub %a, %b : (tensor<4x8x!in>, tensor<4x1x!other>) -> tensor<4x8x!out>
    ```
    """


class MulOp(BinaryOp, name="qnn.mul"):
    """
    Real product of two broadcast operands: `lhs scale * rhs scale * acc` with
    `acc = (lhs - lhs zero point) * (rhs - rhs zero point)`.

    ```mlir
    %y = qnn.mul %a, %b : (tensor<4x8x!in>, tensor<8x!other>) -> tensor<4x8x!out>
    ```
    """


class DivOp(BinaryOp, name="qnn.div"):
    """
    Real quotient of two broadcast operands; that by 0 is for the contract to say.

    ```mlir
    %y = qnn.div %a, %b : (tensor<4x8x!in>, tensor<8x!other>) -> tensor<4x8x!out>
    ```
    """


class SquaredDifferenceOp(BinaryOp, name="qnn.squared_difference"):
    """
    The square of the real difference of two broadcast operands.

    ```mlir
    %y = qnn.squared_difference %a, %b
        : (tensor<4x8x!in>, tensor<4x1x!other>) -> tensor<4x8x!out>
    ```
    """


class PReluOp(BinaryOp, name="qnn.prelu"):
    """
    The real lhs where it is positive, the real product of lhs and rhs elsewhere.

    ```mlir
    %y = qnn.prelu %x, %alpha
        : (tensor<4x8x!in>, tensor<8x!other>) -> tensor<4x8x!out>
    ```
    """


PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")


class CompareOp(QnnOp, name="qnn.compare"):
    """
    Whether real `lhs` and `rhs`, which broadcast, are equal (`eq`), unequal (`ne`), or
    the lhs is less (`lt`), at most (`le`), more (`gt`) or at least (`ge`) the rhs.

    ```mlir
    %y = qnn.compare %a, %b {predicate = "lt"}
        : (tensor<4x8x!in>, tensor<8x!other>) -> tensor<4x8xi1>
    ```
    """

    lhs = operand_of(Quantized())
    rhs = operand_of(Quantized())
    result = result_def(Integral((1,)))

    predicate = word_field(*PREDICATES)

    def verify_(self) -> None:
        check_broadcast(self.lhs.type, self.rhs.type, self.result.type)


class RequantizeOp(UnaryOp, name="qnn.requantize"):
    """
    The same real values in another quantization:
    `input scale / result scale * (input - input zero point) + result zero point`,
    rounded and saturated. Storage may be another, of 32 bits as well.

    ```mlir
    %y = qnn.requantize %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    input = operand_of(Quantized(widths=(8, 16, 32)))
    result = result_def(Quantized(widths=(8, 16, 32)))


class QuantizeOp(UnaryOp, name="qnn.quantize"):
    """
    From real to quantized: `input / scale + zero_point`, rounded and saturated. Scales
    and zero points may vary along a dimension or by blocks, storage may have 16 bits.

    ```mlir
    %q = qnn.quantize %x : (tensor<4xf32>) -> tensor<4x!out>
    ```
    """

    input = operand_of(Real())
    result = result_def(Stored())


class DequantizeOp(UnaryOp, name="qnn.dequantize"):
    """
    From quantized to real: `scale * (input - zero_point)`, with scales and storage as
    in `qnn.quantize`.

    ```mlir
    %x = qnn.dequantize %q : (tensor<4x!in>) -> tensor<4xf32>
    ```
    """

    input = operand_of(Stored())
    result = result_def(Real())
