"""What a validation found: tables, plain data, a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qlower.files.replacing import writing
from qlower.tables.table import NOTHING, Column, Table, Tabled
from qlower.validation.counts import (
    TICKS,
    Counts,
    Signal,
    Spread,
    exact_mcnemar,
    paired_interval,
    wilson_interval,
)

HURT = 3.0
"""A layer hurts where its share of noise is twice what it was before."""

USUAL = 40.0
"""The signal to noise in dB that 8 bits usually give a layer whose range is right."""

BARS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


@dataclass(frozen=True)
class ContractRow:
    """One contract's figures."""

    contract: str
    counts: Counts
    step: float | None = None
    """The step of the output; None where it holds integers without a scale."""
    reference: Counts | None = None

    @property
    def loss(self) -> float | None:
        """The reference's top-1 accuracy less the own one."""
        own = self.share(self.counts.top1)
        if own is None or self.reference is None or not self.reference.labelled:
            return None
        return self.reference.top1 / self.reference.labelled - own

    @property
    def loss_interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the loss, from examples that differ."""
        counts = self.counts
        if self.loss is None or not counts.compared:
            return None
        return paired_interval(counts.lost, counts.gained, counts.labelled)

    @property
    def loss_probability(self) -> float | None:
        """McNemar's exact test: how likely chance alone gives so large a loss."""
        if self.loss_interval is None:
            return None
        return exact_mcnemar(self.counts.lost, self.counts.gained)

    @property
    def agreement(self) -> float | None:
        """The share of examples whose largest output is where the reference's is."""
        counts = self.counts
        return counts.agreeing / counts.compared if counts.compared else None

    def share(self, hits: int) -> float | None:
        """A share of the labelled examples."""
        return hits / self.counts.labelled if self.counts.labelled else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the top-1 accuracy."""
        counts = self.counts
        return (
            wilson_interval(counts.top1, counts.labelled) if counts.labelled else None
        )


@dataclass(frozen=True)
class SignalRow:
    """One layer's figures under one contract."""

    contract: str
    layer: str
    signal: Signal
    spread: Spread | None = None


@dataclass(frozen=True)
class ClassRow:
    """One class's figures under one contract."""

    contract: str
    label: int
    examples: int
    met: int


