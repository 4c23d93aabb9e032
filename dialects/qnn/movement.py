"""Ops that place, move or pick stored values: constants, reshapes, slices, resizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
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
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from .base import (
    Boolean,
    Integer,
    Integers,
    Integral,
    Keyword,
    QnnOp,
    Quantized,
    QuantizedOrReal,
    Value,
    Weight,
    check_axis,
    check_same_quantization,
    check_shape,
    integers,
    keyword,
    operand_of,
    operands_of,
    parse_attributes,
    print_attributes,
)


@irdl_op_definition
class ConstantOp(QnnOp):
    """
    A quantized constant, given by its stored values (signless, of the storage's
    width), which lie in the storage range. Weights may be quantized along an axis.

    ```mlir
    %w = qnn.constant dense<"0x40C0"> : tensor<2x1xi8> -> tensor<2x1x!w>
    ```
    """

    name = "qnn.constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(Weight())

    def __init__(self, value: DenseIntOrFPElementsAttr, result_type: Attribute):
        super().__init__(result_types=[result_type], properties={"value": value})

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        value = parser.parse_attribute()
        if not isa(value, DenseIntOrFPElementsAttr):
            parser.raise_error("expected dense stored values and their type", start)
        properties, attributes = parse_attributes(cls, parser)
        parser.parse_punctuation("->")
        return cls.create(
            result_types=[parser.parse_type()],
            properties={"value": value, **properties},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        print_attributes(self, printer, elide=("value",))
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        quantization = self.result.type.element_type
        storage = quantization.data.storage
        if self.value.get_element_type() != quantization.storage_type:
            raise VerifyException(
                f"element type {self.value.get_element_type()} of value is not "
                f"the storage type {quantization.storage_type} of result"
            )
        check_shape("value", self.value.get_shape(), self.result.type.get_shape())
        stored = self.value.data.data
        if len(stored) != (count := math.prod(self.value.get_shape())):
            raise VerifyException(f"value has {len(stored)} elements, expected {count}")
        legal = bytes(i & 255 for i in range(storage.minimum, storage.maximum + 1))
        if illegal := stored.translate(None, legal):
            first = int.from_bytes(illegal[:1], "little", signed=storage.signed)
            raise VerifyException(
                f"stored value {first} is outside "
                f"[{storage.minimum}, {storage.maximum}] of {storage}"
            )


@irdl_op_definition
class ConcatOp(QnnOp):
    """
    Operands one after the other along dimension `axis`; each is brought from its own
    quantization to that of the result.

    ```mlir
    %y = qnn.concat %a, %b {axis = 1}
        : (tensor<1x2x!in>, tensor<1x3x!other>) -> tensor<1x5x!out>
    ```
    """

    name = "qnn.concat"

    inputs = operands_of(Quantized())
    result = result_def(Quantized())

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
            operands=[inputs],
            result_types=[result_type],
            properties={
                "axis": IntegerAttr(axis, i64),
                "contract": keyword(contract),
            },
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
            total += shape[axis]
        check_shape("result", result, (*result[:axis], total, *result[axis + 1 :]))


@irdl_op_definition
class PadOp(QnnOp):
    """
    `low[d]` elements before and `high[d]` after each dimension d, filled with the
    stored integer `value`, by default the zero point (real 0).

    ```mlir
    %y = qnn.pad %x {low = [0, 1], high = [0, 2]}
        : (tensor<2x3x!in>) -> tensor<2x6x!in>
    ```
    """

    name = "qnn.pad"

    input = operand_of(Quantized())
    result = result_def(Quantized())

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
            operands=[input],
            result_types=[result_type],
            properties={
                "low": integers(low),
                "high": integers(high),
                "value": None if value is None else IntegerAttr(value, i64),
                "contract": keyword(contract),
            },
        )

    @property
    def low(self) -> tuple[int, ...]:
        return self.low_attr.get_values()

    @property
    def high(self) -> tuple[int, ...]:
        return self.high_attr.get_values()

    @property
    def value(self) -> int:
        """The stored integer that fills the padding."""
        if self.value_attr is None:
            return self.input.type.element_type.zero_point
        return self.value_attr.value.data

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
        storage = self.input.type.element_type.data.storage
        low, high = storage.full_range(storage.width, storage.signed)
        if not low <= self.value <= high:
            raise VerifyException(
                f"value {self.value} is outside [{low}, {high}] "
                f"of its storage type {storage.name}"
            )


@irdl_op_definition
class ReshapeOp(QnnOp):
    """
    The same elements in the same row-major order, in another shape.

    ```mlir
    %y = qnn.reshape %x : (tensor<1x2x3x!in>) -> tensor<6x!in>
    ```
    """

    name = "qnn.reshape"

    input = operand_of(QuantizedOrReal())
    result = result_def(QuantizedOrReal())

    def __init__(
        self, input: Value, result_type: Attribute, *, contract: str | None = None
    ):
        super().__init__(
            operands=[input],
            result_types=[result_type],
            properties={"contract": keyword(contract)},
        )

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        before = math.prod(self.input.type.get_shape())
        after = math.prod(self.result.type.get_shape())
        if before != after:
            raise VerifyException(
                f"{after} elements of result do not match the input's {before}"
            )


@irdl_op_definition
class TransposeOp(QnnOp):
    """
    Permuted dimensions: dimension d of the result is dimension `perm[d]` of the input.

    ```mlir
    %y = qnn.transpose %x {perm = [1, 0]} : (tensor<2x3x!in>) -> tensor<3x2x!in>
    ```
    """

    name = "qnn.transpose"

    input = operand_of(QuantizedOrReal())
    result = result_def(QuantizedOrReal())

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
            operands=[input],
            result_types=[result_type],
            properties={"perm": integers(perm), "contract": keyword(contract)},
        )

    @property
    def perm(self) -> tuple[int, ...]:
        return self.perm_attr.get_values()

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


@irdl_op_definition
class SliceOp(QnnOp):
    """
    A strided box: `result[i] = input[offsets + i * strides]` for `0 <= i < sizes`.

    ```mlir
    %y = qnn.slice %x {offsets = [0, 1], sizes = [2, 2], strides = [1, 2]}
        : (tensor<2x4x!in>) -> tensor<2x2x!in>
    ```
    """

    name = "qnn.slice"

    input = operand_of(Quantized())
    result = result_def(Quantized())

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
            operands=[input],
            result_types=[result_type],
            properties={
                "offsets": integers(offsets),
                "sizes": integers(sizes),
                "strides": integers(strides),
                "contract": keyword(contract),
            },
        )

    @property
    def offsets(self) -> tuple[int, ...]:
        return self.offsets_attr.get_values()

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.sizes_attr.get_values()

    @property
    def strides(self) -> tuple[int, ...]:
        return self.strides_attr.get_values()

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
class SplitOp(QnnOp):
    """
    Equal parts of dimension `axis`, as many as there are results.

    ```mlir
    %a, %b = qnn.split %x {axis = 1}
        : (tensor<2x4x!in>) -> (tensor<2x2x!in>, tensor<2x2x!in>)
    ```
    """

    name = "qnn.split"

    input = operand_of(Quantized())
    parts = var_result_def(Quantized())

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
            operands=[input],
            result_types=[result_types],
            properties={
                "axis": IntegerAttr(axis, i64),
                "contract": keyword(contract),
            },
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


@irdl_op_definition
class ResizeOp(QnnOp):
    """
    An NHWC image resampled to the result's size. The source coordinate of result row
    y is `y * H / OH`, `(y + 1/2) * H / OH - 1/2` with `half_pixel_centers`, or
    `y * (H - 1) / (OH - 1)` with `align_corners`; columns likewise.

    ```mlir
    %y = qnn.resize %x {mode = "bilinear", half_pixel_centers = true}
        : (tensor<1x2x2x3x!in>) -> tensor<1x4x4x3x!in>
    ```
    """

    name = "qnn.resize"

    input = operand_of(Quantized(rank=4))
    result = result_def(Quantized(rank=4))

    mode_attr = prop_def(Keyword("mode", ("nearest", "bilinear")), prop_name="mode")
    align_corners_attr = prop_def(
        Boolean("align_corners"), BoolAttr.from_bool(False), prop_name="align_corners"
    )
    half_pixel_centers_attr = prop_def(
        Boolean("half_pixel_centers"),
        BoolAttr.from_bool(False),
        prop_name="half_pixel_centers",
    )

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        mode: str,
        align_corners: bool = False,
        half_pixel_centers: bool = False,
        contract: str | None = None,
    ):
        super().__init__(
            operands=[input],
            result_types=[result_type],
            properties={
                "mode": StringAttr(mode),
                "align_corners": BoolAttr.from_bool(align_corners),
                "half_pixel_centers": BoolAttr.from_bool(half_pixel_centers),
                "contract": keyword(contract),
            },
        )

    @property
    def mode(self) -> str:
        return self.mode_attr.data

    @property
    def align_corners(self) -> bool:
        return bool(self.align_corners_attr)

    @property
    def half_pixel_centers(self) -> bool:
        return bool(self.half_pixel_centers_attr)

    def verify_(self) -> None:
        check_same_quantization("result", self.result.type, self.input.type)
        batch, _, _, channels = self.input.type.get_shape()
        result = self.result.type.get_shape()
        check_shape("result", result, (batch, result[1], result[2], channels))
        if self.align_corners and self.half_pixel_centers:
            raise VerifyException(
                "align_corners and half_pixel_centers exclude each other"
            )


@irdl_op_definition
class ArgMaxOp(QnnOp):
    """
    Index of the largest stored value along `axis`, the first one of equals; that
    dimension goes.

    ```mlir
    %y = qnn.arg_max %x {axis = 1} : (tensor<1x10x!in>) -> tensor<1xi32>
    ```
    """

    name = "qnn.arg_max"

    input = operand_of(Quantized())
    result = result_def(Integral((32, 64)))

    axis_attr = prop_def(Integer("axis"), prop_name="axis")

    def __init__(
        self,
        input: Value,
        result_type: Attribute,
        *,
        axis: int,
        contract: str | None = None,
    ):
        super().__init__(
            operands=[input],
            result_types=[result_type],
            properties={
                "axis": IntegerAttr(axis, i64),
                "contract": keyword(contract),
            },
        )

    @property
    def axis(self) -> int:
        return self.axis_attr.value.data

    def verify_(self) -> None:
        input = self.input.type.get_shape()
        check_axis(self.axis, len(input))
        expected = (*input[: self.axis], *input[self.axis + 1 :])
        check_shape("result", self.result.type.get_shape(), expected)
