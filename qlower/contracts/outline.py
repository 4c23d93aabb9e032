"""Positions of the functions of a contract's text, so that few of them need be
parsed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp

from qlower.contracts.shorthand import parse_contract_module
from qlower.kept.beside_bytecode import KeptFunctions

_TOKEN = re.compile(
    r"//[^\n]*|(?P<function>func\.func)|(?P<end>\})|serves (?P<rules>[\w\s,]+)"
    r'|@(?:"(?P<quoted>[^"]*)"|(?P<symbol>[\w$.-]+))|"(?P<string>(?:[^"\\]|\\.)*)"'
)
"""The starts of functions, and comments and strings that may look like one."""


@dataclass
class _Piece:
    """The text of one function, from its first character to the next function's: its
    name, and all symbols and strings that it mentions."""

    start: int
    end: int
    name: str
    symbols: set[str]
    strings: set[str]


@dataclass(frozen=True)
class Outline:
    """A contract's text in a file, in which each function is named in one line."""

    text: str
    filename: str

    @cached_property
    def pieces(self) -> Sequence[_Piece]:
        """The functions, in order."""
        found: list[_Piece] = []
        end = 0
        for match in _TOKEN.finditer(self.text):
            match match.lastgroup:
                case "function":
                    start = match.start()
                    if found:
                        found[-1].end = start
                    found.append(_Piece(start, start, "", set(), set()))
                case "end":
                    end = match.start()
                case "quoted" | "symbol" if found:
                    # A symbol with a dot is that of a base: `@tflite.add`.
                    symbol = match[match.lastgroup].rpartition(".")[2]
                    found[-1].name = found[-1].name or symbol
                    found[-1].symbols.add(symbol)
                case "rules" if found:
                    found[-1].strings.update(re.findall(r"\w+", match["rules"]))
                case "string" if found:
                    found[-1].strings.add(match["string"])
                case _:
                    pass
        if found:
            found[-1].end = end
        return found

    def parse(self, names: frozenset[str] | None = None) -> ModuleOp:
        """The module with the functions of these names alone, each at its place in the
        file; with all for None. It isn't verified."""
        if names is None:
            names = frozenset(piece.name for piece in self.pieces)
        wanted = [piece.name for piece in self.pieces if piece.name in names]
        kept = self.kept.module(wanted)
        if kept is not None:
            return kept
        left: list[str] = []
        position = 0
        for piece in self.pieces:
            if piece.name not in names:
                left.append(self.text[position : piece.start])
                left.append(_blank(self.text[piece.start : piece.end]))
                position = piece.end
        left.append(self.text[position:])
        module = parse_contract_module("".join(left), self.filename)
        self.kept.keep(module)
        return module

    @cached_property
    def kept(self) -> KeptFunctions:
        """The part that was parsed before, also by other processes."""
        return KeptFunctions(self.text, self.filename)


def functions_of(rule: str, outlines: Sequence[Outline]) -> frozenset[str]:
    """The names of the functions that may decide what a rule is, in a contract and in
    its bases: those that mention it, and those that these call; none for no such rule.
    """
    pieces = [piece for outline in outlines for piece in outline.pieces]
    names: set[str] = set()
    new = {p.name for p in pieces if p.name == rule or rule in p.strings}
    while new:
        names |= new
        new = {name for p in pieces if p.name in new for name in p.symbols} - names
    return frozenset(names & {piece.name for piece in pieces})


def _blank(text: str) -> str:
    """White space that keeps the text after it in its line and column."""
    lines = text.split("\n")
    return "\n" * (len(lines) - 1) + " " * len(lines[-1])
