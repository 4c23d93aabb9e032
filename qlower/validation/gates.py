"""Thresholds that a validation has to reach, for continuous integration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from qlower.diagnostics import QlowerError
from qlower.tables.table import percentage
from qlower.validation.result import Validation
from qlower.validation.rows import ContractRow


@dataclass(frozen=True)
class Gates:
    """Bounds that every contract has to keep, as shares of 1; None asks for nothing.

    `min_top1` is for the top-1 accuracy, `max_loss` for what it is below the
    reference's, `min_agreement` for examples whose largest output is the reference's,
    `min_decibels` for the signal to noise of the output, and of each layer if layers
    are compared, in dB.
    """

    min_top1: float | None = None
    max_loss: float | None = None
    min_agreement: float | None = None
    min_decibels: float | None = None

    def check(self, *, has_reference: bool) -> None:
        """Raise QlowerError for a bound that needs a reference where there is none."""
        asked = (self.max_loss, self.min_agreement, self.min_decibels)
        if asked != (None, None, None) and not has_reference:
            raise QlowerError(
                "--max-loss, --min-agreement and --fail-below need --against"
            )

    def missed(self, found: Validation) -> dict[str, list[str]]:
        """The thresholds that each contract misses, in sentences; none for one that
        keeps all."""
        return {
            row.contract: list(self._missed(row))
            for row in found.contracts
            if row.contract != found.against
        }

    def _missed(self, row: ContractRow) -> Iterator[str]:
        name = row.contract
        if self.min_top1 is not None:
            share = row.share(row.counts.top1)
            if share is None or share < self.min_top1:
                bound = f"at least {percentage(self.min_top1)} are asked for"
                yield f"{name}: top-1 is {_percent(share)}, {bound}"
        if self.max_loss is not None:
            loss = row.loss
            if loss is None or loss > self.max_loss:
                bound = f"at most {100 * self.max_loss:.2f} are allowed"
                told = "unknown" if loss is None else f"{100 * loss:.2f} points"
                yield f"{name}: top-1 is below the reference's by {told}, {bound}"
        if self.min_agreement is not None:
            share = row.agreement
            if share is None or share < self.min_agreement:
                bound = f"at least {percentage(self.min_agreement)} are asked for"
                yield f"{name}: argmax agrees in {_percent(share)}, {bound}"
        if self.min_decibels is not None:
            signals = {"the output": row.counts.output, **row.counts.layers}
            for what, signal in signals.items():
                if signal.elements and signal.decibels < self.min_decibels:
                    bound = f"at least {self.min_decibels:g} are asked for"
                    told = f"{what} has {signal.decibels:.1f} dB"
                    yield f"{name}: {told} of signal to noise, {bound}"


def _percent(share: float | None) -> str:
    return "unknown, no example has a class" if share is None else percentage(share)
