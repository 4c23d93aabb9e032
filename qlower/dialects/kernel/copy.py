"""Data movement."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..integers import integers, values_of
from ..types import element_type
from .memory import BoxAttr, UnstoredAttr, verified_shape, verify_buffers
from .text import parse_integers, parse_tail, print_tail


@irdl_op_definition
class CopyOp(IRDLOperation):
    """Copies a strided box of the source into a strided box of the result.

    With i over the box, `0 <= i < sizes`:

        result[offsets + i * strides] = source[source_offsets + i * source_strides]

    The other elements of the result are those of the destination, or `fill`, or
    unspecified:

    ```mlir
    // extract_slice: the box is the whole result
    %s = kernel.copy %x[0, 4] [2, 8] [1, 2] into empty[0, 0] [1, 1]
        : tensor<2x32xi8> into tensor<2x8xi8>
    // insert_slice, concatenation: a chain of copies that plan-memory keeps in place
    %c = kernel.copy %x[0, 0] [2, 8] [1, 1] into %d[0, 8] [1, 1]
        : tensor<2x8xi8> into tensor<2x16xi8>
    // pad
    %p = kernel.copy %x[0, 0] [2, 8] [1, 1] into fill(-128 : i8)[1, 1] [1, 1]
        : tensor<2x8xi8> into tensor<4x10xi8>
    ```

    In brackets: offsets, sizes, strides of the source, then offsets and strides of the
    destination. All ranks are equal.
    """

    name = "kernel.copy"

    source = operand_def(base(TensorType[Attribute]))
    destination = opt_operand_def(base(TensorType[Attribute]))
    fill = opt_prop_def(IntegerAttr.constr() | base(FloatAttr))
    source_offsets = prop_def(DenseArrayBase.constr(i64))
    source_strides = prop_def(DenseArrayBase.constr(i64))
    sizes = prop_def(DenseArrayBase.constr(i64))
    offsets = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    buffers = opt_prop_def(ArrayAttr[Attribute])
    result = result_def(base(TensorType[Attribute]))

    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        destination: SSAValue | IntegerAttr | FloatAttr | None,
        source_offsets: Sequence[int],
        sizes: Sequence[int],
        source_strides: Sequence[int],
        offsets: Sequence[int],
        strides: Sequence[int],
        result_type: Attribute,
    ):
        """`destination` is a tensor, a fill value or, for unspecified, None."""
        into = destination if isinstance(destination, SSAValue) else None
        super().__init__(
            operands=[source, into],
            result_types=[result_type],
            properties={
                "fill": None if isinstance(destination, SSAValue) else destination,
                "source_offsets": integers(source_offsets),
                "source_strides": integers(source_strides),
                "sizes": integers(sizes),
                "offsets": integers(offsets),
                "strides": integers(strides),
            },
        )

    @property
    def pads(self) -> bool:
        """Whether the result is the whole source with a border of the fill value."""
        return self.fill is not None and self.takes_whole_source

    @property
    def takes_whole_source(self) -> bool:
        """Whether box and source are the same, and the box without gaps."""
        ones = (1,) * len(self.sizes)
        return (
            values_of(self.sizes) == verified_shape(self.source)
            and values_of(self.source_strides) == ones
            and values_of(self.strides) == ones
        )

    @property
    def box_is_written(self) -> bool:
        """Whether the nest that makes the source has put it into the box."""
        return is_in_box(self.source)

    @property
    def has_code(self) -> bool:
        """Whether anything is left to do."""
        return self.is_stored and not (self.box_is_written and self.fill is None)

    @property
    def is_stored(self) -> bool:
        """Whether the result is in memory; else nests read the source in its place."""
        return self.buffers is None or not any(
            isinstance(buffer, UnstoredAttr) for buffer in self.buffers
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        for values in (self.source_offsets, self.sizes, self.source_strides):
            printer.print_string(f"{list(values.get_values())} ")
        printer.print_string("into ")
        if self.destination is not None:
            printer.print_ssa_value(self.destination)
        elif self.fill is not None:
            printer.print_string("fill(")
            printer.print_attribute(self.fill)
            printer.print_string(")")
        else:
            printer.print_string("empty")
        printer.print_string(f"{list(self.offsets.get_values())} ")
        printer.print_string(f"{list(self.strides.get_values())} : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" into ")
        printer.print_attribute(self.result.type)
        print_tail(self, printer, self.buffers)

    @classmethod
    def parse(cls, parser: Parser) -> CopyOp:
        source = parser.parse_unresolved_operand()
        source_offsets, sizes, source_strides = (
            parse_integers(parser) for _ in range(3)
        )
        parser.parse_keyword("into")
        fill = None
        destination = parser.parse_optional_unresolved_operand()
        if destination is None and parser.parse_optional_keyword("fill"):
            with parser.in_parens():
                fill = parser.parse_attribute()
        elif destination is None:
            parser.parse_keyword("empty")
        offsets, strides = parse_integers(parser), parse_integers(parser)
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        parser.parse_keyword("into")
        result_type = parser.parse_type()
        op = cls(
            parser.resolve_operand(source, source_type),
            None
            if destination is None
            else parser.resolve_operand(destination, result_type),
            source_offsets,
            sizes,
            source_strides,
            offsets,
            strides,
            result_type,
        )
        if fill is not None:
            op.properties["fill"] = fill
        parse_tail(op, parser)
        return op

    def verify_(self) -> None:
        if self.destination is not None and self.fill is not None:
            raise VerifyException("a copy has a destination or a fill value, not both")
        if self.destination is not None and self.destination.type != self.result.type:
            raise VerifyException(
                f"destination type {self.destination.type} differs from the result's "
                f"{self.result.type}"
            )
        source, result = (element_type(x.type) for x in (self.source, self.result))
        if source != result:
            raise VerifyException(
                f"source and result have element types {source} and {result}"
            )
        if self.fill is not None and self.fill.type != result:
            raise VerifyException(
                f"fill value of type {self.fill.type} for elements of {result}"
            )
        verify_buffers(self, self.buffers)
        if not self.is_stored and not self.pads:
            raise VerifyException("only a whole source with a border can be unstored")
        if self.buffers is not None and BoxAttr() in self.buffers:
            raise VerifyException("the result of a copy lies in no box")
        for name, shape, offsets, strides in (
            (
                "source",
                verified_shape(self.source),
                self.source_offsets,
                self.source_strides,
            ),
            ("result", verified_shape(self.result), self.offsets, self.strides),
        ):
            self._verify_box(name, shape, values_of(offsets), values_of(strides))

    def _verify_box(
        self,
        name: str,
        shape: Sequence[int],
        offsets: Sequence[int],
        strides: Sequence[int],
    ) -> None:
        sizes = values_of(self.sizes)
        if not len(shape) == len(offsets) == len(strides) == len(sizes):
            raise VerifyException(f"the box has not the {name}'s rank {len(shape)}")
        for axis, (extent, offset, stride, size) in enumerate(
            zip(shape, offsets, strides, sizes, strict=True)
        ):
            last = offset + (size - 1) * stride
            if offset < 0 or stride < 1 or size < 1 or last >= extent:
                raise VerifyException(
                    f"offset {offset}, size {size}, stride {stride} leave axis {axis} "
                    f"of the {name}, which has {extent} elements"
                )


_IN_A_BOX = ArrayAttr([BoxAttr()])


def is_in_box(value: SSAValue) -> bool:
    """Whether the nest that computes a value writes it into a copy's box."""
    producer = value.owner
    return isinstance(producer, Operation) and (
        producer.properties.get("buffers") == _IN_A_BOX
    )


def root(value: SSAValue) -> SSAValue:
    """The value whose memory `value` sees, through reshapes and unstored copies."""
    while True:
        match value.owner:
            case ExpandShapeOp(src=source) | CollapseShapeOp(src=source):
                value = source
            case CopyOp(source=source, is_stored=False):
                value = source
            case _:
                return value
