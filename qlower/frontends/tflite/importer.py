"""An entry of the table of operators: what each takes, and what becomes of it.

A signature names the operands in order: `x[4]: INT8 | UINT8, weights[4], bias?: as x`
has an operand of rank 4 and of one of two types, one of rank 4 of any type, and one
that may be left out, of the first one's type. `more*` are any number of operands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from .context import OperatorContext

Build: TypeAlias = Callable[[OperatorContext], None]

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
"""Names for several types of the schema."""

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
    for part in filter(None, text.split(", ")):
        match = _OPERAND.fullmatch(part)
        assert match is not None, part
        name, rank, mark, types = match.groups()
        words = types.split(" | ") if types else []
        known = tuple(one for word in words for one in TYPES.get(word, (word,)))
        size = None if rank is None else int(rank)
        found.append(Operand(name, size, known, mark == "?", mark == "*"))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Importer:
    """How one TFLite operator becomes qnn operations.

    Each of the `ways` is a signature and what imports operands that it fits: the first
    one that does. `outputs` are the fewest and the most results.
    """

    ways: tuple[tuple[str, Build], ...]
    outputs: tuple[int, int] = (1, 1)

    def __or__(self, other: Importer) -> Importer:
        return Importer((*self.ways, *other.ways), self.outputs)

    @property
    def inputs(self) -> tuple[int, int]:
        """The fewest operands and the most, whatever their types."""
        operands = signature_of(self.ways[0][0])
        needed = sum(not (one.is_optional or one.is_list) for one in operands)
        is_listed = any(one.is_list for one in operands)
        return needed, UNLIMITED if is_listed else len(operands)

    def build(self, op: OperatorContext) -> None:
        """Import an operator by the first way whose types fit.

        The error where none does is about the operand that the most ways come to.
        """
        misfits: list[tuple[int, tuple[str, ...]]] = []
        for signature, build in self.ways:
            number = _misfit(op, signature)
            if number is None:
                for place, operand in enumerate(signature_of(signature)):
                    if operand.rank is not None and op.has_input(place):
                        op.shape(place, operand.rank)
                build(op)
                return
            misfits.append((number, _legal(op, signature, number)))
        last = max(number for number, _ in misfits)
        legal = [one for number, types in misfits if number == last for one in types]
        op.expect_type(op.input(last), *dict.fromkeys(legal))


def takes(signature: str, build: Build, outputs: tuple[int, int] = (1, 1)) -> Importer:
    """An importer of operands that fit one signature; `|` adds others."""
    return Importer(((signature, build),), outputs)


def _legal(op: OperatorContext, signature: str, number: int) -> tuple[str, ...]:
    """The types that an operand may have; none where it may have any."""
    operands = signature_of(signature)
    types = operands[min(number, len(operands) - 1)].types if operands else ()
    return tuple(op.input(0).type if one == "as x" else one for one in types)


def _misfit(op: OperatorContext, signature: str) -> int | None:
    """The first operand whose type the signature doesn't have."""
    for number in range(len(op.operator.inputs)):
        legal = _legal(op, signature, number)
        if legal and op.has_input(number) and op.input(number).type not in legal:
            return number
    return None
