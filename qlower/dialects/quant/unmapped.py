"""Types of upstream text that name no mapping to real numbers; no qnn op takes them."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloat,
)
from xdsl.ir import (
    Data,
    TypeAttribute,
)
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .parameters import (
    Storage,
    format_float,
    parse_expressed_type,
    parse_float,
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
            return storage, parse_expressed_type(parser) if has_expressed else None

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
            expressed = parse_expressed_type(parser)
            with parser.in_angle_brackets():
                start = parser.pos
                low = parse_float(parser)
                parser.parse_punctuation(":")
                high = parse_float(parser)
            if not low < high:
                parser.raise_error(f"illegal range: {low}:{high}", start)
            return expressed, low, high

    def print_parameter(self, printer: Printer) -> None:
        expressed, low, high = self.data
        low_text = format_float(low)
        high_text = format_float(high)
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
