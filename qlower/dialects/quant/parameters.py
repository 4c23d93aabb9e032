"""Parts of quantized types: scales, storage, and their text."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
)
from xdsl.ir import (
    Attribute,
)
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

from ..types import integer_range

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


def in_expressed_precision(
    scales: Sequence[float], expressed: AnyFloat
) -> tuple[float, ...]:
    """The values of written scales: float32, or doubles for f64."""
    if isinstance(expressed, Float64Type):
        return tuple(scales)
    form = f"<{len(scales)}f"
    return struct.unpack(form, struct.pack(form, *scales))


def check_scale(scale: float, expressed: AnyFloat) -> float:
    """The scale as written; refuses what is out of the range of `expressed`."""
    low, high = _SCALE_RANGES[type(expressed)]
    if not low <= scale <= high:
        raise VerifyException(
            f"scale {scale:.6e} out of expressed type range [{low:.6e}, {high:.6e}]"
        )
    return scale


def format_float(value: float) -> str:
    """
    Upstream's text of a parameter: `%.6e` when that reads back as the same value, else
    17 digits of the double, else its bits.
    """
    text = f"{value:.6e}"
    # Upstream takes the long form for every negative number.
    if value >= 0 and float(text) == value:
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

    @property
    def name(self) -> str:
        return f"{'i' if self.signed else 'u'}{self.width}"

    def check(self) -> None:
        if not 1 <= self.width <= _MAX_STORAGE_WIDTH:
            raise VerifyException(
                f"illegal storage type size: {self.width}, "
                f"expected 1 to {_MAX_STORAGE_WIDTH} bits"
            )
        low, high = integer_range(self.width, self.signed)
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
        if (self.minimum, self.maximum) == integer_range(self.width, self.signed):
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
        minimum, maximum = integer_range(width, signed)
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


def parse_expressed_type(parser: AttrParser) -> AnyFloat:
    start = parser.pos
    expressed = parser.parse_type()
    if not isinstance(
        expressed, Float16Type | BFloat16Type | Float32Type | Float64Type
    ):
        parser.raise_error(
            f"illegal expressed type {expressed}: expected f16, bf16, f32 or f64", start
        )
    return expressed


def parse_float(parser: AttrParser) -> float:
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
