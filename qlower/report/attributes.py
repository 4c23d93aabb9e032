"""Attributes of a layer's operation: kernel, stride, padding, ..."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation

from qlower.dialects.types import shape_of

_USUAL = {
    "stride": "1x1",
    "dilation": "1x1",
    "pad": "0 0 0 0",
    "groups": "1",
    "transposed": "no",
    "count_include_pad": "no",
}
"""Values that go without saying in a line."""


def attributes_of(op: Operation) -> dict[str, str]:
    """The names and values of an operation's attributes; tables are left out. The
    kernel of a convolution is that of its weights."""
    found = dict(_stated(op))
    if "stride" in found and "kernel" not in found and len(op.operands) > 1:
        shape = shape_of(op.operands[1])
        if len(shape) == 4:
            found = {"kernel": _sizes(shape[1:3]), **found}
    return found


def summary(op: Operation) -> str:
    """The attributes that fit in a box, such as `3x3, stride 2x2, relu`."""
    found = attributes_of(op)
    parts = [found.get("kernel", "")]
    parts += [
        f"{name} {found[name]}"
        for name in ("stride", "dilation", "groups")
        if name in found and found[name] != _USUAL[name]
    ]
    parts.append(found.get("activation", ""))
    return ", ".join(filter(None, parts))


def _stated(op: Operation) -> Iterator[tuple[str, str]]:
    for name, attribute in {**op.properties, **op.attributes}.items():
        text = _text(name, attribute)
        if text is not None and "." not in name:
            yield name, text


def _text(name: str, attribute: Attribute) -> str | None:
    match attribute:
        case DenseArrayBase():
            values = cast("DenseArrayBase[IntegerType]", attribute).get_values()
            return " ".join(map(str, values)) if name == "pad" else _sizes(values)
        case IntegerAttr(type=IntegerType(width=width)) if width.data == 1:
            return "yes" if attribute.value.data else "no"
        case IntegerAttr():
            return str(attribute.value.data)
        case FloatAttr():
            return f"{attribute.value.data:.9g}"
        case StringAttr():
            return attribute.data
        case _:
            return None


def _sizes(values: Sequence[float]) -> str:
    return "x".join(map(str, values))
