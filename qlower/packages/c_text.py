"""Text of any kind inside C: in comments and in string literals."""

from __future__ import annotations

from qlower.diagnostics import printable


def c_comment(text: str) -> str:
    """Text as a comment may hold it: one line of ASCII that doesn't end the comment."""
    shown = "".join(c if c.isascii() and c.isprintable() else "?" for c in text)
    return shown.replace("*/", "* /").replace("/*", "/ *").replace("??/", "?? /")


def c_string(text: str) -> str:
    r"""A string literal of `printable(text)` in UTF-8.

    Question marks are escaped because of trigraphs; bytes are octal, which ends after
    three digits, other than `\x`.
    """
    shown = (_CHARACTERS.get(c, c) for c in printable(text))
    return f'"{"".join(c if c.isascii() else _octal(c) for c in shown)}"'


_CHARACTERS = {"\\": "\\\\", '"': '\\"', "?": "\\?"}


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode())
