"""The result of a validation: tables, plain data, a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qlower.files.replacing import writing
from qlower.tables.table import NOTHING, Column, Table, Tabled, percentage
from qlower.validation import cells
from qlower.validation.counts import (
    TICKS,
    Counts,
)
from qlower.validation.rows import ClassRow, ContractRow, SignalRow

HURT = 3.0
"""A layer hurts where its share of noise is twice what it was before."""

USUAL = 40.0
"""The signal to noise in dB that 8 bits usually give a layer whose range is right."""


@dataclass(frozen=True, repr=False)
class Validation(Tabled[ContractRow]):
    """The results of contracts on a set of examples.

    `examples` were read; `failed` of them could not be used; `not_finite` counts those
    among them with infinities or NaN. The first that failed are in `failures` by
    number. `counts` has each contract's sums of integers, from which all figures are
    computed, `reference` those of a reference that is no contract. `step` is that of
    the output, and `is_real` whether that holds real numbers.
    """

    examples: int
    failed: int
    not_finite: int
    failures: tuple[tuple[int, str], ...]
    against: str | None
    counts: Mapping[str, Counts]
    step: float | None = None
    is_real: bool = False
    reference: Counts | None = None

    @property
    def contracts(self) -> list[ContractRow]:
        """The contracts in order, and the reference."""
        rows = dict(self.counts)
        reference = rows.get(self.against or "", self.reference)
        if self.against is not None and reference is not None:
            rows[self.against] = reference
        return [
            ContractRow(name, counts, self.step, reference)
            for name, counts in rows.items()
        ]

    @property
    def table(self) -> Table[ContractRow]:
        """A row a contract."""
        columns: list[Column[ContractRow]] = [
            Column("contract", "contract", lambda r: r.contract, right=False),
            Column("examples", "examples", cells.example_count),
        ]
        if any(row.counts.labelled for row in self.contracts):
            columns += [
                Column("labelled", "labelled", cells.labelled_count, rank=1),
                Column(
                    "top-1",
                    "top1",
                    lambda r: r.share(r.counts.top1),
                    cells.show_share_of(1),
                ),
                Column(
                    "95 %",
                    "interval",
                    lambda r: r.interval,
                    cells.show_interval,
                    rank=2,
                ),
                Column(
                    "top-5",
                    "top5",
                    lambda r: r.share(r.counts.top5),
                    cells.show_share_of(5),
                ),
            ]
        if any(row.loss is not None for row in self.contracts):
            columns += [
                Column("loss", "loss", lambda r: r.loss, cells.show_loss),
                Column(
                    "95 %",
                    "loss_interval",
                    lambda r: r.loss_interval,
                    cells.show_loss_interval,
                    rank=2,
                ),
                Column[ContractRow](
                    "McNemar's p", "mcnemar", lambda r: r.loss_probability, rank=2
                ),
            ]
        if self.against is not None:
            columns += [
                Column(
                    "argmax agrees",
                    "agreement",
                    lambda r: r.agreement,
                    cells.show_agreement,
                ),
                Column(
                    "outputs that differ",
                    "differing",
                    cells.differing_outputs,
                    cells.show_differing,
                ),
                *self._distances(),
                Column(
                    "dB",
                    "decibels",
                    cells.of_output("decibels"),
                    cells.show_output_decibels,
                ),
                Column(
                    "cosine",
                    "cosine",
                    cells.of_output("cosine"),
                    cells.show_output_cosine,
                    rank=3,
                ),
            ]
        names = sorted({name for row in self.contracts for name in row.counts.custom})
        taken = {column.key for column in columns}
        for name in names:
            key = f"metric_{name}" if name in taken else name
            columns += [Column(name, key, cells.mean_of(name))]
        notes: list[str] = []
        if self.against is not None:
            notes.append(
                f"held against {self.against}; mean and largest difference in "
                f"{'real numbers' if self.is_real else 'steps of the output'}, signal "
                "to noise in dB"
            )
        if self.failed:
            note = f"{self.failed:,} of {self.examples:,} rows could not be used"
            if self.not_finite:
                note += f", {self.not_finite:,} of them for infinities or NaN"
            notes.append(f"{note}:")
            notes += [f"  row {row}: {reason}" for row, reason in self.failures]
            more = self.failed - len(self.failures)
            notes += [f"  and {more:,} more"] if more else []
        return Table("validation", self.contracts, columns, notes=notes)

    def _distances(self) -> Iterator[Column[ContractRow]]:
        """Mean and largest difference: in steps of the output, and real numbers."""
        for name in ("mean", "largest"):
            steps, real = (
                cells.of_output(f"{name}_steps"),
                cells.real_output(f"{name}_steps"),
            )
            if self.is_real:
                yield Column(name, f"{name}_real", real, rank=name == "mean")
                continue
            yield Column(name, f"{name}_steps", steps, rank=name == "mean")
            yield Column(None, f"{name}_real", real)

    def class_table(self) -> Table[ClassRow]:
        """A row a contract and class."""
        rows = [
            ClassRow(row.contract, label, examples, met)
            for row in self.contracts
            for label, (examples, met) in row.counts.by_class.items()
        ]
        return Table(
            "classes",
            rows,
            [
                Column("contract", "contract", lambda r: r.contract, right=False),
                Column("class", "class", lambda r: r.label),
                Column("examples", "examples", lambda r: r.examples),
                Column("met", "met", lambda r: r.met),
                Column(
                    "top-1",
                    "top1",
                    lambda r: r.met / r.examples,
                    lambda r: percentage(r.met / r.examples),
                ),
            ],
            notes=[] if rows else ["no example has a label, see --labels"],
        )

    def layer_table(self) -> Table[SignalRow]:
        """A row a contract and layer, in the order in which layers run."""
        rows = [
            SignalRow(row.contract, layer, signal, row.counts.spreads.get(layer))
            for row in self.contracts
            for layer, signal in row.counts.layers.items()
        ]
        return Table(
            "layers",
            rows,
            [
                Column("contract", "contract", lambda r: r.contract, right=False),
                Column("layer", "layer", lambda r: r.layer, least=12),
                Column("elements", "elements", lambda r: r.signal.elements, rank=2),
                Column(
                    "differ",
                    "differing",
                    lambda r: r.signal.differing,
                    lambda r: cells.show_share(r.signal.differing, r.signal.elements),
                ),
                Column("mean", "mean_steps", lambda r: r.signal.mean_steps, rank=1),
                Column("largest", "largest_steps", lambda r: r.signal.largest_steps),
                Column(
                    "dB",
                    "decibels",
                    lambda r: cells.finite(r.signal.decibels),
                    lambda r: cells.show_decibels(r.signal),
                ),
                Column(
                    "cosine",
                    "cosine",
                    lambda r: r.signal.cosine,
                    lambda r: cells.show_cosine(r.signal.cosine),
                    rank=3,
                ),
                Column(
                    "saturated",
                    "saturated",
                    cells.saturated_share,
                    cells.show_saturated,
                ),
                Column(None, "least", lambda r: r.spread and r.spread.least / TICKS),
                Column(None, "most", lambda r: r.spread and r.spread.most / TICKS),
                Column(
                    "histogram",
                    "histogram",
                    lambda r: r.spread and r.spread.bins,
                    lambda r: (
                        NOTHING if r.spread is None else cells.bars(r.spread.bins)
                    ),
                    right=False,
                    rank=3,
                ),
            ],
            notes=self._layer_notes(),
        )

    def first_hurt(self, contract: str) -> str | None:
        """The first layer of a contract whose signal to noise is `HURT` dB below the
        least before it, or below `USUAL`; None if there is none."""
        least = USUAL
        for layer, signal in self.counts[contract].layers.items():
            found = signal.decibels
            if found < least - HURT:
                return layer
            least = min(least, found)
        return None

    def _layer_notes(self) -> list[str]:
        notes: list[str] = []
        if any(row.counts.spreads for row in self.contracts):
            notes.append(
                "saturated: stored as the least or largest value; histogram: over all "
                "values that the type holds"
            )
        for name in self.counts:
            layer = self.first_hurt(name)
            if layer is not None:
                signal = self.counts[name].layers[layer]
                notes.append(
                    f"{name}: the first layer that hurts is {layer}, "
                    f"{cells.show_decibels(signal)} dB"
                )
        return notes

    def to_dict(self) -> dict[str, Any]:
        """All figures, and the sums that they come from, as plain data."""
        return {
            "examples": self.examples,
            "failed": self.failed,
            "not_finite": self.not_finite,
            "failures": [{"row": row, "reason": why} for row, why in self.failures],
            "against": self.against,
            "contracts": self.table.records(),
            "classes": self.class_table().records(),
            "layers": self.layer_table().records(),
            "first_hurt": {name: self.first_hurt(name) for name in self.counts},
            "sums": {name: counts.to_json() for name, counts in self.counts.items()},
            "reference": self.reference and self.reference.to_json(),
        }

    def plot(self, path: Path) -> None:
        """Draw the accuracies with their intervals, or else how outputs differ."""
        from qlower.tables.plots import BLUE, new_figure, save

        rows = self.contracts
        figure = new_figure(6.4, 1.2 + 0.35 * len(rows))
        axes: Any = figure.subplots()  # pyright: ignore[reportUnknownMemberType]
        places = range(len(rows))
        if any(row.counts.labelled for row in rows):
            values = [100 * (row.share(row.counts.top1) or 0.0) for row in rows]
            ends = [row.interval or (0.0, 0.0) for row in rows]
            below = [v - 100 * low for v, (low, _) in zip(values, ends, strict=True)]
            above = [100 * high - v for v, (_, high) in zip(values, ends, strict=True)]
            axes.barh(places, values, color=BLUE, xerr=(below, above))
            axes.set_xlabel("top-1 accuracy in %, and its 95 % confidence interval")
            axes.set_xlim(0, 100)
        else:
            shares = [
                100 * row.counts.output.differing / max(1, row.counts.output.elements)
                for row in rows
            ]
            axes.barh(places, shares, color=BLUE)
            axes.set_xlabel(f"outputs that differ from {self.against}, in %")
        axes.set_yticks(places, [row.contract for row in rows])
        axes.invert_yaxis()
        with writing(path):
            save(figure, path)
