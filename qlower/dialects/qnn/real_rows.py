"""
Operations on rows of f32: pools, reductions, normalizations.

A row is a window, the elements along some dimensions, or those that are normalized
together. The contract's rule gives the result, and the rule's helpers have the order in
which elements are added (`contract.rows`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir.affine import AffineDimExpr, AffineExpr
from xdsl.irdl import result_def
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape, check_axis, reduced
from qlower.operators.sums import POOL_2D, Sums, slides

from .base import WindowOp, check_broadcast, check_shape
from .constraints import Real, operand_of, operands_of
from .fields import (
    flag_field,
    integer_field,
    integers_field,
    number_field,
    word_field,
)
from .real import FallbackOp

LOWEST = float(np.finfo(np.float32).min)
"""The lowest finite number."""

POOLS = (
    *("average_pool", "loop_average_pool", "volume_average_pool"),
    *("l2_pool", "sum_pool", "max_pool"),
)
REDUCTIONS = (
    *("global_average", "mean", "sum", "product", "maximum", "minimum"),
    *("l1", "l2", "global_l2", "square_sum", "log_sum", "log_sum_exp"),
)
NORMALIZATIONS = (
    *("softmax", "log_softmax", "l2_normalize"),
    *("layer_norm", "loop_layer_norm", "rms_norm", "loop_rms_norm"),
    *("plain_layer_norm", "instance_norm", "group_norm", "mean_variance_norm"),
)
ROW_FUNCTIONS = (*POOLS, *REDUCTIONS, *NORMALIZATIONS)
"""The functions of rows, which are also the rules' names behind `real_`."""


class RealRowsOp(FallbackOp, ABC):
    """An op on rows of f32. `function` names the contract's rule, `real_<function>`."""

    input = operand_of(Real())
    result = result_def(Real())

    @property
    def rules(self) -> tuple[str, ...]:
        function = self.properties["function"]
        assert isinstance(function, StringAttr), "verified"
        return (f"real_{function.data}",)

    @property
    @abstractmethod
    def loops(self) -> tuple[Shape, Shape]:
        """The sizes of the loops over rows, and over the elements of one."""

    @property
    @abstractmethod
    def places(self) -> Sequence[AffineExpr]:
        """The index of an element for each dimension of the input, by these loops."""


class RealPool2DOp(RealRowsOp, WindowOp, name="qnn.real_pool2d"):
    """
    A function of each window of an NHWC image of f32, by the contract's rule
    `real_<function>`: `average_pool`, the mean of the taps inside of the image, or of
    all with `count_include_pad`; `loop_average_pool` and `volume_average_pool`, the
    same where a system has kernels of plain loops and for volumes, whose windows are
    images here; `l2_pool`, the root of the mean of squares; `sum_pool`; `max_pool`.
    Padding is 0, of `max_pool` the lowest finite number.

    ```mlir
    %y = qnn.real_pool2d %x {function = "average_pool", kernel = [2, 2],
        stride = [2, 2], pad = [0, 0, 0, 0], dilation = [1, 1]}
        : (tensor<1x4x4x3xf32>) -> tensor<1x2x2x3xf32>
    ```
    """

    input = operand_of(Real(rank=4))
    result = result_def(Real(rank=4))

    function = word_field(*POOLS)
    kernel = integers_field(1, length=2)
    """Size of the window, (height, width)."""
    dilation = integers_field(1, length=2, initial=(1, 1))
    """Distance of taps, (height, width)."""
    count_include_pad = flag_field()
    """Whether padding counts as taps of 0."""

    @property
    def sums(self) -> Sums:
        """The windows, as of a sum with weights [height, width] that are all 1."""
        return Sums(POOL_2D, slides(self.stride, self.pad, self.dilation))

    @property
    def around(self) -> float:
        """The number around the image."""
        return LOWEST if self.function == "max_pool" else 0.0

    @property
    def loops(self) -> tuple[Shape, Shape]:
        return self.result.type.get_shape(), tuple(self.kernel)

    @property
    def places(self) -> Sequence[AffineExpr]:
        sums, shape = self.sums, self.input.type.get_shape()
        bounds = sums.bounds(shape, tuple(self.kernel))
        return sums.structure.places(sums.structure.axes[0], bounds, sums.steps)

    def verify_(self) -> None:
        input, result = self.input.type.get_shape(), self.result.type.get_shape()
        self.sums.check_result(input, self.kernel, result)


