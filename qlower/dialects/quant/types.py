"""The types of quantized values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    AnyFloat,
    IntegerType,
    f32,
)
from xdsl.ir import (
    Attribute,
    Data,
    TypeAttribute,
)
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..types import element_type, integer_range
from .parameters import (
    Storage,
    check_scale,
    format_float,
    in_expressed_precision,
    parse_expressed_type,
    parse_float,
)


@dataclass(frozen=True)
class Quantization:
    """The parameters of a `!quant.uniform` type; see `QuantizedType`.

    `blocks` lists (dimension, block size): none when the parameters hold for the whole
    tensor, one of size 1 per axis, anything else is sub-channel quantization. `scales`
    and `zero_points` are in row-major order of `shape`.
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
    range. Scales are positive and finite; types are equal if their scales are written
    alike, to the last digit of a double, as upstream. The zero point is not bound to
    the storage range here, as upstream; the ops that compute with the type check it.

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
        low, high = integer_range(width, signed)
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

    @classmethod
    def by_blocks(
        cls,
        storage_width: int,
        signed: bool,
        blocks: Sequence[tuple[int, int]],
        shape: Sequence[int],
        scales: Sequence[float],
        zero_points: Sequence[int],
        storage_min: int | None = None,
        storage_max: int | None = None,
    ) -> QuantizedType:
        """One scale and zero point for each block of (dimension, size), in row-major
        order of `shape`, the numbers of blocks along all dimensions."""
        storage = cls._storage(storage_width, signed, storage_min, storage_max)
        return _checked(
            storage,
            f32,
            tuple(blocks),
            tuple(shape),
            tuple(scales),
            tuple(zero_points),
        )

    def rescaled(
        self, scales: Sequence[float], zero_points: Sequence[int] | None = None
    ) -> QuantizedType:
        """The type with other scales, which are rounded to the expressed type, and
        optionally other zero points; the numbers of both stay as they are."""
        data = self.data
        return _checked(
            data.storage,
            data.expressed_type,
            data.blocks,
            data.shape,
            in_expressed_precision(scales, data.expressed_type),
            self.zero_points if zero_points is None else tuple(zero_points),
        )

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
        """
        All scales; one when per tensor, one per index of `axis` when per axis. They
        are float32 numbers (doubles for an f64 expressed type).
        """
        return in_expressed_precision(self.data.scales, self.expressed_type)

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
            expressed = parse_expressed_type(parser)
            scales: list[float] = []
            zero_points: list[int] = []

            def parse_parameter() -> tuple[int, ...]:
                start = parser.pos
                scale = parse_float(parser)
                try:
                    scales.append(check_scale(scale, expressed))
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
            format_float(scale) + (f":{zero}" if zero else "")
            for scale, zero in zip(self.data.scales, self.zero_points, strict=True)
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
    checked_scales = tuple(check_scale(scale, expressed) for scale in scales)
    return QuantizedType(
        Quantization(storage, expressed, blocks, shape, checked_scales, zero_points)
    )


def quantized_element(type: Attribute) -> QuantizedType:
    """The element type of a tensor that is known to be quantized."""
    element = element_type(type)
    assert isinstance(element, QuantizedType)
    return element
