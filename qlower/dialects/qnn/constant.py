"""Stored values that are part of the model."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    f16,
    f32,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from .base import MovingOp, check_shape
from .constraints import UP_TO_WORDS, Weight


class ConstantOp(MovingOp, name="qnn.constant"):
    """
    A quantized constant, given by its stored values (signless, of the storage's
    width), which lie in the storage range. Weights may be quantized along an axis.

    ```mlir
    %w = qnn.constant dense<"0x40C0"> : tensor<2x1xi8> -> tensor<2x1x!w>
    ```
    """

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(Weight(expressed=(f32, f16), widths=UP_TO_WORDS))
    traits = traits_def(ConstantLike())

    def __init__(self, value: DenseIntOrFPElementsAttr, result_type: Attribute):
        super().__init__(result_type)
        self.properties["value"] = value

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        value = parser.parse_attribute()
        if not isa(value, DenseIntOrFPElementsAttr):
            parser.raise_error("expected dense stored values and their type", start)
        properties, attributes = cls.parse_attributes(parser)
        parser.parse_punctuation("->")
        return cls.create(
            result_types=[parser.parse_type()],
            properties={"value": value, **properties},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        entries = self.entries().items()
        others = {name: value for name, value in entries if name != "value"}
        self.print_entries(printer, others)
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
        data, count = self.value.data.data, math.prod(self.value.get_shape())
        dtype = np.dtype(f"{'<i' if storage.signed else '<u'}{-(-storage.width // 8)}")
        if len(data) != count * dtype.itemsize:
            held = len(data) // dtype.itemsize
            raise VerifyException(f"value has {held} elements, expected {count}")
        stored = np.frombuffer(data, dtype)
        illegal = stored[(stored < storage.minimum) | (stored > storage.maximum)]
        if illegal.size:
            first = int(illegal[0])
            raise VerifyException(
                f"stored value {first} is outside "
                f"[{storage.minimum}, {storage.maximum}] of {storage}"
            )
