"""Named `linalg` ops: each stands for a `linalg.generic` with its maps and region."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    DenseIntElementsAttr,
    TensorType,
)
from xdsl.dialects.linalg.abstract_ops import NamedOperation
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_attr_definition, opt_prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from qlower.operators.structured import WINDOWS, Structured

from ..types import element_type, shape_of
from ..words import InBrackets
from .bodies import Body, BodyBuilder

MAPS = "indexing_maps"
MEMOIZED_MAPS = "linalg.memoized_indexing_maps"
"""Where upstream notes the maps in the generic form."""


class TypeFunction(StrEnum):
    """The widening of integers."""

    SIGNED = "cast_signed"
    UNSIGNED = "cast_unsigned"


@irdl_attr_definition
class TypeFunctionAttr(InBrackets[TypeFunction], EnumAttribute[TypeFunction]):
    """Upstream's `#linalg.type_fn<cast_signed>`."""

    name = "linalg.type_fn"


UNSIGNED = TypeFunctionAttr(TypeFunction.UNSIGNED)


@dataclass(frozen=True)
class Definition:
    """The definition of an op: its loops and index words, as in `Structured`, and the
    body; the word `*` stands for all loops, one for each axis."""

    loops: str
    indices: tuple[str, ...]
    body: Body
    is_unsigned: bool = False


