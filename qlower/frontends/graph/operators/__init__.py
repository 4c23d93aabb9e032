"""The ONNX operators that qlower imports, one file a family."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from ...entry import Entry
from ..context import NodeContext

FAMILIES = (
    *("activation", "attention", "blocked", "border", "contraction", "conv_transpose"),
    *("dynamic", "einsum", "elementwise", "embedding", "functions", "integer_products"),
    *(
        "joining",
        "layout",
        "local_response",
        "normalization",
        "open_quantization",
        "pooling",
    ),
    *("quantizers", "ranking", "real"),
    *("real_layers", "real_pools", "real_softmax", "rearranging", "recurrent"),
    *("reductions", "resizing", "sampling", "selection", "slicing"),
)
"""The modules with `IMPORTERS`."""


def _importers_of(family: str) -> Mapping[tuple[str, str], Entry[NodeContext]]:
    return import_module(f"{__name__}.{family}").IMPORTERS


IMPORTERS = {
    kind: entry for family in FAMILIES for kind, entry in _importers_of(family).items()
}
"""Importer by the operator's domain and name."""
