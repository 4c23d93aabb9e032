"""What compilers for Arm bring along: arithmetic without an instruction.

"Run-time ABI for the Arm Architecture", 4.1 and 4.2.
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
_INTEGERS = {"i": "i", "ui": "I", "l": "q", "ul": "Q"}


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


_ARITHMETIC: dict[str, _Code] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": _quotient,
}
_RELATIONS: dict[str, _Code] = {
    "eq": operator.eq,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
    "un": _unordered,
}

ARM_RUNTIME: dict[str, Callable[[Words], Words]] = {
    f"__aeabi_{name}": function
    for name, function in {
        **{
            f"{t}{name}": _function(2 * t, t, code)
            for name, code in _ARITHMETIC.items()
            for t in "fd"
        },
        **{
            f"{t}cmp{name}": _function(2 * t, "I", code)
            for name, code in _RELATIONS.items()
            for t in "fd"
        },
        **{
            f"{t}2{name}z": _function(t, letter, _whole(letter))
            for name, letter in _INTEGERS.items()
            for t in "fd"
        },
        **{
            f"{name}2{t}": _function(letter, t, _same)
            for name, letter in _INTEGERS.items()
            for t in "fd"
        },
        "f2d": _function("f", "d", _same),
        "d2f": _function("d", "f", _same),
        "ldivmod": _function("qq", "qq", _divide),
        "uldivmod": _function("QQ", "QQ", _divide),
    }.items()
}
"""By name, from words in registers to words in registers."""
