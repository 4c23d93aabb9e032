"""Convolutions of `stablehlo`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntElementsAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    opt_prop_def,
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from qlower.operators.movement import Pad
from qlower.operators.shapes import Shape
from qlower.operators.structured import WINDOWS, Structured
from qlower.operators.sums import Slide, Sums

from ..types import shape_of
from .attributes import (
    ConvAttr,
    Layout,
    parse_integers,
    parse_layouts,
    parse_pairs,
)
from .base import integers, paddings, parse_types
from .contraction import ContractionOp

Integers = DenseArrayBase.constr(i64)


@dataclass(frozen=True)
class Window:
    """A convolution's window along one spatial dimension."""

    stride: int
    before: int
    after: int
    image_dilation: int
    weight_dilation: int
    is_reversed: bool

    @property
    def slide(self) -> Slide:
        """The steps of the window over pixels and the gaps between them."""
        return Slide(self.stride, self.before, self.after, self.weight_dilation)


class ConvolutionOp(ContractionOp, name="stablehlo.convolution"):
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
        """The meaning of the dimensions of image, weights and result."""
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

        def numbers(
            given: DenseArrayBase[IntegerType] | None, default: int
        ) -> Sequence[int]:
            return [default] * count if given is None else integers(given)

        return [
            Window(stride, *pads, image, weight, bool(back))
            for stride, pads, image, weight, back in zip(
                numbers(self.window_strides, 1),
                paddings(self.padding, count),
                numbers(self.lhs_dilation, 1),
                numbers(self.rhs_dilation, 1),
                numbers(self.window_reversal, 0),
                strict=True,
            )
        ]

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
        if min(self.groups, self.batch_groups) != 1:
            raise VerifyException(
                f"{self.groups} groups of features and {self.batch_groups} of images; "
                "both are at least 1, and one of them is 1"
            )
        image = self.spread.result_shape(shape_of(self.lhs))
        return self.sums.result_shape(image, shape_of(self.rhs))

    @property
    def spread(self) -> Pad:
        """The movement that spaces the pixels as the window needs them."""
        windows = self.windows
        apart = [
            windows[dimension].image_dilation - 1 if isinstance(dimension, int) else 0
            for dimension in self.layouts[0]
        ]
        none = [0] * len(apart)
        return Pad(none, none, apart)

    @property
    def sums(self) -> Sums:
        """The products and their sums."""
        slides, windows = _SLIDING[: len(self.windows)], self.windows
        taps = [WINDOWS[slide][1] for slide in slides]
        groups = max(self.groups, self.batch_groups)
        share = "(g{})" if groups > 1 else "{}"
        words: tuple[dict[str | int, str], ...] = (
            {
                "b": share.format("n") if self.batch_groups > 1 else "n",
                "f": share.format("c") if self.groups > 1 else "c",
                **dict(enumerate(slides)),
            },
            {"o": share.format("f"), "i": "c", **dict(enumerate(taps))},
            {"b": "n", "f": share.format("f"), **dict(enumerate(slides.lower()))},
        )
        image, weight, result = (
            "".join(word[dimension] for dimension in layout)
            for word, layout in zip(words, self.layouts, strict=True)
        )
        loops = f"{result.replace('(', '').replace(')', '')}{''.join(taps)}c"
        return Sums(
            Structured(loops, (image, weight, result)),
            [windows[n].slide for n in self.layouts[0] if isinstance(n, int)],
            groups,
            names=("lhs", "rhs"),
        )

    def _check_layouts(self) -> None:
        spatial = set(range(len(self.layouts[0]) - 2))
        if len(spatial) > len(_SLIDING):
            raise VerifyException(
                f"{len(spatial)} spatial dimensions, expected at most {len(_SLIDING)}"
            )
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


_SLIDING = "HWDXYZ"
"""The letters of the spatial dimensions."""

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
    # JAX prints booleans, and older releases of StableHLO 0 and 1.
    element = i1 if key == "reverse" else i64
    numbers = parse_integers(parser, allow_boolean=key == "reverse")
    properties[name] = DenseArrayBase.from_list(element, numbers)
