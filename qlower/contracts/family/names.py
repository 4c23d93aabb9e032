"""Members of the family by name: `arithmetic: base tflite; multiplier 12 bits floor`.

Such a name is a contract wherever one is named; it has all that the contract is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from qlower.contracts import PREFIX
from qlower.contracts.family import Arithmetic, arithmetic_text
from qlower.contracts.family.choices import CHOICES
from qlower.diagnostics import QlowerError

BASE = "tflite"
"""The contract that has all other operations, by default."""


USUAL = "multiplier 32 bits half_up"
"""A choice that is named where no other is: names of files end with .mlir."""


def arithmetic(base: str = BASE, **choices: str | int) -> str:
    """The name of a contract whose convolutions and linear layers are composed of
    steps, and whose other operations are those of `base`.

    `choices` are of `CHOICES`, in any spelling that leaves out commas or the words that
    precede them: `multiplier="12 bits, floor"`, `"12 floor"` or, for `half_up`, 12.
    Raises `QlowerError` for a choice that isn't there, or makes no difference beside
    the others.
    """
    if base.endswith(".mlir"):
        base = os.path.abspath(base)
    chosen = _chosen(_member(choices)) or [USUAL]
    return f"{PREFIX} {'; '.join([f'base {base}', *chosen])}"


def _member(choices: Mapping[str, str | int]) -> Arithmetic:
    found = Arithmetic()
    for name, value in choices.items():
        found = replace(found, **{name: _choice(name, str(value))})
    normal = found.normal()
    for name in choices:
        if getattr(normal, name) != getattr(found, name):
            raise QlowerError(
                f"{name} {getattr(found, name)!r} makes no difference, or can't be, "
                f"with accumulator {found.accumulator!r}, scaling {found.scaling!r}, "
                f"first {found.first!r} and zero_point {found.zero_point!r}"
            )
    return normal


def _choice(name: str, value: str) -> str:
    """The choice that is meant: the first one that begins with the words."""
    if name not in CHOICES:
        raise QlowerError(
            f"an arithmetic has no choice {name!r}", help=f"it has {', '.join(CHOICES)}"
        )
    words = _words(value)
    for known in CHOICES[name]:
        if words and _words(known)[: len(words)] == words:
            return known
    raise QlowerError(f"{name} {value!r} is not one of {_listed(name)}")


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text) if word not in ("", "bits")]


def _listed(name: str) -> str:
    """The choices in a line: of widths that follow each other the ends."""
    found: dict[str, list[int]] = {}
    for value in CHOICES[name]:
        number, _, rest = value.partition(" bits")
        found.setdefault(f" bits{rest}" if number.isdecimal() else value, [])
        if number.isdecimal():
            found[f" bits{rest}"].append(int(number))
    return "; ".join(
        f"{' or '.join(_runs(n))}{rest}" if n else rest for rest, n in found.items()
    )


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    """Falling numbers, those that follow each other as their ends."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    for run in runs:
        yield f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0])


def _chosen(arithmetic: Arithmetic) -> list[str]:
    """The choices that aren't the usual ones, each with its name."""
    usual = Arithmetic().choices()
    chosen = {k: v for k, v in arithmetic.choices().items() if v != usual[k]}
    return [f"{name} {value.replace(',', '')}" for name, value in chosen.items()]


@lru_cache(maxsize=64)
def text_of(name: str) -> str:
    """The text of the contract of that name. Raises `QlowerError` for a wrong name."""
    choices, base = _parsed(name)
    one = _member(choices)
    notes = [
        "An arithmetic put together of steps, for convolutions and linear layers:",
        "",
        *(f"- {k}: {v}" for k, v in one.choices().items() if k in one.relevant),
        "",
        f"Everything else is that of {base}.",
    ]
    chosen = "; ".join(_chosen(one) or [USUAL])
    return arithmetic_text(one, base, summary=chosen, notes=notes)


def _parsed(name: str) -> tuple[dict[str, str], str]:
    choices: dict[str, str] = {}
    for part in name.removeprefix(PREFIX).split(";"):
        key, _, value = part.strip().partition(" ")
        if not key:
            continue
        if key in choices or not value:
            raise QlowerError(
                f"contract {name!r}: {part.strip()!r} is not CHOICE VALUE, once",
                help=f"such as {PREFIX} multiplier 12 bits floor; base tflite",
            )
        choices[key] = value.strip()
    base = choices.pop("base", BASE)
    return choices, os.path.abspath(base) if base.endswith(".mlir") else base
