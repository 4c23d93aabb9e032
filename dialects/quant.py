"""
The `quant` dialect: types that carry quantization parameters, and the casts between
real values and their quantized storage.

The text of types and ops is that of upstream MLIR
(https://mlir.llvm.org/docs/Dialects/QuantDialect/), in both directions.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    TensorType,
    f32,
    f64,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import (
    Attribute,
    Data,
    Dialect,
    Operation,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

_SCALE_RANGES: dict[type[Attribute], tuple[float, float]] = {
    Float16Type: (2.0**-24, 65504.0),
    BFloat16Type: (2.0**-133, (2.0 - 2.0**-7) * 2.0**127),
    Float32Type: (2.0**-149, (2.0 - 2.0**-23) * 2.0**127),
    Float64Type: (5e-324, (2.0 - 2.0**-52) * 2.0**1023),
}
"""Smallest and largest positive value of every expressed type."""

_MAX_STORAGE_WIDTH = 32


def to_float32(value: float) -> float:
    """The float32 nearest to `value`, widened; the value must be in float32's range."""
    (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    return rounded


def _held(scale: float, expressed: AnyFloat) -> float:
    """The precision that a scale is held in: float32, or double for f64."""
    return scale if isinstance(expressed, Float64Type) else to_float32(scale)


def format_float(value: float, expressed: AnyFloat) -> str:
    """
    Upstream's text of a parameter: `%.6e` when that is in the range of the expressed
    type and reads back as the same value, else 17 digits of the double, else its bits.
    """
    text = f"{value:.6e}"
    short = float(text)
    too_small = 0 < short < _SCALE_RANGES[type(expressed)][0]
    # Upstream takes the long form for every negative number.
    if value >= 0 and not too_small and _held(short, expressed) == value:
        return text
    digits, exponent = f"{value:.16e}".split("e")
    if (power := int(exponent)) < -3:
        whole, fraction = digits.split(".")
        return f"{whole}.{fraction.rstrip('0') or '0'}E{power}"
    text = f"{value:.{max(16 - power, 0)}f}".rstrip("0")
    if "." in text and not text.endswith("."):
        return text
    return f"0x{struct.pack('>d', value).hex().upper()}"


@dataclass(frozen=True)
class Storage:
    """
    The integers a quantized value is stored as: `i8`, `u8`, `i8<-127:127>` ...

    Signed storage is two's complement; the bounds narrow the full range of the width.
    """

    width: int
    signed: bool
    minimum: int
    maximum: int

    @staticmethod
    def full_range(width: int, signed: bool) -> tuple[int, int]:
        """The smallest and largest integer of `width` bits."""
        if signed:
            return -(1 << (width - 1)), (1 << (width - 1)) - 1
        return 0, (1 << width) - 1

    @property
    def name(self) -> str:
        return f"{'i' if self.signed else 'u'}{self.width}"

    def check(self) -> None:
        if not 1 <= self.width <= _MAX_STORAGE_WIDTH:
            raise VerifyException(
                f"illegal storage type size: {self.width}, "
                f"expected 1 to {_MAX_STORAGE_WIDTH} bits"
            )
        low, high = self.full_range(self.width, self.signed)
        if self.minimum < low:
            raise VerifyException(
                f"illegal storage type minimum: {self.minimum}, "
                f"the range of {self.name} is [{low}, {high}]"
            )
        if self.maximum > high:
            raise VerifyException(
                f"illegal storage type maximum: {self.maximum}, "
                f"the range of {self.name} is [{low}, {high}]"
            )
        if self.minimum >= self.maximum:
            raise VerifyException(
                f"illegal storage range [{self.minimum}, {self.maximum}]: "
                "the minimum must be below the maximum"
            )

    def __str__(self) -> str:
        if (self.minimum, self.maximum) == self.full_range(self.width, self.signed):
            return self.name
        return f"{self.name}<{self.minimum}:{self.maximum}>"

    @classmethod
    def parse(cls, parser: AttrParser) -> Storage:
        """
        storage ::= (`i` | `si` | `u` | `ui`) width (`<` minimum `:` maximum `>`)?
        """
        start = parser.pos
        name = parser.parse_identifier(" of the storage type")
        prefix = name.rstrip("0123456789")
        digits = name[len(prefix) :]
        if prefix not in ("i", "si", "u", "ui") or not digits:
            parser.raise_error(
                f"illegal storage type {name}: expected i or u and a width", start
            )
        width, signed = int(digits), prefix in ("i", "si")
        # An illegal width is reported here: its range could not even be computed.
        if not 1 <= width <= _MAX_STORAGE_WIDTH:
            parser.raise_error(f"illegal storage type size: {width}", start)
        minimum, maximum = cls.full_range(width, signed)
        if parser.parse_optional_punctuation("<") is not None:
            minimum = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(":")
            maximum = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(">")
        storage = cls(width, signed, minimum, maximum)
        try:
            storage.check()
        except VerifyException as error:
            parser.raise_error(str(error), start)
        return storage


def _parse_expressed_type(parser: AttrParser) -> AnyFloat:
    start = parser.pos
    expressed = parser.parse_type()
    if not isinstance(
        expressed, Float16Type | BFloat16Type | Float32Type | Float64Type
    ):
        parser.raise_error(
            f"illegal expressed type {expressed}: expected f16, bf16, f32 or f64", start
        )
    return expressed


def _parse_float(parser: AttrParser) -> float:
    """A float literal, or the bits of a double in hexadecimal."""
    start = parser.pos
    value = parser.parse_number(context_msg=" for a scale")
    if isinstance(value, float):
        return value
    if parser.lexer.input.content[start : start + 2] == "0x" and value < 1 << 64:
        (value,) = struct.unpack(">d", value.to_bytes(8, "big"))
        return value
    parser.raise_error(
        "unexpected decimal integer literal for a floating point value; "
        "write a decimal point",
        start,
    )


@dataclass(frozen=True)
class Quantization:
    """
    What a `!quant.uniform` type says; see `QuantizedType`.

    `blocks` lists (dimension, block size): none when the parameters hold for the whole
    tensor, one of size 1 per axis, anything else is sub-channel quantization.
    `scales` and `zero_points` are in row-major order of `shape`.
    """

    storage: Storage
    expressed_type: AnyFloat
    blocks: tuple[tuple[int, int], ...]
    shape: tuple[int, ...]
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]


