"""Which mode all results of a side have, at the ends of what each mode gives."""

from __future__ import annotations

from fractions import Fraction as F
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

causes: Any = import_module("qlower.explain.causes")


def method(name: str) -> Any:
    """The method of that name, of the class that has it."""
    (found,) = (
        vars(one)[name]
        for one in vars(causes).values()
        if isinstance(one, type) and name in vars(one)
    )
    return found


def side(*pairs: tuple[F, int], mode: str | None = None, zero: int = 0) -> Any:
    """Exact numbers and the results of a side, called a."""
    return SimpleNamespace(
        looked_at=[SimpleNamespace(exact=x, results=(y,)) for x, y in pairs],
        **{"zeros": [zero], "modes": [mode], "computed": [mode is not None]},
        **{"sides": ["a"], "total": len(pairs), "_all": "All"},
    )


UP = {"up": lambda x: -(-x // 1), "down": lambda x: x // 1}


@pytest.mark.parametrize(
    ("pairs", "mode", "zero", "expected"),
    [
        ([(F(3, 2), 2), (F(-3, 2), -1)], None, 0, "up"),
        ([(F(3, 2), 1), (F(-3, 2), -2)], None, 0, "down"),
        ([(F(3, 2), 2), (F(-3, 2), -2)], None, 0, None),
        ([(F(3, 2), 2), (F(-3, 2), -2)], "up", 0, None),
        ([(F(2), 2)], None, 0, "up"),
        ([(F(2), 2)], "down", 0, "down"),
        ([(F(2), 2)], "other", 0, "up"),
        ([(F(9, 2), 5)], None, 3, "up"),
        ([(F(9, 2), 4)], None, 3, "down"),
    ],
)
def test_the_mode_of_all_results(
    pairs: list[tuple[F, int]], mode: str | None, zero: int, expected: str | None
) -> None:
    """Of several the side's own; numbers are those without the zero point."""
    assert method("_mode")(side(*pairs, mode=mode, zero=zero), 0, UP) == expected


def roundings(*pairs: tuple[F, int], mode: str | None = None) -> str:
    own = side(*pairs, mode=mode)
    own._mode = lambda number, modes: method("_mode")(own, number, modes)
    return method("_roundings")(own)


def test_roundings_in_words() -> None:
    assert roundings((F(3, 2), 2), (F(9, 4), 2)) == (
        "All are roundings: a takes the nearest number"
    )
    assert roundings((F(3, 2), 1)) == "All is a rounding: a takes the nearest number"
    edge = F(1, 2) + causes.NEAR
    assert roundings((F(1) - edge, 1)) == (
        "All is a rounding: a takes the nearest number"
    )
    farther = roundings((F(1) - edge - F(1, 1 << 60), 1))
    assert "nearest" not in farther
    floor = roundings((F(7, 4), 1), (F(-5, 4), -2))
    assert floor == "All are roundings: a rounds them down"
    # Not by the side's own steps, which say otherwise.
    assert "is up to 0.75" in roundings((F(7, 4), 1), (F(-5, 4), -2), mode="half_up")
    assert roundings((F(7, 4), 1), (F(-5, 4), -2), mode="floor") == floor
