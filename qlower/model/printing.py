"""Printing IR, to be parsed again or to be read.

What is to be read has constants elided, and long quantized types under short names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from qlower.dialects.quant import QuantizedType
from qlower.model.layers import is_constant, layer_title
from qlower.text.floats import decimal_text, only_as_bytes

LONGEST_CONSTANT = 16
"""Constants of up to this many elements are printed in full."""

LONGEST_STRING = 60
"""Characters of a string (the features of a machine) that are shown."""

LONGEST_SCALES = 4
"""Per-axis types show this many of their scales."""


class ExactPrinter(Printer):
    """A printer whose text parses to the same, to the last bit of every float."""

    def print_float(self, value: float, type: AnyFloat) -> None:
        text = decimal_text(value, type)
        if text is None:
            super().print_float(value, type)
        else:
            self.print_string(text)

    def print_attribute(self, attribute: Attribute) -> None:
        dense = only_as_bytes(attribute)
        if dense is None:
            super().print_attribute(attribute)
        else:
            self.print_string(f'dense<"0x{dense.data.data.hex().upper()}"> : ')
            super().print_attribute(dense.type)


@dataclass(eq=False, repr=False)
class ElidingPrinter(ExactPrinter):
    """A printer for people: the text is short and doesn't parse."""

    aliases: dict[QuantizedType, str] = field(
        default_factory=dict[QuantizedType, str], init=False
    )

    _layer: str | None = field(default=None, init=False)

    def print_op(self, op: Operation) -> None:
        # A comment wherever the next layer begins; constants belong to none.
        if isinstance(op.parent_op(), FuncOp) and not is_constant(op):
            layer = layer_title(op)
            if layer is not None and layer != self._layer:
                self.print_string(f"// {layer}")
                self._print_new_line()
                self._layer = layer
        super().print_op(op)

    def print_attribute(self, attribute: Attribute) -> None:
        match attribute:
            case DenseIntOrFPElementsAttr() if _is_long(attribute):
                self.print_string(f"dense<{_summary(attribute)}> : ")
                self.print_attribute(attribute.get_type())
            case DenseArrayBase() if len(attribute) > LONGEST_CONSTANT:
                self.print_string(f"array<{len(attribute)} x {attribute.elt_type}>")
            case QuantizedType():
                self.print_string(self._alias(attribute))
            case StringAttr() if len(attribute.data) > LONGEST_STRING:
                self.print_string(f'"{attribute.data[:LONGEST_STRING]}..."')
            case _:
                super().print_attribute(attribute)

    def _alias(self, type: QuantizedType) -> str:
        if type not in self.aliases:
            prefix = "w" if type.is_per_axis else "q"
            number = sum(name[1] == prefix for name in self.aliases.values())
            self.aliases[type] = f"!{prefix}{number}"
        return self.aliases[type]


def readable_module(module: ModuleOp) -> str:
    """The whole module with constants elided and quantized types named above it."""
    return _readable([module])


def exact_module(module: ModuleOp) -> str:
    """The module as text that parses to the same, locations included."""
    stream = StringIO()
    ExactPrinter(stream=stream, print_debuginfo=True).print_op(module)
    return stream.getvalue() + "\n"


def generic_module(module: ModuleOp) -> str:
    """The module in MLIR's generic form, which tools read that don't know our dialects.

    It parses to the same module but for locations, which such tools may not read.
    """
    stream = StringIO()
    Printer(stream=stream, print_generic_format=True).print_op(module)
    return stream.getvalue() + "\n"


def readable_operations(ops: Iterable[Operation]) -> str:
    """Some operations, one after the other, in the same form."""
    return _readable(ops)


def _readable(ops: Iterable[Operation]) -> str:
    stream = StringIO()
    printer = ElidingPrinter(stream=stream)
    for op in ops:
        printer.print_op(op)
        printer.print_string("\n")
    definitions = "".join(
        f"{name} = {_shortened(type)}\n" for type, name in printer.aliases.items()
    )
    return definitions + stream.getvalue()


def _shortened(type: QuantizedType) -> str:
    """The type's text, with the middle of a long list of scales left out."""
    text = str(type)
    count = len(type.scales)
    if count <= LONGEST_SCALES or "{" not in text:
        return text
    head, scales = text.split("{", 1)
    shown = ",".join(scales.split(",")[:LONGEST_SCALES])
    return f"{head}{{{shown}, ... {count} scales}}>"


def _is_long(attribute: DenseIntOrFPElementsAttr) -> bool:
    if len(attribute) <= LONGEST_CONSTANT:
        return False
    data = attribute.data.data
    size = attribute.type.element_type.compile_time_size
    return data != data[:size] * len(attribute)


def _summary(attribute: DenseIntOrFPElementsAttr) -> str:
    digest = hashlib.sha1(attribute.data.data, usedforsecurity=False).hexdigest()
    return f"{len(attribute)} x {attribute.type.element_type}, sha1:{digest[:12]}"
