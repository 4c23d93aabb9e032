"""Sums of products of `stablehlo`: convolutions, and products of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntElementsAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..types import element_type, shape_of
from .attributes import (
    ConvAttr,
    DotAttr,
    Layout,
    PrecisionAttr,
    parse_integers,
    parse_layouts,
    parse_pairs,
)
from .base import Shape, StablehloOp, integers, parse_types, quantization

Integers = DenseArrayBase.constr(i64)
Precisions = ArrayAttr[PrecisionAttr]


class _ContractionOp(StablehloOp):
    lhs = operand_def(TensorType[Attribute])
    rhs = operand_def(TensorType[Attribute])
    output = result_def(TensorType[Attribute])
    precision_config = opt_prop_def(Precisions)

    def check(self) -> None:
        operands = [quantization(self.lhs.type), quantization(self.rhs.type)]
        is_real = [element_type(value.type) == f32 for value in (*self.operands,)]
        if not all(is_real) and None in operands:
            raise VerifyException(
                f"elements of {element_type(self.lhs.type)} and "
                f"{element_type(self.rhs.type)}; both must be quantized, or f32"
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


@dataclass(frozen=True)
class Window:
    """What a convolution does along one spatial dimension."""

    stride: int
    before: int
    after: int
    image_dilation: int
    weight_dilation: int
    is_reversed: bool

    def padded(self, size: int) -> int:
        """The extent of the image with what is around and between its pixels."""
        return self.before + max(size - 1, 0) * self.image_dilation + 1 + self.after


@irdl_op_definition
class ConvolutionOp(_ContractionOp):
    """
    Any convolution; zeros surround the image.

    ```mlir
    %y = stablehlo.convolution(%x, %w)
      dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x4x4x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x2x2x8xf32>
    ```
    """

    name = "stablehlo.convolution"

    dimension_numbers = prop_def(ConvAttr)
    window_strides = opt_prop_def(Integers)
    padding = opt_prop_def(DenseIntElementsAttr)
    lhs_dilation = opt_prop_def(Integers)
    rhs_dilation = opt_prop_def(Integers)
    window_reversal = opt_prop_def(DenseArrayBase.constr(i1))
    feature_group_count = prop_def(IntegerAttr.constr(i64))
    batch_group_count = prop_def(IntegerAttr.constr(i64))

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        """What the dimensions of image, weights and result are."""
        return self.dimension_numbers.data

    @property
    def groups(self) -> int:
        """Groups of channels that have weights of their own."""
        return self.feature_group_count.value.data

    @property
    def batch_groups(self) -> int:
        """Groups of images that have outputs of their own."""
        return self.batch_group_count.value.data

    @property
    def windows(self) -> list[Window]:
        """The spatial dimensions, by their numbers."""
        count = len(self.layouts[0]) - 2
        padding = [0] * (2 * count)
        if self.padding is not None:
            padding = [int(number) for number in self.padding.get_values()]
            padding = padding * (2 * count) if len(padding) == 1 else padding

        def numbers(
            given: DenseArrayBase[IntegerType] | None, default: int
        ) -> Sequence[int]:
            return [default] * count if given is None else integers(given)

        return [
            Window(stride, *pads, image, weight, bool(back))
            for stride, pads, image, weight, back in zip(
                numbers(self.window_strides, 1),
                zip(padding[::2], padding[1::2], strict=True),
                numbers(self.lhs_dilation, 1),
                numbers(self.rhs_dilation, 1),
                numbers(self.window_reversal, 0),
                strict=True,
            )
        ]

    def size(self, operand: int, dimension: str | int) -> int:
        """The size of a dimension of image (0), weights (1) or result (2)."""
        value = (*self.operands, self.output)[operand]
        return shape_of(value)[self.layouts[operand].index(dimension)]

    def result_shape(self) -> Shape:
        self._check_layouts()
        for window in self.windows:
            if (
                window.stride < 1
                or min(window.image_dilation, window.weight_dilation) < 1
            ):
                raise VerifyException("a stride or dilation is less than 1")
            if window.is_reversed:
                raise VerifyException("reversed windows aren't supported")
        channels, outputs = self.size(0, "f"), self.size(1, "o")
        if self.groups < 1 or channels != self.size(1, "i") * self.groups:
            raise VerifyException(
                f"weights are for {self.size(1, 'i')} channels in {self.groups} groups,"
                f" there are {channels}"
            )
        if outputs % self.groups:
            raise VerifyException(f"{outputs} outputs in {self.groups} groups")
        batch, parts = self.size(0, "b"), self.batch_groups
        if parts < 1 or batch % parts or outputs % parts or min(parts, self.groups) > 1:
            raise VerifyException(
                f"a batch of {batch} with {outputs} outputs in {parts} groups"
            )
        sizes: dict[str | int, int] = {"b": batch // parts, "f": outputs}
        for number, window in enumerate(self.windows):
            taps = (self.size(1, number) - 1) * window.weight_dilation + 1
            room = window.padded(self.size(0, number)) - taps
            if room < 0:
                raise VerifyException(f"the window is larger than dimension {number}")
            sizes[number] = room // window.stride + 1
        return tuple(sizes[dimension] for dimension in self.layouts[2])

    def _check_layouts(self) -> None:
        spatial = set(range(len(self.layouts[0]) - 2))
        wanted: list[set[str | int]] = [
            {"b", "f", *spatial},
            {"i", "o", *spatial},
            {"b", "f", *spatial},
        ]
        values = (*self.operands, self.output)
        for layout, names, value in zip(self.layouts, wanted, values, strict=True):
            if set(layout) != names or len(layout) != len(shape_of(value)):
                raise VerifyException(
                    f"{self.dimension_numbers.text()} are no dimensions of "
                    f"{', '.join(str(value.type) for value in values)}"
                )
        count = len(spatial)
        for given, wanted_size in (
            (self.window_strides, count),
            (self.lhs_dilation, count),
            (self.rhs_dilation, count),
            (self.window_reversal, count),
        ):
            if given is not None and len(given) != wanted_size:
                raise VerifyException(f"the window doesn't have {count} dimensions")
        padding = self.padding
        if padding is not None and tuple(padding.get_shape()) != (count, 2):
            raise VerifyException(f"padding is not of {count} dimensions")
        if padding is not None and min(padding.get_values(), default=0) < 0:
            raise VerifyException("negative padding isn't supported: slice instead")

    def check_channels(self, axis: int | None) -> None:
        if axis is None or self.layouts[1][axis] != "o":
            raise VerifyException(f"{self.rhs.type} has scales for no output channels")

    @classmethod
    def parse(cls, parser: Parser) -> ConvolutionOp:
        start = parser.pos
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        parser.parse_keyword("dim_numbers")
        parser.parse_punctuation("=")
        properties: dict[str, Attribute] = {
            "dimension_numbers": ConvAttr(parse_layouts(parser))
        }
        parser.parse_punctuation(",")
        parser.parse_keyword("window")
        parser.parse_punctuation("=")
        parser.parse_comma_separated_list(
            parser.Delimiter.BRACES, lambda: _parse_window(parser, properties)
        )
        given = parser.parse_optional_attr_dict()
        known = cls.get_irdl_definition().properties
        inputs, outputs = parse_types(parser, len(operands))
        return cls.create(
            operands=parser.resolve_operands(operands, inputs, start),
            result_types=outputs,
            properties=properties | {k: v for k, v in given.items() if k in known},
            attributes={k: v for k, v in given.items() if k not in known},
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(f") dim_numbers = {self.dimension_numbers.text()}")
        printer.print_string(", window = {")
        lists: list[tuple[str, list[int] | list[list[int]]]] = []
        for key, name in _WINDOW.items():
            value = self.properties.get(name)
            if isa(value, DenseArrayBase[IntegerType]):
                lists.append((key, list(integers(value))))
            elif value is not None:
                windows = self.windows
                lists.append((key, [[w.before, w.after] for w in windows]))
        printer.print_string(", ".join(f"{key} = {numbers}" for key, numbers in lists))
        printer.print_string("} ")
        shown = ("batch_group_count", "feature_group_count", "precision_config")
        printer.print_attr_dict(
            {name: self.properties[name] for name in shown if name in self.properties}
        )
        self.print_end(printer)


_WINDOW = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}
"""The properties of a window, by their keys."""


def _parse_window(parser: Parser, properties: dict[str, Attribute]) -> None:
    key = parser.parse_identifier()
    name = _WINDOW.get(key)
    if name is None or name in properties:
        parser.raise_error(f"a window has no {key}, or it is given twice")
    parser.parse_punctuation("=")
    if key == "pad":
        pairs = parse_pairs(parser)
        if any(len(pair) != 2 for pair in pairs):
            parser.raise_error("pad has a pair of numbers for each dimension")
        type = TensorType(i64, [len(pairs), 2])
        flat = [number for pair in pairs for number in pair]
        properties[name] = DenseIntElementsAttr.from_list(type, flat)
        return
    element = i1 if key == "reverse" else i64
    properties[name] = DenseArrayBase.from_list(element, parse_integers(parser))


@irdl_op_definition
class DotGeneralOp(_ContractionOp):
    """
    The sum over contracting dimensions, for each place of batching dimensions, which
    come first, and of the others.

    ```mlir
    %y = stablehlo.dot_general %a, %b, batching_dims = [0] x [0],
      contracting_dims = [2] x [1]
      : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    ```
    """

    name = "stablehlo.dot_general"

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
        batches = [shapes[0][axis] for axis in self.dimensions("batching")[0]]
        rest = [shape[a] for n, shape in enumerate(shapes) for a in self.kept(n)]
        return (*batches, *rest)

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
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs = parse_types(parser, 2)
        return cls.create(
            operands=parser.resolve_operands(operands, inputs, start),
            result_types=outputs,
            properties=properties,
            attributes=attributes,
        )

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
