"""Verdicts on machine code: as text, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from qlower.codegen.targets.resolve import Target, resolve_target
from qlower.interp import Array
from qlower.tables.table import Cell, Column, Table, Tabled, counted
from qlower.verification.native.whole import Whole
from qlower.verification.verdict import Kind, count_kinds, plain


@dataclass(frozen=True)
class Level:
    """A target by the names that `resolve_target` takes; code is scheduled as for the
    CPU that it is `tuned_for`, if that is named."""

    target: str
    cpu: str
    features: str
    tuned_for: str

    @staticmethod
    def of(target: Target) -> Level:
        """The names of a target."""
        return Level(target.triple, target.cpu, target.features, target.tuned_for)

    @property
    def resolved(self) -> Target:
        """The target."""
        target = resolve_target(self.target, self.cpu, self.features)
        if self.tuned_for:
            resolve_target(self.target, self.tuned_for)  # which must be known, too
        return replace(target, tuned_for=self.tuned_for)


@dataclass(frozen=True)
class Mismatch:
    """An element for which machine code and contract differ: results as bits.

    `numbers` are a sum and the element's other operands, or one or two bytes; `channel`
    is None where all are alike. Or they are indices `of` something else.
    """

    channel: int | None
    numbers: tuple[int, ...]
    contract: int
    native: int
    of: str = "result"

    def __str__(self) -> str:
        if self.of != "result":
            return f"{self.of} {self.numbers[0]:,}: {self.contract:,} | {self.native:,}"
        numbers = ", ".join(f"{number:,}" for number in self.numbers)
        place = "" if self.channel is None else f"channel {self.channel} "
        return f"{place}at {numbers}: {self.contract:#x} | {self.native:#x}"


@dataclass(frozen=True)
class NativeVerdict:
    """Whether the code of a layer, or of several in one, is what the contract says.

    It is that of a `level` of this machine or another. `how` it was decided, or why
    not; `numbers` are the sums, or pairs of stored integers, that it was run on, in so
    many `channels`.
    """

    level: str
    layer: str
    kind: str
    verdict: Kind
    how: str
    numbers: int = 0
    channels: int = 0
    difference: Mismatch | None = None

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        found = self.difference
        return {
            "level": self.level,
            **plain(self.layer, self.kind, self.verdict, self.how),
            "numbers": self.numbers,
            "channels": self.channels,
            "difference": None
            if found is None
            else {**asdict(found), "numbers": list(found.numbers)},
        }


@dataclass(frozen=True, repr=False)
class Native(Tabled[list[NativeVerdict]]):
    """The verdicts of all layers for all levels.

    `hashes` is as in `Equality`, with the machine code of each level; `seconds` is the
    time that machine code was run and its results compared. `whole` says by level what
    came of drawn inputs. Layers that are only `moved` have no function that computes.
    """

    contract: str
    layers: Sequence[NativeVerdict]
    levels: Mapping[str, Level]
    hashes: Mapping[str, str]
    layer_contracts: Mapping[str, str]
    seconds: float
    whole: Mapping[str, Whole] = field(default_factory=dict[str, Whole])
    moved: Sequence[str] = ()

    @property
    def holds(self) -> bool:
        """Whether all code was shown to be what the contract says."""
        is_right = not any(one.differing for one in self.whole.values())
        return is_right and all(row.verdict == "equal" for row in self.layers)

    @property
    def table(self) -> Table[list[NativeVerdict]]:
        """A line for each layer, with all levels that say the same of it."""
        groups: dict[tuple[object, ...], list[NativeVerdict]] = {}
        for row in self.layers:
            said = row.layer, row.verdict, row.how, row.numbers, row.difference
            groups.setdefault(said, []).append(row)
        order = {row.layer: number for number, row in enumerate(reversed(self.layers))}
        lines = sorted(groups.values(), key=lambda rows: -order[rows[0].layer])
        columns: list[Column[list[NativeVerdict]]] = [
            Column("layer", "layer", lambda rows: rows[0].layer, least=12),
            Column("op", "op", lambda rows: rows[0].kind, right=False, rank=2),
            Column("verdict", "verdict", lambda rows: rows[0].verdict, right=False),
            Column("levels", "levels", self._levels, least=10),
            Column("channels", "channels", lambda r: r[0].channels or None, rank=3),
            Column("looked at", "numbers", lambda r: r[0].numbers or None, rank=1),
            Column("how", "how", _reason, least=20),
        ]
        counts = count_kinds(row.verdict for row in self.layers)
        numbers = sum(row.numbers for row in self.layers)
        notes = [
            f"{counted(len(self.layers), 'function')} of machine code for "
            f"{', '.join(self.levels)}: {counts}.",
            f"{numbers:,} sums and pairs in {self.seconds:.1f} s, "
            f"{numbers / max(self.seconds, 1e-9):,.0f} a second.",
        ]
        notes += [
            f"{level}: the whole code, on {one.inputs} drawn inputs: {one.differing:,} "
            f"of {one.outputs:,} outputs differ"
            + ("; `qlower bisect` finds the function." if one.differing else ".")
            for level, one in self.whole.items()
        ]
        notes.append(
            "A function's verdict is about what it makes of its sums, or of bytes. "
            "That it adds up the right products, and reads what others wrote, only "
            "the drawn inputs show"
            + ("." if self.whole else ", and none were run: that takes all layers.")
        )
        if self.moved:
            notes.append(
                "Only the drawn inputs look at layers that compute nothing in machine "
                f"code: {', '.join(self.moved)}."
            )
        if any(row.difference for row in self.layers):
            notes.append(
                "For each function that differs: a channel and its sum, or its bytes, "
                "and both results as bits: the contract's and machine code's."
            )
        title = f"machine code and {self.contract or 'contracts'} for all inputs"
        return Table(title, lines, columns, notes=notes, whole="--json")

    def _levels(self, rows: list[NativeVerdict]) -> Cell:
        own = [row.level for row in rows]
        return "all" if own == list(self.levels) else own

    def to_dict(self) -> dict[str, object]:
        """Plain data, the verdict's file."""
        return {
            "question": "native",
            "contract": self.contract,
            "layer_contracts": dict(self.layer_contracts),
            "levels": {name: asdict(level) for name, level in self.levels.items()},
            "equal": self.holds,
            "sha256": dict(self.hashes),
            "whole": {level: asdict(one) for level, one in self.whole.items()},
            "moved": list(self.moved),
            "layers": [row.to_dict() for row in self.layers],
        }

    def inputs(self) -> dict[str, Array]:
        """No arrays: a difference is a sum, or bytes."""
        return {}


def _reason(rows: list[NativeVerdict]) -> str:
    found = rows[0].difference
    return rows[0].how if found is None else str(found)
