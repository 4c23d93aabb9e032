"""Functions of integers on intervals of several lanes, against every number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from qlower.contracts import parse_contract
from qlower.interp.values import Array
from qlower.verification import decide as deciding
from qlower.verification import pieces as cutting
from qlower.verification.decide import Decision, Domain, Interval, decide
from qlower.verification.functions import NO_OFFSET, WHOLE, Given, RuleFunction
from qlower.verification.pieces import Pieces, pieces_of

LANES = 5


def function_of(line: str, points: Array) -> RuleFunction:
    """A line about a sum %x, a number of its lane %p and %three."""
    text = f"""module {{
    func.func @sum(%x: i32 {{contract.value = "accumulator"}},
        %p: i32 {{contract.value = "output_zero_point"}}) -> i32 {{
      %three = arith.constant 3 : i32
      {line} : i32
      return %y : i32
    }} }}"""
    rule = parse_contract(text, "mine", "mine.mlir").rule("sum")
    given = Given(WHOLE, {"accumulator": (0, NO_OFFSET, np.dtype(np.int32))})
    return RuleFunction(rule, {"output_zero_point": points.astype(np.int32)}, given)


MOVED = "%z = arith.addi %x, %p : i32\n%y = arith.shrsi %z, %three"
RISING = (
    *(MOVED, "%y = arith.divsi %x, %three", "%y = arith.maxsi %x, %p"),
    "%y = arith.minsi %x, %p",
)
WAVING = ("%y = arith.xori %x, %three", "%y = arith.muli %x, %x")


def drawn_domain(random: np.random.Generator, each: int) -> Domain:
    """Intervals below, around and above 0, those of a lane apart from each other."""
    lanes = np.repeat(np.arange(LANES), each)
    starts = np.tile(np.arange(each) * 100 - 50 * each, LANES)
    low = starts + random.integers(0, 40, len(lanes))
    return Domain(lanes, low, low + random.integers(0, 60, len(lanes)))


def numbers_of(domain: Domain) -> Iterator[tuple[int, int, Array]]:
    """Each interval's position and lane, and its numbers."""
    ends = zip(domain.lanes, domain.low, domain.high, strict=True)
    for number, (lane, low, high) in enumerate(ends):
        yield number, int(lane), np.arange(low, high + 1)


def at(function: RuleFunction, lane: int, x: Array) -> Array:
    return function(np.full(len(x), lane), x)


