"""The TFLite operators that qlower imports, one file a family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from ...entry import Entry
from ..context import OperatorContext

FAMILIES = (
    *("contraction", "layout", "pooling", "elementwise", "joining", "activation"),
    *("slicing", "plain", "functions", "gathering", "transpose_conv", "recurrent"),
    *("bits", "control", "indexing", "integers", "ranking", "real_norms", "sparse"),
    *("spreading", "variables", "detection", "suppression", "spectra"),
)
"""The files with importers, the commonest first."""


class _Importers(Mapping[str, Entry[OperatorContext]]):
    """All importers. A file is read when an operator isn't in those before it."""

    def __getitem__(self, name: str) -> Entry[OperatorContext]:
        for family in FAMILIES:
            if name in (known := _importers_of(family)):
                return known[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        for family in FAMILIES:
            yield from _importers_of(family)

    def __len__(self) -> int:
        return sum(len(_importers_of(family)) for family in FAMILIES)


@cache
def _importers_of(family: str) -> Mapping[str, Entry[OperatorContext]]:
    return import_module(f"{__name__}.{family}").IMPORTERS


IMPORTERS = _Importers()
"""Importer by the operator's name in the TFLite schema."""
