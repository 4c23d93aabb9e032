"""Sums of products of `stablehlo`: what they share, and products of tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    TensorType,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape
from qlower.operators.structured import Structured
from qlower.operators.sums import FREE, Sums

from ..types import element_type, shape_of
from .attributes import (
    DotAttr,
    PrecisionAttr,
    parse_integers,
)
from .base import StablehloOp, plain_integer, quantization


class ContractionOp(StablehloOp):
    """An operation that sums products of two operands, quantized or of f32; or of i8
    with sums of i32, which wrap."""

    lhs = operand_def(TensorType[Attribute])
    rhs = operand_def(TensorType[Attribute])
    output = result_def(TensorType[Attribute])
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])

    def check(self) -> None:
        operands = [quantization(self.lhs.type), quantization(self.rhs.type)]
        is_real = [element_type(value.type) == f32 for value in (*self.operands,)]
        if all(map(_is_byte, self.operand_types)):
            if element_type(self.output.type) != i32:
                raise VerifyException(
                    f"a result of {element_type(self.output.type)}; products of i8 have"
                    " sums of i32"
                )
            return
        if not all(is_real) and None in operands:
            raise VerifyException(
                f"elements of {element_type(self.lhs.type)} and "
                f"{element_type(self.rhs.type)}; both must be quantized, f32, or i8"
            )
        for type in operands:
            if type is not None and type.storage_width > 8:
                raise VerifyException(f"{type}: operands have 8 bits at most")
        lhs, rhs = operands
        if lhs is not None and not lhs.is_per_tensor:
            raise VerifyException(f"{lhs} of the first operand has more than one scale")
        if rhs is not None and not rhs.is_per_tensor:
            self.check_channels(rhs.axis)
        result = quantization(self.output.type)
        if result is None and element_type(self.output.type) != f32:
            raise VerifyException(f"a result of {element_type(self.output.type)}")

    def check_channels(self, axis: int | None) -> None:
        """Raises VerifyException if the second operand can't have a scale for each
        index of an axis."""
        raise VerifyException(f"{self.rhs.type} has more than one scale")


def _is_byte(type: Attribute) -> bool:
    return plain_integer(type) == i8


class DotGeneralOp(ContractionOp, name="stablehlo.dot_general"):
    """
    The sum over contracting dimensions, for each place of batching dimensions, which
    come first, and of the others.

    ```mlir
    %y = stablehlo.dot_general %a, %b, batching_dims = [0] x [0],
      contracting_dims = [2] x [1]
      : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    ```
    """

    dot_dimension_numbers = prop_def(DotAttr)
    algorithm = opt_prop_def(Attribute)

    def dimensions(self, kind: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The batching or contracting dimensions of both operands."""
        numbers = self.dot_dimension_numbers
        return (
            numbers.dimensions(f"lhs_{kind}_dimensions"),
            numbers.dimensions(f"rhs_{kind}_dimensions"),
        )

    def kept(self, operand: int) -> list[int]:
        """The dimensions of an operand that are neither batches nor summed."""
        used = {
            *self.dimensions("batching")[operand],
            *self.dimensions("contracting")[operand],
        }
        rank = len(shape_of(self.operands[operand]))
        return [axis for axis in range(rank) if axis not in used]

    def result_shape(self) -> Shape:
        if self.algorithm is not None:
            raise VerifyException("an algorithm isn't supported")
        shapes = shape_of(self.lhs), shape_of(self.rhs)
        for number, shape in enumerate(shapes):
            used = (
                *self.dimensions("batching")[number],
                *self.dimensions("contracting")[number],
            )
            if len(set(used)) != len(used) or not set(used) <= set(range(len(shape))):
                raise VerifyException(
                    f"dimensions {list(used)} are not those of {len(shape)}"
                )
        for kind in ("batching", "contracting"):
            lhs, rhs = self.dimensions(kind)
            if [shapes[0][n] for n in lhs] != [shapes[1][n] for n in rhs]:
                raise VerifyException(f"{kind} dimensions have different sizes")
        if sum(map(len, shapes)) > len(FREE):
            raise VerifyException(f"operands have more than {len(FREE)} dimensions")
        return self.sums.result_shape(*shapes)

    @property
    def sums(self) -> Sums:
        """The products and their sums."""
        letters = iter(FREE)
        words: tuple[dict[int, str], dict[int, str]] = ({}, {})

        def shared(kind: str) -> str:
            word = ""
            for lhs, rhs in zip(*self.dimensions(kind), strict=True):
                words[0][lhs] = words[1][rhs] = letter = next(letters)
                word += letter
            return word

        result = shared("batching")
        for number, word in enumerate(words):
            for axis in self.kept(number):
                word[axis] = next(letters)
                result += word[axis]
        loops = result + shared("contracting")
        lhs, rhs = ("".join(word[axis] for axis in sorted(word)) for word in words)
        return Sums(Structured(loops, (lhs, rhs, result)), names=("lhs", "rhs"))

    def check(self) -> None:
        super().check()
        rhs = quantization(self.rhs.type)
        if rhs is not None and any(rhs.zero_points):
            raise VerifyException(f"{rhs}: the second zero point has to be 0")

    def check_channels(self, axis: int | None) -> None:
        if axis not in self.kept(1):
            raise VerifyException(
                f"{self.rhs.type} has scales along a summed dimension"
            )

    @classmethod
    def parse(cls, parser: Parser) -> DotGeneralOp:
        start = parser.pos
        operands = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
        lists: list[tuple[str, tuple[int, ...]]] = []
        properties: dict[str, Attribute] = {}
        while parser.parse_optional_punctuation(",") is not None:
            key = parser.parse_identifier()
            parser.parse_punctuation("=")
            if key == "precision":
                properties["precision_config"] = ArrayAttr(
                    parser.parse_comma_separated_list(
                        parser.Delimiter.SQUARE,
                        lambda: PrecisionAttr(PrecisionAttr.parse_parameter(parser)),
                    )
                )
                continue
            kind = key.removesuffix("_dims")
            if kind not in ("batching", "contracting") or kind == key:
                parser.raise_error(f"{cls.name} has no {key}")
            lists.append((f"lhs_{kind}_dimensions", parse_integers(parser)))
            parser.parse_keyword("x")
            lists.append((f"rhs_{kind}_dimensions", parse_integers(parser)))
        properties["dot_dimension_numbers"] = DotAttr(tuple(lists))
        return cls.parse_end(parser, operands, properties, start)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        for kind in ("batching", "contracting"):
            lhs, rhs = self.dimensions(kind)
            if lhs or kind == "contracting":
                printer.print_string(f", {kind}_dims = {list(lhs)} x {list(rhs)}")
        if self.precision_config is not None:
            words = ", ".join(wish.data for wish in self.precision_config)
            printer.print_string(f", precision = [{words}]")
        self.print_end(printer)
