"""Functions of one element, given by name or by table, and the softmax of a row."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, f32, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from .base import MovingOp, check_same_shape, check_shape
from .constraints import (
    Integer,
    Integral,
    Keyword,
    Number,
    Quantized,
    Value,
    operand_of,
)
from .elementwise import UnaryOp


@irdl_op_definition
class ReluOp(UnaryOp):
    """
    `max(real, 0)`.

    ```mlir
    %y = qnn.relu %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    name = "qnn.relu"

    @property
    def rules(self) -> tuple[str, ...]:
        return ("clamp", "bound")


@irdl_op_definition
class Relu6Op(UnaryOp):
    """
    `min(max(real, 0), 6)`.

    ```mlir
    %y = qnn.relu6 %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    name = "qnn.relu6"

    @property
    def rules(self) -> tuple[str, ...]:
        return ("clamp", "bound")


@irdl_op_definition
class ClampOp(UnaryOp):
    """
    `min(max(real, min), max)` for real bounds `min <= max`.

    ```mlir
    %y = qnn.clamp %x {min = -1.000000e+00 : f32, max = 1.000000e+00 : f32}
        : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    name = "qnn.clamp"

    @property
    def rules(self) -> tuple[str, ...]:
        return ("clamp", "bound")

    min_attr = prop_def(Number("min"), prop_name="min")
    max_attr = prop_def(Number("max"), prop_name="max")

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        min: float,
        max: float,
        contract: str | None = None,
    ):
        super().__init__(
            input,
            result_type,
            contract=contract,
            min=FloatAttr(min, f32),
            max=FloatAttr(max, f32),
        )

    @property
    def min(self) -> float:
        return self.min_attr.value.data

    @property
    def max(self) -> float:
        return self.max_attr.value.data

    def verify_(self) -> None:
        super().verify_()
        if not self.min <= self.max:
            raise VerifyException(f"min {self.min} is not at most max {self.max}")


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """
    `1 / (1 + exp(-real))`.

    ```mlir
    %y = qnn.sigmoid %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    name = "qnn.sigmoid"


@irdl_op_definition
class TanhOp(UnaryOp):
    """
    `tanh(real)`.

    ```mlir
    %y = qnn.tanh %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    name = "qnn.tanh"


@irdl_op_definition
class HardSwishOp(UnaryOp):
    """
    `real * min(max(real + 3, 0), 6) / 6`.

    ```mlir
    %y = qnn.hard_swish %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    name = "qnn.hard_swish"


@irdl_op_definition
class EluOp(UnaryOp):
    """
    `real` where it is positive, `exp(real) - 1` elsewhere.

    ```mlir
    %y = qnn.elu %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    name = "qnn.elu"


@irdl_op_definition
class LeakyReluOp(UnaryOp):
    """
    `real` where it is positive, `alpha * real` elsewhere; alpha is finite.

    ```mlir
    %y = qnn.leaky_relu %x {alpha = 1.000000e-01 : f32}
        : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    name = "qnn.leaky_relu"

    alpha_attr = prop_def(Number("alpha"), prop_name="alpha")

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        alpha: float,
        contract: str | None = None,
    ):
        super().__init__(
            input, result_type, contract=contract, alpha=FloatAttr(alpha, f32)
        )

    @property
    def alpha(self) -> float:
        return self.alpha_attr.value.data

    def verify_(self) -> None:
        super().verify_()
        if not math.isfinite(self.alpha):
            raise VerifyException(f"alpha {self.alpha} is not finite")


FUNCTIONS = ("abs", "exp", "gelu", "gelu_tanh", "log", "rsqrt", "sqrt")
"""The functions that `qnn.function` may name, which are also the rules' names."""