class RealReduceOp(RealRowsOp, name="qnn.real_reduce"):
    """
    A function of all elements of f32 along the dimensions `axes`, by the contract's
    rule `real_<function>`: `global_average`, the mean of an image, or `mean`; `sum`,
    `product`, `maximum` and `minimum`; `l1`, the sum of absolute values, `square_sum`,
    and its root, `l2`, of an image `global_l2`; the logarithms of the sum, `log_sum`,
    and of the sum of exponentials, `log_sum_exp`. The dimensions go, or stay with size
    1 with `keep_dims`; without `axes` each element is a row.

    ```mlir
    %y = qnn.real_reduce %x {function = "global_average", axes = [1, 2]}
        : (tensor<1x9x9x3xf32>) -> tensor<1x3xf32>
    ```
    """

    function = word_field(*REDUCTIONS)
    axes = integers_field(0)
    """The dimensions whose elements become one, in order."""
    keep_dims = flag_field()

    @property
    def loops(self) -> tuple[Shape, Shape]:
        shape = self.input.type.get_shape()
        depth = tuple(shape[axis] for axis in self.axes)
        return reduced(shape, self.axes), depth

    @property
    def places(self) -> Sequence[AffineExpr]:
        axes, rank = self.axes, len(self.input.type.get_shape())
        order = [*(axis for axis in range(rank) if axis not in axes), *axes]
        return [AffineDimExpr(order.index(axis)) for axis in range(rank)]

    def verify_(self) -> None:
        kept = reduced(self.input.type.get_shape(), self.axes, self.keep_dims)
        check_shape("result", self.result.type.get_shape(), kept)
        if [*self.axes] != sorted(self.axes):
            raise VerifyException(
                f"axes {list(self.axes)}: expected dimensions in order"
            )


PARAMETERS = ("scale", "bias")
"""The operands of a normalization after its input."""


class RealNormalizeOp(RealRowsOp, name="qnn.real_normalize"):
    """
    Rows of f32, each element by a function of the whole row, by the contract's rule
    `real_<function>`. A row has the dimensions from `axis` on. `softmax` and
    `log_softmax` multiply differences by `beta`; `l2_normalize` divides by the root of
    the sum of squares; `layer_norm`, `rms_norm` and `instance_norm` subtract the mean
    (not `rms_norm`), divide by the root of the mean square and `epsilon`, multiply by a
    scale and add a bias, which broadcast to the input; `group_norm` with a mean square
    less the squared mean; `mean_variance_norm` without these three numbers.
    `loop_layer_norm`, `plain_layer_norm` and `loop_rms_norm` are the same where a
    system has plain loops besides.

    ```mlir
    %y = qnn.real_normalize %x, %scale, %bias
        {function = "layer_norm", axis = 1, epsilon = 1.000000e-05}
        : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    input = operand_of(Real())
    parameters = operands_of(Real())
    """The scale, if there is one, and the bias."""
    result = result_def(Real())

    function = word_field(*NORMALIZATIONS)
    axis = integer_field()
    """The first dimension of a row."""
    epsilon = number_field(default=0.0)
    beta = number_field(default=1.0)

    @property
    def loops(self) -> tuple[Shape, Shape]:
        shape = self.input.type.get_shape()
        return shape[: self.axis], shape[self.axis :]

    @property
    def places(self) -> Sequence[AffineExpr]:
        return [AffineDimExpr(at) for at in range(len(self.input.type.get_shape()))]

    def verify_(self) -> None:
        shape = self.input.type.get_shape()
        check_axis(self.axis, len(shape))
        check_shape("result", self.result.type.get_shape(), shape)
        if len(self.parameters) > len(PARAMETERS):
            raise VerifyException(
                f"{len(self.parameters)} parameters; expected {', '.join(PARAMETERS)}"
            )
        for name, value in zip(PARAMETERS, self.parameters, strict=False):
            check_broadcast(name, value.type.get_shape(), shape)
