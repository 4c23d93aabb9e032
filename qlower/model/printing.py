"""Printing IR, to be parsed again or to be read.

What is to be read has constants elided, and long quantized types and affine maps under
short names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer
from xdsl.utils.hints import isa

from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import has_spare_bits
from qlower.model.layers import is_constant, layer_title
from qlower.text.floats import decimal_text, only_as_bytes

LONGEST_CONSTANT = 16
"""Constants of up to this many elements are printed in full."""

LONGEST_LIST = 100
"""Elements of a constant that xDSL prints one by one; more are bytes."""

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
            if isa(attribute, DenseIntOrFPElementsAttr):
                attribute = _without_spare_bits(attribute)
            super().print_attribute(attribute)
        else:
            self.print_string(f'dense<"0x{dense.data.data.hex().upper()}"> : ')
            super().print_attribute(dense.type)


def _without_spare_bits(dense: DenseIntOrFPElementsAttr) -> DenseIntOrFPElementsAttr:
    """A constant that is printed as bytes, as upstream has them: what an i4 or i48
    leaves of its bytes is zero. A parser extends the sign again."""
    element = dense.get_element_type()
    if not has_spare_bits(element):
        return dense
    if len(dense) <= LONGEST_LIST or dense.is_splat():
        return dense
    meant = (1 << element.bitwidth) - 1
    mask = meant.to_bytes(element.compile_time_size, "little") * len(dense)
    kept = int.from_bytes(dense.data.data) & int.from_bytes(mask)
    return DenseIntOrFPElementsAttr(dense.type, BytesAttr(kept.to_bytes(len(mask))))


@dataclass(eq=False, repr=False)
class ElidingPrinter(ExactPrinter):
    """A printer for people: the text is short, but for `constants`, and doesn't
    parse."""

    constants: bool = False
    """Whether long constants are printed in full."""

    aliases: dict[QuantizedType | AffineMapAttr, str] = field(
        default_factory=dict[QuantizedType | AffineMapAttr, str], init=False
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
            case DenseIntOrFPElementsAttr() if self._elides(attribute):
                self.print_string(f"dense<{_summary(attribute)}> : ")
                self.print_attribute(attribute.get_type())
            case DenseIntOrFPElementsAttr() if self._spells_out(attribute):
                self.print_string("dense<")
                self._print_nested(attribute, attribute.get_values(), 0)
                self.print_string("> : ")
                self.print_attribute(attribute.get_type())
            case DenseArrayBase() if self._elides(attribute):
                self.print_string(f"array<{len(attribute)} x {attribute.elt_type}>")
            case QuantizedType() | AffineMapAttr():
                self.print_string(self._alias(attribute))
            case StringAttr() if len(attribute.data) > LONGEST_STRING:
                self.print_string(f'"{attribute.data[:LONGEST_STRING]}..."')
            case _:
                super().print_attribute(attribute)

    def _elides(self, attribute: DenseIntOrFPElementsAttr | DenseArrayBase) -> bool:
        """Whether a summary replaces a constant; equal elements are short anyway."""
        if self.constants or len(attribute) <= LONGEST_CONSTANT:
            return False
        if isinstance(attribute, DenseArrayBase):
            return True
        data = attribute.data.data
        size = attribute.type.element_type.compile_time_size
        return data != data[:size] * len(attribute)

    def _spells_out(self, attribute: DenseIntOrFPElementsAttr) -> bool:
        """Whether a constant is printed in decimals that xDSL would print as bytes."""
        is_real = not isinstance(attribute.get_element_type(), ComplexType)
        is_plain = is_real and only_as_bytes(attribute) is None
        return self.constants and is_plain and not attribute.is_splat()

    def _print_nested(
        self, attribute: DenseIntOrFPElementsAttr, values: Sequence[object], depth: int
    ) -> None:
        """Print the elements of one index of the outermost `depth` dimensions."""
        shape, type = attribute.get_shape(), attribute.get_element_type()

        def print_part(part: Sequence[object]) -> None:
            self._print_nested(attribute, part, depth + 1)

        def print_element(value: object) -> None:
            if isinstance(type, AnyFloat):
                assert isinstance(value, float)
                self.print_float(value, type)
            else:
                assert isinstance(value, int)
                assert isinstance(type, IntegerType | IndexType)
                self.print_int(value, type)

        self.print_string("[")
        if depth == len(shape) - 1:
            self.print_list(values, print_element)
        else:
            size = len(values) // max(shape[depth], 1)
            parts = [values[size * i : size * (i + 1)] for i in range(shape[depth])]
            self.print_list(parts, print_part)
        self.print_string("]")

    def _alias(self, named: QuantizedType | AffineMapAttr) -> str:
        if named not in self.aliases:
            if isinstance(named, AffineMapAttr):
                prefix = "#map"
            else:
                prefix = "!w" if named.is_per_axis else "!q"
            number = sum(name.startswith(prefix) for name in self.aliases.values())
            self.aliases[named] = f"{prefix}{number}"
        return self.aliases[named]


def readable_module(module: ModuleOp, *, constants: bool = False) -> str:
    """The whole module with quantized types and affine maps named above it, and long
    constants elided, unless `constants` are wanted."""
    return readable_operations([module], constants=constants)


def exact_module(module: ModuleOp, *, generic: bool = False) -> str:
    """The module as text that parses to the same, locations included; in the generic
    form tools read it that don't know our dialects."""
    stream = StringIO()
    ExactPrinter(
        stream=stream, print_debuginfo=True, print_generic_format=generic
    ).print_op(module)
    return stream.getvalue() + "\n"


def readable_operations(ops: Iterable[Operation], *, constants: bool = False) -> str:
    """Some operations, one after the other, in the same form."""
    stream = StringIO()
    printer = ElidingPrinter(stream=stream, constants=constants)
    for op in ops:
        printer.print_op(op)
        printer.print_string("\n")
    definitions = "".join(
        f"{name} = {named if constants else _shortened(named)}\n"
        for named, name in printer.aliases.items()
    )
    return definitions + stream.getvalue()


def _shortened(named: QuantizedType | AffineMapAttr) -> str:
    """The text of an alias, with the middle of a long list of scales left out."""
    text = str(named)
    count = 0 if isinstance(named, AffineMapAttr) else len(named.scales)
    if count <= LONGEST_SCALES or "{" not in text:
        return text
    head, scales = text.split("{", 1)
    shown = ",".join(scales.split(",")[:LONGEST_SCALES])
    return f"{head}{{{shown}, ... {count} scales}}>"


def _summary(attribute: DenseIntOrFPElementsAttr) -> str:
    digest = hashlib.sha1(attribute.data.data, usedforsecurity=False).hexdigest()
    return f"{len(attribute)} x {attribute.type.element_type}, sha1:{digest[:12]}"
