"""Compilers' runtime functions: arithmetic without an instruction.

"Run-time ABI for the Arm Architecture", 4.1 and 4.2; "GNU Compiler Collection
Internals", 4.1 and 4.2, for all others.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence

import numpy as np

Words = Sequence[int]
Number = float | np.float64
_Code = Callable[..., "Number | tuple[Number, Number]"]

_TYPES = {"f": "<f4", "d": "<f8", "i": "<i4", "I": "<u4", "q": "<i8", "Q": "<u8"}


def _function(given: str, returned: str, code: _Code) -> Callable[[Words], Words]:
    """`code` of numbers and giving one, or a tuple, as words in registers.

    `given` and `returned` are letters of struct.
    """

    def run(words: Words) -> Words:
        data = struct.pack(f"<{len(words)}I", *words)
        numbers: list[Number] = [
            np.float64(number) if letter in "fd" else number
            for letter, number in zip(
                given, struct.unpack_from(f"<{given}", data), strict=True
            )
        ]
        with np.errstate(all="ignore"):
            result = code(*numbers)
            results = result if isinstance(result, tuple) else (result,)
            packed = b"".join(
                np.asarray(number).astype(_TYPES[letter]).tobytes()
                for letter, number in zip(returned, results, strict=True)
            )
        return struct.unpack(f"<{len(packed) // 4}I", packed)

    return run


def _same(x: Number) -> Number:
    return x


def _quotient(a: np.float64, b: np.float64) -> np.float64:
    return a / b


def _unordered(a: float, b: float) -> bool:
    return math.isnan(a) or math.isnan(b)


def _whole(letter: str) -> _Code:
    """A float cut to an integer; what doesn't fit gives the nearest that does."""
    limits = np.iinfo(_TYPES[letter])

    def code(x: float) -> int:
        if math.isinf(x) or math.isnan(x):
            return int(limits.max if x > 0 else limits.min)
        return min(max(int(x), int(limits.min)), int(limits.max))

    return code


def _divide(a: int, b: int) -> tuple[int, int]:
    """Quotient, toward zero, and remainder."""
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - b * quotient


def _quotient_toward_zero(a: int, b: int) -> int:
    return _divide(a, b)[0]


def _remainder(a: int, b: int) -> int:
    return _divide(a, b)[1]


def _product(a: int, b: int) -> int:
    return a * b & _WORD_MASK


def _shifted_left(a: int, by: int) -> int:
    return a << by & _WORD_MASK


def _shifted_right(a: int, by: int) -> int:
    return a >> by


def _leading_zeros(a: int) -> int:
    return 32 - a.bit_length()


_WORD_MASK = (1 << 64) - 1

_ARITHMETIC = {
    (name, t): _function(2 * t, t, code)
    for name, code in (
        ("add", operator.add),
        ("sub", operator.sub),
        ("mul", operator.mul),
        ("div", _quotient),
    )
    for t in "fd"
}
"""By name, and by the letter of the floats."""

_TO_INTEGERS = {(t, n): _function(t, n, _whole(n)) for n in "iIqQ" for t in "fd"}
_TO_FLOATS = {(n, t): _function(n, t, _same) for n in "iIqQ" for t in "fd"}
"""Conversions by letters, from one type to the other."""

_RELATIONS: dict[str, _Code] = {
    "eq": operator.eq,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
    "un": _unordered,
}

_ARM_INTEGERS = {"i": "i", "I": "ui", "q": "l", "Q": "ul"}

ARM_RUNTIME: dict[str, Callable[[Words], Words]] = {
    f"__aeabi_{name}": function
    for name, function in {
        **{f"{t}{name}": run for (name, t), run in _ARITHMETIC.items()},
        **{
            f"{t}cmp{name}": _function(2 * t, "I", code)
            for name, code in _RELATIONS.items()
            for t in "fd"
        },
        **{f"{t}2{_ARM_INTEGERS[n]}z": run for (t, n), run in _TO_INTEGERS.items()},
        **{f"{_ARM_INTEGERS[n]}2{t}": run for (n, t), run in _TO_FLOATS.items()},
        "f2d": _function("f", "d", _same),
        "d2f": _function("d", "f", _same),
        "ldivmod": _function("qq", "qq", _divide),
        "uldivmod": _function("QQ", "QQ", _divide),
        "idivmod": _function("ii", "ii", _divide),
        "uidivmod": _function("II", "II", _divide),
        "idiv": _function("ii", "i", _quotient_toward_zero),
        "uidiv": _function("II", "I", _quotient_toward_zero),
        "lmul": _function("QQ", "Q", _product),
        "llsl": _function("QI", "Q", _shifted_left),
        "llsr": _function("QI", "Q", _shifted_right),
        "lasr": _function("qI", "q", _shifted_right),
    }.items()
} | {"__clzsi2": _function("I", "i", _leading_zeros)}
"""By name, from words in registers to words in registers."""

_FLOATS = {"f": "sf", "d": "df"}
_WIDTHS = {"i": "si", "q": "di", "I": "si", "Q": "di"}


def _ordered(if_unordered: int) -> _Code:
    """The sign of a - b, which is compared with 0."""

    def code(a: float, b: float) -> int:
        return if_unordered if _unordered(a, b) else int(a > b) - int(a < b)

    return code


def _is_unordered(a: float, b: float) -> int:
    return int(_unordered(a, b))


RISCV_RUNTIME: dict[str, Callable[[Words], Words]] = {
    f"__{name}": function
    for name, function in {
        **{f"{name}{_FLOATS[t]}3": run for (name, t), run in _ARITHMETIC.items()},
        **{
            f"{name}{_FLOATS[t]}2": _function(2 * t, "i", code)
            for name, code in {
                **dict.fromkeys(("eq", "ne", "lt", "le"), _ordered(1)),
                **dict.fromkeys(("gt", "ge"), _ordered(-1)),
                "unord": _is_unordered,
            }.items()
            for t in "fd"
        },
        **{
            f"fix{'' if n in 'iq' else 'uns'}{_FLOATS[t]}{_WIDTHS[n]}": run
            for (t, n), run in _TO_INTEGERS.items()
        },
        **{
            f"float{'' if n in 'iq' else 'un'}{_WIDTHS[n]}{_FLOATS[t]}": run
            for (n, t), run in _TO_FLOATS.items()
        },
        "extendsfdf2": _function("f", "d", _same),
        "truncdfsf2": _function("d", "f", _same),
        **{
            f"{sign}{name}di3": _function(2 * n, n, code)
            for sign, n in (("", "q"), ("u", "Q"))
            for name, code in (("div", _quotient_toward_zero), ("mod", _remainder))
        },
    }.items()
}
"""Functions of the compiler's runtime library on 32-bit RISC-V, by their names."""
