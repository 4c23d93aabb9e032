"""The named `linalg` ops that are read, by what they index and compute.

Loops are in upstream's order, which is that of sums of floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import cast

from xdsl.irdl import irdl_op_definition

from . import bodies
from .bodies import Body, centred_product, elementwise, product, reducing
from .named import (
    ContractionOp,
    CopyOp,
    Definition,
    ElementwiseOp,
    NamedOp,
    WindowOp,
)

CONTRACTIONS = {
    "batch_matmul": ("bmnk", "bmk bkn bmn"),
    "batch_matvec": ("bmk", "bmk bk bm"),
    "batch_vecmat": ("bnk", "bk bkn bn"),
    "dot": ("m", "m m _"),
    "matmul": ("mnk", "mk kn mn"),
    "matvec": ("mn", "mn n m"),
    "vecmat": ("nm", "m mn n"),
}

QUANTIZED = {
    "quantized_batch_matmul": ("bmnk", "bmk bkn . . bmn"),
    "quantized_matmul": ("mnk", "mk kn . . mn"),
}

CONVOLUTIONS = {
    "conv_1d_ncw_fcw": ("nfwcj", "ncW fcj nfw"),
    "conv_1d_nwc_wcf": ("nwfjc", "nWc jcf nwf"),
    "conv_2d_nchw_fchw": ("nfhwcij", "ncHW fcij nfhw"),
    "conv_2d_ngchw_fgchw": ("ngfhwcij", "ngcHW fgcij ngfhw"),
    "conv_2d_ngchw_gfchw": ("ngfhwcij", "ngcHW gfcij ngfhw"),
    "conv_2d_nhwc_fhwc": ("nhwfijc", "nHWc fijc nhwf"),
    "conv_2d_nhwc_hwcf": ("nhwfijc", "nHWc ijcf nhwf"),
    "conv_2d_nhwgc_gfhwc": ("nhwgfijc", "nHWgc gfijc nhwgf"),
    "conv_3d_ncdhw_fcdhw": ("nfdhwckij", "ncDHW fckij nfdhw"),
    "conv_3d_ndhwc_dhwcf": ("ndhwfkijc", "nDHWc kijcf ndhwf"),
    "depthwise_conv_1d_ncw_cw": ("nwcj", "ncW cj ncw"),
    "depthwise_conv_1d_nwc_wc": ("nwcj", "nWc jc nwc"),
    "depthwise_conv_1d_nwc_wcm": ("nwcmj", "nWc jcm nwcm"),
    "depthwise_conv_2d_nchw_chw": ("nhwcij", "ncHW cij nchw"),
    "depthwise_conv_2d_nhwc_hwc": ("nhwcij", "nHWc ijc nhwc"),
    "depthwise_conv_2d_nhwc_hwcm": ("nhwcmij", "nHWc ijcm nhwcm"),
}

WITH_ZERO_POINTS = (
    "conv_2d_nchw_fchw",
    "conv_2d_ngchw_gfchw",
    "conv_2d_nhwc_fhwc",
    "conv_2d_nhwc_hwcf",
    "conv_2d_nhwgc_gfhwc",
    "conv_3d_ndhwc_dhwcf",
    "depthwise_conv_2d_nhwc_hwc",
    "depthwise_conv_2d_nhwc_hwcm",
)
"""Convolutions that have a form with a zero point of each operand, `_q`."""

EXTREMES = ("max", "max_unsigned", "min", "min_unsigned")

POOLS = {
    "pooling_nchw": ("nchwij", "ncHW ij nchw", ("sum", "max")),
    "pooling_ncw": ("ncwj", "ncW j ncw", ("sum", "max")),
    "pooling_nhwc": ("nhwcij", "nHWc ij nhwc", ("sum", *EXTREMES)),
    "pooling_nwc": ("nwcj", "nWc j nwc", ("sum", *EXTREMES)),
}
"""The loops and indices of pools, and what there is of each."""

ELEMENTWISE: Mapping[str, tuple[int, Body]] = {
    "copy": (1, bodies.copy),
    "select": (3, bodies.select),
    **{
        function: (1, elementwise(function))
        for function in ("abs", "ceil", "floor", "negf", "round", "sqrt")
    },
    **{
        function: (2, elementwise(function))
        for function in ("add", "div", "div_unsigned", "max", "min", "mul", "sub")
    },
}
"""The number of inputs, and the function of them."""


def _of(
    loops: str, indices: str, body: Body, *, is_unsigned: bool = False
) -> Definition:
    return Definition(loops, tuple(indices.split()), body, is_unsigned)


def _definitions() -> Iterator[tuple[str, type[NamedOp], Definition]]:
    """Every op's name after the dialect's, base class and definition."""
    for name, (loops, indices) in CONTRACTIONS.items():
        yield name, ContractionOp, _of(loops, indices, product)
    for name, (loops, indices) in QUANTIZED.items():
        yield name, NamedOp, _of(loops, indices, centred_product)
    for name, (loops, indices) in CONVOLUTIONS.items():
        yield name, WindowOp, _of(loops, indices, product)
        if name in WITH_ZERO_POINTS:
            image, kernel, result = indices.split()
            words = f"{image} {kernel} . . {result}"
            yield f"{name}_q", WindowOp, _of(loops, words, centred_product)
    for name, (loops, indices, functions) in POOLS.items():
        for function in functions:
            body = reducing("add" if function == "sum" else function)
            is_unsigned = function.endswith("unsigned")
            definition = _of(loops, indices, body, is_unsigned=is_unsigned)
            yield f"{name}_{function}", WindowOp, definition
    for name, (count, body) in ELEMENTWISE.items():
        base = CopyOp if name == "copy" else ElementwiseOp
        yield name, base, Definition("", ("*",) * (count + 1), body)


DEFINITIONS = {
    f"linalg.{name}": (base, definition) for name, base, definition in _definitions()
}
"""The definition of each op, by its name."""


@cache
def named_op(name: str) -> type[NamedOp] | None:
    """The class of the op with this name; None if there is none.

    Classes are made when text has the op: each takes a third of a millisecond.
    """
    if name not in DEFINITIONS:
        return None
    base, definition = DEFINITIONS[name]
    members = {"name": name, "__module__": __name__}
    title = "".join(word.capitalize() for word in name.split(".")[1].split("_"))
    op = irdl_op_definition(cast(type[NamedOp], type(f"{title}Op", (base,), members)))
    op.DEFINITION = definition
    return op