@pytest.mark.parts(3)
@pytest.mark.parametrize("seed", range(8))
def test_where_two_functions_differ(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By steps the widest interval of each of the domain's, one by one each number."""
    random = np.random.default_rng(seed)
    lines = random.choice(RISING, 2)
    a, b = (function_of(line, random.integers(-9, 9, LANES)) for line in lines)
    domain = drawn_domain(random, 1 + seed % 3)
    apart = {
        (lane, int(number))
        for _, lane, x in numbers_of(domain)
        for number in x[at(a, lane, x) != at(b, lane, x)]
    }
    monkeypatch.setattr(deciding, "_TOGETHER", 64)
    found: list[Decision] = []
    for limit in (0, 1 << 18):
        monkeypatch.setattr(deciding, "SMALL", limit)
        found.append(decide((a, b), domain))
    steps, looked = found
    assert (steps.how, looked.how) == ("steps", "one by one")
    for one in found:
        assert one.count == sum(len(x) for *_, x in numbers_of(domain))
        assert one.apart == {lane for lane, _ in apart}
    assert looked.intervals == [Interval(k, x, x) for k, x in sorted(apart)][:64]
    widest = [
        max(_widths(at(a, lane, x), at(b, lane, x)), default=0)
        for _, lane, x in numbers_of(domain)
    ]
    sizes = [one.last - one.first + 1 for one in steps.intervals]
    assert sizes == sorted(filter(None, widest), reverse=True)
    for one in steps.intervals:
        assert apart.issuperset((one.lane, x) for x in range(one.first, one.last + 1))


def _widths(a: Array, b: Array) -> Iterator[int]:
    """By how many numbers two rising functions reach each level apart."""
    for level in range(int(min(a.min(), b.min())), int(max(a.max(), b.max())) + 1):
        yield abs(int((a < level).sum()) - int((b < level).sum()))


def test_the_first_numbers_that_differ_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many blocks they lie in."""
    monkeypatch.setattr(deciding, "BLOCK", 16)
    monkeypatch.setattr(deciding, "_MOST_KEPT", 20)
    a, b = (function_of(line, NO_OFFSET) for line in WAVING)
    domain = Domain(np.array([2, 0]), np.array([5, -7]), np.array([30, 90]))
    found = decide((a, b), domain)
    assert found.intervals == [Interval(2, x, x) for x in range(5, 25)]
    assert found.apart == {0, 2}


@pytest.mark.parametrize("seed", range(3))
def test_a_domain_in_smaller_intervals(seed: int) -> None:
    """It has the same numbers, and begins anew at each cut inside."""
    random = np.random.default_rng(seed)
    whole = drawn_domain(random, 2)
    cuts = [whole.low + random.integers(-5, 50, len(whole.lanes)) for _ in range(3)]
    cuts.append(whole.low)
    cuts.append(whole.high)
    cut = Domain(whole.lanes, whole.low, whole.high, cuts).cut()
    assert cut.count == whole.count

    def pairs(domain: Domain) -> list[tuple[int, int]]:
        return sorted((lane, int(n)) for _, lane, x in numbers_of(domain) for n in x)

    assert pairs(cut) == pairs(whole)
    begins = {*zip(whole.lanes, whole.low, strict=True)}
    for one in cuts:
        inside = (whole.low <= one) & (one <= whole.high)
        begins |= {*zip(whole.lanes[inside], one[inside], strict=True)}
    assert {*zip(cut.lanes, cut.low, strict=True)} == begins


@pytest.mark.parametrize("line", RISING)
def test_steps_that_are_searched(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first numbers of each level, with a line to go by and without."""
    random = np.random.default_rng(1)
    function = function_of(line, random.integers(-9, 9, LANES))
    domain = drawn_domain(random, 2)
    for find in (deciding.find_steps, lambda *_: None):
        monkeypatch.setattr(deciding, "find_steps", find)
        steps = deciding.steps_of(function, domain)
        for number, lane, x in numbers_of(domain):
            own = at(function, lane, x)
            assert (steps.bottom[number], steps.top[number]) == (own[0], own[-1])
            levels = range(own[0] + 1, own[-1] + 1)
            assert steps.places[number, : len(levels)].tolist() == [
                x[np.argmax(own >= level)] for level in levels
            ]


LOW = np.array([-20, 3, 0, -7])
HIGH = np.array([30, 3, 40, -1])


def drawn_pieces(random: np.random.Generator) -> tuple[Pieces, list[Array]]:
    """Pieces on LOW ... HIGH, and what their functions give for each number."""
    places = [
        [low, *random.integers(low, high + 1, 6)]
        for low, high in zip(LOW, HIGH, strict=True)
    ]
    channel = np.repeat(np.arange(len(LOW)), 7)
    x, value = np.concatenate(places), random.integers(0, 4, 28)
    return Pieces.of(channel, x, value), [
        np.array([_last(channel, x, value, c, n) for n in range(low, high + 1)])
        for c, (low, high) in enumerate(zip(LOW, HIGH, strict=True))
    ]


def _last(channel: Array, x: Array, value: Array, own: int, at: int) -> int:
    """The value that was given last at the nearest place before a number."""
    before = [(place, n) for n, place in enumerate(x) if channel[n] == own]
    return int(value[max(one for one in before if one[0] <= at)[1]])


def values_of(pieces: Pieces, low: Array, high: Array) -> list[Array]:
    """What the functions give, of pieces in order, no two alike beside each other."""
    order = np.lexsort([pieces.x, pieces.channel])
    assert (order == np.arange(len(order))).all()
    found: list[Array] = []
    for channel, ends in enumerate(zip(low, high, strict=True)):
        own = pieces.channel == channel
        x, value = pieces.x[own], pieces.value[own]
        assert x[0] == ends[0]
        assert x[-1] <= ends[1]
        assert (np.diff(value) != 0).all()
        numbers = np.arange(ends[0], ends[1] + 1)
        found.append(value[np.searchsorted(x, numbers, side="right") - 1])
    return found


def same(a: list[Array], b: list[Array]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_pieces_are_the_functions(seed: int) -> None:
    random = np.random.default_rng(seed)
    pieces, values = drawn_pieces(random)
    assert same(values_of(pieces, LOW, HIGH), values)
    table = np.array([7, 7, 1, 0])
    assert same(values_of(pieces.mapped(table), LOW, HIGH), [table[v] for v in values])
    offset = random.integers(-9, 9, len(LOW))
    assert same(values_of(pieces.moved(offset), LOW + offset, HIGH + offset), values)
    of = np.array([2, 0, 2, 3])
    spread = values_of(pieces.spread(of), LOW[of], HIGH[of])
    assert same(spread, [values[channel] for channel in of])
    middle = (LOW + HIGH) // 2
    later = [v[m - low :] for v, m, low in zip(values, middle, LOW, strict=True)]
    assert same(values_of(pieces.since(middle), middle, HIGH), later)
    sooner = [v[: m - low + 1] for v, m, low in zip(values, middle, LOW, strict=True)]
    assert same(values_of(pieces.up_to(middle), LOW, middle), sooner)
    channel, x, value = pieces.ends(HIGH)
    pairs = {*zip(channel.tolist(), x.tolist(), strict=True)}
    assert pairs.issuperset([*enumerate(LOW.tolist()), *enumerate(HIGH.tolist())])
    assert len(channel) == 2 * len(pieces.x)
    assert [values[c][n - LOW[c]] for c, n in pairs] == [
        dict(zip(zip(channel, x, strict=True), value, strict=True))[pair]
        for pair in pairs
    ]


@pytest.mark.parametrize("seed", range(6))
def test_pieces_that_differ(seed: int) -> None:
    """The first number, and all of them."""
    random = np.random.default_rng(seed)
    (one, a), (other, b) = (drawn_pieces(random) for _ in range(2))
    apart = [(c, n) for c, v in enumerate(a) for n in np.flatnonzero(v != b[c])]
    c, n = apart[0]
    first = one.first_difference(other)
    assert first == (c, LOW[c] + n, a[c][n], b[c][n])
    assert one.first_difference(one) is None
    found = one.apart(other, HIGH)
    sizes = found[:, 2] - found[:, 1]
    assert (np.diff(sizes) <= 0).all()
    listed = [(c, x - LOW[c]) for c, *e in found for x in range(e[0], e[1] + 1)]
    assert sorted(listed) == apart
    assert len(one.apart(one, HIGH)) == 0


@pytest.mark.parametrize("line", [*RISING, *WAVING])
def test_pieces_of_rules(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By proof, or by looking at blocks of numbers."""
    monkeypatch.setattr(cutting, "BLOCK", 16)
    function = function_of(line, np.array([3, -8, 0, 5]))
    found = pieces_of(function, Domain(np.arange(4), LOW, HIGH), 7)
    assert not isinstance(found, str)
    expected = [
        at(function, lane, x) & 127
        for _, lane, x in numbers_of(Domain(np.arange(4), LOW, HIGH))
    ]
    assert same(values_of(found, LOW, HIGH), expected)


def test_pieces_of_too_many_numbers() -> None:
    waving, rising = (function_of(text, NO_OFFSET) for text in (WAVING[1], RISING[1]))

    def reason(function: RuleFunction, low: int, high: int) -> object:
        return pieces_of(
            function, Domain(np.array([0]), np.array([low]), np.array([high])), 8
        )

    most = deciding.AFFORDABLE
    assert f"{most + 1:,} numbers are too many" in str(reason(waving, 0, most))
    wide = "sums have more than 40 bits"
    assert reason(rising, 0, 1 << 39) == reason(rising, -(1 << 39), 0) == wide
