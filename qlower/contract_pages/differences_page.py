"""The rates at which contracts differ: a page in markdown, and a table of all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from qlower.contract_pages.contract_differences import Comparison, Disagreement, Kind
from qlower.tables.table import Column, Table, counted

REFERENCE = "exact"
"""The contract that the overview compares the others with, if it is among them."""

_INTRODUCTION = """\
# How contracts differ

How many outputs differ between two contracts; in brackets by how much at most,
where that is more than 1. Each layer of a model runs alone, compiled, under each
contract. All get the same inputs: those that the layer has when the model runs
under its own contract.

A difference is one of stored integers. Real scales make few ties, so that contracts
that differ in ties alone hardly differ here; scales that are powers of two would
show more."""


def differences_page(comparison: Comparison) -> str:
    """The whole page: models, an overview, and for each kind of layer, or each layer,
    all pairs."""
    lines = [_INTRODUCTION, ""]
    lines.append(_models(comparison).render("markdown"))
    if REFERENCE in comparison.contracts and len(comparison.contracts) > 1:
        lines += _overview(comparison)
    for name, kind in comparison.kinds.items():
        lines += _pairs(name, kind, comparison.contracts)
    return "\n".join([*lines, ""])


def _models(comparison: Comparison) -> Table[tuple[str, int, int]]:
    columns: list[Column[tuple[str, int, int]]] = [
        Column("model", "model", lambda row: row[0], right=False),
        Column("layers", "layers", lambda row: row[2]),
        Column("examples", "examples", lambda row: row[1]),
    ]
    return Table("models", comparison.subjects, columns)


def _overview(comparison: Comparison) -> Iterator[str]:
    yield ""
    yield f"## From `{REFERENCE}`"
    yield ""
    others = [name for name in comparison.contracts if name != REFERENCE]
    kinds = comparison.kinds
    if comparison.by_layer:
        yield _matrix(
            "layer",
            list(kinds),
            others,
            lambda layer, name: kinds[layer].difference(REFERENCE, name),
        )
    else:
        yield _matrix(
            "contract",
            others,
            list(kinds),
            lambda name, kind: kinds[kind].difference(REFERENCE, name),
        )
    yield ""
    yield "Counted is where both take the layer; `-`: the contract refuses all of them."


def _matrix(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cell: Callable[[str, str], Disagreement | str],
) -> str:
    """A cell for each row and column, in markdown."""

    def column(name: str) -> Column[str]:
        return Column(name, name, lambda row: str(cell(row, name)))

    head: Column[str] = Column(title, title, lambda row: row, right=False)
    return Table(title, rows, [head, *map(column, columns)]).render("markdown")


def _pairs(name: str, kind: Kind, contracts: Sequence[str]) -> Iterator[str]:
    groups = kind.groups()
    outputs = max(kind.outputs.values(), default=0)
    yield ""
    yield f"## {name}"
    yield ""
    yield f"{counted(kind.layer_count, 'layer')}, {outputs:,} outputs. The same bits:"
    yield ""
    for number, group in enumerate(groups, 1):
        yield f"{number}. {', '.join(group)}"
    yield from _refusals(kind, contracts)
    if len(groups) < 2:
        return
    yield ""
    numbers = [str(number) for number in range(1, len(groups) + 1)]

    def cell(row: str, column: str) -> Disagreement | str:
        if int(row) >= int(column):
            return ""
        return kind.difference(groups[int(row) - 1][0], groups[int(column) - 1][0])

    yield _matrix("", numbers[:-1], numbers[1:], cell)


@dataclass(frozen=True)
class Pair:
    """Two contracts on one kind of layer, or on one layer."""

    layers: str
    first: str
    second: str
    difference: Disagreement


def pairs_table(comparison: Comparison) -> Table[Pair]:
    """A row for every two contracts that both take some of the layers."""
    rows = [
        Pair(name, *names, difference)
        for name, kind in comparison.kinds.items()
        for names, difference in kind.pairs.items()
    ]
    title = "layer" if comparison.by_layer else "kind"
    columns: list[Column[Pair]] = [
        Column(title, title, lambda row: row.layers, least=12),
        Column("contract", "first", lambda row: row.first, right=False),
        Column("contract", "second", lambda row: row.second, right=False),
        Column("outputs", "outputs", lambda row: row.difference.count),
        Column("differ", "differing", lambda row: row.difference.differing),
        Column("by at most", "largest", lambda row: row.difference.largest),
    ]
    notes = [
        f"{name} refuses {counted(len(reasons), 'layer')} of {layers}: {reasons[0]}"
        for layers, kind in comparison.kinds.items()
        for name, reasons in kind.refusals.items()
    ]
    return Table("how contracts differ", rows, columns, notes=notes)


def _refusals(kind: Kind, contracts: Sequence[str]) -> Iterator[str]:
    """Refusals with the number of layers and the contracts, equal reasons together."""
    who: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for name in contracts:
        if name in kind.refusals:
            reasons = Counter(
                reason.replace(f"contract {name} ", "it ")
                for reason in kind.refusals[name]
            )
            who.setdefault(tuple(reasons.items()), []).append(name)
    if who:
        yield ""
        yield "Refused:"
        yield ""
    for reasons, names in who.items():
        said = "; ".join(
            f"{counted(count, 'layer')}, {reason}" for reason, count in reasons
        )
        yield f"- {', '.join(names)}: {said}"
