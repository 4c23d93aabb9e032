"""Ops that keep every stored value and change where it stands."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.irdl import (
    result_def,
)

from qlower.operators.movement import Movement, Reshape, Transpose

from .base import MovingOp, check_same_quantization, check_shape
from .constraints import (
    QuantizedOrPlain,
    operand_of,
)
from .fields import integers_field


class MovementOp(MovingOp, ABC):
    """An op whose result has stored values of its one operand at other places."""

    input = operand_of(QuantizedOrPlain())
    result = result_def(QuantizedOrPlain())

    @property
    @abstractmethod
    def movement(self) -> Movement:
        """What stands where."""

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        expected = self.movement.result_shape(self.input.type.get_shape())
        check_shape("result", self.result.type.get_shape(), expected)


class ReshapeOp(MovementOp, name="qnn.reshape"):
    """
    The same elements in the same row-major order, in another shape.

    ```mlir
    %y = qnn.reshape %x : (tensor<1x2x3x!in>) -> tensor<6x!in>
    ```
    """

    @property
    def movement(self) -> Reshape:
        return Reshape(self.result.type.get_shape())


class TransposeOp(MovementOp, name="qnn.transpose"):
    """
    Permuted dimensions: dimension d of the result is dimension `perm[d]` of the input.

    ```mlir
    %y = qnn.transpose %x {perm = [1, 0]} : (tensor<2x3x!in>) -> tensor<3x2x!in>
    ```
    """

    perm = integers_field(0)

    @property
    def movement(self) -> Transpose:
        return Transpose(self.perm)
