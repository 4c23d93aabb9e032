"""Sums that fit a width and sums that exceed it: as text, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from qlower.contracts.accumulator_range import AccumulatorRange
from qlower.interp import Array
from qlower.observe.place import Index, show
from qlower.tables.table import Column, Table, Tabled, counted
from qlower.verification.verdict import by_source, pack, plain

Order: TypeAlias = Literal["any", "memory"]
"""The order in which products are added: any, with the bias anywhere, or the bias
first and then as the weights lie in memory."""

ORDERS: Mapping[Order, str] = {"any": "any order", "memory": "the order of memory"}


@dataclass(frozen=True)
class WorstInput:
    """Inputs of a layer, by what it reads, and what the interpreter has for an element.

    `sum` is the exact sum of products, and of the bias unless the contract's rule asks
    for that by itself; `held` the accumulator that the rule is given, which differs
    where pairs saturate, or the sum wraps.
    """

    index: Index
    inputs: Mapping[str, Array]
    sum: int
    held: int


@dataclass(frozen=True)
class Fit:
    """The sums of a layer, or `pairs` of its products, and the width they need.

    The worst channel's sums on the way lie in [minimum, maximum]; a layer without
    weights has no channels. `largest_weight` is what the weights of one with
    [-127, 127] may be at most to fit, their scale that much larger; None where none
    helps. `worst` is there for what does not fit, unless the contract has no result
    for it.
    """

    layer: str
    kind: str
    what: Literal["accumulator", "pairs"]
    bits: int
    channel: int | None
    minimum: int
    maximum: int
    largest_weight: int | None = None
    worst: WorstInput | None = None

    @property
    def needed(self) -> int:
        """The width of the narrowest signed integer that holds every sum."""
        return AccumulatorRange(self.minimum, self.maximum).bits

    @property
    def fits(self) -> bool:
        """Whether no input makes a sum leave the width."""
        return self.needed <= self.bits

    def to_dict(self) -> dict[str, object]:
        """Plain data; the worst input is compressed bytes in base64."""
        worst = self.worst
        return {
            "layer": self.layer,
            "op": self.kind,
            "what": self.what,
            "verdict": "fits" if self.fits else "leaves",
            "bits": self.bits,
            "bits_needed": self.needed,
            "channel": self.channel,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "largest_weight": self.largest_weight,
            "worst": None
            if worst is None
            else {
                "index": list(worst.index),
                "sum": worst.sum,
                "accumulator": worst.held,
                "inputs": {name: pack(one) for name, one in worst.inputs.items()},
            },
        }


@dataclass(frozen=True)
class Unbounded:
    """A layer whose sums couldn't be bounded, and why.

    `is_real` if it adds real numbers, which no width of integers is asked to hold.
    """

    layer: str
    kind: str
    why: str
    is_real: bool = False

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        verdict = "real" if self.is_real else "undecided"
        return plain(self.layer, self.kind, verdict, self.why)


@dataclass(frozen=True, repr=False)
class Fits(Tabled[Fit]):
    """The sums of all layers that add something up; `others` could not be decided.

    `hashes` is as in `Equality`, `bits` the accumulators' width; `registers` has by
    contract the width of a register that it states itself.
    """

    contract: str
    order: Order
    layers: Sequence[Fit]
    others: Sequence[Unbounded]
    hashes: Mapping[str, str]
    bits: int
    layer_contracts: Mapping[str, str]
    registers: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def holds(self) -> bool:
        """Whether every sum of every layer was shown to fit."""
        is_known = all(other.is_real for other in self.others)
        return is_known and all(row.fits for row in self.layers)

    @property
    def table(self) -> Table[Fit]:
        """A line for each layer's sums, and for its pairs."""
        columns: list[Column[Fit]] = [
            Column("layer", "layer", lambda row: row.layer, least=12),
            Column("op", "op", lambda row: row.kind, right=False, rank=2),
            Column("what", "what", lambda row: row.what, right=False),
            Column(
                "verdict",
                "verdict",
                lambda row: "fits" if row.fits else "leaves",
                right=False,
            ),
            Column("bits", "bits", lambda row: row.bits),
            Column("needed", "bits_needed", lambda row: row.needed),
            Column("channel", "channel", lambda row: row.channel, rank=1),
            Column("its range", None, lambda row: f"[{row.minimum}, {row.maximum}]"),
            Column("weights up to", "largest_weight", lambda row: row.largest_weight),
            Column("worst input gives", None, _given, right=False, rank=1),
        ]
        notes = [
            f"{sum(row.fits for row in self.layers)} of {len(self.layers)} fit, with "
            f"products added in {ORDERS[self.order]}."
        ]
        if not self.layers and not self.others:
            notes = ["No layer adds anything up: there are no sums to look at."]
        notes += [
            f"{name} itself sums in a register of {counted(bits, 'bit')}."
            for name, bits in self.registers.items()
        ]
        if not all(row.fits for row in self.layers):
            notes.append(
                "weights up to N: the layer fits once weights of [-127, 127] are "
                "scaled down to [-N, N], and their scale grows by the same factor; "
                "--save writes the worst inputs."
            )
        reasons: dict[str, list[str]] = {}
        for other in self.others:
            reasons.setdefault(other.why, []).append(other.layer)
        notes += [
            f"Not looked at ({why}): {', '.join(names)}."
            for why, names in reasons.items()
        ]
        return Table("sums", self.layers, columns, notes=notes, whole="--json")

    def to_dict(self) -> dict[str, object]:
        """Plain data, the verdict's file."""
        return {
            "question": "fits",
            "contract": self.contract,
            "order": self.order,
            "bits": self.bits,
            "registers": dict(self.registers),
            "layer_contracts": dict(self.layer_contracts),
            "fits": self.holds,
            "sha256": dict(self.hashes),
            "layers": [row.to_dict() for row in self.layers],
            "undecided": [other.to_dict() for other in self.others],
        }

    def inputs(self) -> dict[str, Array]:
        """The worst inputs, by layer, what of it, and what it reads."""
        return by_source(
            (f"{row.layer} {row.what}", row.worst.inputs)
            for row in self.layers
            if row.worst is not None
        )


def _given(row: Fit) -> str:
    worst = row.worst
    if worst is None:
        return ""
    held = "" if worst.held == worst.sum else f", held as {worst.held:,}"
    return f"{show(worst.index)} {worst.sum:,}{held}"