@irdl_op_definition
class FunctionOp(UnaryOp):
    """
    A function by name: `abs`, `exp`, `log`, `sqrt`, `rsqrt` (the root's reciprocal),
    `gelu` (`real / 2 * (1 + erf(real / sqrt(2)))`) or `gelu_tanh`, its approximation
    `real / 2 * (1 + tanh(sqrt(2 / pi) * (real + 0.044715 * real^3)))`. What `log`,
    `rsqrt` and `sqrt` give where there is none is for the contract to say.

    ```mlir
    %y = qnn.function %x {function = "exp"} : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    name = "qnn.function"

    function_attr = prop_def(Keyword("function", FUNCTIONS), prop_name="function")

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.function,)

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        function: str,
        contract: str | None = None,
    ):
        super().__init__(
            input, result_type, contract=contract, function=StringAttr(function)
        )

    @property
    def function(self) -> str:
        return self.function_attr.data


@irdl_op_definition
class LutOp(MovingOp):
    """
    Each stored value, read as an unsigned byte, picks the stored result from `table`:
    `result = table[input & 255]`.

    ```mlir
    %y = qnn.lut %x, %table : (tensor<4x!in>, tensor<256xi8>) -> tensor<4x!out>
    ```
    """

    name = "qnn.lut"

    input = operand_of(Quantized(widths=(8,)))
    table = operand_of(Integral((8,), rank=1))
    result = result_def(Quantized(widths=(8,)))

    def __init__(
        self,
        input: Value,
        table: Value,
        result_type: Attribute,
        *,
        contract: str | None = None,
    ):
        super().__init__(input, table, result=result_type, contract=contract)

    def verify_(self) -> None:
        check_shape("table", self.table.type.get_shape(), (256,))
        check_same_shape(self.input.type, self.result.type)


@irdl_op_definition
class SoftmaxOp(UnaryOp):
    """
    `exp(beta * (real - m)) / sum of exp(beta * (real - m))` over the last dimension,
    where m is the largest real value of it; beta is positive and finite.

    ```mlir
    %y = qnn.softmax %x {axis = 1} : (tensor<1x10x!in>) -> tensor<1x10x!out>
    ```
    """

    name = "qnn.softmax"

    @property
    def rules(self) -> tuple[str, ...]:
        return ("softmax_output", "softmax_term", "softmax_addend")

    axis_attr = prop_def(Integer("axis"), IntegerAttr(-1, i64), prop_name="axis")
    beta_attr = prop_def(Number("beta"), FloatAttr(1.0, f32), prop_name="beta")

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        axis: int = -1,
        beta: float = 1.0,
        contract: str | None = None,
    ):
        super().__init__(
            input,
            result_type,
            contract=contract,
            axis=IntegerAttr(axis, i64),
            beta=FloatAttr(beta, f32),
        )

    @property
    def axis(self) -> int:
        """The normalised dimension, which is the last one."""
        return self.axis_attr.value.data % len(self.input.type.get_shape())

    @property
    def beta(self) -> float:
        return self.beta_attr.value.data

    def verify_(self) -> None:
        super().verify_()
        rank = len(self.input.type.get_shape())
        axis = self.axis_attr.value.data
        if axis not in (-1, rank - 1) or not rank:
            raise VerifyException(
                f"axis {axis} of an input of rank {rank} is not its last dimension"
            )
        if not 0 < self.beta < math.inf:
            raise VerifyException(f"beta {self.beta} is not positive and finite")


@irdl_op_definition
class LogSoftmaxOp(UnaryOp):
    """
    `real - m - log(sum of exp(real - m))` over the last dimension, where m is the
    largest real value of it.

    ```mlir
    %y = qnn.log_softmax %x : (tensor<1x10x!in>) -> tensor<1x10x!out>
    ```
    """

    name = "qnn.log_softmax"

    @property
    def rules(self) -> tuple[str, ...]:
        return ("log_softmax_output", "softmax_term", "softmax_addend")

    @property
    def beta(self) -> float:
        """What the terms of its sum, which are a softmax's, have for beta."""
        return 1.0

    def verify_(self) -> None:
        super().verify_()
        if not self.input.type.get_shape():
            raise VerifyException("an input of rank 0 has no rows")
