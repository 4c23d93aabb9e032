"""Gates by themselves: numbers by brute force, ends that are as near as can be, how
many gates are made, and what they refuse at each edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from qlower.circuits.gates import evaluate_gates
from qlower.circuits.gates.functions import gate_interpreter
from qlower.circuits.gates.make import ModelGates
from qlower.circuits.gates.wires import Gates, Wires
from qlower.interp import InterpretationError
from qlower.interp.values import Poison
from qlower.text.parsing import parse_module

Make = Callable[..., Wires]

DOMAINS = [(-5, 6), (0, 7), (-7, -1), (2, 9), (-1, 0), (0, 0), (4, 4), (-3, 3), (0, 1)]


def made(make: Make, *ends: tuple[int, int]) -> tuple[Gates, Wires, Any, Any]:
    """Gates for every combination of numbers: with the results and the inputs."""
    gates = Gates()
    every = np.array(list(product(*(range(low, high + 1) for low, high in ends)))).T
    given = [gates.inputs((every.shape[1],), *one) for one in ends]
    inside = sum(len(one.a) for one in gates.groups)
    found = make(gates, *given)
    file = ModelGates("", gates, [found]).arrays()
    wires = evaluate_gates.evaluate(file, [one.astype(np.int8) for one in every])
    evaluate_gates.check_bits(file, wires)
    assert gates.count == len(wires) >= inside
    return gates, found, wires, every


def check(make: Make, meaning: Callable[..., int], *ends: tuple[int, int]) -> None:
    """Each number is right, and the ends are those that occur."""
    gates, found, wires, every = made(make, *ends)
    wanted = np.array([meaning(*one) for one in every.T.tolist()])
    assert wires[found].tolist() == wanted.tolist()
    low, high = gates.ends(found)
    assert set(low.tolist()) == {wanted.min()}
    assert set(high.tolist()) == {wanted.max()}
    least, most = gates.all_ends()
    assert (least <= wires).all()
    assert (wires <= most).all()


ONE: dict[str, tuple[Make, Callable[[int], int]]] = {
    "negative": (lambda g, a: g.negative(a), lambda a: -a),
    "sign": (lambda g, a: g.sign(a), lambda a: -(a < 0)),
    "inverted": (lambda g, a: g.inverted(a), lambda a: 1 - a),
    "positive": (lambda g, a: g.positive(a), lambda a: max(a, 0)),
    "scaled": (lambda g, a: g.scaled(a, -3), lambda a: -3 * a),
    "raised": (lambda g, a: g.raised(a, 5), lambda a: a + 5),
    "shift by 1": (lambda g, a: g.shift(a, 1), lambda a: a >> 1),
    "shift by 0": (lambda g, a: g.shift(a, 0), lambda a: a),
    "larger than 2": (lambda g, a: g.larger(a, g.constants(2)), lambda a: max(a, 2)),
    "smaller than 2": (lambda g, a: g.smaller(a, g.constants(2)), lambda a: min(a, 2)),
}


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name: str) -> None:
    for ends in DOMAINS:
        check(*ONE[name], ends)


@pytest.mark.parametrize("ends", [(-5, 6), (0, 7), (-7, -1), (2, 9), (-2, 0)])
def test_magnitudes(ends: tuple[int, int]) -> None:
    """At least how far the ends are beyond zero."""
    gates, found, wires, every = made(lambda g, a: g.magnitude(a), ends)
    assert wires[found].tolist() == np.abs(every[0]).tolist()
    low, high = gates.ends(found)
    assert int(low[0]) == max(ends[0], -ends[1], 0)
    assert int(high[0]) == max(map(abs, ends))


TWO: dict[str, tuple[Make, Callable[[int, int], int]]] = {
    "add": (lambda g, a, b: g.add(a, b), lambda a, b: a + b),
    "subtract": (lambda g, a, b: g.subtract(a, b), lambda a, b: a - b),
    "multiply": (lambda g, a, b: g.multiply(a, b), lambda a, b: a * b),
    "larger": (lambda g, a, b: g.larger(a, b), max),
    "smaller": (lambda g, a, b: g.smaller(a, b), min),
    "below": (lambda g, a, b: g.below(a, b), lambda a, b: int(a < b)),
}


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name: str) -> None:
    for a, b in product(DOMAINS[:6], repeat=2):
        check(*TWO[name], a, b)


def test_one_of_two_numbers() -> None:
    def choose(gates: Gates, condition: Wires, one: Wires, other: Wires) -> Wires:
        return gates.chosen(condition, one, other)

    for a, b in product(DOMAINS[:6], repeat=2):
        check(choose, lambda c, one, other: one if c else other, (0, 1), a, b)


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("ends", [(-9, 9), (0, 7), (0, 8), (-4, 3), (-5, 3), (-4, 4)])
def test_numbers_that_are_cut(bits: int, ends: tuple[int, int]) -> None:
    """They are left alone where they fit, and no end is beyond what bits hold."""
    size, half = 1 << bits, 1 << (bits - 1)
    for make, meaning, least in (
        (lambda g, a: g.remainder(a, bits), lambda a: a % size, 0),
        (lambda g, a: g.wrapped(a, bits), lambda a: (a + half) % size - half, -half),
    ):
        gates, found, wires, every = made(make, ends)
        assert wires[found].tolist() == [meaning(a) for a in every[0].tolist()]
        fits = least <= ends[0] and ends[1] < least + size
        assert (len(gates.groups) == 1) == fits
        low, high = (int(one[0]) for one in gates.ends(found))
        assert (low, high) == (ends if fits else (least, least + size - 1))


def kinds(gates: Gates) -> dict[str, int]:
    found: Counter[str] = Counter()
    for group in gates.groups:
        found[group.kind] += len(group.a)
    return dict(found)


@pytest.mark.parametrize(
    ("make", "more"),
    [
        (lambda g, a: g.add(a, g.constants(0)), {"constant": 1}),
        (lambda g, a: g.add(g.constants(0), a), {"constant": 1, "add": 3}),
        (lambda g, a: g.multiply(a, g.constants(1)), {"constant": 1}),
        (lambda g, a: g.multiply(a, g.constants(0)), {"constant": 1}),
        (lambda g, a: g.shift(a, 0), {}),
        (lambda g, a: g.shift(a, [0, 1, 0]), {"shift": 3}),
        (lambda g, a: g.shift(a, 3), {"constant": 1}),
        (lambda g, a: g.sign(a), {"constant": 1}),
        (lambda g, a: g.positive(a), {}),
        (lambda g, a: g.larger(a, g.constants(0)), {"constant": 1}),
        (lambda g, a: g.smaller(a, g.constants(7)), {"constant": 1}),
        (lambda g, a: g.constants([5, 3, 5, 5]), {"constant": 2}),
        (lambda g, a: g.constants([[5], [5]]) + g.constants(5), {"constant": 1}),
        (lambda g, a: g.add(g.constants(2), g.constants(3)), {"constant": 3}),
        (lambda g, a: g.table(a, range(8)), {"table": 3}),
        (lambda g, a: g.table(g.constants([2, 0]), [7, 8, 9]), {"constant": 4}),
    ],
)
def test_no_gate_is_made_for_nothing(make: Make, more: dict[str, int]) -> None:
    """Of an input with three elements in 0 ... 7."""
    gates = Gates()
    make(gates, gates.inputs((3,), 0, 7))
    assert kinds(gates) == {"input": 3, **more}


def test_tables_are_kept_once() -> None:
    gates = Gates()
    a = gates.inputs((2, 3), 1, 2)
    first = gates.table(a, [9, -4, 6, 100])
    assert gates.values == [9, -4, 6, 100]
    assert [int(end[0, 0]) for end in gates.ends(first)] == [-4, 6]
    gates.table(a, [9, -4, 6, 100])
    assert gates.values == [9, -4, 6, 100]
    gates.table(a, [9, -4, 6])
    assert gates.values == [9, -4, 6, 100, 9, -4, 6]
    assert gates.groups[-1].b.tolist() == [4] * 6
    assert gates.numbers(a) is None
    known = gates.numbers(gates.constants([[3, 1]]))
    assert known is not None
    assert known.tolist() == [[3, 1]]


@pytest.mark.parametrize(
    ("make", "refused"),
    [
        (lambda g: g.table(g.inputs((1,), 0, 2), [1, 2, 3]), None),
        (
            lambda g: g.table(g.inputs((1,), 0, 3), [1, 2, 3]),
            "looks up 0 to 3 in a table of 3",
        ),
        (
            lambda g: g.table(g.inputs((1,), -1, 2), [1, 2, 3]),
            "looks up -1 to 2 in a table of 3",
        ),
        (lambda g: g.wrapped(g.inputs((1,), -(1 << 61), 1 << 61), 62), None),
        (lambda g: g.wrapped(g.inputs((1,), -(1 << 62), (1 << 62) - 1), 63), None),
        (
            lambda g: g.wrapped(g.inputs((1,), -(1 << 62), 1 << 62), 63),
            "may wrap in 64 bits, which gates don't",
        ),
        (
            lambda g: g.add(*(g.inputs((1,), 0, (1 << 62) - (1 << 12)),) * 2),
            None,
        ),
        (
            lambda g: g.add(*(g.inputs((1,), 0, 1 << 62),) * 2),
            "may have a result of more than 63 bits",
        ),
        (
            lambda g: g.add(*(g.inputs((1,), -(1 << 62), 0),) * 2),
            "may have a result of more than 63 bits",
        ),
        (lambda g: g.multiply(*(g.inputs((1,), -(1 << 31), 1 << 31),) * 2), None),
        (
            lambda g: g.multiply(*(g.inputs((1,), -(1 << 32), 1 << 31),) * 2),
            "may have a result of more than 63 bits",
        ),
    ],
)
def test_what_gates_do_not_hold(
    make: Callable[[Gates], Wires], refused: str | None
) -> None:
    if refused is None:
        make(Gates())
        return
    with pytest.raises(Poison) as caught:
        make(Gates())
    assert str(caught.value) == refused


def test_the_most_wires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qlower.circuits.gates.wires.MOST_WIRES", 1000)
    gates = Gates()
    gates.inputs((10, 99), 0, 1)
    gates.inputs((10,), 0, 1)
    with pytest.raises(Poison, match="needs more than 1,000 wires"):
        gates.inputs((1,), 0, 1)


def test_more_wires_than_at_first() -> None:
    """Ends are kept as there come to be more wires."""
    gates = Gates()
    firsts = [gates.inputs((n,), -n, n + 1) for n in (40_000, 30_000, 200_000, 5)]
    assert gates.count == 270_005
    for wires in firsts:
        size = len(wires)
        low, high = gates.ends(wires)
        assert (low == -size).all()
        assert (high == size + 1).all()
    assert len(gates.all_ends()[0]) == gates.count


# Operations that have no gates


def refusal(line: str, types: Sequence[str], ends: Sequence[tuple[int, int]]) -> str:
    names = ", ".join(f"%{n}: {t}" for n, t in zip("abc", types, strict=False))
    module = parse_module(f"func.func @f({names}) {{\n{line}\n func.return }}")
    (function,) = module.body.ops
    gates = Gates()
    given = tuple(gates.inputs((2,), *one) for one in ends)
    with pytest.raises(InterpretationError) as caught:
        gate_interpreter(module, gates).call_op(function, given)
    return caught.value.message


I8 = (-128, 127)
BOOLEAN = (0, 1)
MASK = "is not of a number and 2^n - 1"
CONSTANT = "%c = arith.constant {} : i8\n"


@pytest.mark.parametrize(
    ("line", "types", "ends", "told"),
    [
        ("%r = arith.andi %a, %b : i8", ["i8"] * 2, [I8] * 2, MASK),
        *(
            (CONSTANT.format(n) + "%r = arith.andi %a, %c : i8", ["i8"], [I8], MASK)
            for n in (0, -1, 2, 5, 126)
        ),
        ("%r = arith.ori %a, %b : i8", ["i8"] * 2, [I8] * 2, "of numbers has no gates"),
        ("%r = arith.xori %a, %b : i8", ["i8"] * 2, [I8] * 2, "of numbers has no gat"),
        *(
            (f"%r = arith.{op} %a, %b : i1", ["i1"] * 2, [BOOLEAN] * 2, "of booleans ")
            for op in ("maxsi", "minsi", "shli", "shrsi")
        ),
        ("%r = arith.divsi %a, %b : i8", ["i8"] * 2, [I8, (1, 2)], "divides by some"),
        ("%r = arith.remsi %a, %b : i8", ["i8"] * 2, [I8, (1, 2)], "divides by some"),
        (
            "%r = arith.shli %a, %b : i8",
            ["i8"] * 2,
            [I8, (-1, 7)],
            "shifts by -1 to 7, not by 0 to 62",
        ),
        (
            "%r = arith.shrsi %a, %b : i64",
            ["i64"] * 2,
            [I8, (0, 63)],
            "shifts by 0 to 63, not by 0 to 62",
        ),
        (
            "%r = arith.cmpi ult, %a, %b : i8",
            ["i8"] * 2,
            [(0, 9), (-1, 9)],
            "compares what may be negative without a sign, or booleans",
        ),
        ("%r = arith.cmpi eq, %a, %b : i1", ["i1"] * 2, [BOOLEAN] * 2, "or booleans"),
        ("%r = math.ctlz %a : i8", ["i8"], [(-1, 9)], "counts the zeros of what may"),
        (
            "%t = arith.constant dense<[1, 2]> : tensor<2xi8>\n"
            "%r = tensor.extract %t[%a] : tensor<2xi8>",
            ["index"],
            [(0, 2)],
            "looks up 0 to 2 in a table of 2",
        ),
        ("%r = arith.constant 1.5 : f32", ["i8"], [I8], "holds float, which gates don"),
        (
            "%r = arith.constant dense<1.5> : tensor<2xf32>",
            ["i8"],
            [I8],
            "holds floats, which gates don't have",
        ),
    ],
)
def test_operations_without_gates(
    line: str, types: list[str], ends: list[tuple[int, int]], told: str
) -> None:
    assert told in refusal(line, types, ends)


@pytest.mark.parametrize("predicate", ["ult", "ule", "ugt", "uge"])
def test_comparisons_without_a_sign(predicate: str) -> None:
    """Of numbers that have none: as those with one."""
    module = parse_module(
        f"func.func @f(%a: i8, %b: i8) -> i1 {{ %r = arith.cmpi {predicate}, %a, %b : "
        "i8\n func.return %r : i1 }"
    )
    (function,) = module.body.ops
    meanings: dict[str, Callable[[int, int], bool]] = {
        "ult": lambda a, b: a < b,
        "ule": lambda a, b: a <= b,
        "ugt": lambda a, b: a > b,
        "uge": lambda a, b: a >= b,
    }

    def make(gates: Gates, a: Wires, b: Wires) -> Wires:
        return gate_interpreter(module, gates).call_op(function, (a, b))[0]

    check(make, lambda a, b: int(meanings[predicate](a, b)), (0, 5), (0, 4))
