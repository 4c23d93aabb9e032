"""Thresholds that a contract keeps, just keeps or misses, each alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.diagnostics import QlowerError
from qlower.validation.gates import Gates


@dataclass
class Row:
    """A contract's figures, as `ContractRow` has them."""

    contract: str = "mine"
    top1: float | None = 0.75
    loss: float | None = 0.0125
    agreement: float | None = 0.5
    decibels: float = 20.0
    elements: int = 8
    layers: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def counts(self) -> Any:
        output = SimpleNamespace(decibels=self.decibels, elements=self.elements)
        return SimpleNamespace(top1=3, output=output, layers=self.layers)

    def share(self, hits: int) -> float | None:
        assert hits == 3
        return self.top1


QUIET = SimpleNamespace(decibels=3.0, elements=4)
EMPTY = SimpleNamespace(decibels=3.0, elements=0)
UNKNOWN = "unknown, no example has a class"


@pytest.mark.parametrize(
    ("gates", "row", "told"),
    [
        (Gates(), Row(), []),
        (Gates(min_top1=0.75), Row(), []),
        (
            Gates(min_top1=0.7501),
            Row(),
            ["mine: top-1 is 75.00%, at least 75.01% are asked for"],
        ),
        (
            Gates(min_top1=0.0),
            Row(top1=None),
            [f"mine: top-1 is {UNKNOWN}, at least 0.00% are asked for"],
        ),
        (Gates(max_loss=0.0125), Row(), []),
        (
            Gates(max_loss=0.01),
            Row(),
            [
                "mine: top-1 is below the reference's by 1.25 points, at most 1.00 are "
                "allowed"
            ],
        ),
        (
            Gates(max_loss=1.0),
            Row(loss=None),
            [
                "mine: top-1 is below the reference's by unknown, at most 100.00 are "
                "allowed"
            ],
        ),
        (Gates(min_agreement=0.5), Row(), []),
        (
            Gates(min_agreement=0.625),
            Row(),
            ["mine: argmax agrees in 50.00%, at least 62.50% are asked for"],
        ),
        (
            Gates(min_agreement=0.5),
            Row(agreement=None),
            [f"mine: argmax agrees in {UNKNOWN}, at least 50.00% are asked for"],
        ),
        (Gates(min_decibels=20.0), Row(layers={"conv": EMPTY}), []),
        (
            Gates(min_decibels=20.5),
            Row(layers={"conv": QUIET, "add": EMPTY}),
            [
                "mine: the output has 20.0 dB of signal to noise, at least 20.5 are "
                "asked for",
                "mine: conv has 3.0 dB of signal to noise, at least 20.5 are asked for",
            ],
        ),
        (Gates(min_decibels=99.0), Row(elements=0), []),
    ],
)
def test_what_is_missed(gates: Gates, row: Row, told: list[str]) -> None:
    """The reference itself is held to nothing."""
    found: Any = SimpleNamespace(contracts=[row, Row("theirs", 0, 1, 0, 0)])
    found.against = "theirs"
    assert gates.missed(found) == {"mine": told}


@pytest.mark.parametrize(
    ("gates", "needs"),
    [
        (Gates(), False),
        (Gates(min_top1=0.5), False),
        (Gates(max_loss=0.0), True),
        (Gates(min_agreement=0.0), True),
        (Gates(min_decibels=0.0), True),
    ],
)
def test_what_needs_a_reference(gates: Gates, needs: bool) -> None:
    gates.check(has_reference=True)
    if needs:
        with pytest.raises(QlowerError, match="need --against"):
            gates.check(has_reference=False)
    else:
        gates.check(has_reference=False)
