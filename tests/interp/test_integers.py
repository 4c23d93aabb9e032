"""Integer arith against Python's integers, over whole types or their extremes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from support.values.scalars import evaluate_text

from qlower.interp import InterpretationError

WIDTHS = (1, 3, 8, 16, 24, 32, 48, 64)


def signed(number: int, width: int) -> int:
    """The number of `width` bits that is congruent to `number`."""
    number &= (1 << width) - 1
    return number - (1 << width) if number >> (width - 1) else number


def unsigned(number: int, width: int) -> int:
    return number & ((1 << width) - 1)


def samples(width: int) -> list[int]:
    """All numbers of a narrow type; extremes, and those around 0, of a wide one."""
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    if width <= 4:
        return list(range(low, high + 1))
    middle = (low + 1, high - 1, low // 2, high // 2, low // 3, high // 5)
    return [low, high, *middle, -7, -2, -1, 0, 1, 2, 3, 7, width - 1]


def lanes(numbers: list[int], width: int) -> np.ndarray:
    if width == 1:
        return np.array([number != 0 for number in numbers])
    bits = next(bits for bits in (8, 16, 32, 64) if bits >= width)
    return np.array(numbers, f"int{bits}")


def check(
    op: str,
    width: int,
    expected: Callable[[int, int], int | None],
) -> None:
    """Compare on all pairs for which `expected` isn't None, which stands for poison."""
    pairs = list(itertools.product(samples(width), repeat=2))
    good = [pair for pair in pairs if expected(*pair) is not None]
    bad = [pair for pair in pairs if expected(*pair) is None]
    kind = f"i{width}"
    text = f"%r = {op} %a, %b : {kind}"
    a, b = (lanes([pair[side] for pair in good], width) for side in (0, 1))
    got = evaluate_all(text, a, b, kind)
    want = lanes([signed(expected(*pair) or 0, width) for pair in good], width)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype
    for pair in bad[:20]:
        with pytest.raises(InterpretationError, match=op):
            evaluate_text(text, [("a", kind, pair[0]), ("b", kind, pair[1])], kind)


def evaluate_all(text: str, a: np.ndarray, b: np.ndarray, kind: str) -> np.ndarray:
    """One evaluation for all lanes, as the body of a loop nest would."""
    return evaluate_text(text, [("a", kind, a), ("b", kind, b)], kind)


BITWISE_AND_RING: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.minsi": min,
    "arith.maxsi": max,
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("op", BITWISE_AND_RING)
def test_signed_ops_wrap(op: str, width: int) -> None:
    check(op, width, BITWISE_AND_RING[op])


