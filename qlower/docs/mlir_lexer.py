"""MLIR for Pygments: enough of its tokens to be read with ease."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
)

__all__ = ["MlirLexer"]  # which Pygments reads

TYPES = (
    r"(?:[su]?i\d+|b?f\d+\w*|index|none|tensor|memref|vector|tuple|complex|dense"
    r"|dense_resource|affine_map|loc)\b"
)


class MlirLexer(RegexLexer):
    """Operations, values, symbols, types and attributes of any dialect."""

    name = "MLIR"
    aliases: ClassVar[Sequence[str]] = ["mlir"]
    filenames: ClassVar[Sequence[str]] = ["*.mlir"]
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text),
            (r"//.*", Comment.Single),
            (r'"(?:\\.|[^"\\])*"', String),
            (r"%[\w.$-]+(?:[:#]\d+)?", Name.Variable),
            (r"@(?:[\w.$-]+|\"[^\"]*\")", Name.Function),
            (r"\^\w+", Name.Label),
            (r"[!#][A-Za-z][\w.$]*", Keyword.Type),
            (r"-?0x[0-9a-fA-F]+", Number.Hex),
            (r"-?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?(?=x)", Number),  # 1x8x8xi8
            (r"x(?=[\d?]|[su]?i\d|b?f\d|!)", Punctuation),
            (r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", Number),
            (TYPES, Keyword.Type),
            (r"(?:true|false|unit|attributes|private|public|serves)\b", Keyword),
            (r"[A-Za-z_]\w*(?:\.[\w.]+)+", Name.Builtin),
            (r"[A-Za-z_][\w$-]*(?=\s*=)", Name.Attribute),
            (r"[A-Za-z_][\w$-]*", Name),
            (r"->|[=:*+/?-]", Operator),
            (r"[(){}\[\]<>,.|;]", Punctuation),
            (r".", Text),
        ]
    }
