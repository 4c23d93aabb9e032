"""Ops that put stored values together or take them apart."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    IntegerAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..integers import integers, values_of
from ..quant import QuantizedType
from ..types import integer_range
from .base import MovingOp, QnnOp, check_axis, check_same_quantization, check_shape
from .constraints import (
    Integer,
    Integers,
    QuantizedOrPlain,
    Value,
    operand_of,
    operands_of,
)


@irdl_op_definition
class ConcatOp(QnnOp):
    """
    Operands one after the other along dimension `axis`; each is brought from its own
    quantization to that of the result. All are real, or integers, if the result is.

    ```mlir
    %y = qnn.concat %a, %b {axis = 1}
        : (tensor<1x2x!in>, tensor<1x3x!other>) -> tensor<1x5x!out>
    ```
    """

    name = "qnn.concat"

    @property
    def rules(self) -> tuple[str, ...]:
        result = self.result.type.element_type
        same = all(value.type.element_type == result for value in self.inputs)
        return () if same else (self.kind,)

    inputs = operands_of(QuantizedOrPlain())
    result = result_def(QuantizedOrPlain())

    axis_attr = prop_def(Integer("axis"), prop_name="axis")

    def __init__(
        self,
        inputs: Sequence[Value],
        result_type: Attribute,
        *,
        axis: int,
        contract: str | None = None,
    ):
        super().__init__(
            inputs, result=result_type, contract=contract, axis=IntegerAttr(axis, i64)
        )

    @property
    def axis(self) -> int:
        return self.axis_attr.value.data

    def verify_(self) -> None:
        result = self.result.type.get_shape()
        axis = self.axis
        check_axis(axis, len(result))
        if not self.inputs:
            raise VerifyException("expected at least one input")
        total = 0
        for index, value in enumerate(self.inputs):
            shape = value.type.get_shape()
            if len(shape) != len(result):
                raise VerifyException(
                    f"rank {len(shape)} of input {index} does not match "
                    f"the result's {len(result)}"
                )
            expected = (*result[:axis], shape[axis], *result[axis + 1 :])
            check_shape(f"input {index}", shape, expected)
            elements = (value.type.element_type, self.result.type.element_type)
            if not all(isinstance(element, QuantizedType) for element in elements):
                check_same_quantization(f"input {index}", value.type, self.result.type)
            total += shape[axis]
        check_shape("result", result, (*result[:axis], total, *result[axis + 1 :]))


@irdl_op_definition
class PadOp(MovingOp):
    """
    `low[d]` elements before and `high[d]` after each dimension d, filled with the
    stored integer `value`, by default the zero point (real 0). Plain tensors are filled
    with 0.

    ```mlir
    %y = qnn.pad %x {low = [0, 1], high = [0, 2]}
        : (tensor<2x3x!in>) -> tensor<2x6x!in>
    ```
    """

    name = "qnn.pad"

    input = operand_of(QuantizedOrPlain())
    result = result_def(QuantizedOrPlain())

    low_attr = prop_def(Integers("low", 0), prop_name="low")
    high_attr = prop_def(Integers("high", 0), prop_name="high")
    value_attr = opt_prop_def(Integer("value"), prop_name="value")

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        low: Sequence[int],
        high: Sequence[int],
        value: int | None = None,
        contract: str | None = None,
    ):
        super().__init__(
            input,
            result=result_type,
            contract=contract,
            low=integers(low),
            high=integers(high),
            value=None if value is None else IntegerAttr(value, i64),
        )

    @property
    def low(self) -> tuple[int, ...]:
        return values_of(self.low_attr)

    @property
    def high(self) -> tuple[int, ...]:
        return values_of(self.high_attr)

    @property
    def value(self) -> int:
        """The stored integer that fills the padding."""
        if self.value_attr is not None:
            return self.value_attr.value.data
        element = self.input.type.element_type
        return element.zero_point if isinstance(element, QuantizedType) else 0

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        input = self.input.type.get_shape()
        for name, amounts in (("low", self.low), ("high", self.high)):
            if len(amounts) != len(input):
                raise VerifyException(
                    f"{name} {list(amounts)} has {len(amounts)} entries, "
                    f"expected {len(input)}"
                )
        expected = [sum(s) for s in zip(self.low, input, self.high, strict=True)]
        check_shape("result", self.result.type.get_shape(), expected)
        element = self.input.type.element_type
        if not isinstance(element, QuantizedType):
            if self.value_attr is not None:
                raise VerifyException("value is for the padding of quantized tensors")
            return
        storage = element.data.storage
        low, high = integer_range(storage.width, storage.signed)
        if not low <= self.value <= high:
            raise VerifyException(
                f"value {self.value} is outside [{low}, {high}] "
                f"of its storage type {storage.name}"
            )


@irdl_op_definition
class SliceOp(MovingOp):
    """
    A strided box: `result[i] = input[offsets + i * strides]` for `0 <= i < sizes`.

    ```mlir
    %y = qnn.slice %x {offsets = [0, 1], sizes = [2, 2], strides = [1, 2]}
        : (tensor<2x4x!in>) -> tensor<2x2x!in>
    ```
    """

    name = "qnn.slice"

    input = operand_of(QuantizedOrPlain())
    result = result_def(QuantizedOrPlain())

    offsets_attr = prop_def(Integers("offsets", 0), prop_name="offsets")
    sizes_attr = prop_def(Integers("sizes", 1), prop_name="sizes")
    strides_attr = prop_def(Integers("strides", 1), prop_name="strides")

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        offsets: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int],
        contract: str | None = None,
    ):
        super().__init__(
            input,
            result=result_type,
            contract=contract,
            offsets=integers(offsets),
            sizes=integers(sizes),
            strides=integers(strides),
        )

    @property
    def offsets(self) -> tuple[int, ...]:
        return values_of(self.offsets_attr)

    @property
    def sizes(self) -> tuple[int, ...]:
        return values_of(self.sizes_attr)

    @property
    def strides(self) -> tuple[int, ...]:
        return values_of(self.strides_attr)

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        input = self.input.type.get_shape()
        lists = {
            "offsets": self.offsets,
            "sizes": self.sizes,
            "strides": self.strides,
        }
        for name, values in lists.items():
            if len(values) != len(input):
                raise VerifyException(
                    f"{name} {list(values)} has {len(values)} entries, "
                    f"expected {len(input)}"
                )
        for dimension, (offset, size, stride) in enumerate(
            zip(self.offsets, self.sizes, self.strides, strict=True)
        ):
            last = offset + (size - 1) * stride
            if last >= input[dimension]:
                raise VerifyException(
                    f"slice of dimension {dimension} reads element {last}, "
                    f"outside [0, {input[dimension] - 1}]"
                )
        check_shape("result", self.result.type.get_shape(), self.sizes)


@irdl_op_definition
class SplitOp(MovingOp):
    """
    Equal parts of dimension `axis`, as many as there are results.

    ```mlir
    %a, %b = qnn.split %x {axis = 1}
        : (tensor<2x4x!in>) -> (tensor<2x2x!in>, tensor<2x2x!in>)
    ```
    """

    name = "qnn.split"

    input = operand_of(QuantizedOrPlain())
    parts = var_result_def(QuantizedOrPlain())

    axis_attr = prop_def(Integer("axis"), prop_name="axis")

    def __init__(
        self,
        input: Value,
        result_types: Sequence[Attribute],
        *,
        axis: int,
        contract: str | None = None,
    ):
        super().__init__(
            input, result=result_types, contract=contract, axis=IntegerAttr(axis, i64)
        )

    @property
    def axis(self) -> int:
        return self.axis_attr.value.data

    def verify_(self) -> None:
        input = self.input.type.get_shape()
        axis = self.axis
        check_axis(axis, len(input))
        if not self.parts or input[axis] % len(self.parts):
            raise VerifyException(
                f"dimension {axis} of size {input[axis]} does not split into "
                f"{len(self.parts)} equal parts"
            )
        size = input[axis] // len(self.parts)
        expected = (*input[:axis], size, *input[axis + 1 :])
        for index, part in enumerate(self.parts):
            check_same_quantization(f"result {index}", part.type, self.input.type)
            check_shape(f"result {index}", part.type.get_shape(), expected)
