"""Functions of one element, given by name or by table, and the softmax of a row."""

from __future__ import annotations

import math
from abc import ABC

from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from .base import MovingOp, check_same_shape, check_shape
from .constraints import (
    Integral,
    Quantized,
    operand_of,
)
from .elementwise import UnaryOp
from .fields import integer_field, number_field, word_field


class BoundedOp(UnaryOp, ABC):
    """An op that brings real values into a range."""

    @property
    def rules(self) -> tuple[str, ...]:
        return ("clamp", "bound")


class TabulatedOp(UnaryOp, ABC):
    """A function of one stored value, by the rule of its name."""


class ReluOp(BoundedOp, name="qnn.relu"):
    """
    `max(real, 0)`.

    ```mlir
    %y = qnn.relu %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """


class Relu6Op(BoundedOp, name="qnn.relu6"):
    """
    `min(max(real, 0), 6)`.

    ```mlir
    %y = qnn.relu6 %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """


class ClampOp(BoundedOp, name="qnn.clamp"):
    """
    `min(max(real, min), max)` for real bounds `min <= max`.

    ```mlir
    %y = qnn.clamp %x {min = -1.000000e+00 : f32, max = 1.000000e+00 : f32}
        : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    min = number_field()
    max = number_field()

    def verify_(self) -> None:
        super().verify_()
        if not self.min <= self.max:
            raise VerifyException(f"min {self.min} is not at most max {self.max}")


class SigmoidOp(TabulatedOp, name="qnn.sigmoid"):
    """
    `1 / (1 + exp(-real))`.

    ```mlir
    %y = qnn.sigmoid %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """


class TanhOp(TabulatedOp, name="qnn.tanh"):
    """
    `tanh(real)`.

    ```mlir
    %y = qnn.tanh %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """


class HardSwishOp(TabulatedOp, name="qnn.hard_swish"):
    """
    `real * min(max(real + 3, 0), 6) / 6`.

    ```mlir
    %y = qnn.hard_swish %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """


class EluOp(TabulatedOp, name="qnn.elu"):
    """
    `real` where it is positive, `exp(real) - 1` elsewhere.

    ```mlir
    %y = qnn.elu %x : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """


class LeakyReluOp(TabulatedOp, name="qnn.leaky_relu"):
    """
    `real` where it is positive, `alpha * real` elsewhere; alpha is finite.

    ```mlir
    %y = qnn.leaky_relu %x {alpha = 1.000000e-01 : f32}
        : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    alpha = number_field()

    def verify_(self) -> None:
        super().verify_()
        if not math.isfinite(self.alpha):
            raise VerifyException(f"alpha {self.alpha} is not finite")


FUNCTIONS = ("abs", "exp", "gelu", "gelu_tanh", "log", "rsqrt", "sqrt")
"""The functions that `qnn.function` may name, which are also the rules' names."""


class FunctionOp(TabulatedOp, name="qnn.function"):
    """
    A function by name: `abs`, `exp`, `log`, `sqrt`, `rsqrt` (the root's reciprocal),
    `gelu` (`real / 2 * (1 + erf(real / sqrt(2)))`) or `gelu_tanh`, its approximation
    `real / 2 * (1 + tanh(sqrt(2 / pi) * (real + 0.044715 * real^3)))`. What `log`,
    `rsqrt` and `sqrt` give where there is none is for the contract to say.

    ```mlir
    %y = qnn.function %x {function = "exp"} : (tensor<4x!in>) -> tensor<4x!out>
    ```
    """

    function = word_field(*FUNCTIONS)

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.function,)


class LutOp(MovingOp, name="qnn.lut"):
    """
    Each stored value, read as an unsigned byte, picks the stored result from `table`:
    `result = table[input & 255]`.

    ```mlir
    %y = qnn.lut %x, %table : (tensor<4x!in>, tensor<256xi8>) -> tensor<4x!out>
    ```
    """

    input = operand_of(Quantized(widths=(8,)))
    table = operand_of(Integral((8,), rank=1))
    result = result_def(Quantized(widths=(8,)))

    def verify_(self) -> None:
        check_shape("table", self.table.type.get_shape(), (256,))
        check_same_shape(self.input.type, self.result.type)


class SoftmaxOp(UnaryOp, name="qnn.softmax"):
    """
    `exp(beta * (real - m)) / sum of exp(beta * (real - m))` over the last dimension,
    where m is the largest real value of it; beta is positive and finite.

    ```mlir
    %y = qnn.softmax %x {axis = 1} : (tensor<1x10x!in>) -> tensor<1x10x!out>
    ```
    """

    @property
    def rules(self) -> tuple[str, ...]:
        return ("softmax_output", "softmax_term", "softmax_addend")

    stated_axis = integer_field(name="axis", default=-1)
    beta = number_field(default=1.0)

    @property
    def axis(self) -> int:
        """The normalised dimension, which is the last one."""
        return self.stated_axis % len(self.input.type.get_shape())

    def verify_(self) -> None:
        super().verify_()
        rank = len(self.input.type.get_shape())
        axis = self.stated_axis
        if axis not in (-1, rank - 1) or not rank:
            raise VerifyException(
                f"axis {axis} of an input of rank {rank} is not its last dimension"
            )
        if not 0 < self.beta < math.inf:
            raise VerifyException(f"beta {self.beta} is not positive and finite")


class LogSoftmaxOp(UnaryOp, name="qnn.log_softmax"):
    """
    `real - m - log(sum of exp(real - m))` over the last dimension, where m is the
    largest real value of it.

    ```mlir
    %y = qnn.log_softmax %x : (tensor<1x10x!in>) -> tensor<1x10x!out>
    ```
    """

    @property
    def rules(self) -> tuple[str, ...]:
        return ("log_softmax_output", "softmax_term", "softmax_addend")

    @property
    def beta(self) -> float:
        """The beta of the terms in its sum, as in a softmax."""
        return 1.0

    def verify_(self) -> None:
        super().verify_()
        if not self.input.type.get_shape():
            raise VerifyException("an input of rank 0 has no rows")
