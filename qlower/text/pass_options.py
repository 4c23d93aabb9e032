"""Options of passes as people type them, for xDSL, which reads fewer words."""

from __future__ import annotations

import re

_VALUE = re.compile(
    r'(?P<kept>"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\])|=(?P<value>[^\s{}"\[\]\\]+)'
)
"""A string or another tool's pipeline; or an equals sign and what is typed after it."""

_WORD = r"(?:\d[-\w]*|[-+]?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?|[A-Za-z_][-\w]*)"
_WORDS = re.compile(rf"{_WORD}(?:,{_WORD})*", re.ASCII)
"""Words, also several with commas, that xDSL reads as they are."""


def quote_options(pipeline: str) -> str:
    """The pipeline, with quotes around values that need them.

    These are paths (`contract=./x.mlir`) and lists of signed features
    (`features=+dotprod,-i8mm`), which are one value.
    """

    def quote(match: re.Match[str]) -> str:
        value = match["value"]
        if match["kept"] or _WORDS.fullmatch(value):
            return match[0]
        return f'="{value}"'

    return _VALUE.sub(quote, pipeline)
