"""Calls that compare, choose or count elements, as nodes of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..graph.schema import AttributeValue
from .rows import rows
from .translating import CallSite, Translate

CASTS = {4: 6, 5: 7, 7: 1, 12: 9}
"""The schema's numbers of types, and ONNX's."""


def _compared(kind: str, *, is_negated: bool = False) -> Translate:
    """A comparison with a tensor, or with a number."""

    def translate(site: CallSite) -> None:
        operands, name = [site.tensor("self")], site.call.results[0]
        attributes: dict[str, AttributeValue] = {}
        if isinstance(site.argument("other"), int | float):
            attributes["other"] = site.scalar("other")
        else:
            operands.append(site.tensor("other"))
        held = f"{name}/held" if is_negated else name
        site.add(kind, operands, attributes, results=[held])
        if is_negated:
            site.add("Not", [held])

    return translate


def _real(site: CallSite, name: str) -> str:
    value = site.argument(name)
    if isinstance(value, int | float):
        return site.constant(np.array(float(value), np.float32), "FLOAT")
    return site.tensor(name)


def _where(site: CallSite) -> None:
    choices = [_real(site, name) for name in ("self", "other")]
    site.add("Where", [site.tensor("condition"), *choices])


def _masked(site: CallSite) -> None:
    """A number wherever a mask is true, else the element."""
    value = _real(site, "value")
    site.add("Where", [site.tensor("mask"), value, site.tensor("self")])


def _cast(site: CallSite) -> None:
    number = site.argument("dtype")
    if number is None:
        site.add("Identity", [site.tensor("self")])
        return
    if not isinstance(number, int) or number not in CASTS:
        raise site.unsupported("dtype", number, *CASTS)
    site.add("Cast", [site.tensor("self")], {"to": CASTS[number]})


def _reduced(kind: str) -> Translate:
    """A function of the elements along some dimensions, by default all."""

    def translate(site: CallSite) -> None:
        dims = site.integers("dim", ())
        attributes = {"keepdims": site.integer("keepdim", 0)}
        operands = [site.tensor("self")]
        if dims:
            operands.append(site.constant(np.array(dims, np.int64), "INT64"))
        site.add(kind, operands, attributes)

    return translate


def _extreme(kind: str) -> Translate:
    """The largest or least elements along a dimension, and their places."""

    def translate(site: CallSite) -> None:
        names: Sequence[str] = site.call.results
        axes = site.constant(np.array([site.integer("dim")], np.int64), "INT64")
        keeps = {"keepdims": site.integer("keepdim", 0)}
        value = site.tensor("self")
        site.add(f"Reduce{kind}", [value, axes], keeps, results=names[:1])
        if len(names) > 1:
            places = {**keeps, "axis": site.integer("dim")}
            site.add(f"Arg{kind}", [value], places, results=names[1:])

    return translate


CHOICES: Mapping[str, Translate] = {
    **rows("""
aten.logical_not.default, aten.bitwise_not.default = Not
aten.__and__.Tensor, aten.logical_and.default, aten.bitwise_and.Tensor = And self other
aten.__or__.Tensor, aten.logical_or.default, aten.bitwise_or.Tensor = Or self other
aten.maximum.default = Max self other
aten.minimum.default = Min self other
aten.argmax.default = ArgMax; axis: int dim, keepdims: int keepdim 0
aten.sum.default, aten.sum.dim_IntList = torch.Sum;
    axes: ints dim (), keepdims: int keepdim 0; expects dtype None 7
aten.tril.default = Trilu; then int diagonal 0; upper: always 0
aten.triu.default = Trilu; then int diagonal 0
"""),
    **{
        f"aten.{name}.{overload}": _compared(kind, is_negated=name == "ne")
        for name, kind in (
            ("eq", "Equal"),
            ("ne", "Equal"),
            ("gt", "Greater"),
            ("ge", "GreaterOrEqual"),
            ("lt", "Less"),
            ("le", "LessOrEqual"),
        )
        for overload in ("Scalar", "Tensor")
    },
    **dict.fromkeys(
        (f"aten.where.{name}" for name in ("self", "ScalarOther", "ScalarSelf")), _where
    ),
    "aten.masked_fill.Scalar": _masked,
    "aten.to.dtype": _cast,
    "aten._to_copy.default": _cast,
    "aten.max.dim": _extreme("Max"),
    "aten.min.dim": _extreme("Min"),
    "aten.amax.default": _reduced("ReduceMax"),
    "aten.amin.default": _reduced("ReduceMin"),
}
"""Targets whose results depend on which elements are larger, or where they lie."""