@irdl_attr_definition
class QuantizedType(Data[Quantization], TypeAttribute):
    """
    A real number stored as an integer: `real = scale * (stored - zero_point)`.

    Storage is 1 to 32 bits wide, `i` signed or `u` unsigned, with an optional narrowed
    range. Scales are positive and finite, and held in float32 precision (double
    precision for an f64 expressed type). The zero point is not bound to the storage
    range here, as upstream; the ops that compute with the type check it.

    ```
    uniform ::= `!quant.uniform` `<` storage `:` expressed
                  (`,` parameter | `:` axis `,` `{` parameter (`,` parameter)* `}`
                   | `:` blocks `,` nested) `>`
    parameter ::= scale (`:` zero-point)?
    blocks    ::= `{` axis `:` size (`,` axis `:` size)* `}`
    nested    ::= `{` (nested | parameter) (`,` (nested | parameter))* `}`
    ```

    ```mlir
    !activation = !quant.uniform<i8:f32, 7.812500e-03:-128>
    !weight = !quant.uniform<i8<-127:127>:f32:0, {3.800000e-03,4.100000e-03}>
    ```
    """

    name = "quant.uniform"

    @staticmethod
    def _storage(
        width: int, signed: bool, minimum: int | None, maximum: int | None
    ) -> Storage:
        low, high = Storage.full_range(width, signed)
        return Storage(
            width,
            signed,
            low if minimum is None else minimum,
            high if maximum is None else maximum,
        )

    @classmethod
    def per_tensor(
        cls,
        storage_width: int,
        signed: bool,
        scale: float,
        zero_point: int = 0,
        storage_min: int | None = None,
        storage_max: int | None = None,
        expressed: AnyFloat = f32,
    ) -> QuantizedType:
        """One scale and zero point for the whole tensor."""
        storage = cls._storage(storage_width, signed, storage_min, storage_max)
        return _checked(storage, expressed, (), (), (scale,), (zero_point,))

    @classmethod
    def per_axis(
        cls,
        storage_width: int,
        signed: bool,
        axis: int,
        scales: Sequence[float],
        zero_points: Sequence[int] | None = None,
        storage_min: int | None = None,
        storage_max: int | None = None,
        expressed: AnyFloat = f32,
    ) -> QuantizedType:
        """One scale and zero point for each index of dimension `axis`."""
        storage = cls._storage(storage_width, signed, storage_min, storage_max)
        points = (0,) * len(scales) if zero_points is None else tuple(zero_points)
        shape = (len(scales),)
        return _checked(storage, expressed, ((axis, 1),), shape, tuple(scales), points)

    @property
    def storage_type(self) -> IntegerType:
        """The signless integer type of the stored values."""
        return IntegerType(self.data.storage.width)

    @property
    def storage_width(self) -> int:
        return self.data.storage.width

    @property
    def signed(self) -> bool:
        """Whether stored values are read as two's complement."""
        return self.data.storage.signed

    @property
    def storage_min(self) -> int:
        return self.data.storage.minimum

    @property
    def storage_max(self) -> int:
        return self.data.storage.maximum

    @property
    def expressed_type(self) -> AnyFloat:
        return self.data.expressed_type

    @property
    def scales(self) -> tuple[float, ...]:
        """All scales; one when per tensor, one per index of `axis` when per axis."""
        return self.data.scales

    @property
    def zero_points(self) -> tuple[int, ...]:
        """All zero points, matching `scales`."""
        return self.data.zero_points

    @property
    def is_per_tensor(self) -> bool:
        return not self.data.blocks

    @property
    def is_per_axis(self) -> bool:
        return len(self.data.blocks) == len(self.data.shape) == 1 and (
            self.data.blocks[0][1] == 1
        )

    @property
    def is_sub_channel(self) -> bool:
        return not self.is_per_tensor and not self.is_per_axis

    @property
    def axis(self) -> int | None:
        """The quantized dimension; None when per tensor (or sub-channel)."""
        return self.data.blocks[0][0] if self.is_per_axis else None

    @property
    def scale(self) -> float:
        """The scale of a per-tensor type."""
        self._expect_per_tensor()
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The zero point of a per-tensor type."""
        self._expect_per_tensor()
        return self.zero_points[0]

    def _expect_per_tensor(self) -> None:
        if not self.is_per_tensor:
            raise ValueError(f"{self} has no single scale and zero point")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Quantization:
        with parser.in_angle_brackets():
            storage = Storage.parse(parser)
            parser.parse_punctuation(":")
            expressed = _parse_expressed_type(parser)
            scales: list[float] = []
            zero_points: list[int] = []

            def parse_parameter() -> tuple[int, ...]:
                start = parser.pos
                scale = _parse_float(parser)
                try:
                    scales.append(_checked_scale(scale, expressed))
                except VerifyException as error:
                    parser.raise_error(str(error), start)
                has_zero_point = parser.parse_optional_punctuation(":") is not None
                zero_points.append(
                    parser.parse_integer(allow_boolean=False) if has_zero_point else 0
                )
                return ()

            def parse_nested() -> tuple[int, ...]:
                """The shape of a list of parameters, or () for a parameter."""
                start = parser.pos
                shapes = parser.parse_optional_comma_separated_list(
                    parser.Delimiter.BRACES, parse_nested
                )
                if shapes is None:
                    return parse_parameter()
                if not shapes:
                    parser.raise_error("expected floating point literal", start)
                if len(set(shapes)) > 1:
                    parser.raise_error("lists of scales differ in length", start)
                return (len(shapes), *shapes[0])

            if parser.parse_optional_punctuation(":") is None:
                blocks: tuple[tuple[int, int], ...] = ()
                parser.parse_punctuation(",")
                shape = parse_parameter()
            else:
                start = parser.pos
                blocks = _parse_blocks(parser)
                parser.parse_punctuation(",")
                shape = parse_nested()
                # Per axis has one list; by blocks there is a level for each dimension.
                if not shape or (blocks[0][1] == 1 == len(blocks) != len(shape)):
                    parser.raise_error("expected one list of scales", start)
        return Quantization(
            storage, expressed, blocks, shape, tuple(scales), tuple(zero_points)
        )

    def print_parameter(self, printer: Printer) -> None:
        parameters = [
            format_float(scale, self.expressed_type) + (f":{zero}" if zero else "")
            for scale, zero in zip(self.scales, self.zero_points, strict=True)
        ]

        def nested(shape: tuple[int, ...], items: list[str]) -> str:
            if not shape:
                return items[0]
            step = len(items) // shape[0]
            parts = [
                nested(shape[1:], items[i : i + step])
                for i in range(0, len(items), step)
            ]
            return "{" + (", " if self.is_sub_channel else ",").join(parts) + "}"

        if self.is_sub_channel:
            blocks = ", ".join(f"{axis}:{size}" for axis, size in self.data.blocks)
            axis_text = f":{{{blocks}}}"
        else:
            axis_text = "" if self.axis is None else f":{self.axis}"
        with printer.in_angle_brackets():
            printer.print_string(f"{self.data.storage}:{self.expressed_type}")
            printer.print_string(axis_text + ", ")
            printer.print_string(nested(self.data.shape, parameters))


def _parse_blocks(parser: AttrParser) -> tuple[tuple[int, int], ...]:
    """The axis of a per-axis type, or the blocks of a sub-channel type."""

    def parse_dimension() -> int:
        start = parser.pos
        dimension = parser.parse_integer(allow_boolean=False)
        if dimension < 0:
            parser.raise_error(f"illegal quantized dimension: {dimension}", start)
        return dimension

    def parse_block() -> tuple[int, int]:
        dimension = parse_dimension()
        parser.parse_punctuation(":")
        start = parser.pos
        size = parser.parse_integer(allow_boolean=False)
        if size < 1:
            parser.raise_error(f"illegal block size: {size}", start)
        return dimension, size

    blocks = parser.parse_optional_comma_separated_list(
        parser.Delimiter.BRACES, parse_block
    )
    if blocks is None:
        return ((parse_dimension(), 1),)
    if not blocks:
        parser.raise_error("expected a quantized dimension and its block size")
    return tuple(blocks)


def _checked_scale(scale: float, expressed: AnyFloat) -> float:
    """The scale as it is held; refuses what `expressed` cannot represent."""
    low, high = _SCALE_RANGES[type(expressed)]
    if not low <= scale <= high:
        raise VerifyException(
            f"scale {scale:.6e} out of expressed type range [{low:.6e}, {high:.6e}]"
        )
    return _held(scale, expressed)


def _checked(
    storage: Storage,
    expressed: AnyFloat,
    blocks: tuple[tuple[int, int], ...],
    shape: tuple[int, ...],
    scales: tuple[float, ...],
    zero_points: tuple[int, ...],
) -> QuantizedType:
    storage.check()
    if not len(scales) == len(zero_points) == math.prod(shape):
        raise VerifyException(
            f"{len(scales)} scales do not match {len(zero_points)} zero points"
        )
    if not scales:
        raise VerifyException("a quantized type needs at least one scale")
    if blocks and blocks[0][0] < 0:
        raise VerifyException(f"illegal quantized dimension: {blocks[0][0]}")
    checked_scales = tuple(_checked_scale(scale, expressed) for scale in scales)
    return QuantizedType(
        Quantization(storage, expressed, blocks, shape, checked_scales, zero_points)
    )


@irdl_attr_definition
class AnyQuantizedType(Data[tuple[Storage, AnyFloat | None]], TypeAttribute):
    """
    A storage type whose mapping to real numbers is not known. It is read and written;
    no qnn op takes it.

    ```mlir
    !any = !quant.any<i8<-16:7>:f32>
    ```
    """

    name = "quant.any"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Storage, AnyFloat | None]:
        with parser.in_angle_brackets():
            storage = Storage.parse(parser)
            has_expressed = parser.parse_optional_punctuation(":") is not None
            return storage, _parse_expressed_type(parser) if has_expressed else None

    def print_parameter(self, printer: Printer) -> None:
        storage, expressed = self.data
        with printer.in_angle_brackets():
            printer.print_string(str(storage))
            printer.print_string("" if expressed is None else f":{expressed}")


@irdl_attr_definition
class CalibratedType(Data[tuple[AnyFloat, float, float]], TypeAttribute):
    """
    A real type with the range that was observed while calibrating. It is read and
    written; no qnn op takes it.

    ```mlir
    !calibrated = !quant.calibrated<f32<-0.998:1.232100e+00>>
    ```
    """

    name = "quant.calibrated"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[AnyFloat, float, float]:
        with parser.in_angle_brackets():
            expressed = _parse_expressed_type(parser)
            with parser.in_angle_brackets():
                start = parser.pos
                low = _parse_float(parser)
                parser.parse_punctuation(":")
                high = _parse_float(parser)
            if not low < high:
                parser.raise_error(f"illegal range: {low}:{high}", start)
            return expressed, low, high

    def print_parameter(self, printer: Printer) -> None:
        expressed, low, high = self.data
        low_text = format_float(low, f64)
        high_text = format_float(high, f64)
        with printer.in_angle_brackets():
            printer.print_string(f"{expressed}<{low_text}:{high_text}>")


@irdl_attr_definition
class QuantileType(Data[None], TypeAttribute):
    """Storage that indexes a table of quantiles (NF4): known, and refused by name."""

    name = "quant.quantile"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> None:
        parser.raise_error("!quant.quantile is not supported; use !quant.uniform")

    def print_parameter(self, printer: Printer) -> None:
        """There is nothing to print: no value of this type is ever parsed."""


def element_type(type: Attribute) -> Attribute:
    """The element type of a tensor, or the scalar type itself."""
    if isa(type, TensorType[Attribute]):
        return type.element_type
    return type


def _verify_cast(real: Attribute, quantized: Attribute, storage: bool) -> None:
    """
    Checks that `quantized` is a quantized form of `real`, or with `storage`, that
    `real` is its stored form: same shape, matching elements, a scale for each index.
    """
    quantization = element_type(quantized)
    if not isinstance(quantization, QuantizedType):
        raise VerifyException(f"{quantization} is not a !quant.uniform type")
    expected = quantization.storage_type if storage else quantization.expressed_type
    if element_type(real) != expected:
        raise VerifyException(
            f"element type {element_type(real)} does not match the "
            f"{'storage' if storage else 'expressed'} type {expected}"
        )
    shapes = [
        type.get_shape() if isa(type, TensorType[Attribute]) else None
        for type in (real, quantized)
    ]
    if shapes[0] != shapes[1]:
        raise VerifyException(f"shapes of {real} and {quantized} differ")
    if quantization.is_per_tensor:
        return
    if shapes[1] is None:
        raise VerifyException("a scalar may only use per-tensor quantization")
    if (axis := quantization.axis) is None:
        return
    if axis >= len(shapes[1]):
        raise VerifyException(
            f"quantized dimension {axis} is outside the rank {len(shapes[1])}"
        )
    if shapes[1][axis] not in (DYNAMIC_INDEX, len(quantization.scales)):
        raise VerifyException(
            f"quantized dimension size {shapes[1][axis]} does not match "
            f"number of scales {len(quantization.scales)}"
        )


@irdl_op_definition
class QuantizeCastOp(IRDLOperation):
    """
    From real to quantized: `clamp(round(real / scale) + zero_point)`. How to round is a
    numerics contract; `qnn.quantize` carries one.

    ```mlir
    %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.5:-3>>
    ```
    """

    name = "quant.qcast"

    input = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue | Operation, result_type: Attribute):
        super().__init__(operands=[input], result_types=[result_type])

    def verify_(self) -> None:
        _verify_cast(self.input.type, self.result.type, storage=False)


@irdl_op_definition
class DequantizeCastOp(IRDLOperation):
    """
    From quantized to real: `scale * (stored - zero_point)`.

    ```mlir
    %x = quant.dcast %q : tensor<4x!quant.uniform<i8:f32, 0.5:-3>> to tensor<4xf32>
    ```
    """

    name = "quant.dcast"

    input = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue | Operation, result_type: Attribute):
        super().__init__(operands=[input], result_types=[result_type])

    def verify_(self) -> None:
        _verify_cast(self.result.type, self.input.type, storage=False)


@irdl_op_definition
class StorageCastOp(IRDLOperation, HasFolderInterface):
    """
    The stored integers of a quantized value, or back: no bit changes. Two inverse casts
    fold away.

    ```mlir
    %i = quant.scast %q : tensor<4x!quant.uniform<i8:f32, 0.5:-3>> to tensor<4xi8>
    ```
    """

    name = "quant.scast"

    input = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, input: SSAValue | Operation, result_type: Attribute):
        super().__init__(operands=[input], result_types=[result_type])

    def verify_(self) -> None:
        input_type, result_type = self.input.type, self.result.type
        if isinstance(element_type(input_type), QuantizedType):
            _verify_cast(result_type, input_type, storage=True)
        else:
            _verify_cast(input_type, result_type, storage=True)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        inverse = self.input.owner
        if isinstance(inverse, StorageCastOp) and (
            inverse.input.type == self.result.type
        ):
            return (inverse.input,)
        return None


QUANT = Dialect(
    "quant",
    [QuantizeCastOp, DequantizeCastOp, StorageCastOp],
    [QuantizedType, AnyQuantizedType, CalibratedType, QuantileType],
)
