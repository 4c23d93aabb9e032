"""Names that a user gives, against those that are known."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from qlower.diagnostics import QlowerError


def check_known(said: str, name: str, known: Collection[str]) -> None:
    """Raise QlowerError for a name that isn't known, with the closest that is; `said`
    begins the message."""
    if name not in known:
        close = get_close_matches(name, known, n=1)
        raise QlowerError(
            f"{said} {name!r}: known are {', '.join(known)}",
            help=f"did you mean {close[0]!r}?" if close else None,
        )
