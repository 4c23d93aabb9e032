"""The operators of PyTorch that qlower imports, one file a family."""

from __future__ import annotations

from collections.abc import Mapping

from ...entry import Entry
from ...graph.context import NodeContext
from ...graph.operators import IMPORTERS as SHARED
from . import (
    contraction,
    layout,
    pooling,
    real,
    real_layers,
    recurrent,
    sampling,
    transposed,
)

IMPORTERS: Mapping[tuple[str, str], Entry[NodeContext]] = {
    **SHARED,
    **contraction.IMPORTERS,
    **layout.IMPORTERS,
    **pooling.IMPORTERS,
    **real.IMPORTERS,
    **real_layers.IMPORTERS,
    **recurrent.IMPORTERS,
    **sampling.IMPORTERS,
    **transposed.IMPORTERS,
}
"""Importer by the operator's domain and name."""
