"""The words of MLIR text: xDSL's, found in a third of the time."""

from __future__ import annotations

import re

from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
)

_SUFFIX = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"
_COMMON = re.compile(
    r"(?:\s+|//[^\n]*)*+"
    r"(?:([a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|([:,()}\[\]<>=+/*?|]|->|-(?!>)|\{(?!-#))"
    rf"|(%{_SUFFIX})|(!{_SUFFIX})|(\^{_SUFFIX})|(#(?!-\}}){_SUFFIX})"
    r"|(@[a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|((?!0x)[0-9]++(?!\.)))",
    re.ASCII,
)
"""White space and comments, then one of the words that nearly all text consists of."""

_KINDS = (
    MLIRTokenKind.BARE_IDENT,
    None,
    MLIRTokenKind.PERCENT_IDENT,
    MLIRTokenKind.EXCLAMATION_IDENT,
    MLIRTokenKind.CARET_IDENT,
    MLIRTokenKind.HASH_IDENT,
    MLIRTokenKind.AT_IDENT,
    MLIRTokenKind.INTEGER_LIT,
)
"""The kind of each group; that of punctuation follows from its text."""


class Lexer(MLIRLexer):
    """xDSL's lexer, without exponential time for a string that isn't closed."""

    _unescaped_characters_regex = re.compile(
        r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
    )

    def lex(self) -> MLIRToken:
        found = _COMMON.match(self.input.content, self.pos)
        if found is None:
            return super().lex()
        group = found.lastindex
        assert group is not None
        start, self.pos = found.span(group)
        kind = _KINDS[group - 1] or KIND_BY_PUNCTUATION_SPELLING[found[group]]
        return Token(kind, Span(start, self.pos, self.input))
