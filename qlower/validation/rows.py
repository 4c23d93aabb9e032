"""Figures of a set of examples: by contract, by layer, by class."""

from __future__ import annotations

from dataclasses import dataclass

from qlower.validation.counts import (
    Counts,
    Signal,
    Spread,
    exact_mcnemar,
    paired_interval,
    wilson_interval,
)


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
