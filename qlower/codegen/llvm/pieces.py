"""Pieces of a function's text that are written again with other names.

To copy a piece takes about a tenth of the time that its instructions took.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from qlower.codegen.llvm.values import Value

_LOCAL = re.compile(r"(%v\d+)\b")


def is_local(text: str) -> bool:
    """Whether a value is an instruction's, by its text."""
    return text.startswith("%v")


@dataclass(frozen=True)
class Piece:
    """Straight code: `texts` around names, which are known by number.

    The arguments' numbers come first, then those of the piece's own `names`. A result
    has a number if it is one of these.
    """

    texts: Sequence[str]
    numbers: Sequence[int]
    names: int
    results: Sequence[tuple[Value, int | None]]

    @staticmethod
    def of(
        code: str, results: Sequence[Value], arguments: Sequence[str], own: range
    ) -> Piece | None:
        """The piece of code that reads `arguments` and defines the names in `own`; None
        if it reads other names."""
        names = [*arguments, *(f"%v{name}" for name in own)]
        numbers = {name: number for number, name in reversed([*enumerate(names)])}
        parts = _LOCAL.split(code)
        used = parts[1::2]
        yielded = (result.text for result in results if is_local(result.text))
        if not numbers.keys() >= {*used, *yielded}:
            return None
        return Piece(
            parts[::2],
            [numbers[name] for name in used],
            len(own),
            [(result, numbers.get(result.text)) for result in results],
        )

    def copy(self, arguments: Sequence[str], first: int) -> tuple[str, list[Value]]:
        """The code and its results for other arguments, its own names counted from
        `first` on."""
        own = (f"%v{name}" for name in range(first, first + self.names))
        names = [*arguments, *own]
        used = [*(names[number] for number in self.numbers), ""]
        results = [
            result if number is None else Value(result.type, names[number])
            for result, number in self.results
        ]
        return "".join(chain.from_iterable(zip(self.texts, used, strict=True))), results
