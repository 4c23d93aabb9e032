"""The page of how often contracts differ, in markdown that is a table as it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from qlower.report.contract_differences import Comparison, Kind

REFERENCE = "exact"
"""What the overview holds the other contracts against, if it is among them."""

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
    """The whole page: models, an overview, and for each kind of layer all pairs."""
    lines = [_INTRODUCTION, ""]
    rows = [
        [name, str(layers), str(examples)]
        for name, examples, layers in comparison.subjects
    ]
    lines += _table(["model", "layers", "examples"], rows)
    if REFERENCE in comparison.contracts and len(comparison.contracts) > 1:
        lines += _overview(comparison)
    for name, kind in comparison.kinds.items():
        lines += _pairs(name, kind, comparison.contracts)
    return "\n".join([*lines, ""])


def _overview(comparison: Comparison) -> Iterator[str]:
    yield ""
    yield f"## From `{REFERENCE}`"
    yield ""
    others = [name for name in comparison.contracts if name != REFERENCE]
    rows = [
        [name, *(str(k.difference(REFERENCE, name)) for k in comparison.kinds.values())]
        for name in others
    ]
    yield from _table(["contract", *comparison.kinds], rows)
    yield ""
    yield "Counted is where both take the layer; `-`: the contract refuses all of them."


def _pairs(name: str, kind: Kind, contracts: Sequence[str]) -> Iterator[str]:
    groups = kind.groups()
    outputs = max(kind.outputs.values(), default=0)
    yield ""
    yield f"## {name}"
    yield ""
    yield f"{_layers(kind.layer_count)}, {outputs:,} outputs. The same bits:"
    yield ""
    for number, group in enumerate(groups, 1):
        yield f"{number}. {', '.join(group)}"
    yield from _refusals(kind, contracts)
    if len(groups) < 2:
        return
    yield ""
    rows = [
        [
            str(number),
            *("" for _ in groups[1:number]),
            *(str(kind.difference(group[0], other[0])) for other in groups[number:]),
        ]
        for number, group in enumerate(groups[:-1], 1)
    ]
    yield from _table(["", *(str(n) for n in range(2, len(groups) + 1))], rows)


def _refusals(kind: Kind, contracts: Sequence[str]) -> Iterator[str]:
    """Which contracts refuse how many layers, and why, the same reasons together."""
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
        said = "; ".join(f"{_layers(count)}, {reason}" for reason, count in reasons)
        yield f"- {', '.join(names)}: {said}"


def _layers(count: int) -> str:
    return f"{count} layer" if count == 1 else f"{count} layers"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A markdown table whose columns line up; numbers are to the right."""
    widths = [
        max(len(row[column]) for row in (head, *rows)) for column in range(len(head))
    ]
    rules = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    for row in (head, rules, *rows):
        first, *rest = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"| {' | '.join([first, *rest])} |"
