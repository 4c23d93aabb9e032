"""The size of text with aliases expanded: a few lines can stand for gigabytes.

Attributes are compared, hashed and printed as trees, whatever they share. So the size
of the tree is limited while it is parsed, before anything walks it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LARGEST_EXPANSION = 1 << 18
"""Elements that the aliases of a short text may stand for. Each takes some 20 us until
a module is compiled and kept."""

EXPANSIONS = 3
"""The most times its own elements that a long text may stand for."""

DEEPEST = 150
"""Attributes, types and locations that may be nested within each other; an alias counts
two or three times."""

_STRING = re.compile(r'"[^"]*"')


def _elements(text: str) -> int:
    """The parts of attributes in a text, more or less: what its commas part."""
    return 1 + text.count(",")


@dataclass(frozen=True)
class _Alias:
    size: int
    depth: int


class Expansion:
    """The size of a text that is being parsed, as it is without aliases."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._limit = max(LARGEST_EXPANSION, EXPANSIONS * _elements(text))
        self._aliases: dict[str, _Alias] = {}
        self._size = 0
        self._depth = 0
        self._deepest = 0

    def enter(self, token: str) -> str | None:
        """Begin an attribute until `leave`; `token` is the alias that it may be.

        Returns what is wrong with that: a sentence, or None.
        """
        alias = self._aliases.get(token)
        self._depth += 1
        self._deepest = max(self._deepest, self._depth + (alias.depth if alias else 0))
        self._size += alias.size if alias else 0
        if self._deepest > DEEPEST:
            return f"more than {DEEPEST} attributes are nested within each other"
        if self._size > self._limit:
            return (
                "the aliases of the text up to here stand for more than "
                f"{self._limit} elements"
            )
        return None

    def leave(self) -> None:
        """End what was begun last."""
        self._depth -= 1

    def start(self) -> int:
        """Begin the definition of an alias; returns what `define` takes."""
        self._deepest = self._depth
        return self._size

    def define(self, name: str, size_before: int, start: int, end: int) -> None:
        """The alias that is defined between two positions of the text."""
        written = _elements(_STRING.sub("", self._text[start:end]))
        size = written + self._size - size_before
        self._aliases[name] = _Alias(size, self._deepest - self._depth)
        self._deepest = self._depth
        self._size = size_before  # it counts where it is used
