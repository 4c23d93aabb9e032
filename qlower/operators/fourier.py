"""The order in which Ooura's fft2d transforms a row of real numbers.

fftsg.c is a split radix: complex numbers are cut into four parts, one for every fourth
frequency, until two numbers are left. Each number on the way is a sum of two earlier
ones, which may be rounded as products first: `F(F(a * x) + F(b * y))`. The sums are
listed by levels here, so that each needs the level before it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from math import pi, ulp
from typing import NamedTuple, TypeAlias

LONGEST = 4096
"""The longest row whose angles were compared with the C library's functions."""

PLACES = 200
"""The bits behind the point in which sines and cosines are computed."""

BEYOND = {0.16566992509164924: (0, 1), 1.4081943632790186: (-1, 0)}
"""The angles whose cosine or sine glibc (2.28 and later) doesn't round to the nearest
number: how many units in the last place it is above that."""

UNROLLED = 16
"""The most complex numbers whose transform fftsg.c has without a loop."""


class Term(NamedTuple):
    """A number that was computed, and its factor in the next sum."""

    number: int
    factor: float = 1.0

    def __neg__(self) -> Term:
        return Term(self.number, -self.factor)


Complex: TypeAlias = tuple[Term, Term]
"""A real and an imaginary part."""

Unit: TypeAlias = Callable[[int, int, int], tuple[float, float]]
"""The parts of `e^(2 pi i at power / size)`, of `at`, `size` and `power`: 1 or 3."""


class Level(NamedTuple):
    """Sums of two numbers of the level before: their places, and their factors."""

    places: tuple[tuple[int, ...], tuple[int, ...]]
    factors: tuple[tuple[float, ...], tuple[float, ...]]


class Transform(NamedTuple):
    """`sum(j) of x[j] e^(2 pi i j k / count)`, the frequencies k from 0 to `count / 2`.

    Real and imaginary parts have places in the last level; the first and the last
    imaginary part are 0 and have none.
    """

    levels: tuple[Level, ...]
    real: tuple[int, ...]
    imaginary: tuple[int, ...]


@cache
def transform(count: int) -> Transform:
    """The transform of `count` real numbers, a power of two from 2 to `LONGEST`."""
    sums = _Sums([()] * count, [0] * count)
    pairs = [(Term(at), Term(at + 1)) for at in range(0, count, 2)]
    (even, odd), *between = _parted(sums, _frequencies(sums, pairs, is_whole=True))
    real = [sums.add(even, odd), *(x for x, _ in between), sums.add(even, -odd)]
    wanted = [*real, *(x for _, x in between)]
    assert all(term.factor == 1 for term in wanted)
    levels, places = _by_levels(sums, [term.number for term in wanted])
    return Transform(levels, places[: len(real)], places[len(real) :])


@dataclass(slots=True)
class _Sums:
    """The two terms of each number, none of a given one, and the level of each."""

    terms: list[Sequence[Term]]
    levels: list[int]

    def add(self, x: Term, y: Term) -> Term:
        if x.factor == y.factor == -1:
            return -self.add(-x, -y)
        self.terms.append((x, y))
        self.levels.append(1 + max(self.levels[x.number], self.levels[y.number]))
        return Term(len(self.terms) - 1)

    def plus(self, x: Complex, y: Complex) -> Complex:
        return self.add(x[0], y[0]), self.add(x[1], y[1])

    def minus(self, x: Complex, y: Complex) -> Complex:
        return self.add(x[0], -y[0]), self.add(x[1], -y[1])

    def product(self, factor: tuple[float, float], x: Complex) -> Complex:
        """A product of complex numbers, by four products of real ones."""
        (a, b), (real, imaginary) = factor, x
        return (
            self.add(_times(a, real), _times(-b, imaginary)),
            self.add(_times(a, imaginary), _times(b, real)),
        )


def _times(factor: float, x: Term) -> Term:
    assert abs(x.factor) == 1, "a product of products"
    return Term(x.number, x.factor * factor)


def _quarter(x: Complex) -> Complex:
    """The product with i."""
    return -x[1], x[0]


def _frequencies(
    sums: _Sums, row: Sequence[Complex], *, shift: bool = False, is_whole: bool = False
) -> list[Complex]:
    """The frequencies of complex numbers, or with `shift` those half a step above."""
    count, quarter = len(row), len(row) // 4
    if count == 1:
        return list(row)
    if count == 2:
        other = _quarter(row[1]) if shift else row[1]
        return [sums.plus(row[0], other), sums.minus(row[0], other)]
    columns: list[Sequence[Complex]] = []
    for at in range(quarter):
        unit: Unit = partial(_power, is_in_turn=is_whole)
        if count <= UNROLLED or (shift and 8 * at == count):
            unit = _reduced
        combine = _of_products if shift else _of_sums
        columns.append(combine(sums, row[at::quarter], at, count, unit))
    found = list(row)
    for first, part, is_shifted in zip(
        (0, 2, 1, 3),
        zip(*columns, strict=True),
        (False, True, False, shift),
        strict=True,
    ):
        found[first::4] = _frequencies(sums, part, shift=is_shifted)
    return found