@dataclass(frozen=True, repr=False)
class Validation(Tabled[ContractRow]):
    """What contracts made of a set of examples.

    `examples` were read; `failed` of them could not be used, `not_finite` of these
    because they hold infinities or NaN. The first that failed are in `failures` by
    number.
    `counts` has each contract's sums of integers, from which all figures are computed,
    `reference` those of a reference that is no contract. `step` is that of the output,
    and `is_real` whether that holds real numbers.
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
            Column("examples", "examples", _examples),
        ]
        if any(row.counts.labelled for row in self.contracts):
            columns += [
                Column("labelled", "labelled", _labelled, rank=1),
                Column("top-1", "top1", lambda r: r.share(r.counts.top1), _percent(1)),
                Column("95 %", "interval", lambda r: r.interval, _interval),
                Column("top-5", "top5", lambda r: r.share(r.counts.top5), _percent(5)),
            ]
        if any(row.loss is not None for row in self.contracts):
            columns += [
                Column("loss", "loss", lambda r: r.loss, _shown_loss),
                Column(
                    "95 %",
                    "loss_interval",
                    lambda r: r.loss_interval,
                    _shown_loss_interval,
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
                    _shown_agreement,
                ),
                Column(
                    "outputs that differ", "differing", _differing, _shown_differing
                ),
                *self._distances(),
                Column("dB", "decibels", _of_output("decibels"), _decibels),
                Column("cosine", "cosine", _of_output("cosine"), _cosine),
            ]
        names = sorted({name for row in self.contracts for name in row.counts.custom})
        for name in names:
            columns += [Column(name, name, _mean_of(name))]
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
            steps, real = _of_output(f"{name}_steps"), _real_output(f"{name}_steps")
            if self.is_real:
                yield Column(name, f"{name}_real", real)
                continue
            yield Column(name, f"{name}_steps", steps)
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
                    lambda r: f"{r.met / r.examples:.2%}",
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
                Column("layer", "layer", lambda r: r.layer, right=False, least=12),
                Column("elements", "elements", lambda r: r.signal.elements, rank=1),
                Column(
                    "differ",
                    "differing",
                    lambda r: r.signal.differing,
                    lambda r: _share(r.signal.differing, r.signal.elements),
                ),
                Column("mean", "mean_steps", lambda r: r.signal.mean_steps),
                Column("largest", "largest_steps", lambda r: r.signal.largest_steps),
                Column(
                    "dB",
                    "decibels",
                    lambda r: _finite(r.signal.decibels),
                    lambda r: _shown_decibels(r.signal),
                ),
                Column(
                    "cosine",
                    "cosine",
                    lambda r: r.signal.cosine,
                    lambda r: _shown_cosine(r.signal.cosine),
                    rank=2,
                ),
                Column("saturated", "saturated", _saturated, _shown_saturated),
                Column(None, "least", lambda r: r.spread and r.spread.least / TICKS),
                Column(None, "most", lambda r: r.spread and r.spread.most / TICKS),
                Column(
                    "histogram",
                    "histogram",
                    lambda r: r.spread and r.spread.bins,
                    lambda r: NOTHING if r.spread is None else bars(r.spread.bins),
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
                    f"{_shown_decibels(signal)} dB"
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


def _examples(row: ContractRow) -> int:
    return row.counts.examples


def _labelled(row: ContractRow) -> int:
    return row.counts.labelled


def _percent(top: int) -> Any:
    def show(row: ContractRow) -> str:
        share = row.share(row.counts.top1 if top == 1 else row.counts.top5)
        return NOTHING if share is None else f"{share:.2%}"

    return show


def _interval(row: ContractRow) -> str:
    return NOTHING if row.interval is None else "{:.1%} to {:.1%}".format(*row.interval)


def _shown_agreement(row: ContractRow) -> str:
    share = row.agreement
    return NOTHING if share is None else f"{share:.2%}"


def _differing(row: ContractRow) -> int | None:
    return row.counts.output.differing if row.counts.compared else None


def _shown_differing(row: ContractRow) -> str:
    output = row.counts.output
    return _share(output.differing, output.elements)


def _share(count: int, whole: int) -> str:
    return NOTHING if whole == 0 else f"{count:,} ({count / whole:.2%})"


def _of_output(name: str) -> Any:
    def value(row: ContractRow) -> float | None:
        if not row.counts.compared:
            return None
        found: float | None = getattr(row.counts.output, name)
        return None if found is None else _finite(found)

    return value


def _real_output(name: str) -> Any:
    steps = _of_output(name)

    def value(row: ContractRow) -> float | None:
        found: float | None = steps(row)
        return None if found is None or row.step is None else found * row.step

    return value


def _shown_loss(row: ContractRow) -> str:
    return NOTHING if row.loss is None else f"{100 * row.loss:.2f} points"


def _shown_loss_interval(row: ContractRow) -> str:
    if row.loss_interval is None:
        return NOTHING
    low, high = row.loss_interval
    return f"{100 * low:.2f} to {100 * high:.2f}"


def _decibels(row: ContractRow) -> str:
    return _shown_decibels(row.counts.output) if row.counts.compared else NOTHING


def _shown_decibels(signal: Signal) -> str:
    return "equal" if signal.noise == 0 else f"{signal.decibels:.1f}"


def _cosine(row: ContractRow) -> str:
    return _shown_cosine(row.counts.output.cosine if row.counts.compared else None)


def _shown_cosine(found: float | None) -> str:
    return NOTHING if found is None else f"{found:.6f}"


def _saturated(row: SignalRow) -> float | None:
    spread = row.spread
    return None if spread is None else spread.saturated / max(1, spread.elements)


def _shown_saturated(row: SignalRow) -> str:
    share = _saturated(row)
    return NOTHING if share is None else f"{share:.2%}"


def bars(counts: Sequence[int]) -> str:
    """A histogram of one character a bar; what occurs at all has some height."""
    most = max(counts, default=0) or 1
    heights = [math.ceil((len(BARS) - 1) * count / most) for count in counts]
    return "".join(BARS[height] for height in heights)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _mean_of(name: str) -> Any:
    def value(row: ContractRow) -> float | None:
        total = row.counts.custom.get(name)
        return None if total is None else float(total / row.counts.examples)

    return value