@pytest.mark.parts(8)
@pytest.mark.parametrize("width", WIDTHS)
def test_signed_divisions(width: int) -> None:
    low = -(1 << (width - 1))

    def defined(a: int, b: int) -> bool:
        return b != 0 and (a, b) != (low, -1)

    def quotient(a: int, b: int) -> int:
        return int(Fraction(a, b))

    check("arith.divsi", width, lambda a, b: quotient(a, b) if defined(a, b) else None)
    check(
        "arith.remsi",
        width,
        lambda a, b: a - b * quotient(a, b) if defined(a, b) else None,
    )
    check("arith.floordivsi", width, lambda a, b: a // b if defined(a, b) else None)
    check("arith.ceildivsi", width, lambda a, b: -(-a // b) if defined(a, b) else None)


@pytest.mark.parametrize("width", WIDTHS)
def test_unsigned_ops(width: int) -> None:
    def on_unsigned(
        function: Callable[[int, int], int],
    ) -> Callable[[int, int], int | None]:
        def run(a: int, b: int) -> int | None:
            try:
                return function(unsigned(a, width), unsigned(b, width))
            except ZeroDivisionError:
                return None

        return run

    check("arith.minui", width, on_unsigned(min))
    check("arith.maxui", width, on_unsigned(max))
    check("arith.divui", width, on_unsigned(lambda a, b: a // b))
    check("arith.remui", width, on_unsigned(lambda a, b: a % b))


@pytest.mark.parts(8)
@pytest.mark.parametrize("width", WIDTHS)
def test_shifts(width: int) -> None:
    def legal(b: int) -> bool:
        return unsigned(b, width) < width

    check("arith.shli", width, lambda a, b: a << b if legal(b) else None)
    check("arith.shrsi", width, lambda a, b: a >> b if legal(b) else None)
    check(
        "arith.shrui", width, lambda a, b: unsigned(a, width) >> b if legal(b) else None
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_cmpi(width: int) -> None:
    pairs = list(itertools.product(samples(width), repeat=2))
    kind = f"i{width}"
    a, b = (lanes([pair[side] for pair in pairs], width) for side in (0, 1))
    comparisons: dict[str, Callable[[int, int], bool]] = {
        "eq": int.__eq__,
        "ne": int.__ne__,
        "lt": int.__lt__,
        "le": int.__le__,
        "gt": int.__gt__,
        "ge": int.__ge__,
    }
    for name, compare in comparisons.items():
        for sign in ("",) if name in ("eq", "ne") else ("s", "u"):
            got = evaluate_text(
                f"%r = arith.cmpi {sign}{name}, %a, %b : {kind}",
                [("a", kind, a), ("b", kind, b)],
                "i1",
            )
            convert = unsigned if sign == "u" else signed
            want = [compare(convert(x, width), convert(y, width)) for x, y in pairs]
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("source", "target"), [(1, 8), (3, 8), (8, 32), (24, 32), (32, 64), (7, 64)]
)
def test_extension_and_truncation(source: int, target: int) -> None:
    narrow, wide = samples(source), samples(target)

    def convert(op: str, numbers: list[int], start: int, end: int) -> list[int]:
        got = evaluate_text(
            f"%r = {op} %a : i{start} to i{end}",
            [("a", f"i{start}", lanes(numbers, start))],
            f"i{end}",
        )
        return got.tolist()

    assert convert("arith.extsi", narrow, source, target) == narrow
    assert convert("arith.extui", narrow, source, target) == [
        unsigned(n, source) for n in narrow
    ]
    low_bits = [signed(n, source) for n in wide]
    if source == 1:
        low_bits = [bit != 0 for bit in low_bits]
    assert convert("arith.trunci", wide, target, source) == low_bits


def test_index_cast() -> None:
    body = """
      %i = arith.index_cast %a : i32 to index
      %r = arith.index_cast %i : index to i8
    """
    got = evaluate_text(body, [("a", "i32", np.array([-1, 128, 511], np.int32))], "i8")
    assert got.tolist() == [-1, -128, -1]


EXACT: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.shli": lambda a, b: a << b,
}


@pytest.mark.parts(6)
@pytest.mark.parametrize("flag", ["nsw", "nuw"])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("name", EXACT)
def test_flags_are_about_exact_results(name: str, width: int, flag: str) -> None:
    """Of pairs whose exact result the type holds all are computed, any other is an
    error."""
    kind = f"i{width}"
    number, low = (signed, -(1 << (width - 1))) if flag == "nsw" else (unsigned, 0)
    seconds = samples(width)
    if name == "arith.shli":
        seconds = [0, 1, width // 2, width - 1]
    fitting: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for a, b in itertools.product(samples(width), seconds):
        shift = name == "arith.shli"
        exact = EXACT[name](number(a, width), b if shift else number(b, width))
        fits = low <= exact < low + (1 << width)
        (fitting if fits else others).append((a, b))
    text = f"%r = {name} %a, %b overflow<{flag}> : {kind}"

    def run(pairs: list[tuple[int, int]]) -> np.ndarray:
        columns = zip(*pairs, strict=True)
        arguments = [
            (argument, kind, lanes(list(column), width))
            for argument, column in zip("ab", columns, strict=True)
        ]
        return evaluate_text(text, arguments, kind)

    want = [signed(EXACT[name](a, b), width) for a, b in fitting]
    np.testing.assert_array_equal(run(fitting), lanes(want, width))
    message = f"has {flag}, but overflows {kind} for operands"
    for pair in others[:: max(len(others) // 12, 1)]:
        with pytest.raises(InterpretationError, match=message):
            run([pair])


@pytest.mark.parametrize("width", WIDTHS)
def test_absi_and_ctlz(width: int) -> None:
    numbers = samples(width)
    kind = f"i{width}"
    arguments = [("a", kind, lanes(numbers, width))]
    got = evaluate_text(f"%r = math.absi %a : {kind}", arguments, kind)
    want = lanes([signed(abs(n), width) for n in numbers], width)
    np.testing.assert_array_equal(got, want)
    got = evaluate_text(f"%r = math.ctlz %a : {kind}", arguments, kind)
    zeros = [width - unsigned(n, width).bit_length() for n in numbers]
    np.testing.assert_array_equal(got, lanes([signed(z, width) for z in zeros], width))


def test_ctlz_next_to_powers_of_two() -> None:
    numbers = [(1 << k) + step for k in range(64) for step in (-1, 0, 1)]
    bits = np.array(numbers, np.uint64)
    got = evaluate_text("%r = math.ctlz %a : i64", [("a", "i64", bits)], "i64")
    assert got.tolist() == [64 - number.bit_length() for number in numbers]


def test_the_error_names_op_place_and_first_lane() -> None:
    shifts = np.array([0, 31, 32, 33], np.int32)
    with pytest.raises(InterpretationError) as caught:
        evaluate_text(
            "%r = arith.shli %a, %b : i32",
            [("a", "i32", 5), ("b", "i32", shifts)],
            "i32",
        )
    message = "'arith.shli' shifts 5 by 32, which is outside [0, 32)"
    assert caught.value.message == message
    assert str(caught.value).startswith("<text>:2:")


def test_select_and_assert() -> None:
    condition = np.array([True, False])
    got = evaluate_text(
        "%r = arith.select %c, %a, %b : i8",
        [("c", "i1", condition), ("a", "i8", 1), ("b", "i8", 2)],
        "i8",
    )
    assert got.tolist() == [1, 2]
    with pytest.raises(InterpretationError, match="scales must be positive"):
        evaluate_text(
            'cf.assert %c, "scales must be positive"\n%r = arith.constant 0 : i8',
            [("c", "i1", condition)],
            "i8",
        )


def test_arguments_are_checked() -> None:
    def identity(kind: str, value: object) -> object:
        body = f"%r = arith.ori %a, %a : {kind}"
        return evaluate_text(body, [("a", kind, value)], kind).tolist()

    assert identity("i8", 255) == -1
    assert identity("i8", np.array([255], np.uint8)) == [-1]
    assert identity("i1", 1) is True
    for kind, value in [
        ("i8", 256),
        ("i8", -129),
        ("i8", 0.5),
        ("i4", np.array([8], np.int8)),
        ("i32", np.array([1], np.int64)),
        ("tensor<2xi8>", np.array([1], np.int8)),
    ]:
        with pytest.raises(InterpretationError, match="argument 0 of @main has type"):
            identity(kind, value)