def _of_sums(
    sums: _Sums, column: Sequence[Complex], at: int, count: int, unit: Unit
) -> Sequence[Complex]:
    """Four numbers, a quarter of the row apart, as the next ones of its four parts:
    sums times units (cftf1st, cftmdl1)."""
    a, b, c, d = column
    even, odd = sums.plus(a, c), sums.minus(a, c)
    x, turned = sums.plus(b, d), _quarter(sums.minus(b, d))
    third = sums.minus(odd, turned)
    if 8 * at == count > 8:
        factor, _ = unit(at, count, 3)
        real, imaginary = third
        parts = sums.add(real, imaginary), sums.add(imaginary, -real)
        third = _times(factor, parts[0]), _times(factor, parts[1])
    else:
        third = _turned(sums, third, at, count, 3, unit)
    first = _turned(sums, sums.plus(odd, turned), at, count, 1, unit)
    return sums.plus(even, x), sums.minus(even, x), first, third


def _of_products(
    sums: _Sums, column: Sequence[Complex], at: int, count: int, unit: Unit
) -> Sequence[Complex]:
    """As `_of_sums` of frequencies half a step above: sums of products (cftmdl2)."""
    a, b, c, d = column[0], column[1], _quarter(column[2]), _quarter(column[3])
    last, size = at + count // 4, 2 * count
    x = _turned(sums, sums.plus(a, c), at, size, 1, unit)
    y = _turned(sums, sums.plus(b, d), last, size, 1, unit)
    u = _turned(sums, sums.minus(a, c), at, size, 3, unit)
    v = _turned(sums, sums.minus(b, d), last, size, 3, unit)
    return sums.plus(x, y), sums.minus(x, y), sums.plus(u, v), sums.minus(u, v)


def _turned(
    sums: _Sums, x: Complex, at: int, size: int, power: int, unit: Unit
) -> Complex:
    """The product with a unit; at an eighth of a turn by two products only."""
    if not at:
        return x
    a, b = unit(at, size, power)
    if 8 * at != size:
        is_negated = unit is _reduced and a < 0
        real, imaginary = sums.product((-a, -b) if is_negated else (a, b), x)
        return (-real, -imaginary) if is_negated else (real, imaginary)
    parts = sums.add(x[0], -x[1]), sums.add(x[1], x[0])
    eighth = _times(b, parts[0]), _times(b, parts[1])
    return eighth if power == 1 else _quarter(eighth)


def _parted(sums: _Sums, row: Sequence[Complex]) -> list[Complex]:
    """The frequencies of a real row from those of its pairs (rftfsub). The first has
    two real numbers, whose sum and difference are the first and the last frequency."""
    count, parted = 2 * len(row), list(row)
    for at in range(1, count // 4):
        (real, imaginary), (a, b) = row[at], row[-at]
        below, above = _power(at, count, 1)
        factor = 0.5 - 0.5 * above, 0.5 * below
        y = sums.product(factor, (sums.add(real, -a), sums.add(imaginary, b)))
        parted[at] = sums.minus(row[at], y)
        parted[-at] = sums.add(a, y[0]), sums.add(b, -y[1])
    return parted


def _power(
    at: int, size: int, power: int, is_in_turn: bool = False
) -> tuple[float, float]:
    """A unit up to a quarter of a turn (makewt); above an eighth it is mirrored. With
    `is_in_turn` the table has every second one, the others are of their neighbors."""
    if 8 * at > size:
        real, imaginary = _power(size // 4 - at, size, power, is_in_turn)
        return (imaginary, real) if power == 1 else (-imaginary, -real)
    if is_in_turn and at % 2:
        half = 0.5 / _power(1, size, power)[0]
        below, above = (_power(place, size, power) for place in (at - 1, at + 1))
        return half * (below[0] + above[0]), half * (below[1] + above[1])
    if 8 * at == size:
        cosine, _ = _cosine_and_sine(pi / 4)
        return (cosine, cosine) if power == 1 else (-cosine, cosine)
    return _cosine_and_sine(power * (2 * pi / size) * at)


def _reduced(at: int, size: int, power: int) -> tuple[float, float]:
    """A unit whose power is found in the table of the first powers."""
    turns, rest = divmod(at * power, size // 4)
    unit = _power(rest, size, 1)
    for _ in range(turns):
        unit = -unit[1], unit[0]
    return unit


def _cosine_and_sine(angle: float) -> tuple[float, float]:
    """As glibc has them: nearly always the nearest number."""
    one = 1 << PLACES
    x, term, parts = int(Fraction(angle) * one), one, [0, 0]
    count = 0
    while term:
        parts[count % 2] += -term if count % 4 > 1 else term
        count += 1
        term = term * x // count >> PLACES
    cosine, sine = (part / one for part in parts)
    up = BEYOND.get(angle, (0, 0))
    return cosine + up[0] * ulp(cosine), sine + up[1] * ulp(sine)


def _by_levels(
    sums: _Sums, wanted: Sequence[int]
) -> tuple[tuple[Level, ...], tuple[int, ...]]:
    """The levels up to the last, and the places of numbers in it. What a later level
    needs is passed on as the sum of its halves, which is exact."""
    last = max(sums.levels[number] for number in wanted)
    numbers = list(dict.fromkeys(wanted))
    found = tuple(map(numbers.index, wanted))
    levels: list[Level] = []
    for level in range(last, 0, -1):
        pairs = [
            sums.terms[number]
            if sums.levels[number] == level
            else (Term(number, 0.5), Term(number, 0.5))
            for number in numbers
        ]
        needed = dict.fromkeys(term.number for pair in pairs for term in pair)
        numbers = [*needed] if level > 1 else [*range(sums.levels.count(0))]
        places = {number: place for place, number in enumerate(numbers)}
        x, y = zip(*pairs, strict=True)
        levels.append(
            Level(
                (
                    tuple(places[term.number] for term in x),
                    tuple(places[term.number] for term in y),
                ),
                (tuple(term.factor for term in x), tuple(term.factor for term in y)),
            )
        )
    return tuple(levels[::-1]), found