class NamedOp(NamedOperation, ABC):
    """
    An op of upstream's `linalg` on tensors, which names a `linalg.generic`.

    ```
    op ::= name (`indexing_maps` `=` maps)? attr-dict? `ins` `(` values `:` types `)`
           `outs` `(` value `:` type `)` `->` type
    ```
    """

    DEFINITION: ClassVar[Definition]

    PRINT_ATTRS_IN_FRONT: ClassVar[bool] = True

    @property
    def is_unsigned(self) -> bool:
        """Whether integers become wider ones by zeros."""
        given = self.properties.get("cast")
        return self.DEFINITION.is_unsigned or given == UNSIGNED

    @property
    def loops(self) -> str:
        """The loops, a letter each."""
        return self.DEFINITION.loops

    @property
    def indices(self) -> Sequence[str]:
        """The indices of the operands, as in `Definition`."""
        return self.DEFINITION.indices

    def factors(self, axis: int) -> tuple[int, int]:
        """The stride and the dilation of a window's axis."""
        return (1, 1)

    def get_default_indexing_maps(self) -> Sequence[AffineMap]:
        structure = Structured(self.loops, tuple(self.indices))
        steps = {
            letter: self.factors(axis) for axis, letter in enumerate(structure.sliding)
        }
        return tuple(
            AffineMap(len(self.loops), 0, structure.places(axes, {}, steps))
            for axes in structure.axes
        )

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        result = self.indices[-1]
        return ArrayAttr(
            IteratorTypeAttr.parallel()
            if letter in result
            else IteratorTypeAttr.reduction()
            for letter in self.loops
        )

    @classmethod
    def get_hidden_region(
        cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]
    ) -> Region:
        """An empty region, which `parse` fills: it depends on the properties, too."""
        return Region(Block())

    def fill_region(self, block: Block) -> None:
        """Write what the op computes; VerifyException for operands that it can't have.

        The operands must be of the right number.
        """
        types = [element_type(operand.type) for operand in self.operands]
        for type in types:
            block.insert_arg(type, len(block.args))
        builder = BodyBuilder(block, types[-1], self.is_unsigned)
        block.add_op(YieldOp(self.DEFINITION.body(builder, block.args)))

    def verify_(self) -> None:
        self._check_operands()
        expected = Block()
        self.fill_region(expected)
        super().verify_()
        if not expected.is_structurally_equivalent(self.body.block):
            raise VerifyException(f"the region is not that of {self.name}")
        memoized = self.attributes.get(MEMOIZED_MAPS)
        if memoized not in (None, self.get_indexing_maps()):
            raise VerifyException(f"{MEMOIZED_MAPS} are not those of {self.name}")

    def _check_operands(self) -> None:
        """Raises VerifyException unless operands and results are tensors of fixed
        shape, or numbers, in the number that the definition has."""
        wanted = len(self.DEFINITION.indices) - 1
        if (len(self.inputs), len(self.outputs), len(self.res)) != (wanted, 1, 1):
            raise VerifyException(
                f"{len(self.inputs)} inputs, {len(self.outputs)} outputs and "
                f"{len(self.res)} results, wanted are {wanted}, 1 and 1; "
                "operations on buffers aren't supported"
            )
        for operand, word in zip(self.operands, self.DEFINITION.indices, strict=True):
            is_tensor = isinstance(operand.type, TensorType)
            if is_tensor == (word == "."):
                kind = "scalar" if word == "." else "ranked tensor"
                raise VerifyException(f"{operand.type} is not a {kind}")
            if is_tensor and DYNAMIC_INDEX in shape_of(operand):
                raise VerifyException(f"the sizes of {operand.type} are not all fixed")
        if self.res[0].type != self.outputs[0].type:
            raise VerifyException(
                f"result type {self.res[0].type} differs from the output's "
                f"{self.outputs[0].type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        has_maps = MAPS in cls.get_irdl_definition().properties
        if has_maps and parser.parse_optional_keyword(MAPS) is not None:
            parser.parse_punctuation("=")
            properties[MAPS] = parser.parse_attribute()
        op = super().parse(parser)
        op.properties.update(properties)
        # Without a region it doesn't verify, which says why.
        with suppress(VerifyException):
            op._check_operands()
            op.fill_region(op.body.block)
        return op

    def print(self, printer: Printer) -> None:
        maps = self.properties.get(MAPS)
        if maps is not None and self.get_indexing_maps() != self.default_maps():
            printer.print_string(f" {MAPS} = ")
            printer.print_attribute(maps)
        super().print(printer)

    def default_maps(self) -> ArrayAttr[AffineMapAttr]:
        """The maps that the definition gives, whatever the properties say."""
        return ArrayAttr(map(AffineMapAttr, self.get_default_indexing_maps()))


class ContractionOp(NamedOp, ABC):
    """A product of matrices or vectors."""

    indexing_maps = opt_prop_def(ArrayAttr[AffineMapAttr], prop_name=MAPS)
    cast = opt_prop_def(TypeFunctionAttr)

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        return self.indexing_maps or self.default_maps()

    def verify_(self) -> None:
        maps = [attr.data for attr in self.get_indexing_maps()]
        wanted = self.get_default_indexing_maps()
        loops = {AffineExpr.dimension(n) for n in range(len(self.loops))}
        used = [expression for map in maps for expression in map.results]
        if maps[2:] != list(wanted[2:]) or not loops.issuperset(used):
            raise VerifyException(
                f"{MAPS} are no transposition or broadcast of the operands"
            )
        super().verify_()


class WindowOp(NamedOp, ABC):
    """A convolution or a pool."""

    strides = opt_prop_def(DenseIntElementsAttr)
    dilations = opt_prop_def(DenseIntElementsAttr)

    def factors(self, axis: int) -> tuple[int, int]:
        return _factor(self.strides, axis), _factor(self.dilations, axis)

    def verify_(self) -> None:
        axes = sum(letter in WINDOWS for letter in self.indices[0])
        for name, given in (("strides", self.strides), ("dilations", self.dilations)):
            values = () if given is None else given.get_values()
            if given is not None and (
                given.type.get_shape() != (axes,) or min(values) < 1
            ):
                raise VerifyException(
                    f"{name} {list(values)} are not {axes} numbers of at least 1"
                )
        super().verify_()


class ElementwiseOp(NamedOp, ABC):
    """A function of the elements at one place."""

    @property
    def loops(self) -> str:
        rank = len(shape_of(self.outputs[0]))
        return "".join(chr(ord("a") + n) for n in range(rank))

    @property
    def indices(self) -> Sequence[str]:
        return [self.loops] * len(self.operands)


class CopyOp(ElementwiseOp, ABC):
    """A copy, in another type."""

    cast = opt_prop_def(TypeFunctionAttr)


def _factor(given: DenseIntElementsAttr | None, axis: int) -> int:
    if given is None:
        return 1
    values = given.get_values()
    return values[axis if len(values) > 1 else 0]
