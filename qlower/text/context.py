"""The set of dialects that qlower reads and writes."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.ir import Dialect, Operation

from qlower.process.lazy import lazy_table

UPSTREAM_DIALECTS = (
    "builtin",
    "func",
    "arith",
    "math",
    "tensor",
    "cf",
    "scf",
    "memref",
    "ml_program",
    "hw",
    "comb",
    "seq",
    "smt",
)
"""Dialects of xDSL that our levels are written in."""


OWN_DIALECTS = {
    "quant": "qlower.dialects.quant:QUANT",
    "qnn": "qlower.dialects.qnn:QNN",
    "fixed": "qlower.dialects.fixed:FIXED",
    "kernel": "qlower.dialects.kernel:KERNEL",
    "smtlib": "qlower.dialects.smtlib:SMTLIB",
}
"""Dialects of qlower, and where they are."""


def own_dialects() -> dict[str, Callable[[], Dialect]]:
    """qlower's dialects by name; each is imported when it is first used."""
    return lazy_table(OWN_DIALECTS)


INPUT_DIALECTS = {
    "linalg": "qlower.dialects.linalg:LINALG",
    "stablehlo": "qlower.dialects.stablehlo:STABLEHLO",
    "tosa": "qlower.dialects.tosa:TOSA",
}
"""Upstream's dialects that models come in, as far as we read them."""


def input_dialects() -> dict[str, Callable[[], Dialect]]:
    """The dialects of input text by name; each is imported when it is first used."""
    return lazy_table(INPUT_DIALECTS)


def operation_on_demand(name: str) -> type[Operation] | None:
    """An upstream operation that the context doesn't have: only some text needs it."""
    if not name.startswith("linalg."):
        return None
    from qlower.dialects.linalg import named_op

    return named_op(name)


def make_context() -> Context:
    """A context that knows every dialect of qlower; each is loaded when first used."""
    from xdsl.dialects import get_all_dialects

    context = Context()
    upstream = get_all_dialects()
    for name in UPSTREAM_DIALECTS:
        context.register_dialect(name, upstream[name])
    readable = own_dialects() | input_dialects()
    for name, factory in readable.items():
        context.register_dialect(name, factory)
    return context
