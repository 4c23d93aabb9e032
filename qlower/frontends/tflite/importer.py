"""An entry of the table of operators: what each takes, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..signature import arity, check_ranks, legal_types, misfit
from .context import OperatorContext

Build: TypeAlias = Callable[[OperatorContext], None]


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
        return arity(self.ways[0][0])

    def build(self, op: OperatorContext) -> None:
        """Import an operator by the first way whose types fit.

        The error where none does is about the operand that the most ways come to.
        """
        misfits: list[tuple[int, tuple[str, ...]]] = []
        for signature, build in self.ways:
            number = misfit(op, signature)
            if number is None:
                check_ranks(op, signature)
                build(op)
                return
            misfits.append((number, legal_types(op, signature, number)))
        last = max(number for number, _ in misfits)
        legal = [one for number, types in misfits if number == last for one in types]
        op.expect_type(last, *dict.fromkeys(legal))


def takes(signature: str, build: Build, outputs: tuple[int, int] = (1, 1)) -> Importer:
    """An importer of operands that fit one signature; `|` adds others."""
    return Importer(((signature, build),), outputs)
