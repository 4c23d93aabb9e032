"""The ONNX operators that qlower imports, one file a family."""

from __future__ import annotations

from collections.abc import Mapping

from ...entry import Entry
from ..context import NodeContext
from . import (
    activation,
    attention,
    border,
    contraction,
    conv_transpose,
    dynamic,
    einsum,
    elementwise,
    functions,
    joining,
    layout,
    normalization,
    pooling,
    ranking,
    real,
    real_layers,
    real_pools,
    real_softmax,
    rearranging,
    recurrent,
    reductions,
    resizing,
    sampling,
    selection,
    slicing,
)

IMPORTERS: Mapping[tuple[str, str], Entry[NodeContext]] = {
    **activation.IMPORTERS,
    **attention.IMPORTERS,
    **border.IMPORTERS,
    **conv_transpose.IMPORTERS,
    **contraction.IMPORTERS,
    **dynamic.IMPORTERS,
    **einsum.IMPORTERS,
    **elementwise.IMPORTERS,
    **functions.IMPORTERS,
    **joining.IMPORTERS,
    **layout.IMPORTERS,
    **normalization.IMPORTERS,
    **pooling.IMPORTERS,
    **ranking.IMPORTERS,
    **real.IMPORTERS,
    **real_layers.IMPORTERS,
    **real_pools.IMPORTERS,
    **real_softmax.IMPORTERS,
    **rearranging.IMPORTERS,
    **recurrent.IMPORTERS,
    **reductions.IMPORTERS,
    **resizing.IMPORTERS,
    **sampling.IMPORTERS,
    **selection.IMPORTERS,
    **slicing.IMPORTERS,
}
"""Importer by the operator's domain and name."""
