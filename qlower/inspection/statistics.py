"""Layers of a model as a table: shapes, scales, ranges of accumulators, work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qlower.compilation.compilation import Compilation
from qlower.compilation.to_kernel import proofs_and_dropped
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn import QnnOp
from qlower.dialects.qnn.attributes import module_contract
from qlower.frontends.load import ModelOrPath
from qlower.inspection.layer_table import LayerStatistics, layer_statistics, layer_table
from qlower.inspection.refusals import known_proofs
from qlower.model.layers import layers
from qlower.model.selection import select_layers
from qlower.tables.table import Table, Tabled
from qlower.transforms.drop_channels import Dropped


@dataclass(frozen=True, repr=False)
class Stats(Tabled[LayerStatistics]):
    """The layers of a model; `refused` says why some have no proved epilogue."""

    layers: Sequence[LayerStatistics]
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    full_names: bool = False

    @property
    def table(self) -> Table[LayerStatistics]:
        """A line for each layer."""
        return layer_table(self.layers, self.refused, full_names=self.full_names)


def stats(
    model: ModelOrPath, contract: str | None = None, *, layer: str = "*"
) -> Stats:
    """Return the layers that `layer` names (a number, name or glob): shapes, scales,
    accumulator ranges, whether a cheaper epilogue is proved for this machine, work and
    bytes. Raises `QlowerError` for a contract that doesn't exist."""
    compilation = Compilation(model, contract)
    chosen = select_layers(compilation.model.module, layer)
    return stats_of(compilation, chosen)


def stats_of(
    compilation: Compilation,
    chosen: Sequence[str] | None = None,
    *,
    full_names: bool = False,
) -> Stats:
    """The layers of a compilation, all or those of the given names."""
    refused: Mapping[str, str] = {}
    dropped: Sequence[Dropped] = ()
    # what a contract refuses has a note of its own; one that doesn't exist is an error
    default = compilation.contract or module_contract(compilation.qnn)
    named = [op.contract for op in layers(compilation.qnn) if isinstance(op, QnnOp)]
    for name in filter(None, dict.fromkeys([default, *named])):
        load_contract(name)
    try:
        proofs, dropped = proofs_and_dropped(compilation.arith, compilation.target)
    except QlowerError:
        given = (compilation.model.module, compilation.contract, compilation.target)
        proofs, refused = known_proofs(*given)
    given = compilation.model.module, proofs, compilation.contract
    rows = layer_statistics(*given, dropped)
    if chosen is not None:
        rows = [row for row in rows if row.name in chosen]
    return Stats(rows, refused, full_names)
