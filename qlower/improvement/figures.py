"""Quality of a model on examples: its signal to noise, its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qlower.improvement.network import Network, Values
from qlower.improvement.work import Work, decibels, noise_share
from qlower.model.signature import Array
from qlower.validation.counts import Classes


@dataclass(frozen=True)
class Figures:
    """A model's outputs against those of the real network.

    `decibels` is the signal to noise of the last result before a softmax, `agreement`
    the share of examples whose largest output is the real network's, `top1` the share
    that is right; None without labels.
    """

    decibels: float
    agreement: float
    top1: float | None


@dataclass(frozen=True)
class Examples:
    """Stored inputs, one array an input of the model, and the right classes."""

    inputs: tuple[Array, ...]
    classes: Sequence[Classes]

    def __len__(self) -> int:
        return len(self.classes)

    def part(self, rows: Array) -> Examples:
        """Some of the rows."""
        inputs = tuple(array[rows] for array in self.inputs)
        return Examples(inputs, [self.classes[int(row)] for row in rows])


def figures_of(
    network: Network, found: Values, wanted: Values, classes: Sequence[Classes]
) -> Figures:
    """The figures of real values by name."""
    output = network.output
    answers, expected = (
        values[output].reshape(len(classes), -1).argmax(1) for values in (found, wanted)
    )
    noise = noise_share(found[network.judged], wanted[network.judged])
    agreement = float((answers == expected).mean())
    return Figures(decibels(noise), agreement, _top1(answers, classes))


def _top1(answers: Array, classes: Sequence[Classes]) -> float | None:
    known = [
        answer in right
        for answer, right in zip(answers.tolist(), classes, strict=True)
        if right
    ]
    return float(np.mean(known)) if known else None


def measure(work: Work, examples: Examples) -> Figures:
    """The figures of a work's model on examples."""
    there = work.on(examples.inputs)
    return figures_of(there.network, there.found, there.reference, examples.classes)
