"""Text and checks of types and shapes that all `tosa` ops share.

xDSL has a part of the dialect, whose keywords (rounding modes and the like) are taken
from there. Its ops aren't: they hold `mul` and `matmul` to one element type, read no
keyword outside of `rescale`, and know no shapes.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntAttr,
    IntegerType,
    TensorType,
)
from xdsl.dialects.tosa import NanMode, NanModeAttr
from xdsl.ir import (
    Attribute,
    Operation,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from qlower.operators.shapes import Shape

from ..operations import BracedOp, ShapedOp
from ..types import element_type, shape_of
from .text import Keyword, parse_clauses, parse_dictionary


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """The type of a list of sizes, `!tosa.shape<rank>`."""

    name = "tosa.shape"

    rank: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer(allow_boolean=False))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.rank.data}>")


UNSUPPORTED_TYPES = "16 and 8-bit floats and 64-bit integers aren't supported"


def of_types(signature: str, types: Iterable[str]) -> tuple[str, ...]:
    """Return the signature for each element type, which takes the place of `T`."""
    return tuple(signature.replace("T", type) for type in types)


class TosaOp(BracedOp, ShapedOp, ABC):
    """
    An operation of TOSA 1.0 on tensors of integers or of f32.

    ```
    op ::= name operands clause* (`{` (key (`=` value)?),* `}`)? `:` types `->` types
    clause ::= key (`=` value | `(` value `)` | `<` value `>`)?
    ```

    LLVM 22 writes properties as a dictionary, with some values as bare words; LLVM 24
    may write them as clauses. Both are read, and the first is written.
    """

    SIGNATURES: ClassVar[tuple[str, ...]]
    """The legal element types, as in `i8 i8 i32 -> i32`; `*` repeats the one before."""

    def check_types(self) -> None:
        for value in (*self.operands, *self.results):
            if not is_tensor(value) and not isinstance(value.type, ShapeType):
                raise VerifyException(f"{value.type} is not a ranked tensor")
        given = _signature(self.operand_types, self.result_types)
        if not any(_fits(given, signature) for signature in self.SIGNATURES):
            raise VerifyException(
                f"element types {given} are none of {', '.join(self.SIGNATURES)}; "
                f"{UNSUPPORTED_TYPES}"
            )

    @classmethod
    def parse_entries(cls, parser: Parser) -> Mapping[str, Attribute]:
        return parse_clauses(parser) | parse_dictionary(parser)

    @classmethod
    def property_text(cls, value: Attribute) -> str | None:
        return value.data if isinstance(value, Keyword) else None

    def entries(self) -> Mapping[str, Attribute]:
        return dict(sorted(super().entries().items()))


def is_tensor(value: SSAValue) -> bool:
    """Whether a value is a ranked tensor."""
    return isinstance(value.type, TensorType)


def _signature(operands: Sequence[Attribute], results: Sequence[Attribute]) -> str:
    """The element types, with `shape` for a list of sizes."""

    def names(types: Sequence[Attribute]) -> str:
        return " ".join(
            "shape" if isinstance(type, ShapeType) else str(element_type(type))
            for type in types
        )

    return f"{names(operands)} -> {names(results)}".strip()


def _fits(given: str, signature: str) -> bool:
    """Whether element types are those of a signature."""
    if "*" not in signature:
        return given == signature
    operands, results = (side.split() for side in given.split("->"))
    wanted, wanted_results = signature.split("->")
    repeated = wanted.strip().removesuffix("*")
    return results == wanted_results.split() and set(operands) == {repeated}


def is_constant(owner: object) -> bool:
    """Whether an operation gives a tensor that is known."""
    return isinstance(owner, Operation) and owner.has_trait(ConstantLike)


def constant_integers(value: SSAValue) -> tuple[int, ...] | None:
    """The elements of a constant of integers or sizes, all of them; None if the value
    is computed."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp | TosaOp):
        return None
    dense = owner.properties.get("value", owner.properties.get("values"))
    if not isa(dense, DenseIntOrFPElementsAttr):
        return None
    return tuple(cast(Sequence[int], dense.get_values()))


def known_integers(name: str, value: SSAValue) -> tuple[int, ...]:
    """The elements of an operand that has to be a constant."""
    integers = constant_integers(value)
    if integers is None:
        raise VerifyException(f"{name} is computed, it must be a constant")
    return integers


def check_zero_point(name: str, value: SSAValue) -> None:
    """Refuses a zero point that isn't one known number, and one other than 0 for types
    other than i8."""
    (zero_point, *others) = known_integers(name, value)
    if others:
        raise VerifyException(f"{name} has {len(others) + 1} elements, expected 1")
    element = element_type(value.type)
    if zero_point and str(element) != "i8":
        raise VerifyException(f"{name} {zero_point} of {element} is not 0")


def check_nan_mode(mode: NanModeAttr | None, value: SSAValue) -> None:
    """Refuse to pass over NaN, where numbers are real."""
    is_default = mode is None or mode.data is NanMode.PROPAGATE
    if not is_default and str(element_type(value.type)) == "f32":
        raise VerifyException("nan_mode IGNORE of f32 is not supported")


def sizes(array: DenseArrayBase) -> tuple[int, ...]:
    """The integers of a property."""
    if not isa(array, DenseArrayBase[IntegerType]):
        raise VerifyException(f"{array} is not a list of integers")
    return array.get_values()


def check_rank(name: str, value: SSAValue, rank: int) -> Shape:
    """The shape of an operand that has that number of axes."""
    shape = shape_of(value)
    if len(shape) != rank:
        raise VerifyException(f"{name} has rank {len(shape)}, expected {rank}")
    return shape
