"""A device whose arithmetic is put together of steps of the family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from qlower.contracts.family import arithmetic_text
from qlower.contracts.family.choices import CHOICES
from qlower.identification.replay import Explanation
from qlower.identification.search import Found
from qlower.tables.table import Column, Table, counted

NEAR = 0.9
"""The share of elements below which an arithmetic that explains them is no evidence:
one that is right but for its ties explains more."""

NAME = "device"
"""The name of a contract without a file."""

TITLES: Mapping[str, str] = {
    "products": "products",
    "accumulator": "accumulator",
    "bias": "bias",
    "scaling": "scaled by",
    "scales": "scales",
    "ratio": "ratio of scales",
    "multiplier": "multiplier",
    "first": "first rounding",
    "rounding": "rounding",
    "zero_point": "zero point",
}


@dataclass(frozen=True)
class _Line:
    choice: str
    found: str
    others: Sequence[str]


@dataclass(frozen=True)
class Device:
    """The result of a search, as a contract's text, with the outputs that it
    explains."""

    found: Found
    text: str
    explanation: Explanation

    @property
    def is_near(self) -> bool:
        """Whether it explains so much that its steps are evidence."""
        return self.found.explained >= NEAR * self.found.elements

    @property
    def table(self) -> Table[_Line]:
        """A line for each choice that makes a difference."""
        chosen = self.found.arithmetic.choices()
        lines = [
            _Line(name, chosen[name], self.found.others[name])
            for name in CHOICES
            if name in self.found.arithmetic.relevant
        ]
        columns: list[Column[_Line]] = [
            Column("step", "step", lambda row: TITLES[row.choice], right=False),
            Column("found", "found", lambda row: row.found, right=False),
            Column(
                "explains as much with all else equal",
                "others",
                lambda row: row.others,
                lambda row: "; ".join(ranges(row.others)),
                least=20,
            ),
        ]
        found = self.found
        notes = [
            f"explained: {found.explained:,} of {counted(found.elements, 'element')} "
            "of convolutions and linear layers."
        ]
        return Table("steps", lines, columns, notes=notes, whole="--json")


def device_text(found: Found, base: str, title: str) -> str:
    """The contract of what was found in the dump `title`."""
    notes = [
        f"The arithmetic of convolutions and linear layers in {title}, composed by",
        f"`qlower identify`. It explains {found.explained:,} of {found.elements:,}",
        f"elements. Everything else is that of {base}.",
        "",
    ]
    chosen = found.arithmetic.choices()
    for name in CHOICES:
        if name in found.arithmetic.relevant:
            others = "; ".join(ranges(found.others[name]))
            also = f"; as well explained by {others}" if others else ""
            notes.append(f"- {TITLES[name]}: {chosen[name]}{also}")
    summary = f"a device, identified from {found.elements:,} elements"
    return arithmetic_text(found.arithmetic, base, summary=summary, notes=notes)


def ranges(values: Sequence[str]) -> list[str]:
    """Values in few words: `25 bits, wrap` and `24 bits, wrap` are `24 to 25 bits,
    wrap`."""
    found: list[str] = []
    numbered = [(value.partition(" bits")[0], value) for value in values]

    def run(entry: tuple[int, tuple[str, str]]) -> tuple[str, int | str]:
        place, (number, value) = entry
        if not number.isdecimal():
            return value, value
        return value.partition(" bits")[2], int(number) + place

    for _, group in groupby(enumerate(numbered), run):
        entries = [entry for _, entry in group]
        (first, value), (last, _) = entries[0], entries[-1]
        rest = value.removeprefix(first)
        found.append(value if len(entries) == 1 else f"{last} to {first}{rest}")
    return found
