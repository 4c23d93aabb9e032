"""Words of MLIR text are those that xDSL finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from qlower.text.lexer import Lexer


def words(kind: type[MLIRLexer], text: str) -> Iterator[object]:
    """The words of a text by kind and place, up to the first that is none."""
    lexer = kind(Input(text, "text"))
    while True:
        try:
            token = lexer.lex()
        except ParseError as error:
            yield str(error)
            return
        yield token.kind, token.span.start, token.span.end
        if token.kind == MLIRTokenKind.EOF:
            return


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t\v\f\r // a comment",
        "// one\n//\n two // three\r\nfour",
        "a / b",
        "func.func _ a1_$. é aé 1é",
        "%0 %00 %0a %a.b-c$ %-1 %-a %$ %.a %0#1 %",
        "!a !quant.uniform<i8:f32> ! a",
        "^bb0 ^0 ^",
        "#map #0 #loc1 #-a #-} #",
        "@a.b-c @_ @a@b",
        '@"a b" @"unclosed',
        "@0",
        "0 00 12 012 1.5 1. 1.e5 1.5e3 1.5e+3 1.5E-3 1.5e 1e5 1..2 2x3xf32",
        "0x 0x0 0x1F 0xg 0X1F 10x2 0xi32",
        "- -> --> -1 ->-> - >",
        "{ {} {-# #-} {- {-a",
        "... . ..",
        ":,()[]<>=+*?|}::",
        '"" "a" "\\n" "\\FF" "\\zz"',
        '"unclosed',
        "&",
        "a\u00a0b",
        "٣",
    ],
)
def test_words(text: str) -> None:
    assert [*words(Lexer, text)] == [*words(MLIRLexer, text)]
