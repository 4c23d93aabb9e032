"""The common cause of all differences of a layer, decided element by element.

Nothing is concluded from one element: a claim about roundings is checked at every
element that was looked at, against the exact rational result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from xdsl.ir import Operation

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.interp.values import Array
from qlower.observe.account import in_words, last_mode, zero_point
from qlower.observe.chain import Chain
from qlower.observe.exact import exact_result
from qlower.observe.layer_run import LayerRun
from qlower.observe.place import Index

MOST = 1 << 12
"""Differing elements that are looked at."""

NEAR = Fraction(1, 64)
"""The distance from a tie, in steps of the result, up to which a number is next to
it."""

HALF = Fraction(1, 2)

Kind: TypeAlias = Literal["tie", "next to a tie", "rounding", "sum", "far"]
"""The kind of a difference: both results are those around an exact tie, around a number
next to one, or around any other number; a sum that saturated or wrapped; or else at
least one result is more than a step from the exact one."""

SUSPECT = (
    "Suspect another layout, padding, zero point or weight, a coarse multiplier, sums "
    "that saturate, or a fault"
)
"""Why results of a side whose steps aren't known may be far from the exact ones."""

DIRECTED: Mapping[str, Callable[[Fraction], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "toward_zero": math.trunc,
}
"""Roundings that don't take the nearest number."""

TIES: Mapping[str, Callable[[Fraction], int]] = {
    "half_away": lambda n: int(math.copysign(math.floor(abs(n) + HALF), n)),
    "half_even": round,
    "half_up": lambda n: math.floor(n + HALF),
    "half_down": lambda n: math.ceil(n - HALF),
    "half_toward_zero": lambda n: int(math.copysign(math.ceil(abs(n) - HALF), n)),
}
"""Roundings to the nearest number, which differ in ties."""


@dataclass(frozen=True)
class Examined:
    """Both results of an element and the exact one, cut to the range that can be
    stored."""

    results: tuple[int, int]
    exact: Fraction
    kind: Kind


@dataclass
class Causes:
    """The differences of one layer between two sides, with their names.

    `total` counts all of them, `looked_at` has those that were examined. `computed`
    says of each side whether its steps are known; `modes` has how it rounds at last,
    and `zeros` the zero point that it adds after that.
    """

    sides: tuple[str, str]
    computed: tuple[bool, bool]
    total: int
    looked_at: list[Examined] = field(default_factory=list[Examined])
    modes: list[str | None] = field(default_factory=list[str | None])
    zeros: list[int] = field(default_factory=list[int])

    def add(self, runs: Sequence[LayerRun], results: tuple[Array, Array]) -> None:
        """Take in the differing elements of one input. `runs` are of the sides that are
        computed here, on the same values."""
        if results[0].dtype.kind not in "iu":
            return
        for place in np.argwhere(results[0] != results[1]):
            if self.is_full:
                return
            index: Index = tuple(int(at) for at in place)
            if not self.modes:
                self._set_modes([run.chains(index)[-1] for run in runs])
            found = _difference(runs, index, results)
            if found is not None:
                self.looked_at.append(found)

    def _set_modes(self, chains: Sequence[Chain]) -> None:
        known = iter(chains)
        sides = [next(known) if is_computed else None for is_computed in self.computed]
        self.modes = [None if chain is None else last_mode(chain) for chain in sides]
        self.zeros = [zero_point(chain or chains[0]) for chain in sides]

    @property
    def is_full(self) -> bool:
        """Whether enough elements were looked at."""
        return len(self.looked_at) >= min(MOST, self.total)

    def __str__(self) -> str:
        """A sentence; empty where the exact results aren't rational."""
        known = self.looked_at
        if not known:
            return ""
        kinds = {one.kind for one in known}
        if "far" in kinds:
            return self._far([one for one in known if one.kind == "far"])
        if "sum" in kinds:
            return self._sums([one for one in known if one.kind == "sum"])
        if kinds == {"tie"}:
            are = "are roundings of ties" if self.total > 1 else "is a rounded tie"
            return f"{self._all} {are}: {self._tie_modes()}"
        if kinds <= {"tie", "next to a tie"}:
            return self._next_to_ties()
        return self._roundings()

    @property
    def _all(self) -> str:
        count = len(self.looked_at)
        if count < self.total:
            return f"all {count:,} differences that were examined, of {self.total:,},"
        return f"all {count:,} differences" if count > 1 else "the only difference"

    def _tie_modes(self) -> str:
        found = [self._mode(side, TIES) for side in (0, 1)]
        return "; ".join(
            f"{name} rounds them {'both ways' if mode is None else in_words(mode)}"
            for name, mode in zip(self.sides, found, strict=True)
        )

    def _mode(
        self, side: int, modes: Mapping[str, Callable[[Fraction], int]]
    ) -> str | None:
        """The mode that gives all results of a side: of several its own one, if its
        steps are known."""
        zero = self.zeros[side]
        fitting = [
            name
            for name, mode in modes.items()
            if all(
                one.results[side] == mode(one.exact - zero) + zero
                for one in self.looked_at
            )
        ]
        own = self.modes[side]
        if own in fitting or not fitting:
            return own if own in fitting else None
        return fitting[0]

    def _next_to_ties(self) -> str:
        far = max(abs(_from_tie(one.exact)) for one in self.looked_at)
        across = [
            sum(abs(one.results[side] - one.exact) > HALF for one in self.looked_at)
            for side in (0, 1)
        ]
        ties = sum(one.kind == "tie" for one in self.looked_at)
        exact = f" ({ties:,} exactly on it)" if ties else ""
        are = "are" if self.total > 1 else "is"
        who = "; ".join(
            f"{name} rounds {count:,} of them to the farther side"
            for name, count in zip(self.sides, across, strict=True)
            if count
        )
        return (
            f"{self._all} {are} within {_up(far)} of a tie{exact}, where one step of "
            f"the arithmetic decides: {who}"
        )

    def _roundings(self) -> str:
        told: list[str] = []
        for side, name in enumerate(self.sides):
            mode = self._mode(side, DIRECTED)
            if self.computed[side] and mode != self.modes[side]:
                mode = None
            error = max(abs(one.results[side] - one.exact) for one in self.looked_at)
            if error <= HALF + NEAR:
                told.append(f"{name} takes the nearest number")
            elif mode is not None:
                told.append(f"{name} rounds them {in_words(mode)}")
            else:
                told.append(f"{name} is up to {_up(error)} from the exact result")
        are = "are roundings" if self.total > 1 else "is a rounding"
        return f"{self._all} {are}: {'; '.join(told)}"

    def _sums(self, sums: Sequence[Examined]) -> str:
        count = len(self.looked_at)
        if len(sums) == count:
            part = f"{self._all} {'come' if self.total > 1 else 'comes'}"
        else:
            part = f"{len(sums):,} of the {count:,} differences {self._looked_at}come"
        return f"{part} from sums that saturate or wrap before anything is rounded"

    def _far(self, far: Sequence[Examined]) -> str:
        count = len(self.looked_at)
        told: list[str] = []
        suspect = ""
        for side, name in enumerate(self.sides):
            error = max(abs(one.results[side] - one.exact) for one in far)
            if error >= 1:
                told.append(f"{name} is up to {_up(error)} from the exact result")
            if error >= 2 and not self.computed[side]:
                suspect = f". {SUSPECT}"
        if len(far) == count:
            part = f"{self._all} {'are' if self.total > 1 else 'is'}"
        else:
            part = f"{len(far):,} of the {count:,} differences {self._looked_at}are"
        return f"{part} more than a rounding: {'; '.join(told)}{suspect}"

    @property
    def _looked_at(self) -> str:
        return "" if len(self.looked_at) == self.total else "that were examined "


def _difference(
    runs: Sequence[LayerRun], index: Index, results: tuple[Array, Array]
) -> Examined | None:
    """The facts about one element; None where there is no exact result."""
    values = runs[0].meant(index)
    if values is None:
        return None
    rule, numbers = values
    exact = exact_result(rule, numbers)
    if exact is None:
        return None
    for low, high in _ranges(runs[0].op, numbers):
        exact = min(max(exact, low), high)
    pair = int(results[0][index]), int(results[1][index])
    return Examined(pair, exact, _kind(runs, index, pair, exact))


def _ranges(
    op: Operation, numbers: Mapping[str, Array]
) -> Iterator[tuple[Fraction, Fraction]]:
    """The ranges of codes that an exact result is cut to: of the type and, whatever a
    contract's `bound` gives, of a fused activation; or as the rule has it."""
    type = element_type(op.results[0].type)
    if isinstance(op, qnn.ActivatedOp) and isinstance(type, QuantizedType):
        codes = Fraction(type.storage_min), Fraction(type.storage_max)
        low, high = (
            code
            if bound is None
            else type.zero_point + Fraction(bound) / Fraction(type.scale)
            for bound, code in zip(
                qnn.ACTIVATION_BOUNDS[op.activation], codes, strict=True
            )
        )
        yield low, high
        yield codes
    elif {"output_min", "output_max"} <= numbers.keys():
        low, high = (int(numbers[f"output_{end}"]) for end in ("min", "max"))
        yield Fraction(low), Fraction(high)


def _kind(
    runs: Iterable[LayerRun], index: Index, pair: tuple[int, int], exact: Fraction
) -> Kind:
    if any(not run.has_exact_sum(index) for run in runs):
        return "sum"
    if any(abs(result - exact) >= 1 for result in pair):
        return "far"
    distance = abs(_from_tie(exact))
    if distance == 0:
        return "tie"
    return "next to a tie" if distance <= NEAR else "rounding"


def _from_tie(number: Fraction) -> Fraction:
    """The distance of a number above the nearest half of an odd number."""
    return number - math.floor(number) - HALF


def _up(number: Fraction) -> str:
    """Two digits, rounded up, so that it is a bound."""
    if not number:
        return "0"
    digits = max(1 - math.floor(math.log10(number)), 0)
    scale: int = 10**digits
    bound = Fraction(math.ceil(number * scale), scale)
    return f"{float(bound):.{digits}f}"
