"""The result of an improvement: tables, plain data, a picture, and the model's file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qlower.diagnostics import QlowerError
from qlower.exports.weights import to_onnx, to_tflite
from qlower.files.replacing import writing
from qlower.improvement.figures import Figures
from qlower.improvement.sensitivity import Choice, LayerEffect
from qlower.model import Model
from qlower.tables.table import NOTHING, Column, Table, Tabled


@dataclass(frozen=True)
class Attempt:
    """The model after a method, whether that was kept, and the seconds it took."""

    method: str
    is_kept: bool
    figures: Figures
    seconds: float


@dataclass(frozen=True, repr=False)
class Improvement(Tabled[Attempt]):
    """A better model, and how it came about.

    `examples` are the numbers of those that methods were fitted to, decided by, and
    measured on. `layers` and `choices` are of the model as it was.
    """

    model: Model
    source: Path | None
    examples: tuple[int, int, int]
    steps: tuple[Attempt, ...]
    after: Figures
    layers: tuple[LayerEffect, ...]
    choices: tuple[Choice, ...]
    real_top1: float | None

    @property
    def table(self) -> Table[Attempt]:
        """A row for each method, with the figures if it is kept."""
        columns = [
            Column[Attempt]("method", "method", lambda r: r.method, right=False),
            Column[Attempt]("kept", "kept", lambda r: r.is_kept, right=False),
            *_figure_columns(self._has_top1),
            Column[Attempt]("seconds", "seconds", lambda r: r.seconds, rank=1),
        ]
        fitted, decided, measured = self.examples
        notes = [
            f"measured on {measured:,} examples by the contract's integers; fitted to "
            f"{fitted:,}, kept by {decided:,} others",
            "dB: signal to noise of the outputs, before a softmax, against the real "
            "network",
        ]
        if self.real_top1 is not None:
            notes.append(f"top-1 of the real network: {self.real_top1:.2%}")
        rows = [*self.steps, Attempt("result", True, self.after, 0.0)]
        return Table("improvement", rows, columns, notes=notes)

    def layer_table(self) -> Table[LayerEffect]:
        """A row for each layer that rounds."""
        worst = min(self.layers, key=lambda one: one.alone, default=None)
        notes = [
            "dB of the output: alone, with this layer quantized and the others in "
            "real numbers; without, the other way round. own: dB of its own result"
        ]
        if worst is not None:
            notes.append(f"{worst.name} hurts most")
        return Table(
            "layers",
            self.layers,
            [
                Column("layer", "layer", lambda r: r.name, least=12),
                Column("op", "op", lambda r: r.kind, right=False, rank=1),
                Column("alone", "alone", lambda r: _finite(r.alone), _shown("alone")),
                Column(
                    "without",
                    "without",
                    lambda r: _finite(r.without),
                    _shown("without"),
                ),
                Column("own", "own", lambda r: _finite(r.own), _shown("own")),
                Column(
                    "saturated",
                    "saturated",
                    lambda r: r.saturated,
                    lambda r: f"{r.saturated:.2%}",
                ),
            ],
            notes=notes,
        )

    def choice_table(self) -> Table[Choice]:
        """A row for each choice of precisions."""
        return Table(
            "precision",
            self.choices,
            [
                Column("precision", "precision", lambda r: r.name, right=False),
                Column("weights, bytes", "weight_bytes", lambda r: r.weight_bytes),
                *_figure_columns(self._has_top1),
                Column("refused", "refused", lambda r: r.refusal, least=20),
            ],
        )

    def to_dict(self) -> dict[str, object]:
        """All tables as plain data."""
        return {
            "examples": list(self.examples),
            "real_top1": self.real_top1,
            "methods": self.table.records(),
            "layers": self.layer_table().records(),
            "precision": self.choice_table().records(),
        }

    def save(self, path: Path) -> None:
        """Write the model: `.mlir`, or the file that it came from with new numbers."""
        if path.suffix == ".mlir":
            self.model.save(path)
            return
        if self.source is None or self.source.suffix != path.suffix:
            raise QlowerError(
                f"{path}: the model came from {self.source or 'no file'}",
                help="it is written as .mlir, or in the format that it came from",
            )
        write = to_tflite if path.suffix == ".tflite" else to_onnx
        write(self.model, self.source, path)

    def plot(self, path: Path) -> None:
        """Draw what each layer does to the signal to noise of the output."""
        from qlower.tables.plots import BLUE, RED, new_figure, save

        figure = new_figure(6.4, 1.2 + 0.35 * len(self.layers))
        axes: Any = figure.subplots()  # pyright: ignore[reportUnknownMemberType]
        places = range(len(self.layers))
        shown = [_finite(one.alone) or 0.0 for one in self.layers]
        whole = self.steps[0].figures.decibels
        without = [_finite(one.without) or whole for one in self.layers]
        axes.barh(places, shown, color=BLUE, label="quantized alone")
        axes.plot(without, places, "o", color=RED, label="alone in float")
        axes.axvline(whole, color=RED, linestyle=":", label="all quantized")
        axes.set_xlabel("signal to noise of the output, dB")
        axes.set_yticks(places, [one.name for one in self.layers])
        axes.invert_yaxis()
        axes.legend(loc="lower right")
        with writing(path):
            save(figure, path)

    @property
    def _has_top1(self) -> bool:
        return self.after.top1 is not None


def _figure_columns(has_top1: bool) -> list[Column[Any]]:
    """Signal to noise, agreement, and accuracy where it is known."""

    def column(title: str, key: str, show: str) -> Column[Any]:
        def value(row: Attempt | Choice) -> float | None:
            figures = row.figures
            return None if figures is None else _finite(getattr(figures, key))

        def shown(row: Attempt | Choice) -> str:
            found = value(row)
            return NOTHING if found is None else format(found, show)

        return Column(title, key, value, shown)

    columns = [
        column("dB", "decibels", ".1f"),
        column("argmax agrees", "agreement", ".2%"),
    ]
    return columns + ([column("top-1", "top1", ".2%")] if has_top1 else [])


def _shown(name: str) -> Any:
    def show(row: LayerEffect) -> str:
        found: float = getattr(row, name)
        return f"{found:.1f}" if math.isfinite(found) else "exact"

    return show


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
