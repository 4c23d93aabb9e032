"""Ops that keep every stored value and change where it stands."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..integers import integers, values_of
from .base import MovingOp, check_same_quantization, check_shape
from .constraints import (
    Integers,
    QuantizedOrPlain,
    Value,
    operand_of,
)


@irdl_op_definition
class ReshapeOp(MovingOp):
    """
    The same elements in the same row-major order, in another shape.

    ```mlir
    %y = qnn.reshape %x : (tensor<1x2x3x!in>) -> tensor<6x!in>
    ```
    """

    name = "qnn.reshape"

    input = operand_of(QuantizedOrPlain())
    result = result_def(QuantizedOrPlain())

    def __init__(
        self, input: Value, result_type: Attribute, *, contract: str | None = None
    ):
        super().__init__(input, result=result_type, contract=contract)

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        before = math.prod(self.input.type.get_shape())
        after = math.prod(self.result.type.get_shape())
        if before != after:
            raise VerifyException(
                f"{after} elements of result do not match the input's {before}"
            )


@irdl_op_definition
class TransposeOp(MovingOp):
    """
    Permuted dimensions: dimension d of the result is dimension `perm[d]` of the input.

    ```mlir
    %y = qnn.transpose %x {perm = [1, 0]} : (tensor<2x3x!in>) -> tensor<3x2x!in>
    ```
    """

    name = "qnn.transpose"

    input = operand_of(QuantizedOrPlain())
    result = result_def(QuantizedOrPlain())

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

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        input = self.input.type.get_shape()
        if sorted(self.perm) != list(range(len(input))):
            raise VerifyException(
                f"perm {list(self.perm)} is not a permutation of the "
                f"{len(input)} dimensions of input"
            )
        expected = [input[dimension] for dimension in self.perm]
        check_shape("result", self.result.type.get_shape(), expected)
