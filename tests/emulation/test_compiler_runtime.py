"""Arithmetic that compilers take from a library: each function on numbers at its edges,
as Python's integers and C's rules have them."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from qlower.emulation.compiler_runtime import ARM_RUNTIME, RISCV_RUNTIME

EDGES: dict[str, Sequence[float]] = {
    "i": (0, 1, -1, 7, -8, 1000, (1 << 31) - 1, -(1 << 31)),
    "I": (0, 1, 2, 31, 1 << 31, (1 << 32) - 1),
    "q": (0, 1, -1, 7, -8, 1 << 40, (1 << 63) - 1, -(1 << 63)),
    "Q": (0, 1, 10, 1 << 40, 1 << 63, (1 << 64) - 1),
    "f": (0.0, -0.0, 1.5, -2.75, 1e-40, 3e38, -3e9, 2.0**40, math.inf, math.nan),
    "d": (0.0, 1.0, -1.5, 2.0**62, -(2.0**70), 1e-310, 1e308, math.inf, math.nan),
}


def words(form: str, *numbers: float) -> list[int]:
    """Numbers in registers, at least four of them."""
    with np.errstate(over="ignore"):
        data = b"".join(
            np.float32(one).tobytes()
            if letter == "f"
            else struct.pack(f"<{letter}", one)
            for letter, one in zip(form, numbers, strict=True)
        )
    data = data.ljust(16, b"\xee")
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def cut(number: int, letter: str) -> int:
    """An integer that wraps as a type does."""
    bits = 32 if letter in "iI" else 64
    number &= (1 << bits) - 1
    return number - (1 << bits) if letter in "iq" and number >> bits - 1 else number


def quotient(a: int, b: int) -> int:
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def remainder(a: int, b: int) -> int:
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def pair(a: int, b: int) -> tuple[int, int]:
    return quotient(a, b), a - b * quotient(a, b)


Case = tuple[Callable[[Sequence[int]], Sequence[int]], str, str, Callable[..., Any]]

INTEGERS: dict[str, Case] = {
    name: (functions[name], given, returned, code)
    for functions, rows in (
        (
            ARM_RUNTIME,
            {
                "__aeabi_ldivmod": ("qq", "qq", pair),
                "__aeabi_uldivmod": ("QQ", "QQ", pair),
                "__aeabi_idivmod": ("ii", "ii", pair),
                "__aeabi_uidivmod": ("II", "II", pair),
                "__aeabi_idiv": ("ii", "i", quotient),
                "__aeabi_uidiv": ("II", "I", quotient),
                "__aeabi_lmul": ("QQ", "Q", lambda a, b: a * b),
                "__aeabi_llsl": ("QI", "Q", lambda a, n: a << n),
                "__aeabi_llsr": ("QI", "Q", lambda a, n: a >> n),
                "__aeabi_lasr": ("qI", "q", lambda a, n: a >> n),
                "__clzsi2": ("I", "i", lambda a: f"{a:032b}".find("1") if a else 32),
            },
        ),
        (
            RISCV_RUNTIME,
            {
                "__divdi3": ("qq", "q", quotient),
                "__moddi3": ("qq", "q", remainder),
                "__udivdi3": ("QQ", "Q", quotient),
                "__umoddi3": ("QQ", "Q", remainder),
            },
        ),
    )
    for name, (given, returned, code) in rows.items()
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    run, given, returned, code = INTEGERS[name]
    seen = 0
    for numbers in product(*(EDGES[letter] for letter in given)):
        *_, last = numbers
        if "div" in name or "mod" in name:
            # C says nothing of these
            if last == 0 or (last == -1 and min(numbers) < -(1 << 30)):
                continue
        elif given.endswith("I") and len(given) > 1 and last > 63:
            continue
        results = code(*numbers)
        wanted = results if isinstance(results, tuple) else (results,)
        cuts = [cut(one, letter) for one, letter in zip(wanted, returned, strict=True)]
        form = f"<{returned}"
        found = list(run(words(given, *numbers)))
        size = struct.calcsize(form) // 4
        assert len(found) == size
        assert list(struct.unpack(form, struct.pack(f"<{size}I", *found))) == cuts
        seen += 1
    assert seen > 5


def same(found: Sequence[int], letter: str, wanted: float) -> bool:
    """Whether the bits are those of the float, or both are NaN."""
    dtype = np.float32 if letter == "f" else np.float64
    with np.errstate(over="ignore"):
        bits = np.frombuffer(np.array(found, np.uint32).tobytes(), dtype)
        if math.isnan(wanted):
            return bool(np.isnan(bits[0])) and len(bits) == 1
        return bits.tobytes() == dtype(wanted).tobytes()


FLOATS = {"f": ("__aeabi_f", "sf"), "d": ("__aeabi_d", "df")}
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


@pytest.mark.parametrize("letter", FLOATS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_floats(letter: str, name: str) -> None:
    arm, riscv = FLOATS[letter]
    dtype = np.float32 if letter == "f" else np.float64
    for a, b in product(EDGES[letter], repeat=2):
        with np.errstate(all="ignore"):
            wanted = float(OPERATIONS[name](dtype(a), dtype(b)))
        given = words(2 * letter, a, b)
        for run in (ARM_RUNTIME[f"{arm}{name}"], RISCV_RUNTIME[f"__{name}{riscv}3"]):
            assert same(run(given), letter, wanted), (a, b)


@pytest.mark.parametrize("letter", FLOATS)
def test_comparisons(letter: str) -> None:
    """One for what holds on Arm; on RISC-V a number that is compared with 0."""
    arm, riscv = FLOATS[letter]
    relations = {
        "eq": lambda a, b: a == b,
        "ge": lambda a, b: a >= b,
        "gt": lambda a, b: a > b,
        "le": lambda a, b: a <= b,
        "lt": lambda a, b: a < b,
        "un": lambda a, b: a != a or b != b,
    }
    signs = {name: relations[name] for name in ("eq", "ge", "gt", "le", "lt")}
    signs["ne"] = lambda a, b: a != b
    for a, b in product(EDGES[letter], repeat=2):
        with np.errstate(over="ignore"):
            x, y = (float(np.float32(n)) if letter == "f" else n for n in (a, b))
        given = words(2 * letter, a, b)
        for name, relation in relations.items():
            found = ARM_RUNTIME[f"{arm}cmp{name}"](given)
            assert found == (int(relation(x, y)),), (name, a, b)
        for name, relation in signs.items():
            (sign,) = RISCV_RUNTIME[f"__{name}{riscv}2"](given)
            against_zero = cut(sign, "i")
            assert signs[name](against_zero, 0) == relation(x, y), (name, a, b)
        (is_unordered,) = RISCV_RUNTIME[f"__unord{riscv}2"](given)
        assert is_unordered == int(relations["un"](x, y))


KINDS = {"i": ("i", "", "si"), "I": ("ui", "uns", "si")} | {
    "q": ("l", "", "di"),
    "Q": ("ul", "uns", "di"),
}


@pytest.mark.parametrize("letter", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_conversions(letter: str, kind: str) -> None:
    """A float is cut towards zero, or to the nearest end of the integers."""
    arm, riscv = FLOATS[letter]
    short, prefix, width = KINDS[kind]
    low, high = (
        int(getattr(np.iinfo(f"{'i' if kind in 'iq' else 'u'}{size}"), end))
        for end in ("min", "max")
        for size in [4 if kind in "iI" else 8]
    )
    given_floats = (*EDGES[letter], low, high, high + 1.0, low - 1.0, 0.99, -0.99)
    for x in given_floats:
        with np.errstate(over="ignore"):
            exact = float(np.float32(x)) if letter == "f" else float(x)
        if math.isfinite(exact):
            wanted = min(max(math.trunc(exact), low), high)
        else:
            wanted = high if exact > 0 else low
        for run in (
            ARM_RUNTIME[f"{arm}2{short}z"],
            RISCV_RUNTIME[f"__fix{prefix}{riscv}{width}"],
        ):
            found = run(words(letter, x))
            size = struct.calcsize(kind) // 4
            assert len(found) == size
            bits = struct.pack(f"<{size}I", *found)
            assert struct.unpack(f"<{kind}", bits) == (wanted,), x
    dtype = np.float32 if letter == "f" else np.float64
    prefix = "un" if prefix else ""
    for number in EDGES[kind]:
        for run in (
            ARM_RUNTIME[f"__aeabi_{short}2{letter}"],
            RISCV_RUNTIME[f"__float{prefix}{width}{riscv}"],
        ):
            found = run(words(kind, number))
            assert same(found, letter, float(dtype(np.array(number)))), number


def test_floats_of_other_widths() -> None:
    for x in EDGES["d"]:
        with np.errstate(over="ignore"):
            narrow = float(np.float32(x))
        for run in (ARM_RUNTIME["__aeabi_d2f"], RISCV_RUNTIME["__truncdfsf2"]):
            assert same(run(words("d", x)), "f", narrow)
    for x in EDGES["f"]:
        wide = float(np.float32(x))
        for run in (ARM_RUNTIME["__aeabi_f2d"], RISCV_RUNTIME["__extendsfdf2"]):
            assert same(run(words("f", x)), "d", wide)
