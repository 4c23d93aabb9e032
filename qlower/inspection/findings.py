"""Layers whose sums can leave their width: rows, and sentences about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from qlower.tables.table import Column, Table, Tabled, counted, percentage
from qlower.transforms.drop_channels import Dropped

PAIRS, ACCUMULATOR = "pairs", "accumulator"


BYTE = 8


MOST_SHOWN = 3
"""Layers that a sentence names."""


@dataclass(frozen=True)
class Finding:
    """A layer with `risky` channels that can leave `bits` for some input.

    `channel` is the worst one, whose sums lie in [minimum, maximum]. `on_data` says how
    many of how many sums did for given inputs. `owner` is the contract whose register
    has these bits, if nobody says what it does beyond them.
    """

    layer: str
    kind: str
    what: str
    channels: int
    risky: int
    channel: int
    minimum: int
    maximum: int
    bits: int
    on_data: tuple[int, int] | None = None
    owner: str | None = None

    @property
    def excess(self) -> float:
        """The largest sum over the largest number of the width."""
        limit = 1 << (self.bits - 1)
        return max(self.maximum, -self.minimum) / limit

    @property
    def advice(self) -> str:
        """The advice to the user."""
        if self.what == PAIRS:
            return (
                "use reduce_range=True (7-bit activations), a CPU with VNNI, or an "
                "engine that doesn't multiply in pairs, such as QNNPACK"
            )
        return "use a larger scale for the weights, fewer inputs or wider accumulators"

    def __str__(self) -> str:
        return (
            f"{self.risky:,} of {counted(self.channels, 'channel')} of {self.layer} "
            f"can reach {self.excess:.2g} times the limit"
        )


@dataclass(frozen=True, repr=False)
class Lint(Tabled[Finding]):
    """The findings of a model; those `elsewhere` are of machines that multiply in
    pairs, and `unbounded` layers could not be looked at. `is_empty` says that no layer
    follows a contract. `dropped` has what layers do without."""

    findings: Sequence[Finding]
    elsewhere: Sequence[Finding] = ()
    unbounded: Sequence[str] = ()
    is_empty: bool = False
    dropped: Sequence[Dropped] = ()

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def table(self) -> Table[Finding]:
        """A line for each finding."""
        table = lint_table(self.findings, self.elsewhere, self.unbounded)
        table = replace(table, notes=[*table.notes, *_idle(self.dropped)])
        if not self.is_empty or self.unbounded:
            return table
        return replace(table, notes=["No layer is quantized: nothing was looked at."])


def lint_table(
    findings: Sequence[Finding],
    elsewhere: Sequence[Finding] = (),
    unbounded: Sequence[str] = (),
) -> Table[Finding]:
    """The findings with what to do about them.

    `elsewhere` are those of machines other than the contract's, `unbounded` the kinds
    of layers that weren't looked at.
    """
    columns: list[Column[Finding]] = [
        Column("layer", "layer", lambda row: row.layer, least=12),
        Column("op", "op", lambda row: row.kind, right=False, rank=1),
        Column("what", "what", lambda row: row.what, right=False),
        Column("bits", "bits", lambda row: row.bits),
        Column("channels at risk", None, lambda row: f"{row.risky}/{row.channels}"),
        Column(None, "channels", lambda row: row.channels),
        Column(None, "channels_at_risk", lambda row: row.risky),
        Column("worst channel", "worst_channel", lambda row: row.channel, rank=2),
        Column("its range", None, lambda row: f"[{row.minimum}, {row.maximum}]"),
        Column(None, "minimum", lambda row: row.minimum),
        Column(None, "maximum", lambda row: row.maximum),
        Column("times the limit", "times_the_limit", lambda row: row.excess),
    ]
    if any(row.on_data is not None for row in findings):
        data: list[Column[Finding]] = [
            Column("on data", None, _share),
            Column(None, "out_of_range", lambda row: row.on_data and row.on_data[0]),
            Column(None, "sums", lambda row: row.on_data and row.on_data[1]),
        ]
        columns += data
    last: Column[Finding] = Column(None, "advice", lambda row: row.advice)
    columns.append(last)
    notes = [f"{counted(len(findings), 'finding')}."]
    for what in dict.fromkeys(row.what for row in findings):
        notes.append(_sentence([row for row in findings if row.what == what]))
    if elsewhere:
        notes.append(
            "The contract's own system multiplies exactly. Others don't, such as "
            f"PyTorch's FBGEMM: {_sentence(elsewhere)}"
        )
    if unbounded:
        notes.append(f"Not looked at: {', '.join(unbounded)}.")
    return Table("what can leave its width", findings, columns, notes=notes)


def _sentence(findings: Sequence[Finding]) -> str:
    """Findings of one kind for people who don't know what a pair is."""
    first = findings[0]
    if first.what == PAIRS:
        lead = "x86 without VNNI adds two uint8*int8 products in 16 bits and saturates"
    else:
        lead = f"Sums can leave the {first.bits} bits of an accumulator"
        if first.owner is not None:
            lead = f"Sums can leave the {first.bits} bits of {first.owner}'s register, "
            lead += "and what that does beyond them isn't published"
    worst = sorted(findings, key=lambda row: -row.excess)
    shown = "; ".join(map(str, worst[:MOST_SHOWN]))
    rest = len(findings) - MOST_SHOWN
    more = f"; and {counted(rest, 'more layer')}" if rest > 0 else ""
    advice = f"{first.advice[0].upper()}{first.advice[1:]}"
    return f"{lead}: {shown}{more}. {advice}."


def _idle(dropped: Sequence[Dropped]) -> Iterator[str]:
    """Say how many products and weights change no output, and in which layers."""
    products = sum(one.products for one in dropped)
    idle = products - sum(one.needed for one in dropped)
    if not idle:
        return
    weights = sum(one.weights for one in dropped)
    idle_weights = weights - sum(one.weights_needed for one in dropped)
    worst = sorted(dropped, key=lambda one: one.needed - one.products)
    shown = ", ".join(
        f"{one.channels - one.kept} of {one.channels} of {one.layer}"
        for one in worst[:MOST_SHOWN]
        if one.kept < one.channels
    )
    channels = f" Channels that change no output: {shown}." if shown else ""
    yield (
        f"{idle:,} of {products:,} products ({percentage(idle / products, 0)}), and "
        f"{idle_weights:,} of {weights:,} weights, change no output: their channels "
        "have one value for all inputs, or meet zero weights only. Machine code "
        f"leaves them out.{channels} The model has capacity that it doesn't use: "
        "train it with less weight decay, or with fewer channels."
    )


def _share(row: Finding) -> str:
    if row.on_data is None:
        return ""
    out, count = row.on_data
    return f"{percentage(out / count, 3)} of {count:,}"
