"""Decimal numbers in text that anyone may have written.

Python converts no more than some thousand digits, and refuses others in words about
itself.
"""

from __future__ import annotations

import sys

MOST_DIGITS = sys.int_info.str_digits_check_threshold
"""Digits that Python converts whatever its limit is set to."""

TOO_LONG = "a number has more digits than can be read"


def is_number(text: str) -> bool:
    """Whether a text is decimal digits, few enough to be converted."""
    return text.isdecimal() and len(text) <= MOST_DIGITS


def reason(error: Exception) -> str:
    """What an exception about text says, where Python's limit is ours to explain."""
    text = str(error)
    return TOO_LONG if "integer string conversion" in text else text
