"""Calls that move elements, or make constants, as nodes of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..graph.schema import MAX_ELEMENTS, Array, AttributeValue
from .rows import node, rows
from .translating import CallSite, Translate

LONGEST = 1 << 16
"""Numbers of a sequence that is written out."""

TYPES: Mapping[int, tuple[str, str]] = {
    4: ("INT32", "<i4"),
    5: ("INT64", "<i8"),
    7: ("FLOAT", "<f4"),
    12: ("BOOL", "?"),
}
"""The schema's numbers of types that constants have: their names here and in NumPy."""

MODES = {"constant": "", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""The names of padding modes in PyTorch and in ONNX."""


def _define(site: CallSite, array: Array) -> None:
    """Define the call's result as an array of the type that it asks for, by default
    float32 or int64."""
    default = {"f": 7, "b": 12}.get(array.dtype.kind, 5)
    number = site.argument("dtype")
    number = default if number is None else number
    if not isinstance(number, int) or number not in TYPES:
        raise site.unsupported("dtype", number, *TYPES)
    type, dtype = TYPES[number]
    site.define(array.astype(dtype, copy=False), type)


def _sequence(site: CallSite) -> None:
    """The numbers from `start` on, up to `end`, `step` apart."""
    given = [site.scalar(*row) for row in (("start", 0), ("end", None), ("step", 1))]
    start, end, step = given
    if not step or not 0 <= (end - start) / step <= LONGEST:
        raise site.error(
            f"{start:g} to {end:g} by {step:g} is not supported; expected up to"
            f" {LONGEST} numbers"
        )
    _define(site, np.arange(start, end, step))


def _filled(value: float | None = None) -> Translate:
    """A constant of one number, which the call states if none is given here."""

    def translate(site: CallSite) -> None:
        sizes = site.integers("size", ())
        for size in sizes:
            site.check_range("size", size, 1, MAX_ELEMENTS)
        name = "fill_value" if "fill_value" in site.call.arguments else "s"
        number = np.array(site.scalar(name) if value is None else value)
        _define(site, np.broadcast_to(number, sizes))

    return translate


def _stacked(site: CallSite) -> None:
    """Tensors along a new dimension."""
    name, axis = site.call.results[0], site.integer("dim", 0)
    axes = site.constant(np.array([axis], np.int64), "INT64")
    parts: list[str] = []
    for number, value in enumerate(site.tensors("tensors")):
        parts.append(f"{name}/{number}")
        site.add("Unsqueeze", [value, axes], results=parts[-1:])
    site.add("Concat", parts, {"axis": axis})


def _pad(site: CallSite, mode: str = "") -> None:
    """Elements around: before and after the last dimension, then the one before it."""
    mode = mode or site.text("mode", "constant", tuple(MODES))
    value = site.scalar("value", 0)
    given = site.integers("pad" if site.argument("pad") is not None else "padding")
    if not given or len(given) % 2:
        raise site.error(f"{len(given)} numbers of padding; expected two a dimension")
    dims = range(len(given) // 2)
    pads = [given[2 * (len(dims) - 1 - dim) + end] for end in (0, 1) for dim in dims]
    axes = [dim - len(dims) for dim in dims]
    constants = [
        site.constant(np.array(numbers, np.int64), "INT64") for numbers in (pads, axes)
    ]
    filler = ""
    if value:
        filler = site.constant(np.array(value, np.float32), "FLOAT")
    attributes: dict[str, AttributeValue] = {}
    if MODES[mode]:
        attributes["mode"] = MODES[mode]
    operands = [site.tensor("self"), constants[0], filler, constants[1]]
    site.add("Pad", operands, attributes)


def _permutation(site: CallSite) -> tuple[int, ...]:
    dims = site.integers("dims")
    return tuple(d + len(dims) if d < 0 else d for d in dims)


MOVES: Mapping[str, Translate] = {
    **rows("""
aten.cat.default = Concat tensors*; axis: int dim 0
aten.chunk.default = torch.Split; chunks: int chunks, axis: int dim 0
aten.split.Tensor = torch.Split; size: int split_size, axis: int dim 0
aten.split_with_sizes.default = torch.Split; split: ints split_sizes, axis: int dim 0
aten.unbind.int = torch.Unbind; axis: int dim 0
aten.view.default = Reshape; then ints size; allowzero: always 1
aten.reshape.default = Reshape; then ints shape; allowzero: always 1
aten.flatten.using_ints = torch.Flatten;
    start_dim: int start_dim 0, end_dim: int end_dim -1
aten.transpose.int = torch.TransposeTwo; dim0: int dim0, dim1: int dim1
aten.unflatten.int = torch.Unflatten; dim: int dim, sizes: ints sizes
aten.select.int = Gather; then int index; axis: int dim
aten.slice.Tensor = Slice;
    then one start 0, one end 9223372036854775807, one dim 0, one step 1
aten.squeeze.default = torch.Squeeze
aten.squeeze.dim, aten.squeeze.dims = torch.Squeeze; dims: ints dim
aten.unsqueeze.default = Unsqueeze; then one dim
aten.expand.default = torch.Expand; sizes: ints size
aten.repeat.default = torch.Repeat; repeats: ints repeats
aten.flip.default = torch.Flip; dims: ints dims
aten.roll.default = torch.Roll; shifts: ints shifts, dims: ints dims ()
"""),
    **dict.fromkeys(
        (f"aten.arange.{overload}" for overload in ("default", "start", "start_step")),
        _sequence,
    ),
    "aten.full.default": _filled(),
    "aten.scalar_tensor.default": _filled(),
    "aten.ones.default": _filled(1.0),
    "aten.zeros.default": _filled(0.0),
    "aten.stack.default": _stacked,
    "aten.permute.default": node("Transpose", perm=_permutation),
    "aten.constant_pad_nd.default": _pad,
    "aten.pad.default": _pad,
    **{
        f"aten.{name}_pad{rank}d.default": partial(_pad, mode=mode)
        for name, mode in (("reflection", "reflect"), ("replication", "replicate"))
        for rank in (1, 2, 3)
    },
}
"""Targets whose results have the elements of their operands; a slice ends at PyTorch's
number for the end."""
