"""Names of values in printed modules."""

from __future__ import annotations

from xdsl.ir import SSAValue


def set_hint(value: SSAValue, name: str | None) -> None:
    """Name a value, but not by a number.

    xDSL takes numbers such as `_0` off the end of a name whenever it copies one, and
    refuses a name that has no other characters.
    """
    value.name_hint = name if name and name.strip("_0123456789") else None
