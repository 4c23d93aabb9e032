"""The elementwise operations, by their names."""

from __future__ import annotations

from typing import cast

from xdsl.irdl import irdl_op_definition

from .elementwise import ElementwiseOp

UNARY = (
    "abs",
    "cbrt",
    "ceil",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tanh",
)
"""Functions of one number; afz is away from zero."""

BINARY = ("add", "divide", "maximum", "minimum", "multiply", "subtract")


def _defined(name: str, arity: int) -> type[ElementwiseOp]:
    members = {"name": f"stablehlo.{name}", "__module__": __name__}
    title = "".join(word.capitalize() for word in name.split("_"))
    op = cast(type[ElementwiseOp], type(f"{title}Op", (ElementwiseOp,), members))
    defined = irdl_op_definition(op)
    defined.ARITY = arity
    return defined


ELEMENTWISE = {
    name: _defined(name, arity)
    for names, arity in ((UNARY, 1), (BINARY, 2))
    for name in names
}
"""The class of each operation, by its name after the dialect's."""
