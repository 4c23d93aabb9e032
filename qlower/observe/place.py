"""Positions of elements, as people write them: `conv1[0,3,4,7]`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.dialects.types import shape_of
from qlower.files.digits import is_number
from qlower.model.layers import layer_name, layers
from qlower.model.selection import select_layers
from qlower.observe.axes import layer_axes

Index: TypeAlias = tuple[int, ...]
"""Where an element is in a tensor."""


INDEX = re.compile(r"(.+)\[([-\d, ]*|[\w\-= ,]*=[\w\-= ,]*)\]")
"""A layer, and the numbers of an index or the axes with their numbers."""


@dataclass(frozen=True)
class Place:
    """A layer, by its short name, and the index of an element of its result; None for
    any element."""

    layer: str
    index: Index | None

    def __str__(self) -> str:
        return self.layer if self.index is None else f"{self.layer}{show(self.index)}"


def show(index: Sequence[int | str]) -> str:
    """`[0,3,4,7]`; nothing for a result without dimensions."""
    return f"[{','.join(map(str, index))}]" if index else ""


def parse_place(module: ModuleOp, text: str) -> Place:
    """The place that `LAYER[n,h,w,c]`, `LAYER[n=0,c=3,h=1,w=2]` or `LAYER` means; a
    layer is written as for `select_layers`. Raises `QlowerError` for one that isn't
    there."""
    matched = INDEX.fullmatch(text)
    name, numbers = matched.groups() if matched else (text, None)
    found = select_layers(module, name)
    if len(found) > 1:
        raise QlowerError(
            f"{name!r} means {len(found)} layers ({', '.join(found[:3])})"
        )
    (layer,) = found
    (op,) = (op for op in layers(module) if layer_name(op) == layer)
    shape = shape_of(op.results[0])
    if numbers is None:
        return Place(layer, None if shape else ())
    axes = layer_axes(module).get(layer, "")
    named = axes or " " * len(shape)
    legal = ", ".join(
        f"{axis} 0 to {extent - 1}".strip()
        for axis, extent in zip(named, shape, strict=True)
    )
    index = _index(numbers, axes)
    if index is None:
        wanted = ",".join(f"{axis}=0" for axis in axes)
        raise QlowerError(
            f"[{numbers}] is no index of {layer!r}",
            help=f"write [{wanted}], in any order"
            if axes
            else f"its axes have no names; its indices are [{legal}]",
        )
    if len(index) != len(shape) or not all(
        0 <= at < extent for at, extent in zip(index, shape, strict=False)
    ):
        raise QlowerError(
            f"{layer!r} has no element {show(index)}",
            help=f"indices of its result are [{legal}]",
        )
    return Place(layer, index)


def _index(text: str, axes: str) -> Index | None:
    """The index that is written as numbers, or as axes with their numbers; None where
    these aren't the result's axes."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if "=" in text:
        pairs = [part.partition("=") for part in parts]
        by_axis = {axis.strip().lower(): number.strip() for axis, _, number in pairs}
        if len(by_axis) != len(parts) or sorted(by_axis) != sorted(axes):
            return None
        parts = [by_axis[axis] for axis in axes]
    if not all(is_number(part.removeprefix("-")) for part in parts):
        return None
    return tuple(map(int, parts))
