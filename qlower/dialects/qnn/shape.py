"""Ops that keep every stored value and change where it stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
    result_def,
)

from qlower.operators.movement import Movement, Reshape, Transpose

from ..integers import integers, values_of
from .base import MovingOp, check_same_quantization, check_shape
from .constraints import (
    Integers,
    QuantizedOrPlain,
    Value,
    operand_of,
)


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


@irdl_op_definition
class ReshapeOp(MovementOp):
    """
    The same elements in the same row-major order, in another shape.

    ```mlir
    %y = qnn.reshape %x : (tensor<1x2x3x!in>) -> tensor<6x!in>
    ```
    """

    name = "qnn.reshape"

    def __init__(
        self, input: Value, result_type: Attribute, *, contract: str | None = None
    ):
        super().__init__(input, result=result_type, contract=contract)

    @property
    def movement(self) -> Reshape:
        return Reshape(self.result.type.get_shape())


@irdl_op_definition
class TransposeOp(MovementOp):
    """
    Permuted dimensions: dimension d of the result is dimension `perm[d]` of the input.

    ```mlir
    %y = qnn.transpose %x {perm = [1, 0]} : (tensor<2x3x!in>) -> tensor<3x2x!in>
    ```
    """

    name = "qnn.transpose"

    perm_attr = prop_def(Integers("perm", 0), prop_name="perm")

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        perm: Sequence[int],
        contract: str | None = None,
    ):
        super().__init__(
            input, result=result_type, contract=contract, perm=integers(perm)
        )

    @property
    def perm(self) -> tuple[int, ...]:
        return values_of(self.perm_attr)

    @property
    def movement(self) -> Transpose:
        return Transpose(self.perm)
