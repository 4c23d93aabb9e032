"""Names of values in text, for functions inside of other functions."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.parser import Parser


@contextmanager
def own_names(parser: Parser) -> Generator[None]:
    """Let the parser forget the names of values meanwhile: a function has its own."""
    outer, parser.ssa_values = parser.ssa_values, {}
    try:
        yield
    finally:
        parser.ssa_values = outer
