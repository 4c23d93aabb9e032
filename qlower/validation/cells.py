"""Cells of a validation's tables, and their text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from qlower.tables.table import NOTHING, percentage
from qlower.validation.counts import Signal
from qlower.validation.rows import ContractRow, SignalRow

BARS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def example_count(row: ContractRow) -> int:
    return row.counts.examples


def labelled_count(row: ContractRow) -> int:
    return row.counts.labelled


def show_share_of(top: int) -> Any:
    def show(row: ContractRow) -> str:
        share = row.share(row.counts.top1 if top == 1 else row.counts.top5)
        return NOTHING if share is None else percentage(share)

    return show


def show_interval(row: ContractRow) -> str:
    return NOTHING if row.interval is None else "{:.1%} to {:.1%}".format(*row.interval)


def show_agreement(row: ContractRow) -> str:
    share = row.agreement
    return NOTHING if share is None else percentage(share)


def differing_outputs(row: ContractRow) -> int | None:
    return row.counts.output.differing if row.counts.compared else None


def show_differing(row: ContractRow) -> str:
    output = row.counts.output
    return show_share(output.differing, output.elements)


def show_share(count: int, whole: int) -> str:
    return NOTHING if whole == 0 else f"{count:,} ({percentage(count / whole)})"


def of_output(name: str) -> Any:
    def value(row: ContractRow) -> float | None:
        if not row.counts.compared:
            return None
        found: float | None = getattr(row.counts.output, name)
        return None if found is None else finite(found)

    return value


def real_output(name: str) -> Any:
    steps = of_output(name)

    def value(row: ContractRow) -> float | None:
        found: float | None = steps(row)
        return None if found is None or row.step is None else found * row.step

    return value


def show_loss(row: ContractRow) -> str:
    return NOTHING if row.loss is None else f"{100 * row.loss:.2f} points"


def show_loss_interval(row: ContractRow) -> str:
    if row.loss_interval is None:
        return NOTHING
    low, high = row.loss_interval
    return f"{100 * low:.2f} to {100 * high:.2f}"


def show_output_decibels(row: ContractRow) -> str:
    return show_decibels(row.counts.output) if row.counts.compared else NOTHING


def show_decibels(signal: Signal) -> str:
    return "equal" if signal.noise == 0 else f"{signal.decibels:.1f}"


def show_output_cosine(row: ContractRow) -> str:
    return show_cosine(row.counts.output.cosine if row.counts.compared else None)


def show_cosine(found: float | None) -> str:
    return NOTHING if found is None else f"{found:.6f}"


def saturated_share(row: SignalRow) -> float | None:
    spread = row.spread
    return None if spread is None else spread.saturated / max(1, spread.elements)


def show_saturated(row: SignalRow) -> str:
    share = saturated_share(row)
    return NOTHING if share is None else percentage(share)


def bars(counts: Sequence[int]) -> str:
    """A histogram of one character a bar; what occurs at all has some height."""
    most = max([1, *counts])
    heights = [math.ceil((len(BARS) - 1) * count / most) for count in counts]
    return "".join(BARS[height] for height in heights)


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def mean_of(name: str) -> Any:
    def value(row: ContractRow) -> float | None:
        total = row.counts.custom.get(name)
        return None if total is None else float(total / row.counts.examples)

    return value
