"""The contracts that are the same: as text, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from qlower.interp import Array
from qlower.tables.table import NOTHING, Column, Table, Tabled, counted
from qlower.verification.verdict import Kind


@dataclass(frozen=True)
class LayerGroups:
    """The contracts of a layer in `groups`, each of which is the same for all inputs.

    Any two groups differ for some input, except the pairs `undecided`, given by one
    contract of each group. `refused` have no rule for the layer, and say so.
    """

    layer: str
    kind: str
    groups: Sequence[Sequence[str]]
    undecided: Sequence[tuple[str, str]]
    refused: Mapping[str, str]

    def verdict(self, a: str, b: str) -> Kind | None:
        """Whether two contracts are the same; None if one has no rule."""
        own = [
            next((group for group in self.groups if name in group), None)
            for name in (a, b)
        ]
        first, second = own
        if first is None or second is None:
            return None
        if first is second:
            return "equal"
        pairs = [{one, other} for one, other in self.undecided]
        return "undecided" if {first[0], second[0]} in pairs else "differs"


@dataclass(frozen=True, repr=False)
class Groups(Tabled[LayerGroups]):
    """The groups of all layers. `hashes` is as in `Equality`."""

    contracts: Sequence[str]
    layers: Sequence[LayerGroups]
    hashes: Mapping[str, str]

    @property
    def holds(self) -> bool:
        """Whether every pair was decided in every layer."""
        return not any(row.undecided for row in self.layers)

    def everywhere(self) -> list[list[str]]:
        """The contracts that are the same in all layers."""
        found: dict[tuple[int, ...], list[str]] = {}
        for name in self.contracts:
            if any(name in row.refused for row in self.layers):
                continue
            own = tuple(
                next(n for n, group in enumerate(row.groups) if name in group)
                for row in self.layers
            )
            found.setdefault(own, []).append(name)
        return list(found.values())

    @property
    def table(self) -> Table[LayerGroups]:
        """A line for each layer."""
        everywhere = self.everywhere()
        names = {
            name: f"{first} +{len(more)}" if more else first
            for first, *more in everywhere
            for name in (first, *more)
        }
        columns: list[Column[LayerGroups]] = [
            Column("layer", "layer", lambda row: row.layer, least=12),
            Column("op", "op", lambda row: row.kind, right=False, rank=2),
            Column("groups", "count", lambda row: len(row.groups)),
            Column("undecided", "undecided", lambda row: len(row.undecided) or None),
            Column("no rule", "refused", lambda row: len(row.refused) or None),
            Column(
                "the same",
                "same",
                _same,
                lambda row: _same(row, names) or NOTHING,
                least=20,
            ),
        ]
        whole = [group for group in everywhere if len(group) > 1]
        pairs = sum(len(one) * (len(one) - 1) // 2 for one in whole)
        notes = [
            f"{counted(len(self.contracts), 'contract')}; equal in every layer, and "
            f"listed above by the first name: {_written(whole) or 'none'} "
            f"({counted(pairs, 'pair')})."
        ]
        title = "contracts that are the same for all inputs"
        return Table(title, self.layers, columns, notes=notes, whole="--json")

    def to_dict(self) -> dict[str, object]:
        """Plain data, the verdict's file."""
        return {
            "question": "groups",
            "contracts": list(self.contracts),
            "sha256": dict(self.hashes),
            "layers": [asdict(row) for row in self.layers],
        }

    def inputs(self) -> dict[str, Array]:
        """No arrays: `Equality` has them for two contracts."""
        return {}


def _same(row: LayerGroups, names: Mapping[str, str] = {}) -> str:
    groups = [group for group in row.groups if len(group) > 1]
    return _written([[names.get(name, name) for name in group] for group in groups])


def _written(groups: Sequence[Sequence[str]]) -> str:
    return "; ".join(" = ".join(dict.fromkeys(group)) for group in groups)
