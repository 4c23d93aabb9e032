"""The set of dialects that qlower reads and writes."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.context import Context
from xdsl.ir import Dialect

UPSTREAM_DIALECTS = (
    "builtin",
    "func",
    "arith",
    "math",
    "linalg",
    "tensor",
    "cf",
    "scf",
    "memref",
)
"""Dialects of xDSL that our levels are written in."""


def own_dialects() -> dict[str, Callable[[], Dialect]]:
    """qlower's dialects by name; each is imported when it is first used."""

    def get_quant() -> Dialect:
        from qlower.dialects.quant import QUANT

        return QUANT

    def get_qnn() -> Dialect:
        from qlower.dialects.qnn import QNN

        return QNN

    def get_fixed() -> Dialect:
        from qlower.dialects.fixed import FIXED

        return FIXED

    def get_kernel() -> Dialect:
        from qlower.dialects.kernel import KERNEL

        return KERNEL

    return {
        "quant": get_quant,
        "qnn": get_qnn,
        "fixed": get_fixed,
        "kernel": get_kernel,
    }


def make_context() -> Context:
    """A context that knows every dialect of ours; each is loaded when first used."""
    from xdsl.dialects import get_all_dialects

    context = Context()
    upstream = get_all_dialects()
    for name in UPSTREAM_DIALECTS:
        context.register_dialect(name, upstream[name])
    for name, factory in own_dialects().items():
        context.register_dialect(name, factory)
    return context
