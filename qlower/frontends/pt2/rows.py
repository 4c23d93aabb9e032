"""Calls that become one node each: the node, and how its attributes are read.

Most are lines of text, with the targets before the node (`rows`):

    aten.relu.default, aten.relu_.default = Relu
    aten.matmul.default = MatMul self other
    aten.select.int = Gather; then int index; axis: int dim
    aten.mean.dim = torch.Mean; axes: ints dim (), keepdims: int keepdim 0;
        expects dtype None 7

Behind the node's kind, with its domain, are the operands, `self` if there are none, and
behind `then` integers that follow as constants. An attribute is read from an argument
as `int`, `ints`, `one` (a list of one integer), `real` or `real?` (which may be left
out), with a default, or is `always` something. `expects` has the values that arguments
may have, the default first.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from ..graph.schema import AttributeValue
from .program import Argument
from .translating import TORCH, CallSite, Translate

Read = Callable[[CallSite], AttributeValue | None]
"""A function that reads an attribute from a call; None leaves it out."""


def node(
    kind: str,
    operands: str = "self",
    *,
    domain: str = "",
    constants: Sequence[Read] = (),
    more: Mapping[str, Read] = {},
    expects: Mapping[str, Sequence[Argument]] = {},
    **attributes: Read,
) -> Translate:
    """A call that becomes one node.

    `operands` are as `CallSite.operands` takes them, after which integers follow as
    `constants`; `more` are attributes, too. `expects` are the values that arguments may
    have, the default first.
    """

    def translate(site: CallSite) -> None:
        for name, supported in expects.items():
            site.expect(name, *supported)
        given = [
            site.constant(np.array(read(site), np.int64), "INT64") for read in constants
        ]
        found = {name: read(site) for name, read in {**more, **attributes}.items()}
        site.add(
            kind,
            [*site.operands(operands), *given],
            {name: value for name, value in found.items() if value is not None},
            domain=domain,
        )

    return translate


def integer(name: str, default: int | None = None) -> Read:
    return lambda site: site.integer(name, default)


def integers(name: str, default: Sequence[int] | None = None) -> Read:
    return lambda site: site.integers(name, default)


def one(name: str, default: int | None = None) -> Read:
    """A list of one integer."""
    return lambda site: (site.integer(name, default),)


def real(name: str, default: float | None = None) -> Read:
    return lambda site: site.real(name, default)


def if_real(name: str, default: float | None = None) -> Read:
    """A number, which may be left out."""
    return lambda site: default if site.argument(name) is None else site.real(name)


def always(value: AttributeValue) -> Read:
    return lambda site: value


def each(name: str, rank: int, default: int, *, sides: int = 1) -> Read:
    """A number for each dimension, and on `sides` of it; one number is that of all."""

    def read(site: CallSite) -> tuple[int, ...]:
        given = site.integers(name, [default] * rank)
        return (given * rank if len(given) == 1 else given) * sides

    return read


def window(rank: int) -> dict[str, Read]:
    """The arguments that say how the window of a pool slides: by default by its own
    size."""
    kernel, stride = each("kernel_size", rank, 1), each("stride", rank, 1)
    return {
        "kernel_shape": kernel,
        "strides": lambda site: (
            stride(site) if site.integers("stride", ()) else kernel(site)
        ),
        "pads": each("padding", rank, 0, sides=2),
        "ceil_mode": integer("ceil_mode", 0),
    }


def convolution(kind: str, rank: int, more: Mapping[str, Read] = {}) -> Translate:
    """A convolution of images of `rank` dimensions."""
    return node(
        kind,
        "input weight bias?",
        domain=TORCH,
        strides=each("stride", rank, 1),
        pads=each("padding", rank, 0, sides=2),
        dilations=each("dilation", rank, 1),
        group=integer("groups", 1),
        more=more,
    )


_READS: Mapping[str, Callable[..., Read]] = {
    "int": integer,
    "ints": integers,
    "one": one,
    "real": real,
    "real?": if_real,
    "always": always,
}


def rows(text: str) -> dict[str, Translate]:
    """The calls of some lines, by their targets; lines that are indented go on."""
    found: dict[str, Translate] = {}
    for line in re.sub(r"\n +", " ", text).strip().splitlines():
        targets, _, made = line.partition(" = ")
        found.update(dict.fromkeys(targets.split(", "), _row(made)))
    return found


def _row(text: str) -> Translate:
    (name, *operands), *parts = map(str.split, text.split("; "))
    domain, _, kind = name.rpartition(".")
    constants: list[Read] = []
    attributes: dict[str, Read] = {}
    expects: dict[str, Sequence[Argument]] = {}
    for part in parts:
        first, *words = part
        items = [item.split() for item in " ".join(words).split(", ")]
        match first:
            case "then":
                constants = list(map(_read, items))
            case "expects":
                expects = {name: [*map(_literal, values)] for name, *values in items}
            case _:
                items = [item.split() for item in " ".join(part).split(", ")]
                attributes = {name[:-1]: _read(read) for name, *read in items}
    return node(
        kind,
        " ".join(operands) or "self",
        domain=domain,
        constants=constants,
        more=attributes,
        expects=expects,
    )


def _read(words: Sequence[str]) -> Read:
    how, *given = words
    name = [] if how == "always" else given[:1]
    return _READS[how](*name, *map(_literal, given[len(name) :]))


def _literal(text: str) -> Argument:
    try:
        return cast(Argument, literal_eval(text))
    except ValueError:
        return text
