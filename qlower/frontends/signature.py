"""The operands of an operator in one line: their names, ranks and types.

`x[4]: INT8 | UINT8, weights[4], bias?: as x` has an operand of rank 4 with one of two
types, one of rank 4 with any type, and one that may be left out, with the first one's
type. `more*` is any number of operands. A type is a word of the format, or of `TYPES`.

After a semicolon follow options with few legal values, `; mode: constant, size: 1..9`:
a range of integers, or one value, which is also the value of an option that is left
out.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from .accessor import Attributes, Operands

UNLIMITED = 1 << 16
"""For operators with a list of operands or results."""

NUMBERS = ("FLOAT32", "INT32", "INT64")

TYPES: Mapping[str, tuple[str, ...]] = {
    "REAL": ("FLOAT32",),
    "NUMBER": NUMBERS,
    "PLAIN": (*NUMBERS, "BOOL"),
    "BYTE": ("INT8", "UINT8"),
    "STORED": ("INT8", "UINT8", "INT16"),
    "INDEX": ("INT32", "INT64"),
}
"""Names for several types."""

Literal: TypeAlias = int | float | str | None

_OPERAND = re.compile(r"(\w+)(?:\[(\d)\])?([?*]?)(?:: (.+))?")


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand as a signature has it; of any rank without `rank`, of any type without
    `types`."""

    name: str
    rank: int | None
    types: tuple[str, ...]
    is_optional: bool
    is_list: bool


@cache
def signature_of(text: str) -> tuple[Operand, ...]:
    """The operands that a signature lists."""
    found: list[Operand] = []
    operands, _, _ = text.partition("; ")
    for part in filter(None, operands.split(", ")):
        match = _OPERAND.fullmatch(part)
        assert match is not None, part
        name, rank, mark, types = match.groups()
        words = types.split(" | ") if types else []
        known = tuple(one for word in words for one in TYPES.get(word, (word,)))
        size = None if rank is None else int(rank)
        found.append(Operand(name, size, known, mark == "?", mark == "*"))
    return tuple(found)


@cache
def options_of(text: str) -> tuple[tuple[str, range | Literal], ...]:
    """The options that a signature lists, each with a range or its one legal value."""
    _, _, options = text.partition("; ")
    pairs = (part.split(": ") for part in filter(None, options.split(", ")))
    return tuple((name, _legal(value)) for name, value in pairs)


def _legal(text: str) -> range | Literal:
    low, dots, high = text.partition("..")
    if dots:
        return range(int(low), int(high) + 1)
    try:
        value: Literal = literal_eval(text)
    except ValueError:
        return text
    return value


def arity(signature: str) -> tuple[int, int]:
    """The fewest operands and the most, whatever their types."""
    operands = signature_of(signature)
    needed = sum(not (one.is_optional or one.is_list) for one in operands)
    is_listed = any(one.is_list for one in operands)
    return needed, UNLIMITED if is_listed else len(operands)


def legal_types(op: Operands, signature: str, number: int) -> tuple[str, ...]:
    """The types that an operand may have; none where it may have any."""
    operands = signature_of(signature)
    types = operands[min(number, len(operands) - 1)].types if operands else ()
    return tuple(op.type_name(0) if one == "as x" else one for one in types)


def misfit(op: Operands, signature: str) -> int | None:
    """The first operand whose type the signature doesn't have."""
    for number in range(op.count):
        legal = legal_types(op, signature, number)
        if legal and op.has(number) and op.type_name(number) not in legal:
            return number
    return None


def check_ranks(op: Operands, signature: str) -> None:
    """Refuse operands of other ranks than the signature has."""
    for number, operand in enumerate(signature_of(signature)):
        if operand.rank is not None and op.has(number):
            op.shape(number, operand.rank)


def check_options(op: Attributes, signature: str) -> None:
    """Refuse options of other values than the signature has."""
    for name, legal in options_of(signature):
        if isinstance(legal, range):
            op.integer(name, legal[0], legal[0], legal[-1])
        else:
            op.expect(name, legal)
