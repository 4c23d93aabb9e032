"""Tensors in memory: their size, and the buffers that plan-memory gives them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FixedBitwidthType,
    IndexType,
    IntAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..integers import values_of
from ..types import AnyTensor, shape_of

ARENA_BYTES = "kernel.arena_bytes"
"""The attribute of a function with the size of its arena."""

ARENA_INPUTS, ARENA_OUTPUTS = "kernel.arena_inputs", "kernel.arena_outputs"
"""The attributes of a function with an offset in the arena for each argument and each
result, at which a caller may have it."""


def arena_offsets(function: Operation, name: str) -> tuple[int, ...]:
    """The offsets of one of these attributes; none where there isn't any."""
    offsets = function.attributes.get(name)
    return values_of(offsets) if isa(offsets, DenseArrayBase[IntegerType]) else ()


PACKED = "kernel.packed"
"""On an argument of the entry function, weights of 8 bits: they are packed outside of
the code, when they change, in the order in which products read them."""

ARENA_ALIGNMENT = 64
"""The alignment of an arena's address, in bytes: a cache line, and the widest
vector. A machine may ask for less."""


class _Numbered(ParametrizedAttribute):
    """An attribute with one natural number."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer(allow_negative=False)),)

    def print_parameters(self, printer: Printer) -> None:
        (number,) = self.parameters
        assert isa(number, IntAttr)
        printer.print_string(f"<{number.data}>")


@irdl_attr_definition
class ArenaAttr(_Numbered):
    """A buffer `offset` bytes after the start of the arena: `#kernel.arena<64>`."""

    name = "kernel.arena"
    offset: IntAttr = param_def(converter=IntAttr.get)


@irdl_attr_definition
class OutputAttr(_Numbered):
    """The caller's buffer of the function's result `index`: `#kernel.output<0>`."""

    name = "kernel.output"
    index: IntAttr = param_def(converter=IntAttr.get)


@irdl_attr_definition
class UnstoredAttr(ParametrizedAttribute):
    """No buffer: a reader of the copy's result reads its source: `#kernel.unstored`."""

    name = "kernel.unstored"


@irdl_attr_definition
class BoxAttr(ParametrizedAttribute):
    """No buffer: only a copy reads it, and has it in its own buffer: `#kernel.box`."""

    name = "kernel.box"


@irdl_attr_definition
class ScratchAttr(ParametrizedAttribute):
    """Memory of a nest's own while it runs: `bytes` bytes, `offset` bytes after the
    start of the arena: `#kernel.scratch<64, 512>`."""

    name = "kernel.scratch"
    offset: IntAttr = param_def(converter=IntAttr.get)
    bytes: IntAttr = param_def(converter=IntAttr.get)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        numbers = parser.parse_comma_separated_list(
            parser.Delimiter.ANGLE, lambda: parser.parse_integer(allow_negative=False)
        )
        if len(numbers) != 2:
            parser.raise_error(f"scratch has an offset and bytes, not {numbers}")
        return [IntAttr(number) for number in numbers]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.offset.data}, {self.bytes.data}>")


Buffer: TypeAlias = ArenaAttr | OutputAttr


def byte_size(tensor: AnyTensor) -> int:
    """Bytes that a tensor of static shape occupies in memory."""
    return math.prod(tensor.get_shape()) * element_byte_size(tensor.element_type)


def element_byte_size(element: Attribute) -> int:
    """Bytes of one integer, index or float element of a tensor in memory."""
    match element:
        case IndexType():
            return 8
        case IntegerType():
            return integer_byte_size(element.width.data)
        case FixedBitwidthType():
            return element.bitwidth // 8
        case _:
            raise ValueError(f"tensors of {element} have no layout in memory")


def integer_byte_size(width: int) -> int:
    """Bytes of an integer of `width` bits in memory: a power of two that holds them.

    The spare bits repeat the sign, as in numpy's integers; those of i1 are zero.
    """
    return 1 << max(0, (width - 1).bit_length() - 3)


def verified_shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor, which must be static and not empty."""
    shape = shape_of(value)
    if any(size < 1 for size in shape):
        raise VerifyException(f"{value.type} must be static and without empty axes")
    return shape


def verify_buffers(op: Operation, buffers: ArrayAttr[Attribute] | None) -> None:
    """An op that has buffers has one for each result."""
    if buffers is None:
        return
    if len(buffers) != len(op.results):
        raise VerifyException(f"{len(buffers)} buffers for {len(op.results)} results")
    for buffer in buffers:
        if not isinstance(buffer, Buffer | UnstoredAttr | BoxAttr):
            raise VerifyException(
                f"buffer {buffer} is neither #kernel.arena nor #kernel.output"
            )
