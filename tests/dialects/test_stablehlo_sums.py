"""Convolutions and products of StableHLO: their words, shapes, and refusals."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from qlower.diagnostics import QlowerError
from qlower.dialects.stablehlo import ConvolutionOp, DotGeneralOp
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module


def made(line: str, x: str, w: str, y: str) -> ConvolutionOp | DotGeneralOp:
    """The operation of two operands, after it is verified."""
    x, w, y = (f"tensor<{type}>" for type in (x, w, y))
    module = parse_module(
        f"func.func @f(%x: {x}, %w: {w}) -> {y} {{\n"
        f"  %0 = {line} : ({x}, {w}) -> {y}\n  return %0 : {y}\n}}"
    )
    verify_module(module)
    kinds = ConvolutionOp, DotGeneralOp
    (op,) = (op for op in module.walk() if isinstance(op, kinds))
    return op


IMAGE = {
    "x": "1x4x5x3xf32",
    "w": "3x2x3x2xf32",
    "y": "1x2x4x2xf32",
    "layouts": "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
    "window": "",
    "images": "1",
    "features": "1",
}


def convolution(**given: str) -> ConvolutionOp | DotGeneralOp:
    """`IMAGE` but for what is given."""
    parts = IMAGE | given
    counts = f"batch_group_count = {parts['images']} : i64"
    counts += f", feature_group_count = {parts['features']} : i64"
    line = f"stablehlo.convolution(%x, %w) dim_numbers = {parts['layouts']}"
    line += f", window = {{{parts['window']}}} {{{counts}}}"
    return made(line, parts["x"], parts["w"], parts["y"])


@pytest.mark.parametrize(
    ("images", "features", "x", "w", "y", "words"),
    [
        ("1", "1", "2x4x5x3", "3x2x3x2", "2x2x4x2", ("nHWc", "ijcf", "nhwf")),
        ("1", "3", "2x4x5x3", "3x2x1x6", "2x2x4x6", ("nHW(gc)", "ijc(gf)", "nhw(gf)")),
        ("2", "1", "4x4x5x3", "3x2x3x2", "2x2x4x2", ("(gn)HWc", "ijc(gf)", "nhw(gf)")),
    ],
)
def test_words_of_convolutions(
    images: str, features: str, x: str, w: str, y: str, words: tuple[str, ...]
) -> None:
    shapes = {"x": f"{x}xf32", "w": f"{w}xf32", "y": f"{y}xf32"}
    op = convolution(images=images, features=features, **shapes)
    assert op.sums.structure.words == words
    assert op.sums.structure.loops == f"nhw{'g' * ('(' in words[2])}fijc"


WINDOWS: Mapping[str, Mapping[str, str]] = {
    "alone": {},
    "strides": {"window": "stride = [2, 3]", "y": "1x1x2x2xf32"},
    "padding": {"window": "pad = [[1, 0], [2, 3]]", "y": "1x3x9x2xf32"},
    "pixels apart": {"window": "lhs_dilate = [2, 3]", "y": "1x5x12x2xf32"},
    "taps apart": {"window": "rhs_dilate = [1, 4]", "y": "1x2x1x2xf32"},
    "forwards": {"window": "reverse = [0, 0]"},
    "channels first": {
        "layouts": "[b, f, 1, 0]x[o, i, 1, 0]->[f, b, 1, 0]",
        "x": "1x3x5x4xf32",
        "w": "2x3x2x3xf32",
        "y": "2x1x4x2xf32",
    },
    "a row": {
        "layouts": "[b, 0, f]x[0, i, o]->[b, 0, f]",
        "x": "1x5x3xf32",
        "w": "2x3x2xf32",
        "y": "1x4x2xf32",
    },
    "six dimensions": {
        "layouts": "[b, 0, 1, 2, 3, 4, 5, f]x[0, 1, 2, 3, 4, 5, i, o]"
        "->[b, 0, 1, 2, 3, 4, 5, f]",
        "x": "1x1x1x1x1x1x2x3xf32",
        "w": "1x1x1x1x1x1x3x2xf32",
        "y": "1x1x1x1x1x1x2x2xf32",
    },
    "codes": {
        "x": "1x4x5x3x!quant.uniform<i8:f32, 0.5:3>",
        "w": "3x2x3x2x!quant.uniform<i8:f32:3, {0.5, 0.25}>",
        "y": "1x2x4x2x!quant.uniform<i32:f32, 0.5>",
    },
    "bytes": {"x": "1x4x5x3xi8", "w": "3x2x3x2xi8", "y": "1x2x4x2xi32"},
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str) -> None:
    convolution(**WINDOWS[name])
    shape, _, type = (IMAGE | {**WINDOWS[name]})["y"].partition("x")
    with pytest.raises(QlowerError, match=f"tensor|result has shape \\[{shape}\\d"):
        convolution(**{**WINDOWS[name], "y": f"{shape}7x{type}"})


SPATIAL = ", ".join(map(str, range(7)))
NOT_LAYOUTS = "are no dimensions of tensor<1x4x5x3xf32>, tensor<3x2x3x2xf32>"
REFUSED: list[tuple[Mapping[str, str], str]] = [
    (
        {"layouts": f"[b, f, {SPATIAL}]x[i, o, {SPATIAL}]->[b, f, {SPATIAL}]"},
        "7 spatial dimensions, expected at most 6",
    ),
    ({"layouts": "[b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f]"}, NOT_LAYOUTS),
    ({"layouts": "[b, 0, 1, f]x[0, 1, i, i]->[b, 0, 1, f]"}, NOT_LAYOUTS),
    ({"layouts": "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 2, f]"}, NOT_LAYOUTS),
    ({"layouts": "[b, 0, 1, f]x[0, 1, i, o, o]->[b, 0, 1, f]"}, NOT_LAYOUTS),
    ({"window": "stride = [1]"}, "the window doesn't have 2 dimensions"),
    ({"window": "lhs_dilate = [1, 1, 1]"}, "the window doesn't have 2 dimensions"),
    ({"window": "rhs_dilate = [1]"}, "the window doesn't have 2 dimensions"),
    ({"window": "reverse = [0]"}, "the window doesn't have 2 dimensions"),
    ({"window": "pad = [[0, 0]]"}, "padding is not of 2 dimensions"),
    (
        {"window": "pad = [[0, 0], [0, -1]]"},
        "negative padding isn't supported: slice instead",
    ),
    ({"window": "stride = [1, 0]"}, "a stride or dilation is less than 1"),
    ({"window": "lhs_dilate = [0, 1]"}, "a stride or dilation is less than 1"),
    ({"window": "rhs_dilate = [1, 0]"}, "a stride or dilation is less than 1"),
    ({"window": "reverse = [0, 1]"}, "reversed windows aren't supported"),
    (
        {"images": "2", "features": "3"},
        "3 groups of features and 2 of images; both are at least 1, and one of them is"
        " 1",
    ),
    ({"images": "0"}, "1 groups of features and 0 of images"),
    (
        {**WINDOWS["codes"], "w": "3x2x3x2x!quant.uniform<i8:f32:0, {0.5, 1.0, 2.0}>"},
        "has scales for no output channels",
    ),
    ({**WINDOWS["bytes"], "y": "1x2x4x2xi8"}, "products of i8 have sums of i32"),
    ({**WINDOWS["bytes"], "x": "1x4x5x3xf32"}, "elements of f32 and i8; both must be"),
    (
        {**WINDOWS["codes"], "x": "1x4x5x3x!quant.uniform<i16:f32, 0.5>"},
        "operands have 8 bits at most",
    ),
    (
        {**WINDOWS["codes"], "x": "1x4x5x3x!quant.uniform<i8:f32:3, {0.5, 1.0, 2.0}>"},
        "of the first operand has more than one scale",
    ),
    ({"y": "1x2x4x2xi32"}, "a result of i32"),
    ({"window": "pad = [[0, 0], [0, 0, 0]]"}, "pad has a pair of numbers for each"),
    ({"window": "pads = [1]"}, "a window has no pads, or it is given twice"),
    (
        {"window": "stride = [1, 1], stride = [1, 1]"},
        "a window has no stride, or it is given twice",
    ),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refused_convolutions(given: Mapping[str, str], message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        convolution(**given)
    assert message in caught.value.message


CODES = "!quant.uniform<i8:f32, 0.5>"
PRODUCTS: list[tuple[str, str, str, str, tuple[str, ...] | str]] = [
    ("[] x []", "[1] x [0]", "2x3xf32", "3x4xf32", ("ad", "db", "ab")),
    ("[0] x [1]", "[1] x [2]", "5x3x2xf32", "4x5x3xf32", ("aeb", "dae", "abd")),
    ("[] x []", "[0, 1] x [1, 0]", "2x3xf32", "3x2xf32", ("ab", "ba", "")),
    ("[] x []", "[] x []", "2xf32", "3xf32", ("a", "b", "ab")),
    ("[1] x [0]", "[1] x [0]", "2x3xf32", "3x4xf32", "dimensions [1, 1] are not those"),
    ("[] x []", "[2] x [0]", "2x3xf32", "3x4xf32", "dimensions [2] are not those of 2"),
    ("[] x []", "[1] x [-1]", "2x3xf32", "3x4xf32", "dimensions [-1] are not those of"),
    ("[] x []", "[1] x [1]", "2x3xf32", "3x4xf32", "contracting dimensions have diff"),
    ("[0] x [0]", "[] x []", "2x3xf32", "3x4xf32", "batching dimensions have differen"),
    (
        *("[] x []", "[1] x [0]", f"2x3x{CODES}"),
        "3x4x!quant.uniform<i8:f32:1, {0.5:0, 1.0:1, 2.0:0, 3.0:0}>",
        "the second zero point has to be 0",
    ),
    (
        *("[] x []", "[1] x [0]", f"2x3x{CODES}"),
        "3x4x!quant.uniform<i8:f32:0, {0.5, 1.0, 2.0}>",
        "has scales along a summed dimension",
    ),
    (
        *("[] x []", "[1] x [0]", f"2x3x{CODES}"),
        "3x4x!quant.uniform<i8:f32:1, {0.5, 1.0, 2.0, 3.0}>",
        ("ad", "db", "ab"),
    ),
]
SHAPES = {"": "", "ab": "2x4x", "abd": "5x2x4x"}


@pytest.mark.parametrize(
    ("batching", "contracting", "x", "w", "found"), PRODUCTS, ids=range(len(PRODUCTS))
)
def test_products(
    batching: str, contracting: str, x: str, w: str, found: tuple[str, ...] | str
) -> None:
    line = f"stablehlo.dot_general %x, %w, batching_dims = {batching}"
    line += f", contracting_dims = {contracting}"
    element = f"{x.rpartition('x')[2]}" if "quant" not in x else CODES
    if isinstance(found, str):
        with pytest.raises(QlowerError) as caught:
            made(line, x, w, f"2x4x{element}")
        assert found in caught.value.message
        return
    shape = "2x3x" if x == "2xf32" else SHAPES[found[2]]
    op = made(line, x, w, f"{shape}{element}")
    assert op.sums.structure.words == found
    with pytest.raises(QlowerError, match="result has shape"):
        made(line, x, w, f"9x{shape}{element}")


def test_the_most_dimensions() -> None:
    shape = "1x" * 9
    line = "stablehlo.dot_general %x, %w, contracting_dims = [] x []"
    made(line, f"{shape}f32", f"{shape}f32", f"{shape}{shape}f32")
    with pytest.raises(QlowerError, match="more than 18 dimensions"):
        made(line, f"{shape}f32", f"{shape}1xf32", f"{shape}{shape}1xf32")


def test_words_that_a_product_has_not() -> None:
    for word in ("batching", "contracting_axes", "kept_dims"):
        line = f"stablehlo.dot_general %x, %w, {word} = [1] x [0]"
        with pytest.raises(QlowerError, match=f"dot_general has no {word}"):
            made(line, "2x3xf32", "3x4xf32", "2x4xf32")
