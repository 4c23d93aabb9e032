"""Where an element is, as people write it: `conv1[0,3,4,7]`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.dialects.types import shape_of
from qlower.model.layers import layer_name, layers
from qlower.model.selection import select_layers

Index: TypeAlias = tuple[int, ...]
"""Where an element is in a tensor."""


@dataclass(frozen=True)
class Place:
    """A layer, by its short name, and the index of an element of its result; None for
    any element."""

    layer: str
    index: Index | None

    def __str__(self) -> str:
        return self.layer if self.index is None else f"{self.layer}{show(self.index)}"


def show(index: Sequence[int]) -> str:
    """`[0,3,4,7]`; nothing for a result without dimensions."""
    return f"[{','.join(map(str, index))}]" if index else ""


def parse_place(module: ModuleOp, text: str) -> Place:
    """The place that `LAYER[n,h,w,c]` or `LAYER` means; a layer is written as for
    `select_layers`. Raises `QlowerError` for one that isn't there."""
    matched = re.fullmatch(r"(.+)\[([-\d, ]*)\]", text)
    name, numbers = matched.groups() if matched else (text, None)
    found = select_layers(module, name)
    if len(found) > 1:
        raise QlowerError(
            f"{name!r} means {len(found)} layers ({', '.join(found[:3])})"
        )
    (op,) = (op for op in layers(module) if layer_name(op) == found[0])
    shape = shape_of(op.results[0])
    if numbers is None:
        return Place(found[0], () if math.prod(shape) == 1 and not shape else None)
    index = tuple(int(number) for number in numbers.split(",") if number.strip())
    legal = ", ".join(f"0 to {extent - 1}" for extent in shape)
    if len(index) != len(shape) or not all(
        0 <= at < extent for at, extent in zip(index, shape, strict=False)
    ):
        raise QlowerError(
            f"{found[0]!r} has no element {show(index)}",
            help=f"indices of its result are [{legal}]",
        )
    return Place(found[0], index)
