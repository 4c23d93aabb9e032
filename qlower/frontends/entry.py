"""An entry of a table of operators, of any format: what it takes, and what becomes of
it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from .accessor import Operands
from .signature import arity, check_options, check_ranks, legal_types, misfit

OperandsT = TypeVar("OperandsT", bound=Operands)

RESULT = "scale, zero_point?"
"""The part of a signature for what a quantized result has."""


@dataclass(frozen=True, slots=True)
class Entry(Generic[OperandsT]):
    """The import of one operator as qnn operations.

    Each of the `ways` is a signature and what imports operands that it fits: the first
    one that does. `outputs` are the fewest and the most results.
    """

    ways: tuple[tuple[str, Callable[[OperandsT], None]], ...]
    outputs: tuple[int, int] = (1, 1)

    def __or__(self, other: Entry[OperandsT]) -> Entry[OperandsT]:
        return Entry((*self.ways, *other.ways), self.outputs)

    @property
    def inputs(self) -> tuple[int, int]:
        """The fewest operands and the most, whatever their types."""
        return arity(self.ways[0][0])

    def check_counts(self, op: Operands) -> None:
        """Refuse more or fewer operands or results than the operator has."""
        op.check_range("number of operands", op.count, *self.inputs)
        op.check_range("number of results", op.result_count, *self.outputs)

    def build(self, op: OperandsT) -> None:
        """Import an operator by the first way whose types fit.

        The error where none does is about the operand that the most ways come to.
        """
        misfits: list[tuple[int, tuple[str, ...]]] = []
        for signature, build in self.ways:
            number = misfit(op, signature)
            if number is None:
                check_ranks(op, signature)
                check_options(op, signature)
                build(op)
                return
            misfits.append((number, legal_types(op, signature, number)))
        last = max(number for number, _ in misfits)
        legal = [one for number, types in misfits if number == last for one in types]
        op.expect_type(last, *dict.fromkeys(legal))


def takes(
    signature: str,
    build: Callable[[OperandsT], None],
    outputs: tuple[int, int] = (1, 1),
) -> Entry[OperandsT]:
    """The entry of an operator whose operands fit one signature; `|` adds others."""
    return Entry(((signature, build),), outputs)


def quantized(*names: str) -> str:
    """The part of a signature for operands that have a scale and a zero point."""
    return ", ".join(f"{name}, {name}_scale, {name}_zero_point" for name in names)
