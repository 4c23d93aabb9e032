"""The TFLite operators that qlower imports, one file a family."""

from __future__ import annotations

from collections.abc import Mapping

from ..importer import Importer
from . import (
    activation,
    contraction,
    control,
    elementwise,
    functions,
    gathering,
    indexing,
    integers,
    joining,
    layout,
    plain,
    pooling,
    ranking,
    real_norms,
    recurrent,
    slicing,
    sparse,
    spreading,
    transpose_conv,
    variables,
)

IMPORTERS: Mapping[str, Importer] = {
    **activation.IMPORTERS,
    **contraction.IMPORTERS,
    **control.IMPORTERS,
    **elementwise.IMPORTERS,
    **functions.IMPORTERS,
    **gathering.IMPORTERS,
    **indexing.IMPORTERS,
    **integers.IMPORTERS,
    **joining.IMPORTERS,
    **layout.IMPORTERS,
    **plain.IMPORTERS,
    **pooling.IMPORTERS,
    **ranking.IMPORTERS,
    **real_norms.IMPORTERS,
    **recurrent.IMPORTERS,
    **slicing.IMPORTERS,
    **sparse.IMPORTERS,
    **spreading.IMPORTERS,
    **transpose_conv.IMPORTERS,
    **variables.IMPORTERS,
}
"""Importer by the operator's name in the TFLite schema."""
